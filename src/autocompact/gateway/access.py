"""Who asks, and whether they may: access tokens of a file, access keys of the store, or the clients' own credentials.

A request with an access key passes three points: `Access.entering` (is the key valid, for this path), `Access.admitted` (is the model
allowed, is anything left of the budgets), and `Spending`, through which every answer of a provider goes, so that also what the
memory tools asked for, and what a client did not wait for, is counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import aiohttp
import msgspec

from autocompact.core.access import (
    NOTHING_SPENT,
    AccessKey,
    Denied,
    Reason,
    Scope,
    Spent,
    allows_model,
    denied_entry,
)
from autocompact.core.messages import Dialect, Usage
from autocompact.core.prices import Price, price_for
from autocompact.errors import AutocompactError, StoreError
from autocompact.gateway.config import Config
from autocompact.gateway.exchange import Exchange, Refusal, Refused
from autocompact.gateway.failures import note_failure
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.namespaces import is_access_token, namespace_of, namespace_of_key
from autocompact.gateway.relay import Head, UsageReader
from autocompact.ports import Clock, SystemClock
from autocompact.stores.access import AccessKeys, micros_of

_ERRORS = 400
_BYTES_A_TOKEN = 4
_MOST_EXPECTED = 200_000
"""Tokens that a request is taken for at most while it runs: pictures have many more bytes."""

_REPLY_TOKENS = 1_000
"""Tokens that a reply is taken for while it is not here; less where the request allows less."""
_CODES: Mapping[Reason, str] = {
    "unknown": "invalid_api_key",
    "expired": "invalid_api_key",
    "revoked": "invalid_api_key",
    "scope": "insufficient_permissions",
    "route": "insufficient_permissions",
    "model": "model_not_found",
    "price": "model_not_found",
    "requests": "rate_limit_exceeded",
    "tokens": "rate_limit_exceeded",
    "budget": "insufficient_quota",
    "running": "rate_limit_exceeded",
}
_KINDS: Mapping[Reason, str] = {
    "requests": "requests",
    "tokens": "tokens",
    "budget": "insufficient_quota",
    "running": "tokens",
}
"""OpenAI's ``type`` of what it says with status 429."""

