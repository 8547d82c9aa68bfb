"""The ASGI application: ``/v1/…`` goes upstream on the shortest path, ``/autocompact/…`` is administration.

A request that a model answers is read whole and goes to `Handler`; any other below ``/v1`` is passed through piece by
piece.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, Protocol

import aiohttp

from autocompact.errors import InvalidInput, StoreError
from autocompact.gateway.access import Access, Spending
from autocompact.gateway.admin import Administration
from autocompact.gateway.client import CLIENT, Client
from autocompact.gateway.config import Config
from autocompact.gateway.exchange import (
    UNLOGGED,
    ClientGone,
    Exchange,
    Refusal,
    Refused,
    Scope,
    host_name,
    is_administration,
    is_foreign_origin,
    is_visit,
    malformed,
    too_large,
    unavailable,
    without_encoding,
)
from autocompact.gateway.failures import note_failure
from autocompact.gateway.handler import Handler
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.provider_checks import ProviderChecks
from autocompact.gateway.relay import Event, Head, Receive, Send, relay, while_connected
from autocompact.gateway.retention import Retention
from autocompact.gateway.sharing import check_body, check_path
from autocompact.gateway.tracing import NoTraces, Tracer
from autocompact.gateway.turns import Turns
from autocompact.gateway.upstream import Upstream
from autocompact.models.vocabulary import default_counter
from autocompact.ports import Clock, ConversationStore, Model, Workers
from autocompact.runtime.off_loop import off_loop
from autocompact.stores.access import AccessKeys

_NO_METHOD = 405
_FORWARDED = (b"x-autocompact-action", b"forwarded")
_REFUSED = (b"x-autocompact-action", b"refused")

log = logging.getLogger("autocompact.gateway")


class Background(Protocol):
    """Something that goes on while the server runs."""

    def start(self) -> None:
        """Begin, within the server's event loop."""
        ...

    async def aclose(self) -> None:
        """End it."""
        ...


