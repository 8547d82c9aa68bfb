"""Whole answers in which some calls are ours: what of them goes to the client, over all rounds of a turn.

What the client gets reads as one answer: the words of all rounds, the calls that are its own, the ending of the last
round. Of the usage the prompt's figures are those of the first round, which is what the client's own history takes
and what a client compares with the window; the answer's figures are the sum, all that the model wrote.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeAlias, cast

import msgspec
from msgspec import Raw

from autocompact.core.messages import Dialect
from autocompact.gateway.memory_tools import NAMES, names_a_tool
from autocompact.gateway.raw_json import Members, items_of, object_of, parts_of
from autocompact.wire import json

Kind: TypeAlias = Literal["ours", "theirs", "thinking", "other"]
"""A call of our tools, one that the client has to answer, thinking, anything else."""

Figures: TypeAlias = Mapping[str, object]

AGAIN = frozenset({"tool_calls", "stop", "tool_use", "completed"})
"""Endings after which calls are whole, so that they can be answered."""

INSTEAD = MappingProxyType({"tool_calls": "stop", "tool_use": "end_turn"})
"""What an ending is called where no call is left."""

TEXTS = ("content", "reasoning_content", "reasoning")
"""Members of a message of Chat Completions that hold words."""

BETWEEN = "\n\n"
"""Stands between the words of two rounds where an API has one text only."""

NOTHING = (b"null", b'""', b"[]")
"""Values of members that say nothing."""

_PROMPT = frozenset(
    "prompt_tokens prompt_tokens_details input_tokens input_tokens_details cache_read_input_tokens "
    "cache_creation_input_tokens cache_creation prompt_cache_hit_tokens prompt_cache_miss_tokens cached_tokens "
    "num_cached_tokens".split()
)
_WRITTEN = frozenset(
    "completion_tokens completion_tokens_details output_tokens output_tokens_details".split()
)
_THINKING = frozenset({"thinking", "redacted_thinking", "reasoning"})
_OF_THE_SERVER = frozenset(
    "web_search_call file_search_call code_interpreter_call image_generation_call mcp_call".split()
)
"""Calls of Responses that the provider's own servers answer within the same reply: nobody else has to."""


class _Function(msgspec.Struct, gc=False):
    name: str | None = None


class Item(msgspec.Struct, gc=False):
    """A block of Anthropic's, an item of Responses, or a tool call of Chat Completions."""

    type: str = ""
    name: str | None = None
    index: int | None = None
    function: _Function | None = None

    @property
    def called(self) -> str:
        """The tool, "" if there is none."""
        return (self.function.name if self.function else self.name) or ""

    @property
    def kind(self) -> Kind:
        """What it is to the client."""
        if self.called in NAMES and self.type in ("tool_use", "function_call"):
            return "ours"
        if self.type in ("tool_use", "mcp_approval_request"):
            return "theirs"
        if self.type.endswith("_call") and self.type not in _OF_THE_SERVER:
            return "theirs"
        return "thinking" if self.type in _THINKING else "other"


_ITEM = msgspec.json.Decoder(Item)
_FIGURES = msgspec.json.Decoder(dict[str, object])


def read_item(raw: bytes | Raw) -> Item:
    """What this block, item or call is.

    Raises:
        InvalidRequest: it is no object, or not as the API describes it.
    """
    return json.decode(raw, _ITEM, path="item")


def figures_of(usage: bytes | None) -> Figures:
    """The figures of a ``usage``; none where there is none."""
    return json.decode(usage, _FIGURES, path="usage") if usage and json.is_object(usage) else {}


def told_figures(rounds: Sequence[Figures]) -> bytes:
    """The ``usage`` that the client is told for these rounds, in the shape of the last one's."""
    last = rounds[-1]
    # a round of which the server reports nothing has none
    first = next((figures for figures in rounds if figures), last)
    told = {name: first.get(name, value) if name in _PROMPT else value for name, value in last.items()}
    for name in _WRITTEN.intersection(last):
        told[name] = _sum(figures.get(name) for figures in rounds)
    if "total_tokens" in told:
        # a proxy may send the figures in both forms
        prompt = told.get("prompt_tokens") or told.get("input_tokens")
        written = told.get("completion_tokens") or told.get("output_tokens")
        told["total_tokens"] = _sum((prompt, written))
    return json.encode(told)


def _sum(values: Iterable[object]) -> object:
    """The sum of figures, or of objects of figures, member by member."""
    given = [value for value in values if value is not None]
    objects = [cast("dict[str, object]", value) for value in given if isinstance(value, dict)]
    if objects:
        return {name: _sum(each.get(name) for each in objects) for name in objects[-1]}
    return sum(value for value in given if isinstance(value, int))


