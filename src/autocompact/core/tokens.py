"""Weight of messages: tokens for the model, bytes on the wire, images."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Literal, Protocol, TypeAlias

import msgspec

from autocompact.core.media import document_tokens, image_tokens, opaque_text, sealed_tokens
from autocompact.core.messages import (
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from autocompact.core.strides import STRIDE, strides

MESSAGE_TOKENS = 4
"""Framing of one message: three tokens and its role (OpenAI cookbook, "How to count tokens with tiktoken")."""

CALL_TOKENS = 8
"""Framing of one tool call or tool result: its id and the words around it. No provider documents a figure."""

_MARKER = "\n[... {:,} tokens left out ...]\n"
_PIECE = re.compile(r"\s{0,40}\S{1,40}|\s{1,40}")
_LONGEST_TOKEN = 16
"""Characters: more than any word piece has; only blanks and rules (``----``) come in longer tokens."""

_PLAIN = bytes(byte for byte in range(32, 256) if byte not in b'"\\')
_MESSAGE_BYTES = 32
_PART_BYTES = 28
_CALL_BYTES = 80


class Counter(Protocol):
    """Counts the tokens of a text. ``name`` goes into the receipt (``"o200k_base"``, ``"estimate"``)."""

    name: str

    def count(self, text: str) -> int:
        """Tokens of ``text``."""
        ...


class Cost(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A weight: tokens for the model, bytes on the wire (JSON), number of images."""

    tokens: int = 0
    bytes: int = 0
    images: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            tokens=self.tokens + other.tokens,
            bytes=self.bytes + other.bytes,
            images=self.images + other.images,
        )

    def __sub__(self, other: Cost) -> Cost:
        return Cost(
            tokens=self.tokens - other.tokens,
            bytes=self.bytes - other.bytes,
            images=self.images - other.images,
        )


def message_cost(message: Message, counter: Counter) -> Cost:
    """Weigh ``message``.

    The texts of all parts are counted in one call, joined by newlines. ``bytes`` is exact for a message or part
    that still is what came, else the length of its JSON within a few bytes.
    """
    texts: list[str] = []
    tokens = MESSAGE_TOKENS
    images = 0
    for part in message.parts:
        tokens += _fixed_tokens(part, texts)
        if isinstance(part, Image):
            images += 1
        elif isinstance(part, ToolResult):
            images += sum(isinstance(media, Image) for media in part.media)
    if texts:
        # one call: a tokenizer costs more per call than per byte of a short text
        tokens += counter.count(texts[0] if len(texts) == 1 else "\n".join(texts))
    return Cost(tokens=tokens, bytes=_message_bytes(message), images=images)


def size(message: Message) -> int:
    """Size of ``message`` in bytes or characters, as far as it is known without looking at it."""
    if message.raw is not None:
        return len(message.raw)
    return sum(map(_part_size, message.parts))


def _part_size(part: Part) -> int:
    match part:
        case Text() | Reasoning() | ToolResult():
            return len(part.text)
        case ToolCall():
            return len(part.arguments)
        case Opaque():
            return len(part.raw)
        case _:
            return len(part.data)


Unit: TypeAlias = Literal["tokens", "bytes", "images"]
"""What a `Cost` counts."""


def breakdown(
    messages: Iterable[Message], *, tools: int, counter: Counter, unit: Unit = "tokens"
) -> dict[str, int]:
    """Tokens by what fills a context: system prompt, tools, summary, user, assistant, tool results.

    Args:
        messages: the context.
        tools: what the tool schemas weigh, in ``unit``.
        counter: measures the rest.
        unit: what is counted instead of tokens.
    """
    names = {"system": "system prompt", "user": "user", "assistant": "assistant", "tool": "tool results"}
    parts = {"tools": tools}
    for message in messages:
        # summaries stand in no log
        made = message.seq == 0 and message.synthetic
        name = "summary" if made else names[message.role]
        parts[name] = parts.get(name, 0) + getattr(message_cost(message, counter), unit)
    return {name: amount for name, amount in parts.items() if amount}