class Gateway:
    """The application. Its lifespan opens the way upstream, and closes the store in the end.

    Args:
        config: how it runs.
        store: where conversations are kept.
        summaries: the model that makes summaries; None makes them offline.
        clock: what time it is, for expiry of conversations and of the provider's cache.
        workers: other processes on the same store, which prepare compactions and delete what has expired, where there are
            any; None does all of it here.
        keys: access keys, where ``config`` asks for them.
        tracer: makes spans of requests; None makes none.

    Attributes:
        retention: removes what has expired.
        turns: prepares requests; its conversations are those of the gateway.
        metrics: what it counts.
    """

    def __init__(
        self,
        config: Config,
        *,
        store: ConversationStore,
        summaries: Model | None = None,
        clock: Clock | None = None,
        workers: Workers | None = None,
        keys: AccessKeys | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self.config = config
        self.metrics = Metrics(store)
        asked = _keys_asked_for(config, keys)
        self._access = Access(config, keys=asked, metrics=self.metrics, clock=clock)
        self.turns = Turns(
            config,
            store=store,
            summaries=summaries,
            metrics=self.metrics,
            clock=clock,
            workers=workers,
            tracer=tracer,
        )
        self.retention = Retention(
            config,
            conversations=self.turns.conversations,
            metrics=self.metrics,
            clock=clock,
            workers=workers,
        )
        checks = self._provider_checks() if config.check_provider_compaction else None
        self._upstream = Upstream(config)
        self._handler = Handler(
            config,
            turns=self.turns,
            upstream=self._upstream,
            checks=checks,
            metrics=self.metrics,
            tracer=tracer or NoTraces(),
        )
        self._administration = Administration(
            config,
            access=self._access,
            turns=self.turns,
            retention=self.retention,
            metrics=self.metrics,
        )
        self._running = 0
        self._beside: list[Background] = []

    def _provider_checks(self) -> ProviderChecks:
        turns = self.turns
        return ProviderChecks(
            turns.conversations,
            compactor=lambda request, namespace: turns.compactors.of(request, namespace=namespace),
            lookup=turns.archived,
            metrics=self.metrics,
        )

    def run_beside(self, work: Background) -> None:
        """Start ``work`` with the server, and end it with the server."""
        self._beside.append(work)

    async def __call__(self, scope: Scope, *channels: Any) -> None:
        """One connection's request, or the lifespan; ``channels`` are ASGI's ``receive`` and ``send``."""
        receive: Receive
        send: Send
        receive, send = channels
        match scope["type"]:
            case "http":
                await self._http(scope, receive=receive, send=send)
            case "lifespan":
                await self._lifespan(receive, send)
            case _:
                await send({"type": "websocket.close", "code": 1000})

    async def open(self) -> None:
        """Open the store before the first request does, so that one that cannot be used is said at the start.

        Raises:
            StoreError: it cannot be opened. The gateway is closed then.
        """
        try:
            await self.turns.conversations.store.namespaces()
        except BaseException:
            await self.turns.aclose()
            raise

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        # The last one is ended first, each whatever became of the others: counters and conversations still need the store,
        # which `turns` closes once all that waits is written.
        async with AsyncExitStack() as ending:
            for work in (self.turns, self.retention, self._access, self._upstream):
                ending.push_async_callback(work.aclose)
            # it takes a moment, and the first client should not have to wait for it
            await off_loop(default_counter)
            # within the server's loop: aiohttp's session belongs to the one it is made in
            await self._upstream.start()
            self.retention.start()
            for work in self._beside:
                work.start()
                ending.push_async_callback(work.aclose)
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: Scope, *, receive: Receive, send: Send) -> None:
        exchange, client = Exchange.of(scope, configured=self.config.upstreams), _client(scope)
        try:
            await self._answered(exchange, scope, client=client, receive=receive, sending=_Sending(send))
        except asyncio.CancelledError:
            # by the server, whose time to drain is over: it would log where in the code each request stood
            if client is None:
                raise
            log.warning("a request was cut off: the time to drain is over", extra={"path": exchange.path})
            client.close()

    async def _answered(
        self, exchange: Exchange, scope: Scope, *, client: Client | None, receive: Receive, sending: _Sending
    ) -> None:
        self._running += 1
        try:
            self._check(exchange)
            if is_administration(exchange.path):
                await self._administration.answer(exchange, scope, receive=receive, send=sending)
            else:
                await self._served(exchange, client=client, receive=receive, send=sending)
        except Refused as refused:
            log.warning("a request was refused", extra=refused.log_data(exchange.path))
            await self._refuse(refused.refusal, exchange, send=sending)
        except StoreError as error:
            note_failure(error, "a request could not be admitted", metrics=self.metrics)
            message = "the gateway cannot look up access keys now: try again"
            await self._refuse(unavailable(message), exchange, send=sending)
        except ClientGone:
            log.info("a client went away before its request was here whole")
        except Exception as error:
            refusal = self._broken(error)
            if not sending.begun:
                await self._refuse(refusal, exchange, send=sending)
            elif client is None:
                raise  # the server closes the connection: the client must not take this for the end
            else:
                client.close()
        finally:
            self._running -= 1

    async def _served(
        self, exchange: Exchange, *, client: Client | None, receive: Receive, send: Send
    ) -> None:
        """A request that goes upstream."""
        unlogged = exchange.method == "POST" and exchange.path in UNLOGGED
        if exchange.dialect is not None or unlogged:
            await self._handled(exchange, client=client, receive=receive, send=send)
        else:
            await self._passed(exchange, client=client, receive=receive, send=send)

    def _broken(self, error: Exception) -> Refusal:
        """The answer after something went wrong in the middle of a request."""
        kind = type(error).__name__
        if _is_broken_upstream(error):
            log.warning("an upstream broke off", extra={"reason": kind})
            return Refusal(status=502, message="the upstream broke off")
        self.metrics.failed(kind)
        log.error("a request failed", exc_info=error)
        return Refusal(status=500, message=f"the gateway failed ({kind}): its log says more")

    async def _refuse(self, refusal: Refusal, exchange: Exchange, *, send: Send) -> None:
        self.metrics.refused(refusal.status)
        body = refusal.body(exchange.provider)
        length = str(len(body)).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", length),
            _REFUSED,
            *refusal.headers,
        ]
        await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _check(self, exchange: Exchange) -> None:
        """What can be refused by the head alone."""
        hosts = sum(name == b"host" for name, _ in exchange.headers)
        if unclear := malformed(exchange.method, exchange.raw_path, hosts=hosts):
            status, message = unclear
            allow = [(b"allow", b"DELETE, GET, POST")] if status == _NO_METHOD else []
            raise Refused(Refusal(status=status, message=message, headers=allow))
        name = host_name(exchange.header(b"host"))
        if "*" not in self.config.hosts and name not in self.config.hosts:
            raise Refused(
                Refusal(status=403, message=f"the gateway is not known as {name!r}: see --allow-host")
            )
        # a link leads here from anywhere: from a document, a message, a list of bookmarks
        if is_foreign_origin(exchange.headers) and not is_visit(exchange):
            raise Refused(Refusal(status=403, message="web pages of other sites may not use the gateway"))
        if is_administration(exchange.path):
            return
        if not exchange.path.startswith("/v1/"):
            raise Refused(
                Refusal(status=404, message=f"there is nothing at {exchange.path!r}, only below /v1")
            )
        # this request is counted already
        if self._running > self.config.limits.concurrent:
            busy = "too many requests are running at the same time: try again in a second"
            raise Refused(unavailable(busy, seconds=1))

    # What is only forwarded

    async def _passed(
        self, exchange: Exchange, *, client: Client | None, receive: Receive, send: Send
    ) -> None:
        grant = await self._access.entering(exchange, scope="models")
        if self.config.upstream_keys:
            check_path(exchange)
        body: bytes | AsyncIterator[bytes] | None = _pieces(receive) if exchange.has_body else None
        read = None
        if body is not None and self.config.upstream_keys and not _is_form(exchange):
            body = await _whole(exchange, client=client, receive=receive, most=self.config.limits.body_bytes)
            read = without_encoding(exchange, body, most=self.config.limits.body_bytes)[1]
            check_body(read)
        async with self._access.admitted(grant, exchange, body=read) as spending:
            self.metrics.passed()
            response = await self._upstream.send(_metered(exchange, spending), body)
            try:
                passing = relay(Head(response), send=send, ours=(_FORWARDED,), reader=None)
                await while_connected(passing, client=client, receive=receive)
            finally:
                response.close()

    # What is read whole

    async def _handled(
        self, exchange: Exchange, *, client: Client | None, receive: Receive, send: Send
    ) -> None:
        grant = await self._access.entering(exchange, scope="models")
        if self.config.upstream_keys and exchange.dialect is None:
            check_path(exchange)
        body = await _whole(exchange, client=client, receive=receive, most=self.config.limits.body_bytes)
        read = body
        if grant.key is not None:
            read = without_encoding(exchange, body, most=self.config.limits.body_bytes)[1]
        async with self._access.admitted(grant, exchange, body=read) as spending:
            exchange = _metered(exchange, spending)
            await self._handler.answer(
                exchange, body, namespace=grant.namespace, client=client, receive=receive, send=send
            )