def shown(items: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
    """The blocks or items of one round without our calls, and the thinking at its end that leads to them alone."""
    kinds = [read_item(item).kind for item in items]
    if "ours" not in kinds:
        return list(items), []
    held: list[bytes] = []
    found: list[bytes] = []
    for item, kind in zip(items, kinds, strict=True):
        if kind == "thinking":
            held.append(item)
        elif kind != "ours":
            found += (*held, item)
            held = []
    return found, held


class Echo:
    """What Responses tell of their request, as the client made it: without our tools, the same in all rounds."""

    def __init__(self) -> None:
        self._told: Members | None = None

    def edits(self, response: Mapping[str, bytes]) -> Members:
        """What is to be changed in this ``response`` object."""
        if self._told is None:
            names = ("tools", "tool_choice")
            self._told = {name: response[name] for name in names if name in response}
            tools = self._told.get("tools", b"")
            if names_a_tool(tools):
                kept = (tool for tool in items_of(tools) if read_item(tool).called not in NAMES)
                self._told["tools"] = json.array(kept)
        return {name: value for name, value in self._told.items() if response.get(name) != value}


class Replies(ABC):
    """The whole answers of one turn, put together; each API has its own."""

    def __init__(self) -> None:
        self._figures: list[Figures] = []
        self._edits: Members = {}

    def add(self, body: bytes, *, last: bool) -> bool:
        """The answer of the next round; whether the model is to be asked again, which it never is after the ``last``.

        Raises:
            InvalidRequest: it is not an answer of this API.
        """
        answer = parts_of(body)
        self._figures.append(figures_of(answer.get("usage")))
        return self._add(answer, last=last)

    @abstractmethod
    def _add(self, answer: Members, *, last: bool) -> bool: ...

    def edits(self) -> Members:
        """What is to be changed in the body of the last round; nothing if it goes on as it came."""
        if len(self._figures) > 1 and self._figures[-1]:
            return self._edits | {"usage": told_figures(self._figures)}
        return self._edits


class ChatReplies(Replies):
    """Answers of Chat Completions; of several choices only the first is read, but only one is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[str, list[bytes]] = {name: [] for name in TEXTS}
        self._choice: Members = {}
        self._ours = 0

    def _add(self, answer: Members, *, last: bool) -> bool:
        choices = items_of(answer.get("choices"))
        self._choice = parts_of(choices[0]) if choices else {}
        message = parts_of(self._choice.get("message", b"{}"))
        for name, texts in self._said.items():
            if (text := message.get(name, b"null")) not in NOTHING:
                texts.append(text)
        calls = items_of(message.get("tool_calls"))
        theirs = [call for call in calls if read_item(call).called not in NAMES]
        self._ours += len(calls) - len(theirs)
        reason = json.string(self._choice.get("finish_reason", b"null"))
        only_ours = bool(calls) and not theirs
        if only_ours and not last and reason in AGAIN:
            return True
        if self._ours:
            self._edits = self._merged(
                message, theirs, reason=INSTEAD.get(reason, reason) if only_ours else reason
            )
        return False

    def _merged(self, message: Members, calls: Sequence[bytes], *, reason: str) -> Members:
        """The choice with the words of all rounds and the client's calls."""
        merged = {name: value for name, value in message.items() if name != "tool_calls"}
        merged |= {name: _joined(texts) for name, texts in self._said.items() if texts}
        if calls:
            merged["tool_calls"] = json.array(calls)
        # null stands for a message of calls alone, and no call is left
        elif merged.get("content") == b"null":
            merged["content"] = b'""'
        choice = self._choice | {"message": object_of(merged), "finish_reason": json.encode(reason or None)}
        return {"choices": json.array([object_of(choice)])}


def _joined(texts: Sequence[bytes]) -> bytes:
    """The words of several rounds as one value: blocks, as Mistral's thinking models answer with, stay blocks."""
    if all(map(json.is_string, texts)):
        return json.encode(BETWEEN.join(map(json.string, texts)))
    given = (items_of(text) or [b'{"type":"text","text":' + text + b"}"] for text in texts)
    return json.array(block for blocks in given for block in blocks)


class AnthropicReplies(Replies):
    """Answers of Anthropic Messages.

    Without interleaved thinking a model thinks at the beginning of its turn only, and an answer with tool calls has to begin
    with what it thought. So the thinking that led to our calls stands before what a later round says without thinking.
    """

    def __init__(self) -> None:
        super().__init__()
        self._content: list[bytes] = []
        self._thought: list[bytes] = []

    def _add(self, answer: Members, *, last: bool) -> bool:
        blocks = items_of(answer.get("content"))
        kinds = {read_item(block).kind for block in blocks}
        self._show(blocks)
        reason = json.string(answer.get("stop_reason", b"null"))
        only_ours = "ours" in kinds and "theirs" not in kinds
        if only_ours and not last and reason in AGAIN:
            return True
        if "ours" in kinds or len(self._figures) > 1:
            self._edits["content"] = json.array(self._content)
        if only_ours:
            self._edits["stop_reason"] = json.encode(INSTEAD.get(reason, reason) or None)
        return False

    def _show(self, blocks: Sequence[bytes]) -> None:
        found, thought = shown(blocks)
        if found:
            # interleaved thinking: this round begins with its own, and the earlier one is not asked for
            self._content += [] if read_item(found[0]).kind == "thinking" else self._thought
            self._content += found
            self._thought = []
        self._thought = thought or self._thought


class ResponsesReplies(Replies):
    """Answers of the Responses API."""

    def __init__(self) -> None:
        super().__init__()
        self._output: list[bytes] = []
        self._echo = Echo()

    def _add(self, answer: Members, *, last: bool) -> bool:
        items = items_of(answer.get("output"))
        kinds = {read_item(item).kind for item in items}
        self._output += shown(items)[0]
        self._edits = self._echo.edits(answer)
        whole = json.string(answer.get("status", b"null")) in AGAIN
        if "ours" in kinds and "theirs" not in kinds and whole and not last:
            return True
        if "ours" in kinds or len(self._figures) > 1:
            self._edits["output"] = json.array(self._output)
        return False


REPLIES: Mapping[Dialect, type[Replies]] = MappingProxyType(
    {"openai_chat": ChatReplies, "openai_responses": ResponsesReplies, "anthropic": AnthropicReplies}
)
