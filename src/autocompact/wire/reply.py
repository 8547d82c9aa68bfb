"""Replies: what a model answered, whole or put together from a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import msgspec
from msgspec import Raw

from autocompact.core.messages import Dialect, Message, Usage
from autocompact.errors import InvalidInput, InvalidRequest
from autocompact.wire import json
from autocompact.wire.dialects import codec_for

_NULL = Raw(b"null")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The reply of a model.

    Attributes:
        messages: the answer, ready to be appended to a conversation in the same dialect. One message of the
            assistant; Responses gives one for each item. ``usage`` and ``model`` stand on the last one.
        usage: tokens reported; ``usage.prompt`` includes what came from or went to the provider's cache.
        cache_read: tokens of the prompt that the provider read from its cache.
        cache_write: tokens of the prompt that it wrote to its cache.
        stop_reason: why it ended, in the provider's word; "" if unknown (a stream that was cut).
        model: the model that answered, "" if it did not say.
        id: the provider's id of the reply, "" if it gave none.
        complete: whether the provider said that this is all.
    """

    messages: tuple[Message, ...] = ()
    usage: Usage | None = None
    cache_read: int = 0
    cache_write: int = 0
    stop_reason: str = ""
    model: str = ""
    id: str = ""
    complete: bool = True

    @property
    def text(self) -> str:
        """The words of the answer, without reasoning and calls."""
        return "\n".join(message.text for message in self.messages if message.text)


class _Details(msgspec.Struct, gc=False):
    """Breakdown of the prompt's tokens. OpenRouter says ``cache_write_tokens``, LiteLLM ``cache_creation_tokens``."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_creation_tokens: int | None = None


class Figures(msgspec.Struct, gc=False):
    """The ``usage`` of the three APIs, and of proxies that mix them.

    OpenAI's ``prompt_tokens`` and ``input_tokens`` include what the cache read and wrote; Anthropic's ``input_tokens``
    do not ("total input = cache_read_input_tokens + cache_creation_input_tokens + input_tokens", its guide on prompt
    caching). Proxies that give an answer of Anthropic in OpenAI's form (LiteLLM, any-llm) add the sums up themselves
    and send Anthropic's figures along.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    input_tokens_details: _Details | None = None
    total_tokens: int | None = None

    def given(self) -> bool:
        """True if any figure of the prompt or the answer is there."""
        figures = (self.prompt_tokens, self.completion_tokens, self.input_tokens, self.output_tokens)
        return any(figure is not None for figure in figures)

    def updated(self, later: Figures) -> Figures:
        """These figures, with those that a later report gives."""
        names = self.__struct_fields__
        values = {name: getattr(later, name) for name in names if getattr(later, name) is not None}
        return msgspec.structs.replace(self, **values)

    def usage(self) -> Usage:
        """Tokens of the whole prompt, cached ones included once, and of the answer."""
        prompt = self.prompt_tokens if self.prompt_tokens is not None else self.input_tokens or 0
        completion = self.completion_tokens if self.completion_tokens is not None else self.output_tokens
        cached = (self.cache_read_input_tokens or 0) + (self.cache_creation_input_tokens or 0)
        if self.total_tokens is not None and self.total_tokens == prompt + cached + (completion or 0):
            prompt += cached  # the reply adds it up itself
        elif not self._of_openai() or cached > prompt:  # a part cannot be larger than the whole
            prompt += cached
        return Usage(prompt=prompt, completion=completion or 0)

    def _of_openai(self) -> bool:
        """True if the prompt's figure is one of OpenAI's, which include the cache."""
        return self.prompt_tokens is not None or self.input_tokens_details is not None

    def cache_read(self) -> int:
        """Tokens of the prompt that came from the provider's cache."""
        return self.cache_read_input_tokens or self._details().cached_tokens or 0

    def cache_write(self) -> int:
        """Tokens of the prompt that the provider wrote to its cache."""
        details = self._details()
        written = details.cache_write_tokens or details.cache_creation_tokens
        return self.cache_creation_input_tokens or written or 0

    def _details(self) -> _Details:
        return self.prompt_tokens_details or self.input_tokens_details or _Details()