def _metered(exchange: Exchange, spending: Spending | None) -> Exchange:
    """The request with what counts its answers."""
    return exchange if spending is None else replace(exchange, metered=spending.metered)


class _Sending:
    """Sends, and knows whether the response has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def __call__(self, event: Event) -> None:
        self.begun = True
        await self._send(event)


def _client(scope: Scope) -> Client | None:
    """The client, where it is our server that tells."""
    extensions: Mapping[str, Any] = scope.get("extensions") or {}
    return extensions.get(CLIENT)


async def _pieces(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ClientGone
        more = event.get("more_body", False)
        if piece := event.get("body", b""):
            yield piece


async def _whole(exchange: Exchange, *, client: Client | None, receive: Receive, most: int) -> bytes:
    length = exchange.header(b"content-length")
    if length.isdigit() and int(length) > most:
        raise Refused(too_large(most))
    if client is not None and client.collects:
        return await client.body()
    pieces: list[bytes] = []
    size = 0
    async for piece in _pieces(receive):
        pieces.append(piece)
        size += len(piece)
        # chunked: no length said so before
        if size > most:
            raise Refused(too_large(most))
    return b"".join(pieces)


def _is_form(exchange: Exchange) -> bool:
    """True for an upload, which brings its files along."""
    return exchange.header(b"content-type").strip().lower().startswith(b"multipart/form-data")


def _is_broken_upstream(error: Exception) -> bool:
    return isinstance(error, aiohttp.ClientError | TimeoutError | ConnectionError)


def _keys_asked_for(config: Config, keys: AccessKeys | None) -> AccessKeys | None:
    """The access keys, where ``config`` asks for them.

    Raises:
        InvalidInput: there is no database to keep them in.
    """
    if config.access_keys and keys is None:
        raise InvalidInput(
            "access keys are kept in a database, and this gateway has none: name one with --db"
        )
    return keys if config.access_keys else None
