"""The ASGI application: ``/v1/…`` goes upstream on the shortest path, ``/autocompact/…`` is administration.

A request that a model answers is read whole, prepared by `Turns`, and forwarded; any other below ``/v1`` is passed
through piece by piece. What fails on our side never keeps a request from going upstream as it came, unless the
gateway is told to fail closed.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from autocompact.compactor.compactor import ConversationStore
from autocompact.core.messages import Dialect
from autocompact.core.plurals import plural
from autocompact.errors import IncompressibleContext, InvalidRequest, StoreError, log_data
from autocompact.gateway.admin import Administration
from autocompact.gateway.client import CLIENT, Client
from autocompact.gateway.config import Config
from autocompact.gateway.encoding import without_encoding
from autocompact.gateway.exchange import (
    Exchange,
    Header,
    Scope,
    is_administration,
    is_foreign_origin,
    malformed,
)
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.namespaces import namespace_of
from autocompact.gateway.refusals import ClientGone, Refusal, Refused, too_large
from autocompact.gateway.relay import Event, Head, Receive, Send, UsageReader, plain, relay, while_connected
from autocompact.gateway.retention import Retention
from autocompact.gateway.rounds import Rounds, readable
from autocompact.gateway.sharing import check_body, check_path
from autocompact.gateway.turns import Turn, Turns
from autocompact.gateway.upstream import First, Upstream
from autocompact.models.overflow import is_overflow
from autocompact.off_loop import LARGE_BODY, off_loop, off_loop_if
from autocompact.ports import Clock, Model
from autocompact.vocabulary import default_counter
from autocompact.wire import Begun, Request, parse_request

if TYPE_CHECKING:
    from aiohttp import ClientResponse

_OK, _NO_METHOD, _FAILED = 200, 405, 500
_TOOL_ERRORS = frozenset({400, 404, 422, 500, 501})
"""What servers answer to tools that they do not know: OpenRouter 404, llama.cpp 500, most others 400."""

_TOOLS = re.compile(rb"tool|function", re.IGNORECASE)

_FORWARDED = (b"x-autocompact-action", b"forwarded")
_UNPREPARED = (b"x-autocompact-action", b"failed-open")
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
        clock: what time it is, for expiry.

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
    ) -> None:
        self.config = config
        self.metrics = Metrics()
        self.turns = Turns(config, store=store, summaries=summaries, metrics=self.metrics)
        self.retention = Retention(
            config, conversations=self.turns.conversations, metrics=self.metrics, clock=clock
        )
        self._upstream = Upstream(config)
        self._running = 0
        self._beside: list[Background] = []
        self._administration = Administration(self)

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
        await off_loop(
            default_counter
        )  # it takes a moment, and the first client should not have to wait for it
        await self._upstream.start()
        self.retention.start()
        for work in self._beside:
            work.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for work in self._beside:
            await work.aclose()
        await self._upstream.aclose()
        await self.retention.aclose()
        await self.turns.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: Scope, *, receive: Receive, send: Send) -> None:
        exchange = Exchange.of(scope, configured=self.config.upstreams)
        client = _client(scope)
        sending = _Sending(send)
        self._running += 1
        try:
            self._check(exchange)
            if is_administration(exchange.path):
                await self._administration.answer(exchange, scope, receive=receive, send=sending)
            elif exchange.dialect is not None:
                await self._answered(exchange, exchange.dialect, client=client, receive=receive, send=sending)
            else:
                await self._passed(exchange, client=client, receive=receive, send=sending)
        except Refused as refused:
            await self._refuse(refused.refusal, exchange, send=sending)
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
        host = exchange.header(b"host").decode("latin-1").lower()
        name = host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
        if "*" not in self.config.hosts and name not in self.config.hosts:
            raise Refused(
                Refusal(status=403, message=f"the gateway is not known as {name!r}: see --allow-host")
            )
        if is_foreign_origin(exchange.headers):
            raise Refused(Refusal(status=403, message="web pages of other sites may not use the gateway"))
        if is_administration(exchange.path):
            return
        if not exchange.path.startswith("/v1/"):
            raise Refused(
                Refusal(status=404, message=f"there is nothing at {exchange.path!r}, only below /v1")
            )
        if self._running > self.config.limits.concurrent:
            busy = "too many requests are running at the same time: try again in a second"
            raise Refused(Refusal(status=503, message=busy, headers=[(b"retry-after", b"1")]))

    # What is only forwarded

    async def _passed(
        self, exchange: Exchange, *, client: Client | None, receive: Receive, send: Send
    ) -> None:
        namespace_of(exchange, config=self.config)
        if self.config.upstream_keys:
            check_path(exchange)
        body = _pieces(receive) if exchange.has_body else None
        response = await self._upstream.send(exchange, body)
        try:
            passing = relay(Head(response), send=send, ours=(_FORWARDED,), reader=None)
            await while_connected(passing, client=client, receive=receive)
        finally:
            response.close()

    # What a model answers

    async def _answered(
        self, exchange: Exchange, dialect: Dialect, *, client: Client | None, receive: Receive, send: Send
    ) -> None:
        namespace = namespace_of(exchange, config=self.config)
        most = self.config.limits.body_bytes
        body = await _whole(exchange, client=client, receive=receive, most=most)
        begun = time.perf_counter()
        exchange, body = without_encoding(exchange, body, most=most)
        if self.config.upstream_keys and dialect == "openai_responses":
            check_body(body)
        earlier = tuple(self.turns.conversations.earlier(namespace))
        request = await off_loop_if(
            len(body) > LARGE_BODY, partial(self._parsed, body, dialect=dialect, earlier=earlier)
        )
        first = First(self._upstream, exchange, body=body)
        try:
            turn, ours = await self._prepared(exchange, request, body=body, namespace=namespace, first=first)
            self.metrics.requested(
                dialect, action=turn.action, seconds=(first.at or time.perf_counter()) - begun
            )
            work = self._exchanged(
                exchange, turn, request=request, namespace=namespace, ours=ours, send=send, first=first
            )
            await while_connected(work, client=client, receive=receive)
        finally:
            first.close()

    def _parsed(self, body: bytes, *, dialect: Dialect, earlier: Sequence[Begun]) -> Request | None:
        """The request; None for one that we cannot read: the provider says what is wrong with it."""
        most = self.config.limits.messages
        try:
            request = parse_request(body, dialect=dialect, earlier=earlier)
            too_many = request.messages.are_more_than(most)
        except InvalidRequest as error:
            if isinstance(error.__cause__, RecursionError):
                raise Refused(Refusal(status=400, message="the request is nested too deeply")) from None
            return None
        if too_many:
            raise Refused(
                Refusal(
                    status=413,
                    message=f"the request has {plural(len(request.raws), 'message')}, allowed are {most:,}",
                )
            )
        return request

    async def _prepared(
        self, exchange: Exchange, request: Request | None, *, body: bytes, namespace: str, first: First
    ) -> tuple[Turn, Sequence[Header]]:
        """What goes upstream. Where that is sure to be the request itself, it goes while the rest is still to do."""
        if request is None:
            return Turn(body=body), (_FORWARDED,)
        try:
            recognised = await self.turns.recognised(request, namespace=namespace, client=exchange.program)
            if recognised is None:
                return Turn(body=body), (_FORWARDED,)
            if recognised.goes_first:
                await first.send()
            turn = await self.turns.prepare(recognised)
            if (
                first.is_sent and turn.body is not body
            ):  # somebody compacted the conversation at that very moment
                turn = replace(turn, body=body, action="forwarded", load=None, memory=None)
        except InvalidRequest:
            return Turn(body=body), (_FORWARDED,)
        except Exception as error:  # noqa: BLE001 - whatever fails here must not cost the client its answer
            self._failed(error)
            turn = None if first.is_sent else await self._alone(request, namespace=namespace, error=error)
            if turn is None:
                return Turn(body=body), (_UNPREPARED,)
        return turn, tuple(turn.headers())

    async def _alone(self, request: Request, *, namespace: str, error: Exception) -> Turn | None:
        """The request compacted without the store, if that is what failed and the request would not fit; else None."""
        if not isinstance(error, StoreError):
            return None
        try:
            turn = await self.turns.alone(request, namespace=namespace)
        except Exception as another:  # noqa: BLE001 - then it goes upstream as it came
            self.metrics.failed(type(another).__name__)
            log.warning("a request could not be compacted without the store", extra=log_data(another))
            return None
        return turn if turn.action == "compacted" else None

    def _failed(self, error: Exception) -> None:
        """Count it; raises `Refused` where the gateway is told to fail closed."""
        kind = type(error).__name__
        self.metrics.failed(kind)
        log.warning("a request could not be prepared", extra=log_data(error))
        if not self.config.fail_closed:
            return
        if isinstance(error, IncompressibleContext):
            raise Refused(Refusal(status=400, message=str(error), code="context_length_exceeded")) from error
        raise Refused(
            Refusal(
                status=503, message=f"the gateway could not compact this conversation ({kind}): try again"
            )
        ) from error

    async def _exchanged(
        self,
        exchange: Exchange,
        turn: Turn,
        *,
        request: Request | None,
        namespace: str,
        ours: Sequence[Header],
        send: Send,
        first: First,
    ) -> None:
        """Send it, once more in a smaller form if it was too large, and relay the answer."""
        response = await (first.answer() if first.is_sent else self._sent(exchange, turn))
        try:
            head = Head(response)
            smaller = await self._smaller(
                exchange, head, request=request, namespace=namespace, sent=turn.body
            )
            if smaller is not None:
                response.close()
                turn, ours = smaller, tuple(smaller.headers())
                response = await self._sent(exchange, turn)
                head = Head(response)
            if turn.memory is not None and request is not None and _may_refuse_tools(head):
                response.close()
                turn, response = await self._without_tools(exchange, request, head=head, namespace=namespace)
                head = Head(response)
            if turn.memory is not None:
                await self._in_rounds(exchange, turn, head=head, ours=ours, send=send)
                return
            reader = None
            if turn.kept is not None and exchange.dialect is not None:
                reader = UsageReader(exchange.dialect, response, streams=head.streams)
            await relay(head, send=send, ours=ours, reader=reader)
            if reader is not None and (usage := reader.usage()) is not None:
                turn.report(usage)
        finally:
            response.close()

    # With tools of ours

    async def _sent(self, exchange: Exchange, turn: Turn) -> ClientResponse:
        """The answer to the request, which brings the memory tools if the turn has them."""
        asking = exchange if turn.memory is None else readable(exchange)
        return await self._upstream.send(asking, turn.body, written=turn.written)

    async def _without_tools(
        self, exchange: Exchange, request: Request, *, head: Head, namespace: str
    ) -> tuple[Turn, ClientResponse]:
        """The same once more without our tools; if that is taken, they are not offered with the like of it again."""
        try:
            without = await self.turns.without_memory(request, namespace=namespace)
        except Exception as error:  # noqa: BLE001 - then it goes upstream as it came
            self.metrics.failed(type(error).__name__)
            log.warning("a request could not be prepared without the memory tools", extra=log_data(error))
            without = Turn(body=request.raw)
        response = await self._sent(exchange, without)
        if response.status == _OK and _names_tools(head):
            self.turns.remember_refused(request)
            log.warning("a server refused the memory tools", extra={"model": request.model})
        return without, response

    async def _in_rounds(
        self, exchange: Exchange, turn: Turn, *, head: Head, ours: Sequence[Header], send: Send
    ) -> None:
        assert turn.memory is not None, "only a turn with tools has rounds"
        asking = readable(exchange)
        rounds = Rounds(
            turn.memory, exchange, ask=lambda body: self._upstream.send(asking, body), metrics=self.metrics
        )
        usage = await rounds.relay(head, send=send, ours=ours)
        if usage is not None:
            turn.report(usage)

    async def _smaller(
        self, exchange: Exchange, head: Head, *, request: Request | None, namespace: str, sent: bytes
    ) -> Turn | None:
        """What to send instead, if the provider says that the request was too large."""
        told = await head.look()
        overflow = is_overflow(head.response.status, told) if told else None
        if overflow is None or request is None:
            return None
        try:
            return await self.turns.shrunk(
                request, namespace=namespace, overflow=overflow, sent=sent, client=exchange.program
            )
        except Exception as error:  # noqa: BLE001 - then the client gets the provider's own answer
            self.metrics.failed(type(error).__name__)
            log.warning("a retry could not be prepared", extra=log_data(error))
            return None


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


def _may_refuse_tools(head: Head) -> bool:
    status = head.response.status
    return status in _TOOL_ERRORS and is_overflow(status, plain(head.held, head.response)) is None


def _names_tools(head: Head) -> bool:
    """Whether an error is about tools; one that may pass by itself has to say so."""
    return head.response.status != _FAILED or _TOOLS.search(plain(head.held, head.response)) is not None


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
        if size > most:
            raise Refused(too_large(most))
    return b"".join(pieces)


def _is_broken_upstream(error: Any) -> bool:
    import aiohttp

    return isinstance(error, aiohttp.ClientError | TimeoutError | ConnectionError)
