"""Messages and their parts, as frozen values.

A message knows the exact bytes it came as (``raw``), so that one that nobody changed is sent on byte for
byte. Its parts are the parsed view on these bytes: what ledger, counting, cutting and search work on.

A tool result is a part, not a role: OpenAI sends each as a message of role ``tool``, Anthropic as blocks of a
user message which can also carry the user's words. Code that asks "does this answer a call?" or "are these the
user's words?" asks the message (``results``, ``is_request``), not the role.

They are structs with ``gc=False`` and no dataclasses, since a log has hundreds of thousands of them: Python's cycle collector
would go through all of these again and again, and none can be part of a cycle.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Literal, Self, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from autocompact.core.spoken import feedback, is_result, is_spoken

UNRECORDED = "(output not recorded)"
"""Text of a result of which a recorded session only has that the call was made, not what came of it."""

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Dialect: TypeAlias = Literal["openai_chat", "openai_responses", "anthropic"]


class Text(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Words, of the user, the model or the program around it."""

    text: str
    raw: bytes | None = None


class Reasoning(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The model's thinking; ``raw`` holds the signed or encrypted block, which must travel whole or not at all."""

    text: str = ""
    raw: bytes | None = None


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A call the model made. ``arguments`` is the JSON text as it came (free text for custom tools)."""

    id: str
    name: str
    arguments: str = ""
    raw: bytes | None = None


class Image(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A picture: ``data`` is base64 (or ``url`` says where it is); sizes in pixels where known."""

    media_type: str = ""
    data: str = ""
    url: str = ""
    width: int | None = None
    height: int | None = None
    raw: bytes | None = None


class Document(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file handed to the model (PDF, text): ``data`` is base64, ``text`` its plain text where that came along."""

    media_type: str = ""
    name: str = ""
    data: str = ""
    url: str = ""
    text: str = ""
    raw: bytes | None = None


class ToolResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to one call. ``media`` are pictures and documents inside the result."""

    call_id: str
    text: str = ""
    is_error: bool = False
    media: tuple[Image | Document, ...] = ()
    raw: bytes | None = None


class Opaque(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A part of a kind we do not interpret; it survives as the bytes it came as."""

    kind: str
    raw: bytes


Part: TypeAlias = Text | Reasoning | ToolCall | ToolResult | Image | Document | Opaque


class Usage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Tokens a provider reported for one reply. ``prompt`` includes what was read from or written to its cache."""

    prompt: int
    completion: int = 0


class Message(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One entry of the log.

    Attributes:
        seq: position in the log, from 1, without gaps.
        role: who speaks on the wire. Whether it is the *user's* words is ``is_request``.
        parts: the content, in order.
        raw: the message's JSON in ``dialect``, exactly as it came; None for a message made here or read from a
            recorded session.
        changed: the parts are no longer what ``raw`` says (masked, repaired): rendering patches ``raw``.
        synthetic: role user, but not the person's words: an earlier summary, a note of the program, a hook.
        replaces: this message takes the place of everything from that ``seq`` on (edit, regenerate): the replaced
            ones stay in the log, but are neither sent nor summarised.
        id: the provider's or recorder's id of the message, where there is one.
        time: ISO 8601 stamp, where known.
        model: the model that wrote it, where known.
        usage: what the provider reported with this reply, where it did.
        unknown_role: the role that an older version stored though no API knows it; the message is sent as a note.
        places: for a message of a context that repair took apart: the index of each part in the log's message ``seq``;
            empty if the parts are where they are in the log. Not part of what makes two messages equal.
    """

    seq: int
    role: Role
    parts: tuple[Part, ...]
    raw: bytes | None = None
    dialect: Dialect | None = None
    changed: bool = False
    synthetic: bool = False
    replaces: int | None = None
    id: str = ""
    time: str = ""
    model: str = ""
    usage: Usage | None = None
    unknown_role: str = ""
    places: tuple[int, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return self is other or _compared(self) == _compared(other)

    def __ne__(self, other: object) -> bool:
        return not self == other  # a struct has one of its own, which would compare ``places``

    def __hash__(self) -> int:
        return hash(_compared(self))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in it."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results in it."""
        return tuple([part for part in self.parts if isinstance(part, ToolResult)])

    @property
    def text(self) -> str:
        """The plain words of it, without reasoning, calls and results; parts joined by a newline."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def is_request(self) -> bool:
        """True if the person who uses the program said this; a client's notes, beside results say, are not theirs."""
        if self.role != "user" or self.synthetic:
            return False
        texts = [part.text for part in self.parts if isinstance(part, Text)]
        if texts and is_result(texts[0]):
            return any(map(feedback, texts))
        return any(map(is_spoken, texts)) or any(isinstance(part, Image | Document) for part in self.parts)

    def place_of(self, index: int) -> int:
        """The index, in the log's message ``seq``, of the part at ``index`` here."""
        return self.places[index] if self.places else index

    def with_parts(self, parts: Iterable[Part]) -> Self:
        """The same message with other parts; ``raw`` stays, marked as changed."""
        return replace(self, parts=tuple(parts), changed=True, places=())


_compared = attrgetter(*(name for name in Message.__struct_fields__ if name != "places"))


def decoded(arguments: str) -> Mapping[str, object]:
    """The arguments of a tool call as a mapping; empty if they are not a JSON object, or nested too deep to be walked."""
    if not arguments.startswith("{"):
        return {}
    try:
        found = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return {} if _is_deep(found, arguments) else found


_DEEPEST = 60
"""Levels of arguments that are read: whoever walks them must not run out of stack, and no tool needs as many."""


def _is_deep(value: object, text: str) -> bool:
    if text.count("{") + text.count("[") <= _DEEPEST:
        return False
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inside
            for each in level
            if isinstance(each, dict | list)
            for inside in (
                cast("dict[str, object]", each).values()
                if isinstance(each, dict)
                else cast("list[object]", each)
            )
        ]
    return any(isinstance(each, dict | list) for each in level)


def text_message(  # noqa: PLR0917 - read as one line of a transcript: number, speaker, words
    seq: int, role: Role, text: str, **fields: bool | str
) -> Message:
    """A message of plain words; ``fields`` are further fields of `Message` (``synthetic=True``, ``id="…"``)."""
    return replace(Message(seq=seq, role=role, parts=(Text(text=text),)), **fields)