log = logging.getLogger("autocompact.gateway")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a client that may come in has.

    Attributes:
        namespace: where its conversations are.
        key: its access key; None where it has another credential.
    """

    namespace: str
    key: AccessKey | None = None


class Access:
    """Lets clients in.

    Args:
        config: what they have to have.
        keys: access keys, where ``config`` asks for them; else None.
        metrics: counts what goes wrong.
        clock: says when a key expires.
    """

    def __init__(
        self, config: Config, *, keys: AccessKeys | None, metrics: Metrics, clock: Clock | None = None
    ) -> None:
        self._config = config
        self._metrics = metrics
        self._clock = clock or SystemClock()
        self._counting: dict[str, set[asyncio.Task[None]]] = {}
        self._running: dict[str, Spent] = {}
        self.keys = keys

    async def entering(self, exchange: Exchange, *, scope: Scope) -> Grant:
        """Whose a request is.

        Raises:
            Refused: the client may not come in.
            StoreError: its key cannot be looked up.
        """
        keys = self.keys
        # the operator's own tokens stand in a file: they need no database, and work while that is away
        if keys is None or is_access_token(exchange, config=self._config):
            namespace = namespace_of(exchange, config=self._config)
            if scope == "admin":
                raise Refused(
                    Refusal(status=404, message="this gateway asks for no access keys: see --access-keys")
                )
            return Grant(namespace=namespace)
        key = await keys.find(exchange.credential) if exchange.credential else None
        denied = denied_entry(key, now=self._clock.now(), scope=scope, route=exchange.path)
        if denied is not None:
            if key is not None:
                await keys.refuse(key, denied)
            raise Refused(refusal_of(denied))
        assert key is not None, "denied_entry denies who has none"
        return Grant(namespace=namespace_of_key(key, namespace_key=self._config.namespace_key), key=key)

    @asynccontextmanager
    async def admitted(
        self, grant: Grant, exchange: Exchange, *, body: bytes | None
    ) -> AsyncGenerator[Spending | None]:
        """Count a request that goes upstream within the block; what counts its answer, None where nothing does.

        Args:
            grant: the client's.
            exchange: its request.
            body: of it, without content encoding; None if it has none that is JSON.

        Raises:
            Refused: the model is not allowed, or named twice, or nothing is left of a budget.
            StoreError: it cannot be counted: nothing that is limited goes upstream uncounted.
        """
        keys, key = self.keys, grant.key
        if keys is None or key is None:
            yield None
            return
        # what the last answers took is written beside the requests; the budget is asked only once it is all there
        if counting := self._counting.get(key.id):
            # not `gather`, which would cancel the counting with the one request that waits for it
            await asyncio.wait(counting)
        if body:
            _check_one_model(body)
        asked = _asked(body) if exchange.method == "POST" else None
        model = price = None
        expected = NOTHING_SPENT
        if asked is not None:
            # one that is not allowed, if there is one: that is what the refusal names
            model = next((name for name in asked.names if not allows_model(key, name)), asked.names[0])
            price = self._price(asked.names)
            expected = asked.expected(price, sent=len(body or b""))
        # requests that run have spent nothing yet: without what they will take, a hundred at once would all pass the
        # same budget
        running = self._running.get(key.id, NOTHING_SPENT)
        self._running[key.id] = running.with_running(expected)
        try:
            denied = await keys.admit(key, model=model, is_priced=price is not None, running=running)
            if denied is not None:
                raise Refused(refusal_of(denied))
            spent = partial(self._spent, id=key.id, price=price)
            yield None if asked is None else Spending(spent, dialect=exchange.dialect)
        finally:
            self._running[key.id] = self._running[key.id].with_running(expected, times=-1)
            if self._running[key.id] == NOTHING_SPENT:
                del self._running[key.id]

    def _price(self, models: Iterable[str]) -> Price | None:
        """The highest price of the models; None if one has no known price."""
        found = [price_for(model, overrides=self._config.prices) if model else None for model in models]
        prices = [each.price for each in found if each is not None]
        if len(prices) < len(found):
            return None
        return max(prices, key=lambda price: price.input + price.output)

    def _spent(self, usage: Usage, *, id: str, price: Price | None) -> None:
        """Count what an answer took, in the background: it is whole already, or its client is gone."""
        assert self.keys is not None
        micros = micros_of(price, prompt=usage.prompt, completion=usage.completion) if price else 0
        work = self.keys.spend(id, tokens=usage.prompt + usage.completion, micros=micros)
        task = asyncio.create_task(self._counted(work))
        running = self._counting.setdefault(id, set())
        running.add(task)
        task.add_done_callback(partial(self._settled, id))

    def _settled(self, id: str, task: asyncio.Task[None]) -> None:
        running = self._counting[id]
        running.discard(task)
        if not running:
            del self._counting[id]

    async def _counted(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
        except StoreError as error:
            note_failure(error, "what a key used could not be counted", metrics=self._metrics)

    async def note(self, grant: Grant, action: str, *, detail: str) -> None:
        """Note in the audit log what a key did with its conversations."""
        if self.keys is not None and grant.key is not None:
            try:
                await self.keys.note(action, key=grant.key.id, actor=grant.key.id, detail=detail)
            except AutocompactError as error:
                note_failure(error, "an entry of the audit log could not be written", metrics=self._metrics)

    async def aclose(self) -> None:
        """Count what is not counted yet."""
        await asyncio.gather(*(task for running in self._counting.values() for task in running))


class Spending:
    """Counts what the answers to one request take.

    Args:
        spent: is called with the usage of each.
        dialect: of the answers, where a model gives them.
    """

    def __init__(self, spent: Callable[[Usage], None], *, dialect: Dialect | None) -> None:
        self._spent = spent
        self._dialect: Dialect = dialect or "openai_chat"

    def metered(self, response: aiohttp.ClientResponse, *, sent: int) -> aiohttp.ClientResponse:
        """The response, read along for its usage until it is closed.

        Args:
            response: of a provider.
            sent: bytes of the request's body.
        """
        if response.status >= _ERRORS:
            return response  # a provider takes nothing for an error
        streams = Head(response).streams
        reader = UsageReader(self._dialect, response, streams=streams)
        return cast(
            "aiohttp.ClientResponse",
            _Metered(response, reader, sent=sent, streams=streams, spent=self._spent),
        )


class _Metered:
    """A response whose bytes are read along; in everything else it is the response itself."""

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        reader: UsageReader,
        *,
        sent: int,
        streams: bool,
        spent: Callable[[Usage], None],
    ) -> None:
        self._response = response
        self._reader = reader
        self._sent = sent
        self._streams = streams
        self._spent = spent
        self._bytes = self._events = 0
        self._is_closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._response, name)

    @property
    def content(self) -> _Metered:
        """Itself: the body is read here."""
        return self

    async def readany(self) -> bytes:
        """See `aiohttp.StreamReader.readany`."""
        chunk = await self._response.content.readany()
        self._bytes += len(chunk)
        # a mark that two chunks share is missed: this is the estimate for an answer that nobody read to its end
        self._events += chunk.count(b"data:")
        self._reader.feed(chunk)
        return chunk

    def at_eof(self) -> bool:
        """See `aiohttp.StreamReader.at_eof`."""
        return self._response.content.at_eof()

    def close(self) -> None:
        """Close the response, and count what it took."""
        # closing is the end that every answer comes to, and some come to it twice
        if not self._is_closed:
            self._is_closed = True
            self._spent(self._usage())
        self._response.close()

    def _usage(self) -> Usage:
        """What was reported; an estimate where it was not, or where nobody waited for the report."""
        reported = self._reader.usage()
        # an event brings a token or more; the text of an answer in one piece is most of it
        written = self._events if self._streams else self._bytes // _BYTES_A_TOKEN
        if reported is None:
            return Usage(prompt=self._sent // _BYTES_A_TOKEN, completion=written)
        # Anthropic reports at the beginning of a stream too, with a completion of a token or so; and the client left
        # before the end
        if self._streams and not self._response.content.at_eof():
            return Usage(prompt=reported.prompt, completion=max(reported.completion, written))
        return reported


class _Asked(msgspec.Struct):
    """What a request says of what it may take.

    Attributes:
        model: that answers.
        models: that answer where it does not, with routers as OpenRouter.
        max_tokens: of the reply at most, as each API names it.
    """

    model: Any = ""
    models: Any = None
    max_tokens: Any = None
    max_completion_tokens: Any = None
    max_output_tokens: Any = None

    @property
    def names(self) -> tuple[str, ...]:
        """Of all models that may answer, the first one first; "" for what is no name."""
        others: list[object] = [] if self.models is None else [self.models]
        if isinstance(self.models, list):
            others = cast("list[object]", self.models)
        return tuple(each if isinstance(each, str) else "" for each in (self.model, *others))

    def expected(self, price: Price | None, *, sent: int) -> Spent:
        """What the request of so many bytes will probably take."""
        limits = (self.max_tokens, self.max_completion_tokens, self.max_output_tokens)
        reply = min([_REPLY_TOKENS, *(each for each in limits if isinstance(each, int) and each > 0)])
        prompt = min(sent // _BYTES_A_TOKEN, _MOST_EXPECTED)
        micros = micros_of(price, prompt=prompt, completion=reply) if price else 0
        return Spent(tokens=prompt + reply, micros=micros)


_ASKED = msgspec.json.Decoder(_Asked)
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_MODEL = b'"model"'
_ESCAPED = b"\\u006"
"""How a letter of ``model`` begins that is written as an escape."""


def _check_one_model(body: bytes) -> None:
    """Let no request through that names its model twice: a provider may take the one that was not looked at.

    Raises:
        Refused: it does.
    """
    found = _mentions(body)
    # bytes first: nearly every request names it once, and needs no second parse
    if found > 1:
        try:
            members = _MEMBERS.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return  # no JSON: the provider says so, and takes no model from it
        # of a member that stands there twice only the last one is left
        if found - sum(_mentions(bytes(value)) for value in members.values()) > 1:
            raise Refused(
                Refusal(status=400, message='the request has the member "model" twice: name one model')
            )


def _mentions(text: bytes) -> int:
    return text.count(_MODEL) + text.count(_ESCAPED)


def _asked(body: bytes | None) -> _Asked:
    try:
        return _ASKED.decode(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Asked()


def refusal_of(denied: Denied) -> Refusal:
    """The answer to a request that is not let in, as providers word it."""
    headers: list[tuple[bytes, bytes]] = []
    if denied.retry_after is not None:
        headers.append((b"retry-after", str(denied.retry_after).encode()))
    if denied.reason == "budget":
        headers.append((b"x-should-retry", b"false"))  # SDKs would try again at once
    if denied.reason == "unknown":
        headers.append((b"www-authenticate", b'Bearer realm="autocompact"'))
    return Refusal(
        status=denied.status,
        message=denied.message,
        code=_CODES[denied.reason],
        kind=_KINDS.get(denied.reason),
        headers=headers,
    )