def _fixed_tokens(part: Part, texts: list[str]) -> int:
    """The tokens of ``part`` that no counter has to find; what it says goes to ``texts``."""
    match part:
        case Text():
            texts.append(part.text)
            return 0
        case ToolCall():
            texts += (part.name, part.arguments)
            return CALL_TOKENS
        case ToolResult():
            texts.append(part.text)
            return CALL_TOKENS + sum(_fixed_tokens(media, texts) for media in part.media)
        case Reasoning():
            return _reasoning(part, texts)
        case Image():
            return image_tokens(part)
        case Document():
            texts += (part.name, part.text)
            return 0 if part.text else document_tokens(part)
        case _:
            text, tokens = opaque_text(part)
    texts.append(text)
    return tokens


def _reasoning(part: Reasoning, texts: list[str]) -> int:
    sealed = sealed_tokens(part.raw) if part.raw is not None else 0
    # the readable text of sealed reasoning is a digest of it, and the provider counts what is sealed
    if 4 * sealed > len(part.text):
        return sealed
    texts.append(part.text)
    return 0


def _message_bytes(message: Message) -> int:
    # the very bytes that are sent
    if message.raw is not None and not message.changed:
        return len(message.raw)
    return _MESSAGE_BYTES + sum(map(_part_bytes, message.parts))


def _part_bytes(part: Part) -> int:
    if isinstance(part, Opaque) or part.raw is not None:
        return len(part.raw or b"") + 1
    match part:
        case Text() | Reasoning():
            return _PART_BYTES + json_bytes(part.text)
        case ToolCall():
            return _CALL_BYTES + len(part.id) + json_bytes(part.name) + json_bytes(part.arguments)
        case ToolResult():
            media = sum(map(_part_bytes, part.media))
            return _CALL_BYTES + len(part.call_id) + json_bytes(part.text) + media
        case _:
            named = json_bytes(part.name) + json_bytes(part.text) if isinstance(part, Document) else 0
    return _CALL_BYTES + len(part.data) + len(part.url) + len(part.media_type) + named


def json_bytes(text: str) -> int:
    """Bytes of ``text`` inside a JSON string: UTF-8 with its escapes, without the quotes."""
    data = text.encode("utf-8", "backslashreplace")
    escaped = data.translate(None, _PLAIN)
    if not escaped:
        return len(data)
    # these take one byte more, all other control characters five
    short = sum(map(escaped.count, b'"\\\n\r\t\b\f'))
    return len(data) + short + 5 * (len(escaped) - short)


class Estimator:
    """Counts without a vocabulary: a weighted sum over byte classes, fitted to o200k_base.

    The features are what its pre-tokenizer cuts at (starts of words, camelCase, digit and punctuation runs) and the
    length of what is between the cuts; scripts outside ASCII count by their lead bytes, long runs of letters (keys,
    hashes, base64) by a term of their own. Mean error on 1,500-character messages (``benchmarks/counters.py``):
    about 10 % or less on prose, code, JSON and CJK, under 20 % on base64, hex and random letters. The weights are 3 % above
    the fit, because a context that is larger than thought costs more than one compaction too early.
    """

    name = "estimate"

    def count(self, text: str) -> int:
        """Tokens of ``text``, rounded up. A long one is estimated in strides, so that no call holds the interpreter long."""
        # `translate` and `count` hold the interpreter's lock for the whole text
        if len(text) <= STRIDE:
            return math.ceil(self._estimate(text))
        return math.ceil(sum(map(self._estimate, strides(text))))

    def _estimate(self, text: str) -> float:
        if not text:
            return 0.0
        data = b" " + text.encode("utf-8", "replace")
        classes = data.translate(_CLASSES)
        count = classes.count
        tokens = (
            0.410 * data.translate(_LETTERS).count(b" x")
            + 0.126 * (count(b"a") + count(b"A"))
            + 1.450 * count(b"aA")
            + 0.319 * count(b"0")
            + 1.284 * data.translate(_DIGITS).count(b" x")
            + 0.025 * count(b".")
            + 0.715 * data.translate(_SIGNS).count(b" x")
            + 0.798 * count(b"\n")
            + 0.083 * (count(b" ") - 1)
            + 6.700 * count(b"a" * 16)
            + 3.167 * count(b"A" * 8)
        )
        if not text.isascii():
            tokens += sum(weight * count(lead) for lead, weight in _LEADS)
        return tokens


