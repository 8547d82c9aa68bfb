"""Base of the models behind an HTTP API: asking, counting, and learning which members a server does not accept."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol, Self

import msgspec

from autocompact.core.messages import Dialect, Message, Usage
from autocompact.core.windows import window_for
from autocompact.errors import ModelError, ModelRefused
from autocompact.models.http import Transport
from autocompact.ports import ModelReply
from autocompact.wire import Reply, json
from autocompact.wire.deltas import StreamEvent

PROBE_TOKENS = 16
"""Longest answer to a request that is only sent to learn what the prompt weighs; Responses takes no less."""

_OPTIONAL = ("stream_options", "stream", "tool_choice", "store")
_BAD_REQUEST = frozenset({400, 422})
_NO_ACCESS = frozenset({401, 403})
_NOT_THERE = frozenset({404, 405, 501})
_UNSUPPORTED = re.compile(
    r"unsupported|not (?:supported|permitted|allowed|recogni[sz]ed)|unrecogni[sz]ed|unknown|unexpected|does not support"
    r"|extra|additional|must be verified|invalid (?:argument|field|parameter|property)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request in no API's terms.

    Attributes:
        model: the model's name.
        messages: the conversation.
        max_tokens: cap on the answer.
        tools: JSON of the tools, in the API's form; None without.
        no_calls: the model must not call them.
    """

    model: str
    messages: Sequence[Message]
    max_tokens: int | None = None
    tools: bytes | None = None
    no_calls: bool = False


class Api(Protocol):
    """The wire format of one API.

    Attributes:
        dialect: its dialect.
        path: where requests go.
        count_path: where requests go that are only to be counted.
        limits: members that cap the answer, the one to try first before the others.
        free_choice: whether forbidding calls leaves the prompt cache alone.
    """

    dialect: Dialect
    path: str
    count_path: str
    limits: tuple[str, ...]
    free_choice: bool

    def request(self, call: Call) -> dict[str, object]:
        """The members of the request, but for the cap."""
        ...

    def counting(self, call: Call) -> dict[str, object]:
        """The members of a request that is only to be counted."""
        ...


