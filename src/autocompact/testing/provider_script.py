"""Requests to a `FakeProvider`, its answers, and the script that they come from."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeGuard

from autocompact.core.messages import Dialect, ToolCall
from autocompact.core.tokens import Counter

Json: TypeAlias = dict[str, Any]
StopReason: TypeAlias = Literal["stop", "length", "tool_calls", "refusal", "compaction"]

MOST_PIECES = 400
"""A text is streamed in at most so many pieces."""

_WORDS = re.compile(r"\s*\S{1,40}|\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of the model, independent of the API.

    Attributes:
        text: its words.
        calls: the tools it calls; several are parallel calls.
        reasoning: its thinking, shown before the words.
        stop: why it ended; None is "tool_calls" with calls, "length" where the request's limit cut it, else "stop".
        tokens: of the answer, as usage reports them; None counts them.
        compaction: the provider's summary of what came before, shown first; "" for none.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    stop: StopReason | None = None
    tokens: int | None = None
    compaction: str = ""

    @property
    def stop_reason(self) -> StopReason:
        """The reason why the answer ended."""
        return self.stop or ("tool_calls" if self.calls else "stop")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A response that goes out byte for byte as it was recorded."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] | None = None


Reply: TypeAlias = str | Answer | Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A request as it arrived.

    Attributes:
        path: of the URL, without a query.
        headers: names in lower case; in place of a key stands ``***``.
        raw: the body's bytes.
        body: the body decoded; empty where it is no JSON object.
        dialect: the API it speaks.
        tokens: of the prompt, as usage reports them.
        cached: tokens of these that the prompt cache served.
    """

    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Json
    dialect: Dialect
    tokens: int = 0
    cached: int = 0

    @property
    def model(self) -> str:
        """The model asked for."""
        name = self.body.get("model")
        return name if isinstance(name, str) else ""

    @property
    def streamed(self) -> bool:
        """True if the reply is to be streamed."""
        return self.body.get("stream") is True

    @property
    def counting(self) -> bool:
        """True if only the tokens are to be counted."""
        return self.path.endswith(("/count_tokens", "/input_tokens"))

    @property
    def messages(self) -> list[Json]:
        """The messages, or the items of ``input``; a bare string counts as one of the user."""
        given = self.body.get("input" if self.dialect == "openai_responses" else "messages")
        if isinstance(given, str):
            return [{"role": "user", "content": given}]
        return given if is_array(given) else []

    @property
    def last_text(self) -> str:
        """The words of the last message."""
        return text_of(self.messages[-1].get("content")) if self.messages else ""

    @property
    def max_output(self) -> int | None:
        """The most tokens that the answer may take; None if nothing limits it."""
        names = ("max_completion_tokens", "max_tokens", "max_output_tokens")
        return next((self.body[name] for name in names if isinstance(self.body.get(name), int)), None)


Script: TypeAlias = str | Sequence[Reply] | Callable[[Received], Reply | Awaitable[Reply]] | None

Rule: TypeAlias = Callable[[Received], str | None]
"""Why a request is refused; None if it is not."""


def is_object(value: Any) -> TypeGuard[Json]:
    """True if this JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """True if this JSON value is an array."""
    return isinstance(value, list)


def text_of(content: Any) -> str:
    """The words of a content, whether it is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    blocks: list[Any] = content if is_array(content) else []
    texts = (block.get("text") for block in blocks if is_object(block))
    return "\n".join(text for text in texts if isinstance(text, str))


def within(answer: Answer, limit: int | None, *, counter: Counter) -> Answer:
    """The answer cut to ``limit`` tokens, as a model's is; with the number of its tokens."""
    texts = (answer.reasoning, answer.text, *(call.name + call.arguments for call in answer.calls))
    tokens = sum(counter.count(text) for text in texts if text) if answer.tokens is None else answer.tokens
    if limit is None or tokens <= limit:
        return replace(answer, tokens=tokens)
    text = answer.text[: len(answer.text) * limit // max(1, tokens)]
    return replace(answer, text=text, calls=(), stop="length", tokens=limit)


def pieces(text: str) -> Iterator[str]:
    """The text as it is streamed: a few words at a time."""
    words = _WORDS.findall(text)
    step = max(1, -(-len(words) // MOST_PIECES))
    for start in range(0, len(words), step):
        yield "".join(words[start : start + step])
