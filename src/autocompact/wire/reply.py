"""Replies: what a model answered, whole or put together from a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, TypeVar, cast

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.structs import replace

from autocompact.core.messages import Dialect, Message, Usage
from autocompact.errors import InvalidInput, InvalidRequest
from autocompact.wire import json
from autocompact.wire.dialects import codec_for

_NULL = Raw(b"null")

_Tokens = Annotated[int, Meta(ge=0, lt=2**53)]
"""Beyond 2**53 a whole number is no longer one in the JSON of most languages."""


class Reply(Struct, frozen=True, kw_only=True):
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

    cached_tokens: _Tokens | None = None
    cache_write_tokens: _Tokens | None = None
    cache_creation_tokens: _Tokens | None = None


class Figures(msgspec.Struct, gc=False):
    """The ``usage`` of the three APIs, and of proxies that mix them.

    OpenAI's ``prompt_tokens`` and ``input_tokens`` include what the cache read and wrote; Anthropic's ``input_tokens``
    do not ("total input = cache_read_input_tokens + cache_creation_input_tokens + input_tokens", its guide on prompt
    caching). Proxies that give an answer of Anthropic in OpenAI's form (LiteLLM, any-llm) add the sums up themselves
    and send Anthropic's figures along. What came from the cache is ``prompt_cache_hit_tokens`` with DeepSeek,
    ``cached_tokens`` with Moonshot and ``num_cached_tokens`` with Mistral, all of them included in the prompt.
    """

    prompt_tokens: _Tokens | None = None
    completion_tokens: _Tokens | None = None
    input_tokens: _Tokens | None = None
    output_tokens: _Tokens | None = None
    cache_read_input_tokens: _Tokens | None = None
    cache_creation_input_tokens: _Tokens | None = None
    prompt_cache_hit_tokens: _Tokens | None = None
    cached_tokens: _Tokens | None = None
    num_cached_tokens: _Tokens | None = None
    prompt_tokens_details: _Details | None = None
    input_tokens_details: _Details | None = None
    total_tokens: _Tokens | None = None

    def given(self) -> bool:
        """True if any figure of the prompt or the answer is there."""
        figures = (self.prompt_tokens, self.completion_tokens, self.input_tokens, self.output_tokens)
        return any(figure is not None for figure in figures)

    def updated(self, later: Figures) -> Figures:
        """These figures, with those that a later report of the same answer gives."""
        names = self.__struct_fields__
        # figures of a stream are running totals: a 0 after more than that is one that was left out
        values = {name: getattr(later, name) for name in names if getattr(later, name)}
        # but Anthropic begins with 1, and ends with the answer alone: an empty one has none
        if later.output_tokens == 0 and later.input_tokens is None:
            values["output_tokens"] = 0
        return msgspec.structs.replace(self, **values)

    def usage(self) -> Usage:
        """Tokens of the whole prompt, cached ones included once, and of the answer."""
        # a proxy that fills in both forms leaves 0 in the one that it does not use
        prompt = self.prompt_tokens or self.input_tokens or 0
        completion = self.completion_tokens or self.output_tokens or 0
        if not self._includes_cache(prompt, completion):
            prompt += self.cache_read() + self.cache_write()
        return Usage(prompt=prompt, completion=completion)

    def _includes_cache(self, prompt: int, completion: int) -> bool:
        cached = self.cache_read() + self.cache_write()
        # a part cannot be larger than the whole
        if cached > prompt:
            return False
        # what the reply itself adds up; Anthropic gives no total
        if self.total_tokens in (prompt + completion, prompt + cached + completion):
            return self.total_tokens == prompt + completion
        return bool(self.prompt_tokens) or self.input_tokens_details is not None

    def cache_read(self) -> int:
        """Tokens of the prompt that came from the provider's cache."""
        told = self.cache_read_input_tokens or self._details().cached_tokens or self.prompt_cache_hit_tokens
        return told or self.cached_tokens or self.num_cached_tokens or 0

    def cache_write(self) -> int:
        """Tokens of the prompt that the provider wrote to its cache."""
        details = self._details()
        written = details.cache_write_tokens or details.cache_creation_tokens
        return self.cache_creation_input_tokens or written or 0

    def _details(self) -> _Details:
        return self.prompt_tokens_details or self.input_tokens_details or _Details()


_FIGURES = msgspec.json.Decoder(Figures)
S = TypeVar("S", bound=msgspec.Struct)


def read_figures(usage: bytes | Raw) -> Figures | None:
    """The figures of a ``usage`` that can be read; None if it is no object.

    One that is no figure is left out: an answer was paid for, and is not lost over what it is said to have cost.
    """
    if not json.is_object(usage):
        return None
    try:
        return _FIGURES.decode(usage)
    except msgspec.DecodeError:
        # one figure that is none spoils the decoding of all: the others are read one by one
        given = cast("dict[str, object]", json.plain(usage))
    details = {name: given[name] for name in _BREAKDOWNS if isinstance(given.get(name), dict)}
    return msgspec.structs.replace(
        _readable(given, Figures),
        **{name: _readable(cast("dict[str, object]", told), _Details) for name, told in details.items()},
    )


_BREAKDOWNS = ("prompt_tokens_details", "input_tokens_details")


def _readable(given: Mapping[str, object], kind: type[S]) -> S:
    """The struct of those members that are whole numbers; ``100.0`` is one."""
    values: dict[str, int] = {}
    for name in kind.__struct_fields__:
        try:
            values[name] = msgspec.convert(given.get(name), _Tokens, strict=False)
        except msgspec.ValidationError:
            continue
    return kind(**values)


class _Choice(msgspec.Struct, gc=False):
    index: int = 0
    message: Raw = _NULL
    finish_reason: str | None = None


class _Incomplete(msgspec.Struct, gc=False):
    reason: str | None = None


class _Body(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    usage: Raw = _NULL
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
    usage: Raw = _NULL


_REPORTED = msgspec.json.Decoder(_Reported)


def parse_usage(body: bytes) -> Usage | None:
    """The usage that a reply of any of the APIs reports; None if there is none. The rest of it is not read."""
    try:
        figures = read_figures(json.decode(body, _REPORTED, path="").usage)
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
        figures=read_figures(body.usage),
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
        figures=read_figures(body.usage),
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
        figures=read_figures(body.usage),
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
