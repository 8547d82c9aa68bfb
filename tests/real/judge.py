"""What must hold between the requests of a client and those that its provider got."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from autocompact.testing import Received
from autocompact.testing.provider_instructions import MEMORY_TOOLS, offered
from tests.real.agents import Client
from tests.real.recorder import NUMBER, Exchange

MARKER = "HERON-4711"
"""Stands in the instruction files of the project."""

SEARCHED = "toolu_memory_"
"""Ids of the searches that the model makes, which no client may see, begin so."""

MOST_BREAKS = 8
"""Compactions of forty turns: with each the cache of the prompt is lost."""

_HISTORY = ("messages", "input", "system", "instructions", "tools")
_STANDING = ("system", "developer")


def faults(client: Client, exchanges: Sequence[Exchange], received: Sequence[Received]) -> list[str]:
    """Everything that is wrong, in words; empty if nothing is."""
    places: dict[str, list[int]] = {}
    for number, asked in enumerate(received):
        for fault in _sent(exchanges[int(asked.headers[NUMBER])], asked):
            places.setdefault(fault, []).append(number)
    changed = [f"{fault} ({len(at)} requests, first {at[0]})" for fault, at in places.items()]
    return [*_outcomes(client, exchanges), *_numbers(client, exchanges, received), *changed]


def compactions(exchanges: Sequence[Exchange]) -> list[str]:
    """Ids of the compactions that requests went up with, each once."""
    found = [each.headers.get("x-autocompact-compaction", "none") for each in exchanges]
    return [each for each in dict.fromkeys(found) if each not in ("none", "")]


def _outcomes(client: Client, exchanges: Sequence[Exchange]) -> Iterator[str]:
    if not exchanges:
        yield "no request of it came through"
    failed = [f"{each.method} {each.path} {each.status}" for each in exchanges if each.status >= 400]
    probes = [each for each in failed if each.startswith("GET")]
    if len(probes) > client.probes:
        yield f"{len(probes)} failed probes: {probes[0]}"
    if others := [each for each in failed if each not in probes]:
        yield f"{len(others)} failed requests: {others[0]}"
    for action in ("failed-open", "retried", "refused"):
        if count := sum(each.headers.get("x-autocompact-action") == action for each in exchanges):
            yield f"{count} requests {action}"


def _numbers(client: Client, exchanges: Sequence[Exchange], received: Sequence[Received]) -> Iterator[str]:
    done = compactions(exchanges)
    if not done:
        yield "nothing was compacted"
    if len(done) > MOST_BREAKS:
        yield f"{len(done)} compactions in {len(received)} requests"
    asked = [each for each in received if not each.counting]
    posts = [each for each in exchanges if each.method == "POST" and not each.path.endswith("/count_tokens")]
    rounds = [each for each in asked if _has_searched(each)]
    if not rounds:
        yield "the model could never search"
    if seen := [each for each in posts if SEARCHED.encode() in each.raw or b'"memory_search"' in each.raw]:
        yield f"{len(seen)} requests of the client show that its model searched"
    if len(asked) - len(rounds) > len(posts):
        yield f"{len(asked)} requests upstream for {len(posts)} of the client"
    too_large = [each.tokens for each in received if each.tokens > client.window]
    if too_large:
        yield f"{len(too_large)} requests above the window, {max(too_large)} tokens"


def _has_searched(asked: Received) -> bool:
    """True for a request with the answer to a search."""
    return SEARCHED.encode() in asked.raw


def _sent(exchange: Exchange, asked: Received) -> Iterator[str]:
    """What the gateway changed in one request that it may not."""
    before, after = exchange.body, asked.body
    for name in before.keys() | after.keys():
        if name not in _HISTORY and before.get(name) != after.get(name):
            yield f"the member {name!r} changed"
    tools = dict(offered(after))
    for name, tool in offered(before):
        if tools.get(name) != tool:
            yield f"the tool {name!r} is missing or changed"
    for name in ("system", "instructions"):
        if not _begins_with(after.get(name), before.get(name)):
            yield f"{name!r} changed"
    yield from _standing(before, after)
    if not any(name in tools for name in MEMORY_TOOLS) and "memory_search" in json.dumps(after):
        yield "memory_search is named although the model does not have it"


def _standing(before: Any, after: Any) -> Iterator[str]:
    """Messages and blocks that are instructions, not history."""
    sent = [_canonical(each) for each in _messages(after)]
    texts = set(_texts(after))
    said = _messages(before)
    for place, message in enumerate(said):
        role, kind = message.get("role"), message.get("type")
        if kind in ("additional_tools", "configuration_update") or role in _STANDING:
            newest = not any(_alike(message, later) for later in said[place + 1 :])
            if newest and _canonical(message) not in sent:
                yield f"the item {place} ({role or kind}) is missing or changed"
    for text in _texts(before):
        if MARKER in text and "cat " not in text and text not in texts:
            yield "an instruction block is missing or changed"


def _alike(one: Any, other: Any) -> bool:
    """Versions of the same instructions: alike in kind and in their first words."""
    same = one.get("role") == other.get("role") and one.get("type") == other.get("type")
    return same and next(_texts([one]), "")[:40] == next(_texts([other]), "")[:40]


def _messages(body: Any) -> list[Any]:
    given: list[Any] = _listed(body.get("messages", body.get("input")))
    return [each for each in given if isinstance(each, dict)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType] - any JSON


def _canonical(message: Any) -> str:
    return json.dumps(_unmarked(message), sort_keys=True)


def _unmarked(value: Any) -> Any:
    """The value without cache marks, which clients move from request to request."""
    if isinstance(value, dict):
        return {key: _unmarked(each) for key, each in value.items() if key != "cache_control"}  # pyright: ignore[reportUnknownVariableType] - any JSON
    return [_unmarked(each) for each in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType] - any JSON


def _texts(body: Any) -> Iterator[str]:
    """Each block of words in the user's messages."""
    for message in _messages(body) if isinstance(body, dict) else body:
        if message.get("role") not in ("user", *_STANDING):
            continue
        content = message.get("content")
        blocks: list[Any] = [{"text": content}] if isinstance(content, str) else content or []
        yield from (each["text"] for each in blocks if isinstance(each.get("text"), str))


def _begins_with(after: Any, before: Any) -> bool:
    """True if nothing of ``before`` changed: the gateway may append its summary."""
    if isinstance(before, str) and isinstance(after, str):
        return after.startswith(before)
    blocks = _listed(before)
    return before is None or (bool(blocks) and _unmarked(_listed(after)[: len(blocks)]) == _unmarked(blocks))