class RemoteModel:
    """A model behind an HTTP API; implements `autocompact.ports.Model`.

    Attributes:
        name: the model's name.
        window: tokens it takes, its answer included; None if that is not known.
    """

    def __init__(
        self,
        name: str,
        *,
        api: Api,
        transport: Transport,
        window: int | None,
        extra: Mapping[str, object] | None,
    ) -> None:
        self.name = name
        self.window = window if window is not None else window_for(name)
        self._api = api
        self._transport = transport
        self._extra = dict(extra or {})
        # learned for the life of this object: one wasted request, not one for each summary
        self._refused: set[str] = set()
        self._counts = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, base_url={self._transport.base_url!r})"

    async def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
    ) -> ModelReply:
        """The reply to ``messages`` (valid, system prompt first); see `autocompact.ports.Model`.

        Raises:
            ModelError: and its kinds, saying what the provider said.
        """
        call = self._call(messages, tools=tools)
        # forbidding calls keeps the tools in the request, and with them the cached prefix; where it would change
        # the prefix, it is tried without first
        call = replace(call, max_tokens=max_tokens, no_calls=call.tools is not None and self._api.free_choice)
        reply = await self._ask(call)
        usage = reply.usage
        # the model called a tool instead of summarising: once more, and now forbidden
        if call.tools and not call.no_calls and not reply.text.strip() and _calls(reply):
            reply = await self._ask(replace(call, no_calls=True))
            # both were paid for
            usage = _sum(usage, reply.usage)
        return ModelReply(
            text=reply.text, usage=usage, stop_reason=reply.stop_reason, model=reply.model or self.name
        )

    async def stream(
        self, messages: Sequence[Message], *, max_tokens: int, tools: bytes | None = None
    ) -> AsyncGenerator[StreamEvent | Reply]:
        """The answer to ``messages`` (valid, system prompt first) as it comes, then the whole; tools may be called.

        Raises:
            ModelError: and its kinds, saying what the provider said.
        """
        call = replace(self._call(messages, tools=tools), max_tokens=max_tokens)
        while True:
            members = self._members(call)
            try:
                async with aclosing(
                    self._transport.stream(self._api.path, json.encode(members), dialect=self._api.dialect)
                ) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except ModelRefused as refusal:
                if not self._learns(refusal, members):
                    raise

    async def count(self, messages: Sequence[Message], *, tools: bytes | None = None) -> int:
        """Tokens of the request: by the provider's counting endpoint, else by an answer of 16 tokens at most.

        Raises:
            ModelError: the provider did not answer, or did not say.
        """
        call = self._call(messages, tools=tools)
        # after a first "no such endpoint" it is not asked again
        tokens = await self._counted(call) if self._counts else None
        if tokens is not None:
            return tokens
        reply = await self._ask(replace(call, max_tokens=PROBE_TOKENS))
        if reply.usage is None:
            raise ModelError(f"{self.name!r} does not report how many tokens a request takes")
        return reply.usage.prompt

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *failure: object) -> None:
        del failure
        await self.aclose()

    def _call(self, messages: Sequence[Message], *, tools: bytes | None) -> Call:
        some = tools is not None and json.is_array(tools.strip()) and json.items(tools, path="tools")
        return Call(model=self.name, messages=messages, tools=tools if some else None)

    async def _ask(self, call: Call) -> Reply:
        while True:
            members = self._members(call)
            try:
                return await self._transport.reply(
                    self._api.path, json.encode(members), dialect=self._api.dialect
                )
            except ModelRefused as refusal:
                if not self._learns(refusal, members):
                    raise

    def _members(self, call: Call) -> dict[str, object]:
        members = self._api.request(call)
        if call.max_tokens is not None:
            members[next((name for name in self._api.limits if name not in self._refused), "")] = (
                call.max_tokens
            )
        for name in self._refused:
            members.pop(name, None)
        # the user's own members go before everything that we learned
        members |= self._extra
        if members.get("stream") is not True:
            members.pop("stream_options", None)
        return members

    def _learns(self, refusal: ModelRefused, members: Mapping[str, object]) -> bool:
        """True if the request is refused for a member that it can do without, which is then left out from now on."""
        said = str(refusal)
        if refusal.status not in _BAD_REQUEST or not _UNSUPPORTED.search(said):
            return False
        # the last name of the cap is never dropped: without any, an answer would be as long as the model likes
        left = [name for name in self._api.limits if name not in self._refused]
        droppable = (*_OPTIONAL, *left[: len(left) - 1])
        named = (name for name in droppable if name in members and name not in self._extra)
        found = next((name for name in named if re.search(rf"\b{name}(?:ing)?\b", said)), None)
        if found is not None:
            self._refused.add(found)
        return found is not None

    async def _counted(self, call: Call) -> int | None:
        """The figure of the counting endpoint; None if there is none, or it does not take this request."""
        try:
            body = await self._transport.fetch(self._api.count_path, json.encode(self._api.counting(call)))
        except ModelRefused as refusal:
            # a wrong key is no missing endpoint
            if refusal.status in _NO_ACCESS:
                raise
            self._counts = refusal.status not in _NOT_THERE
            return None
        try:
            return _COUNTED.decode(body).input_tokens
        except msgspec.DecodeError:
            self._counts = False
            return None


class _Counted(msgspec.Struct, gc=False):
    input_tokens: int


_COUNTED = msgspec.json.Decoder(_Counted)


def _calls(reply: Reply) -> bool:
    return any(message.calls for message in reply.messages)


def _sum(first: Usage | None, second: Usage | None) -> Usage | None:
    """Sum of the usage of two requests."""
    if first is None or second is None:
        return first or second
    return Usage(prompt=first.prompt + second.prompt, completion=first.completion + second.completion)
