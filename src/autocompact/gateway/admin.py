"""Administration below ``/autocompact/``: health, metrics, and a client's own conversations.

A client reaches what its credential reaches, and nothing else: there is no view over all namespaces.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from autocompact.compactor import Conversation
from autocompact.core.compaction import Compaction
from autocompact.errors import AutocompactError, CompactionRunning, Conflict, InvalidInput
from autocompact.gateway.exchange import Exchange
from autocompact.gateway.namespaces import namespace_of
from autocompact.gateway.refusals import Refused
from autocompact.ports import Key

if TYPE_CHECKING:
    from autocompact.gateway.app import Gateway

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

_MOST_FOCUS = 10_000


class Administration:
    """The endpoints over one gateway."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._conversations = gateway.turns.conversations

    async def health(self, request: Request) -> Response:
        """The process answers."""
        del request
        return _json({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """The store answers."""
        del request
        await self._conversations.store.load(Key(conversation="ready", namespace="autocompact"))
        return _json({"status": "ready", "upstreams": sorted(self._gateway.config.upstreams)})

    async def metrics(self, request: Request) -> Response:
        """Counters for Prometheus."""
        del request
        return Response(self._gateway.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def conversations(self, request: Request) -> Response:
        """The client's conversations, the last updated first."""
        infos = await self._conversations.store.conversations(self._namespace(request))
        listed = [
            {
                "id": info.key.conversation,
                "messages": info.last_seq,
                "created": info.created,
                "updated": info.updated,
                "title": info.title,
                "compressed_at": info.compressed_at,
            }
            for info in infos
        ]
        return _json({"conversations": listed})

    async def conversation(self, request: Request) -> Response:
        """One conversation with the receipts of its compactions."""
        key = await self._key(request)
        snapshot = await self._conversations.store.load(key)
        records = await self._conversations.store.compactions(key)
        return _json(
            {
                "id": key.conversation,
                "messages": snapshot.last_seq,
                "active": snapshot.active.id if snapshot.active else None,
                "compactions": [_told(record) for record in records],
            }
        )

    async def delete(self, request: Request) -> Response:
        """Remove a conversation with everything that was kept of it."""
        await self._conversations.delete(await self._key(request))
        return Response(status_code=204)

    async def compact(self, request: Request) -> Response:
        """Compact now; ``{"focus": "…"}`` may say what the summary should concentrate on."""
        body = await request.body()
        focus = msgspec.json.decode(body, type=_Focus).focus[:_MOST_FOCUS] if body else ""
        conversation = await self._open(request)
        result = await conversation.compact(focus)
        told = {"success": result.success, "message": result.message, "summary": result.summary}
        return _json(told, status=200 if result.success else 409)

    async def undo(self, request: Request) -> Response:
        """Take the compaction in force back."""
        conversation = await self._open(request)
        record = await conversation.records.undo()
        return _json({"active": record.id if record else None})

    def _namespace(self, request: Request) -> str:
        exchange = Exchange.of(request.scope, configured=self._gateway.config.upstreams)
        return namespace_of(exchange, config=self._gateway.config)

    async def _key(self, request: Request) -> Key:
        key = Key(conversation=request.path_params["id"], namespace=self._namespace(request))
        if not (await self._conversations.store.load(key)).last_seq:
            raise _Unknown(f"you have no conversation {key.conversation!r}")
        return key

    async def _open(self, request: Request) -> Conversation:
        key = await self._key(request)
        kept = self._conversations.in_memory(key)
        if kept is not None:
            return kept.conversation
        return await self._gateway.turns.compactor("").open(key.conversation, namespace=key.namespace)


class _Focus(msgspec.Struct):
    focus: str = ""


class _Unknown(AutocompactError):
    """There is no such conversation in this namespace."""


def _told(record: Compaction) -> object:
    return {
        "id": record.id,
        "status": record.status,
        "from_seq": record.from_seq,
        "through_seq": record.through_seq,
        "summary": record.summary,
        "receipt": msgspec.to_builtins(record.receipt),
    }


def _json(value: object, *, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")


def _guarded(endpoint: Endpoint) -> Endpoint:
    async def guarded(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Refused as refused:
            return _json({"error": refused.refusal.message}, status=refused.refusal.status)
        except (_Unknown, AutocompactError, msgspec.DecodeError) as error:
            return _json({"error": str(error)}, status=_status(error))

    return guarded


def _status(error: Exception) -> int:
    match error:
        case _Unknown():
            return 404
        case CompactionRunning() | Conflict() | InvalidInput():
            return 409
        case msgspec.DecodeError():
            return 400
        case _:
            return 503


def administration(gateway: Gateway) -> Starlette:
    """The application below ``/autocompact/``."""
    own = Administration(gateway)
    one = "/autocompact/conversations/{id}"
    routes = (
        ("/autocompact/health", own.health, "GET"),
        ("/autocompact/ready", own.ready, "GET"),
        ("/autocompact/metrics", own.metrics, "GET"),
        ("/autocompact/conversations", own.conversations, "GET"),
        (one, own.conversation, "GET"),
        (one, own.delete, "DELETE"),
        (f"{one}/compact", own.compact, "POST"),
        (f"{one}/undo", own.undo, "POST"),
    )
    return Starlette(
        routes=[Route(path, _guarded(endpoint), methods=[method]) for path, endpoint, method in routes]
    )