class _Choice(msgspec.Struct, gc=False):
    index: int = 0
    message: Raw = _NULL
    finish_reason: str | None = None


class _Incomplete(msgspec.Struct, gc=False):
    reason: str | None = None


class _Body(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    usage: Figures | None = None
    choices: list[_Choice] | None = None
    content: Raw = _NULL
    stop_reason: str | None = None
    output: list[Raw] | None = None
    status: str | None = None
    incomplete_details: _Incomplete | None = None


_BODY = msgspec.json.Decoder(_Body)


def parse_reply(body: bytes, *, dialect: Dialect) -> Reply:
    """The answer in the body of a reply that was not streamed. Its messages have ``seq`` 0.

    Raises:
        InvalidInput: it is not a reply of this API (an error body, for example); the message names the path.
    """
    try:
        read = json.decode(body, _BODY, path="")
        return _READERS[dialect](read)
    except InvalidRequest as exc:
        raise InvalidInput(f"not a reply of {dialect}: {exc}") from exc


class _Reported(msgspec.Struct, gc=False):
    usage: Figures | None = None


_REPORTED = msgspec.json.Decoder(_Reported)


def parse_usage(body: bytes) -> Usage | None:
    """The usage that a reply of any of the APIs reports; None if there is none. The rest of it is not read."""
    try:
        figures = json.decode(body, _REPORTED, path="").usage
    except InvalidRequest:
        return None
    return figures.usage() if figures is not None and figures.given() else None


def assembled(
    raws: Iterable[bytes],
    *,
    dialect: Dialect,
    figures: Figures | None,
    stop_reason: str | None,
    model: str | None,
    id: str | None,
    complete: bool = True,
) -> Reply:
    """A reply of messages given as their JSON.

    Raises:
        InvalidRequest: one of them is not a message of this API.
    """
    codec = codec_for(dialect)
    messages = [codec.parse(raw, seq=0, role="assistant", path="message") for raw in raws]
    usage = figures.usage() if figures is not None and figures.given() else None
    if messages:
        messages[-1] = replace(messages[-1], usage=usage, model=model or "")
    return Reply(
        messages=tuple(messages),
        usage=usage,
        cache_read=figures.cache_read() if figures else 0,
        cache_write=figures.cache_write() if figures else 0,
        stop_reason=stop_reason or "",
        model=model or "",
        id=id or "",
        complete=complete,
    )


def _read_chat(body: _Body) -> Reply:
    choice = next((choice for choice in body.choices or () if choice.index == 0), None)
    if choice is None or not json.is_object(choice.message):
        raise InvalidRequest("choices[0].message: missing")
    return assembled(
        [bytes(choice.message)],
        dialect="openai_chat",
        figures=body.usage,
        stop_reason=choice.finish_reason,
        model=body.model,
        id=body.id,
    )


def _read_anthropic(body: _Body) -> Reply:
    if not json.is_array(body.content):
        raise InvalidRequest("content: missing")
    return assembled(
        [assistant_message(bytes(body.content))],
        dialect="anthropic",
        figures=body.usage,
        stop_reason=body.stop_reason,
        model=body.model,
        id=body.id,
    )


def _read_responses(body: _Body) -> Reply:
    if body.output is None:
        raise InvalidRequest("output: missing")
    return assembled(
        [bytes(item) for item in body.output],
        dialect="openai_responses",
        figures=body.usage,
        stop_reason=body.incomplete_details.reason if body.incomplete_details else body.status,
        model=body.model,
        id=body.id,
    )


def assistant_message(content: bytes) -> bytes:
    """Anthropic's answer as it is sent back: only role and content, other members of a reply are refused."""
    return b'{"role":"assistant","content":' + content + b"}"


_READERS: Mapping[Dialect, Callable[[_Body], Reply]] = MappingProxyType(
    {"openai_chat": _read_chat, "anthropic": _read_anthropic, "openai_responses": _read_responses}
)
