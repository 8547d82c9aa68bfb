"""A request that a model answers, from its last byte to the last one of its answer: recognise, prepare, forward, learn.

=========  ==================================================================  ============================
recognise  which conversation the request continues, by what it begins with    `Turns.recognise`
prepare    append what is new, decide, render the context                      `Turns.prepare`
forward    send it, once more where the provider refuses it, relay the answer  `Upstream.send`, `relay`
learn      what the next request needs: these bytes, and the reported usage    `Turns.learn`
=========  ==================================================================  ============================

What fails on our side never keeps a request from going upstream as it came, unless the gateway is told to fail closed.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial

import aiohttp

from autocompact.core.messages import Dialect, Usage
from autocompact.core.plurals import plural
from autocompact.errors import CompactionRunning, IncompressibleContext, InvalidRequest, StoreError
from autocompact.gateway.client import Client
from autocompact.gateway.config import Config
from autocompact.gateway.exchange import (
    COMPACT,
    COUNTING,
    UNLOGGED,
    Exchange,
    Header,
    Refusal,
    Refused,
    unavailable,
    without_encoding,
)
from autocompact.gateway.failures import note_failure
from autocompact.gateway.memory_tools import Memory
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.native import asks_now
from autocompact.gateway.provider_checks import ProviderChecks
from autocompact.gateway.relay import Head, Receive, Send, UsageReader, plain, relay, while_connected
from autocompact.gateway.rounds import Rounds, readable
from autocompact.gateway.sharing import check_body
from autocompact.gateway.tracing import Note, Tracer
from autocompact.gateway.turns import Turn, Turns, as_sent
from autocompact.gateway.upstream import Upstream
from autocompact.models.overflow import Overflow, is_overflow
from autocompact.runtime.off_loop import LARGE_BODY, off_loop_if
from autocompact.wire import EarlierRequest, Request, parse_request

_OK, _FAILED = 200, 500
_TOOL_ERRORS = frozenset({400, 404, 422, 500, 501})
"""What servers answer to tools that they do not know: OpenRouter 404, llama.cpp 500, most others 400."""

_TOOLS = re.compile(rb"tool|function", re.IGNORECASE)

log = logging.getLogger("autocompact.gateway")


class Handler:
    """Answers the requests that a model answers.

    Args:
        config: how the gateway runs.
        turns: recognises and prepares.
        upstream: the way to the providers.
        checks: what is done for conversations that their provider compacts; None leaves them alone.
        metrics: counts what happens.
        tracer: makes spans.
    """

    def __init__(
        self,
        config: Config,
        *,
        turns: Turns,
        upstream: Upstream,
        checks: ProviderChecks | None,
        metrics: Metrics,
        tracer: Tracer,
    ) -> None:
        self._config = config
        self._turns = turns
        self._upstream = upstream
        self._checks = checks
        self._metrics = metrics
        self._tracer = tracer

    async def answer(
        self,
        exchange: Exchange,
        body: bytes,
        *,
        namespace: str,
        client: Client | None,
        receive: Receive,
        send: Send,
    ) -> None:
        """Answer one request, of a model, for the count of its tokens, or for a compaction alone.

        Args:
            exchange: its head.
            body: of it, whole, as it came.
            namespace: the client's.
            client: the client, where it is our server that tells; a client that goes away ends the request upstream.
            receive: of ASGI.
            send: of ASGI.

        Raises:
            Refused: the answer is an error of ours.
        """
        with self._tracer.span("request", kind="server", headers=exchange.headers) as note:
            work = await self._work(exchange, body, namespace=namespace, send=send, note=note)
            await while_connected(work, client=client, receive=receive)

    async def _work(
        self, exchange: Exchange, body: bytes, *, namespace: str, send: Send, note: Note
    ) -> Coroutine[object, object, None]:
        """Prepare the request; what is left to do then: forward it, relay the answer and learn from it."""
        begun = time.perf_counter()
        dialect = exchange.dialect or UNLOGGED[exchange.path]
        exchange, body = without_encoding(exchange, body, most=self._config.limits.body_bytes)
        if self._config.upstream_keys:
            check_body(body)
        request = await self._parse(body, dialect=dialect, namespace=namespace)
        if request is not None:
            await self._turns.compactors.load_vocabulary(request.model)
        if (checks := self._concerned(exchange, request)) is not None and request is not None:
            turn = await checks.prepare(request, namespace=namespace, alone=exchange.path == COMPACT)
            work = checks.exchange(turn, ask=partial(self._upstream.send, exchange), send=send)
        elif _adds_nothing(exchange, request):
            turn = await self._as_sent(exchange, request, body=body, namespace=namespace)
            work = self._forward(exchange, turn, request=None, namespace=namespace, send=send)
        else:
            turn = await self._prepare(exchange, request, body=body, namespace=namespace)
            work = self._forward(exchange, turn, request=request, namespace=namespace, send=send)
        if exchange.path in COUNTING:
            self._metrics.passed()
        else:
            self._metrics.requested(dialect, action=turn.action, seconds=time.perf_counter() - begun)
        note("gen_ai.operation.name", "chat")
        note("gen_ai.request.model", "" if request is None else request.model)
        note("autocompact.action", turn.action)
        return work

    def _concerned(self, exchange: Exchange, request: Request | None) -> ProviderChecks | None:
        """The checks, if the provider compacts this conversation by itself."""
        checks, alone = self._checks, exchange.path == COMPACT
        if checks is None or request is None or exchange.path in COUNTING:
            return None
        return checks if checks.concerns(request, alone=alone) else None

    async def _as_sent(
        self, exchange: Exchange, request: Request | None, *, body: bytes, namespace: str
    ) -> Turn:
        """A request that adds nothing to its conversation, with the context of that; as it came where none is known."""
        turn = Turn(body=body)
        try:
            if request is not None:
                with_tools, conversations = exchange.path != COMPACT, self._turns.conversations
                sent = await as_sent(
                    request, conversations=conversations, namespace=namespace, with_tools=with_tools
                )
                turn = turn if sent is body else Turn(body=sent, action="compacted")
        except Exception as error:  # noqa: BLE001 - then it goes upstream as it came
            note_failure(error, "a request about a conversation could not be prepared", metrics=self._metrics)
        return turn

    async def _parse(self, body: bytes, *, dialect: Dialect, namespace: str) -> Request | None:
        """The request; None for one that we cannot read: the provider says what is wrong with it."""
        earlier = tuple(self._turns.conversations.earlier(namespace))
        return await off_loop_if(
            len(body) > LARGE_BODY, partial(self._parsed, body, dialect=dialect, earlier=earlier)
        )

    def _parsed(self, body: bytes, *, dialect: Dialect, earlier: Sequence[EarlierRequest]) -> Request | None:
        most = self._config.limits.messages
        try:
            request = parse_request(body, dialect=dialect, earlier=earlier)
            too_many = request.messages.are_more_than(most)
        except InvalidRequest as error:
            if isinstance(error.__cause__, RecursionError):
                raise Refused(Refusal(status=400, message="the request is nested too deeply")) from None
            return None
        if too_many:
            count = plural(len(request.raws), "message")
            message = f"the request has {count}, allowed are {most:,}"
            raise Refused(Refusal(status=413, message=message))
        return request

    # Recognise and prepare

    async def _prepare(
        self, exchange: Exchange, request: Request | None, *, body: bytes, namespace: str
    ) -> Turn:
        """What goes upstream; the request as it came where it is left alone, or something of ours fails."""
        as_it_came = Turn(body=body)
        if request is None:
            return as_it_came
        try:
            with self._tracer.span("recognise"):
                recognised = await self._turns.recognise(
                    request, namespace=namespace, client=exchange.program
                )
            if recognised is None:
                return as_it_came
            with self._tracer.span("plan") as note:
                turn = await self._turns.prepare(recognised)
                note("autocompact.tokens", turn.used)
                return turn
        # the provider says what is wrong with it in the words that the client knows
        except InvalidRequest:
            return as_it_came
        except Exception as error:  # noqa: BLE001 - whatever fails here must not cost the client its answer
            self._failed(error)
            alone = await self._alone(request, namespace=namespace) if _may_pass(error) else None
            return alone or Turn(body=body, action="failed-open")

    async def _alone(
        self, request: Request, *, namespace: str, overflow: Overflow | None = None, sent: bytes = b""
    ) -> Turn | None:
        """The request compacted without the store; None where it needs not be, or cannot.

        Args:
            request: of a client.
            namespace: the client's.
            overflow: what the provider said to ``sent``, if that was refused as too large.
            sent: what was sent.
        """
        try:
            turn = await self._turns.alone(request, namespace=namespace, overflow=overflow, sent=sent)
        except Exception as another:  # noqa: BLE001 - then it goes upstream as it came
            note_failure(another, "a request could not be compacted without the store", metrics=self._metrics)
            return None
        return None if turn.action == "forwarded" else turn

    def _failed(self, error: Exception) -> None:
        """Count it; raises `Refused` where the gateway is told to fail closed."""
        kind = type(error).__name__
        note_failure(error, "a request could not be prepared", metrics=self._metrics)
        if not self._config.fail_closed:
            return
        if isinstance(error, IncompressibleContext):
            raise Refused(Refusal(status=400, message=str(error), code="context_length_exceeded")) from error
        message = f"the gateway could not compact this conversation ({kind}): try again"
        raise Refused(unavailable(message)) from error

    # Forward and learn

    async def _forward(
        self, exchange: Exchange, turn: Turn, *, request: Request | None, namespace: str, send: Send
    ) -> None:
        """Send it, once more in a smaller form if it was too large, relay the answer, and learn from it."""
        # now: another request may compact the conversation before the answer comes, and these headers are about what
        # was sent
        ours = tuple(turn.headers())
        response = await self._sent(exchange, turn)
        try:
            head = Head(response)
            smaller = await self._smaller(exchange, turn, head=head, request=request, namespace=namespace)
            if smaller is not None:
                # nobody reads this answer: its connection is free for the request that follows
                response.close()
                turn, ours = smaller, tuple(smaller.headers())
                response = await self._sent(exchange, turn)
                head = Head(response)
                if response.status in _TOOL_ERRORS:
                    await head.look()  # too large again says nothing about the tools
            # out of an answer that cannot be read, our calls could not be taken
            refused = _may_refuse_tools(head) or head.is_sealed
            if turn.memory is not None and request is not None and refused:
                response.close()
                turn, response = await self._without_tools(exchange, request, head=head, namespace=namespace)
                head = Head(response)
            with self._tracer.span("relay"):
                if turn.memory is not None and request is not None:
                    plain_turn = partial(self._plain, request, namespace=namespace)
                    usage = await self._in_rounds(
                        exchange, turn.memory, head=head, plain=plain_turn, ours=ours, send=send
                    )
                else:
                    usage = await self._relay(exchange, turn, head=head, ours=ours, send=send)
            self._turns.learn(turn, usage)
        finally:
            response.close()

    async def _sent(self, exchange: Exchange, turn: Turn) -> aiohttp.ClientResponse:
        """The response to the request, which brings the memory tools if the turn has them."""
        asking = exchange if turn.memory is None else readable(exchange)
        with self._tracer.span("upstream", kind="client") as note:
            response = await self._upstream.send(asking, turn.body)
            note("http.response.status_code", response.status)
            return response

    async def _in_rounds(
        self,
        exchange: Exchange,
        memory: Memory,
        *,
        head: Head,
        plain: Callable[[], Awaitable[Turn]],
        ours: Sequence[Header],
        send: Send,
    ) -> Usage | None:
        """Answer what the model looks up before the answer is sent on; the usage of the client's own request."""

        async def body() -> bytes:
            return (await plain()).body

        ask = partial(self._upstream.send, readable(exchange))
        rounds = Rounds(memory, exchange, ask=ask, plain=body, metrics=self._metrics)
        return await rounds.relay(head, send=send, ours=ours)

    async def _relay(
        self, exchange: Exchange, turn: Turn, *, head: Head, ours: Sequence[Header], send: Send
    ) -> Usage | None:
        """Send the answer on; the usage that it reports, None where it reports none or nobody needs it."""
        if turn.kept is None or exchange.dialect is None:
            await relay(head, send=send, ours=ours, reader=None)
            return None
        reader = UsageReader(exchange.dialect, head.response, streams=head.streams)
        await relay(head, send=send, ours=ours, reader=reader)
        return reader.usage()

    async def _smaller(
        self, exchange: Exchange, turn: Turn, *, head: Head, request: Request | None, namespace: str
    ) -> Turn | None:
        """What to send instead, if the provider says that the request was too large; None if nothing can be done."""
        told = await head.look()
        overflow = is_overflow(head.response.status, told) if told else None
        if overflow is None or request is None:
            return None
        try:
            return await self._turns.shrunk(
                request, namespace=namespace, overflow=overflow, sent=turn.body, client=exchange.program
            )
        except Exception as error:  # noqa: BLE001 - a valid request must not be refused because something of ours fails
            note_failure(error, "a retry could not be prepared", metrics=self._metrics)
            return await self._alone(request, namespace=namespace, overflow=overflow, sent=turn.body)

    async def _without_tools(
        self, exchange: Exchange, request: Request, *, head: Head, namespace: str
    ) -> tuple[Turn, aiohttp.ClientResponse]:
        """The same once more without our tools; if that is taken, they are not offered with the like of it again."""
        without = await self._plain(request, namespace=namespace)
        response = await self._sent(exchange, without)
        if response.status == _OK and _names_tools(head):
            self._turns.remember_refused(request, namespace=namespace)
            log.warning("a server refused the memory tools", extra={"model": request.model})
        return without, response

    async def _plain(self, request: Request, *, namespace: str) -> Turn:
        """The request compacted without a word of the memory tools: for itself where that fails, else as it came."""
        try:
            return await self._turns.without_memory(request, namespace=namespace)
        except Exception as error:  # noqa: BLE001 - then it goes upstream as it came
            note_failure(
                error, "a request could not be prepared without the memory tools", metrics=self._metrics
            )
            return await self._alone(request, namespace=namespace) or Turn(body=request.raw)


def _may_pass(error: Exception) -> bool:
    """Whether only the store, or whoever else works on the conversation, keeps it from being compacted now."""
    return isinstance(error, StoreError | CompactionRunning)


def _adds_nothing(exchange: Exchange, request: Request | None) -> bool:
    """Whether a request is about a conversation, and no turn of it: for a count, or for the provider's compaction."""
    return exchange.path in UNLOGGED or (request is not None and asks_now(request))


def _may_refuse_tools(head: Head) -> bool:
    status = head.response.status
    return status in _TOOL_ERRORS and is_overflow(status, plain(head.held, head.response)) is None


def _names_tools(head: Head) -> bool:
    """Whether an error is about tools; one that may pass by itself has to say so."""
    return head.response.status != _FAILED or _TOOLS.search(plain(head.held, head.response)) is not None
