"""Offline responder: answers without a model, by tool calls and quotes, and says so.

A request that begins with one of the words below becomes a tool call; any other is searched for in the conversation
and the memory files. Tool results are shown verbatim, with their references. The same request in the same conversation
gets the same answer.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

import msgspec

from autocompact.chat.model_choices import OFFLINE
from autocompact.chat.responder import Delta, ModelRequest, Piece, Reply
from autocompact.chat.tools import Toolbox
from autocompact.core.messages import Message, Text, ToolCall
from autocompact.history.recall import Found, Recall

LABEL = "*Offline model: no language model is connected, so nothing here is reasoned.*"
RESULTS, SEARCHED = 5, 15
LONGEST_SHOWN = 4_000
"""Characters of a tool's result that the answer repeats."""

_WORDS = re.compile(r"\S+\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """A request that becomes a tool call: its first word, the tool, the argument that takes the rest."""

    word: str
    tool: str
    argument: str
    usage: str
    alone: bool = False


_ORDERS = (
    _Order(word="list", tool="list_files", argument="folder", usage="list [FOLDER]", alone=True),
    _Order(word="read", tool="read_file", argument="path", usage="read FILE"),
    _Order(word="search", tool="search_files", argument="pattern", usage="search WORD (in the files)"),
    _Order(word="recall", tool="memory_search", argument="query", usage="recall WORDS (in what was said)"),
    _Order(word="open", tool="memory_expand", argument="ref", usage="open m12"),
    _Order(word="remember", tool="remember", argument="text", usage="remember SOMETHING"),
    _Order(word="skill", tool="read_skill", argument="name", usage="skill NAME"),
    _Order(word="run", tool="run_command", argument="command", usage="run COMMAND"),
    _Order(word="tasks", tool="tasks", argument="", usage="tasks", alone=True),
)


class OfflineResponder:
    """Implements `autocompact.chat.responder.Responder` without a model."""

    async def answer(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """See `Responder.answer`."""
        said, after = _last_request(request.messages)
        call = (
            None
            if said is None or any(message.results for message in after)
            else _call(said, request.toolbox)
        )
        if call is not None:
            yield Reply(message=Message(seq=0, role="assistant", parts=(call,), model=OFFLINE))
            return
        if said is None:
            text = _usage(request.toolbox)
        elif after:
            text = _tool_results(after)
        else:
            text = await _quoted(said, request)
        text = f"{LABEL}\n\n{text}"
        for word in _WORDS.findall(text):
            yield Delta(kind="text", text=word)
        yield Reply(message=Message(seq=0, role="assistant", parts=(Text(text=text),), model=OFFLINE))

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""


def _last_request(messages: Sequence[Message]) -> tuple[Message | None, list[Message]]:
    """The last request of the person, and the messages after it."""
    after: list[Message] = []
    for message in reversed(messages):
        if message.is_request:
            return message, after[::-1]
        after.append(message)
    return None, []


def _call(said: Message, toolbox: Toolbox) -> ToolCall | None:
    """The tool call that a request asks for; None if it is a question."""
    first, *words = said.text.split(maxsplit=1) or [""]
    rest = "".join(words).strip()
    for order in _ORDERS:
        if first.lower() == order.word and order.tool in toolbox and (rest or order.alone):
            given = {order.argument: rest} if rest and order.argument else {}
            arguments = msgspec.json.encode(given).decode()
            return ToolCall(id=f"offline-{said.seq}", name=order.tool, arguments=arguments)
    return None


def _tool_results(after: Sequence[Message]) -> str:
    """The results of the tools, as Markdown."""
    names = {call.id: call.name for message in after for call in message.calls}
    results = (result for message in after for result in message.results)
    return "\n\n".join(
        f"`{names.get(result.call_id, 'the tool')}` gave:\n\n{_fenced(result.text)}" for result in results
    )


async def _quoted(said: Message, request: ModelRequest) -> str:
    """Quotes from the conversation and the memory files that match the question."""
    found = await request.recall.search(said.text, SEARCHED, scope="conversation")
    quotes = [_quote(one) for one in found if await _counts(one, said=said, recall=request.recall)][:RESULTS]
    if quotes:
        return "\n\n".join(["This is what the conversation and the memory files hold on it:", *quotes])
    return f"Nothing that was said here, and no memory file, holds these words. {_usage(request.toolbox)}"


async def _counts(found: Found, *, said: Message, recall: Recall) -> bool:
    """False if a result only repeats the question or an earlier offline answer."""
    if found.source == "tool call" or found.source.startswith("tool output of memory_"):
        return False
    if found.source == "the user":
        return said.text.strip() not in found.excerpt
    return found.source != "the assistant" or LABEL not in (await recall.expand(found.reference)).text


def _quote(found: Found) -> str:
    lines = "\n".join(f"> {line}".rstrip() for line in found.excerpt.strip().splitlines())
    return f"{lines}\n>\n> [{found.reference}] {found.source}"


def _fenced(text: str) -> str:
    shown = (
        text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}\n[{len(text):,} characters in all]"
    )
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", shown)), default=0))
    return f"{fence}\n{shown}\n{fence}"


def _usage(toolbox: Toolbox) -> str:
    usable = ", ".join(f"`{order.usage}`" for order in _ORDERS if order.tool in toolbox)
    return f"Ask about what was said, or type: {usable}."
