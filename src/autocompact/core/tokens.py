"""What a message weighs: tokens for the model, bytes on the wire, images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

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

MESSAGE_TOKENS = 4
"""Framing of one message: three tokens and its role (OpenAI cookbook, "How to count tokens with tiktoken")."""

CALL_TOKENS = 8
"""Framing of one tool call or tool result: its id and the words around it. No provider documents a figure."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What something weighs: tokens for the model, bytes on the wire (JSON), number of images."""

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
    """What ``message`` weighs.

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
        tokens += counter.count(texts[0] if len(texts) == 1 else "\n".join(texts))
    return Cost(tokens=tokens, bytes=_message_bytes(message), images=images)


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
        case Opaque():
            text, tokens = opaque_text(part)
            texts.append(text)
            return tokens


def _reasoning(part: Reasoning, texts: list[str]) -> int:
    sealed = sealed_tokens(part.raw) if part.raw is not None else 0
    if 4 * sealed > len(part.text):
        return sealed
    texts.append(part.text)
    return 0


def _message_bytes(message: Message) -> int:
    if message.raw is not None and not message.changed:
        return len(message.raw)
    return _MESSAGE_BYTES + sum(map(_part_bytes, message.parts))


def _part_bytes(part: Part) -> int:
    if part.raw is not None:
        return len(part.raw) + 1
    match part:
        case Text() | Reasoning():
            return _PART_BYTES + json_bytes(part.text)
        case ToolCall():
            return _CALL_BYTES + len(part.id) + json_bytes(part.name) + json_bytes(part.arguments)
        case ToolResult():
            media = sum(map(_part_bytes, part.media))
            return _CALL_BYTES + len(part.call_id) + json_bytes(part.text) + media
        case Image() | Document():
            name = json_bytes(part.name) + json_bytes(part.text) if isinstance(part, Document) else 0
            return _CALL_BYTES + len(part.data) + len(part.url) + len(part.media_type) + name


def json_bytes(text: str) -> int:
    """Bytes of ``text`` inside a JSON string: UTF-8 with its escapes, without the quotes."""
    data = text.encode("utf-8", "backslashreplace")
    escaped = data.translate(None, _PLAIN)
    if not escaped:
        return len(data)
    short = sum(map(escaped.count, b'"\\\n\r\t\b\f'))
    return len(data) + short + 5 * (len(escaped) - short)


class Estimator:
    """Placeholder to be tuned."""

    name = "estimate"

    def count(self, text: str) -> int:
        """Tokens of ``text``."""
        return -(-len(text.encode("utf-8", "replace")) // 4)