_LEADS: tuple[tuple[bytes, float], ...] = (
    (b"2", 0.295),  # Latin accents, Greek, Cyrillic, Hebrew, Arabic
    (b"i", 0.298),  # Indic scripts, Thai
    (b"s", 0.200),  # punctuation, arrows, box drawing
    (b"k", 0.695),  # kana, CJK punctuation
    (b"h", 0.792),  # Han
    (b"g", 0.670),  # Hangul
    (b"f", 0.250),  # full-width forms, private use
    (b"e", 3.796),  # emoji
)


def _class_of(byte: int) -> int:
    leads = (
        (0xF0, "e"),
        (0xEE, "f"),
        (0xEA, "g"),
        (0xE4, "h"),
        (0xE3, "k"),
        (0xE2, "s"),
        (0xE0, "i"),
        (0xC0, "2"),
    )
    if byte >= 0x80:
        return ord(next((name for first, name in leads if byte >= first), "c"))
    char = chr(byte)
    if char.isalpha():
        return ord("a" if char.islower() else "A")
    if char.isdigit():
        return ord("0")
    if char in "\r\n":
        return ord("\n")
    return ord(" " if char in " \t" else ".")


_CLASSES = bytes(map(_class_of, range(256)))
_LETTERS, _DIGITS, _SIGNS = (
    bytes(ord("x") if of in wanted else ord(" ") for of in _CLASSES) for wanted in (b"aA", b"0", b".")
)


def truncated(text: str, tokens: int, *, counter: Counter) -> str:
    """Head and tail of ``text`` in at most ``tokens``, and between them a marker that says how much is left out.

    Cuts between words, and at a line break where one is near. O(len(text)). A text that fits comes back as it is.
    The result is never less than the marker, about ten tokens.
    """
    total = counter.count(text)
    if total <= tokens:
        return text
    room = tokens - counter.count(_MARKER.format(total))
    while room > 0:
        head, tail = ends(text, room, counter=counter)
        left_out = total - counter.count(head) - counter.count(tail)
        result = head + _MARKER.format(left_out) + tail
        taken = counter.count(result)
        if taken <= tokens:
            return result
        room = room * tokens // taken
    return _MARKER.format(total).strip()


def ends(text: str, room: int, *, counter: Counter) -> tuple[str, str]:
    """Head and tail of ``text`` that take ``room`` tokens together, if the counts of pieces add up; they never overlap."""
    reach = _LONGEST_TOKEN * room
    head = "".join(_fitting(_PIECE.findall(text[:reach]), room - room // 2, counter=counter))
    pieces = _PIECE.findall(text[max(len(head), len(text) - reach) :])
    tail = "".join(reversed(_fitting(reversed(pieces), room // 2, counter=counter)))
    head_end = head.rfind("\n", len(head) * 3 // 4) + 1
    tail_start = tail.find("\n", 0, len(tail) // 4) + 1
    return head[: head_end or None], tail[tail_start:]


def _fitting(pieces: Iterable[str], tokens: int, *, counter: Counter) -> list[str]:
    taken: list[str] = []
    for piece in pieces:
        tokens -= counter.count(piece)
        if tokens < 0:
            break
        taken.append(piece)
    return taken
