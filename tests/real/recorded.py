"""What a client wrote down itself, read by our readers: all that it said to its model, whatever the gateway compacted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from autocompact.core.messages import Message, ToolResult
from autocompact.core.pairing import pairs
from autocompact.errors import UnreadableSession
from autocompact.sessions import read_session
from autocompact.testing.provider_instructions import MEMORY_TOOLS
from tests.real.agents import MORE, REQUEST, TURNS, Client
from tests.real.recorder import Exchange


def session_faults(client: Client, home: Path, exchanges: Sequence[Exchange]) -> list[str]:
    """Everything that is wrong with the sessions that a client recorded, in words; empty if nothing is."""
    files = sorted(home.glob(client.sessions)) if client.sessions else []
    if client.sessions and not files:
        return [f"it recorded no session: there is no {client.sessions}"]
    messages: list[Message] = []
    for file in files:
        try:
            messages += read_session(file).messages
        except UnreadableSession as error:
            return [f"its session cannot be read: {error}"]
    said = b"".join(exchange.raw for exchange in exchanges)
    sent = [number for number in range(1, TURNS + 1) if _part(number).encode() in said]
    return [*_faults(client, messages, sent=sent)] if files else []


def _faults(client: Client, messages: Sequence[Message], *, sent: Sequence[int]) -> Iterator[str]:
    texts = [result.text for message in messages for result in message.results] if client.tool else []
    texts = texts or [message.text for message in messages if message.role == "assistant"]
    shown = Counter(number for number in sent for text in texts if _part(number) in text)
    if lost := [number for number in sent if not shown[number]]:
        yield f"its session has not all parts: {len(lost)} are missing, the first is {lost[0]}"
    if twice := [number for number, count in shown.items() if count > 1]:
        yield f"its session has parts twice: {twice[:5]}"
    requests = [message.text for message in messages if message.is_request]
    expected = [REQUEST] * bool(client.tool) + [MORE] * bool(client.then)
    for asked in expected:
        if not any(asked in text for text in requests):
            yield f"its session has no request {asked!r}"
    called = {call.name for message in messages for call in message.calls}
    if seen := called.intersection(MEMORY_TOOLS):
        yield f"its session shows that its model searched: {sorted(seen)}"
    answered = sum(1 for _ in pairs(messages))
    results = sum(isinstance(part, ToolResult) for message in messages for part in message.parts)
    if answered != results:
        yield f"{results - answered} results in its session have no call"


def _part(number: int) -> str:
    return f"part {number:02} line 000:"
