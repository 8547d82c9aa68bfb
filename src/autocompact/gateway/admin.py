"""Administration below ``/autocompact/``: health, metrics, and a client's own conversations.

A client reaches what its credential reaches, and nothing else: there is no view over all namespaces. Errors have
OpenAI's format. What there is: `autocompact.gateway.endpoints`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import Any, TypeAlias

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from autocompact.compaction.record import Compaction
from autocompact.core.access import MICROS, AccessKey, Period, Spent
from autocompact.core.references import parse_reference
from autocompact.engine import Conversation
from autocompact.errors import (
    AutocompactError,
    CompactionRunning,
    Conflict,
    InvalidInput,
    StoreError,
)
from autocompact.gateway import endpoints as told
from autocompact.gateway.access import Access, Grant
from autocompact.gateway.config import Config
from autocompact.gateway.endpoints import ENDPOINTS, MOST_CURSOR, MOST_LISTED, MOST_QUERY, Endpoint
from autocompact.gateway.exchange import Exchange, Refusal, Refused, Scope, unavailable
from autocompact.gateway.failures import note_failure
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.openapi import described
from autocompact.gateway.relay import Receive, Send
from autocompact.gateway.retention import Retention
from autocompact.gateway.turns import Turns
from autocompact.history.recall import MOST_RESULTS, RESULTS, Found, Recall
from autocompact.ports import NO_MESSAGES, ConversationInfo, Key
from autocompact.stores.write_behind import WriteBehind

log = logging.getLogger("autocompact.gateway")

_MOST_BODY = 262_144
"""Bytes: a focus of `MOST_FOCUS` characters takes half of them where each is written as two escapes."""

_PAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
}
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request.

    Attributes:
        namespace: whose it is, "" where that does not matter.
        actor: id of the access key, "" where there is none.
        conversation: the one that the path names, "" for none.
        query: its parameters.
        body: what was sent.
    """

    namespace: str
    actor: str
    conversation: str
    query: QueryParams
    body: bytes

    @property
    def key(self) -> Key:
        """Of the conversation."""
        return Key(conversation=self.conversation, namespace=self.namespace)

    def number(self, name: str, *, most: int, default: int) -> int:
        """A parameter that counts from 1.

        Raises:
            Refused: it is no such number.
        """
        given = self.query.get(name, str(default))
        # isdigit() takes digits of all scripts, and int() digits without end
        if not (given.isascii() and given.isdigit() and len(given) <= len(str(most))):
            raise _bad(f"{name} is {given!r}: it must be a number from 1 to {most}")
        if not 1 <= int(given) <= most:
            raise _bad(f"{name} is {given}: it must be from 1 to {most}")
        return int(given)


Handler: TypeAlias = Callable[[Asked], Awaitable[Response]]


class Administration:
    """The endpoints over one gateway.

    Args:
        config: of the gateway.
        access: who may do what.
        turns: its conversations, and their compactors.
        retention: counts what is removed.
        metrics: what it counts.
    """

    def __init__(
        self, config: Config, *, access: Access, turns: Turns, retention: Retention, metrics: Metrics
    ) -> None:
        self._config = config
        self._access = access
        self._turns = turns
        self._retention = retention
        self._counted = metrics
        self._conversations = turns.conversations
        self._store = turns.conversations.store
        self._description = msgspec.json.encode(
            described(version=version("autocompact"), closed=config.is_closed)
        )
        self.handlers: Mapping[str, Handler] = {
            "overview": self._overview,
            "overview_at_root": self._overview,
            "health": self._health,
            "ready": self._ready,
            "metrics": self._metrics,
            "metrics_too": self._metrics,
            "description": self._describe,
            "conversations": self._list,
            "delete_all": self._delete_all,
            "conversation": self._show,
            "delete": self._delete,
            "messages": self._messages,
            "search": self._search,
            "compact": self._compact,
            "undo": self._undo,
            "admin": self._admin,
            "keys": self._keys,
            "revoke": self._revoke,
            "log": self._log,
        }

    async def answer(self, exchange: Exchange, scope: Scope, *, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises:
            Refused: the answer is an error.
        """
        endpoint, conversation = _found(exchange)
        # a copy: Starlette keeps what it has read in the scope
        request = Request(dict(scope), receive)
        grant = Grant(namespace="")
        if not endpoint.open:
            grant = await self._access.entering(exchange, scope=endpoint.scope)
        asked = Asked(
            namespace=grant.namespace,
            actor=grant.key.id if grant.key else "",
            conversation=conversation,
            query=request.query_params,
            body=await _body(request) if endpoint.body else b"",
        )
        try:
            response = await self.handlers[endpoint.name](asked)
        except AutocompactError as error:
            raise Refused(_refusal(error)) from error
        if endpoint.scope == "manage":
            await self._access.note(grant, endpoint.name.replace("_", " "), detail=conversation)
        await response(request.scope, receive, send)

    # The gateway

    async def _overview(self, _: Asked) -> Response:
        return _page("overview.html")

    async def _health(self, _: Asked) -> Response:
        return _json(told.Health(version=version("autocompact")))

    async def _ready(self, _: Asked) -> Response:
        upstreams = sorted(self._config.upstreams)
        problems = [] if upstreams else ["no upstream is configured: see --upstream"]
        if problems:
            log.warning("the gateway is not ready", extra={"reason": problems[0]})
        try:
            key = Key(conversation="ready", namespace="autocompact")
            await self._store.load(key, after=NO_MESSAGES)
            await self._store.acquire(key, holder="ready", seconds=0)  # a full disk can still be read
        except Exception as error:  # noqa: BLE001 - whatever it is, no conversation can be kept
            note_failure(error, "the store cannot be read and written", metrics=self._counted)
            problems.append(f"the store cannot be read and written ({type(error).__name__})")
        status = "not ready" if problems else "ready"
        ready = told.Ready(status=status, upstreams=list(upstreams), problems=problems)
        return _json(ready, status=503 if problems else 200)

    async def _metrics(self, _: Asked) -> Response:
        return Response(self._counted.text(), media_type=_TEXT)

    async def _describe(self, _: Asked) -> Response:
        return Response(self._description, media_type="application/json")

    # A client's conversations

    async def _list(self, asked: Asked) -> Response:
        limit = asked.number("limit", most=MOST_LISTED, default=100)
        after = _position(asked)
        # one more than is shown tells whether there is a next page
        found = await self._store.conversations(asked.namespace, limit=limit + 1, after=after)
        page = found[:limit]
        return _json(
            told.Page(
                conversations=[_line(info) for info in page],
                next=f"{page[-1].updated} {page[-1].key.conversation}" if len(found) > limit else None,
                expire_after_days=self._retention.days(asked.namespace) or None,
            )
        )

    async def _delete_all(self, asked: Asked) -> Response:
        deleted = await self._conversations.delete_all(asked.namespace)
        self._retention.deleted(deleted, reason="asked")
        return _json(told.Deleted(deleted=deleted))

    async def _show(self, asked: Asked) -> Response:
        snapshot = await self._store.load(await self._known(asked), after=NO_MESSAGES)
        records = await self._store.compactions(asked.key)
        return _json(
            told.Conversation(
                id=asked.conversation,
                messages=snapshot.last_seq,
                active=snapshot.active.id if snapshot.active else None,
                compactions=[_record(record) for record in records],
            )
        )

    async def _delete(self, asked: Asked) -> Response:
        await self._conversations.delete(await self._known(asked))
        self._retention.deleted(1, reason="asked")
        return Response(status_code=204)

    async def _messages(self, asked: Asked) -> Response:
        limit = asked.number("limit", most=MOST_LISTED, default=100)
        first = asked.number("from_seq", most=1 << 24, default=1)
        key = await self._known(asked)
        log = await self._store.read(key, from_seq=first, through_seq=first + limit)
        shown = [
            told.LoggedMessage(seq=each.seq, role=each.role, raw=msgspec.Raw(each.raw or b"null"))
            for each in log[:limit]
        ]
        return _json(told.Messages(messages=shown, next=first + limit if len(log) > limit else None))

    async def _search(self, asked: Asked) -> Response:
        query, k = asked.query.get("q"), asked.number("k", most=MOST_RESULTS, default=RESULTS)
        if query is None or len(query) > MOST_QUERY:
            raise _bad(f"q must say what to search for, in at most {MOST_QUERY} characters")
        index = self._turns.index
        if index is None:
            message = "this gateway keeps no search index: start it with --db FILE"
            raise Refused(Refusal(status=404, message=message))
        if isinstance(self._store, WriteBehind):
            # the index is written with the messages, and these may still wait
            await self._store.settled()
        name = asked.query.get("conversation", "")
        key = Key(conversation=name, namespace=asked.namespace)
        recall = Recall(self._store, index, key=key, across=not name)
        scope = "conversation" if name else "all"
        found = await recall.search(query, k, scope=scope) if query.strip() else ()
        return _json(told.Results(results=[_result(each, default=name) for each in found]))

    async def _compact(self, asked: Asked) -> Response:
        try:
            focus = msgspec.json.decode(asked.body, type=told.Focus).focus if asked.body else ""
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise _bad(f'the body must be {{"focus": "…"}} or empty: {error}') from error
        conversation = await self._opened(asked)
        result = await conversation.compact(focus)
        if isinstance(result.error, StoreError):
            raise result.error
        if not result.success:
            raise Refused(Refusal(status=409, message=result.message)) from result.error
        return _json(told.Compacted(success=True, message=result.message, summary=result.summary))

    async def _undo(self, asked: Asked) -> Response:
        conversation = await self._opened(asked)
        record = await conversation.records.undo()
        return _json(told.Undone(active=record.id if record else None))

    # Access keys

    async def _admin(self, _: Asked) -> Response:
        return _page("admin.html")

    async def _keys(self, _: Asked) -> Response:
        keys = self._access.keys
        assert keys is not None, "without keys nobody has the scope"
        found = await keys.keys()
        return _json(told.Keys(keys=[_key(key, used=await keys.spent(key.id)) for key in found]))

    async def _revoke(self, asked: Asked) -> Response:
        keys = self._access.keys
        assert keys is not None, "without keys nobody has the scope"
        try:
            await keys.revoke(asked.conversation, actor=asked.actor)
        except InvalidInput as error:
            raise Refused(Refusal(status=404, message=str(error))) from error
        return Response(status_code=204)

    async def _log(self, asked: Asked) -> Response:
        keys = self._access.keys
        assert keys is not None, "without keys nobody has the scope"
        notes = await keys.notes(limit=asked.number("limit", most=MOST_LISTED, default=100))
        return _json(told.Log(entries=[told.Entry(**asdict(note)) for note in notes]))

    async def _known(self, asked: Asked) -> Key:
        if not (await self._store.load(asked.key, after=NO_MESSAGES)).last_seq:
            raise Refused(Refusal(status=404, message=f"you have no conversation {asked.conversation!r}"))
        return asked.key

    async def _opened(self, asked: Asked) -> Conversation:
        key = await self._known(asked)
        kept = self._conversations.in_memory(key)
        if kept is not None:
            return kept.conversation
        return await self._turns.compactors.of_model("", namespace=key.namespace).open(
            key.conversation, namespace=key.namespace
        )


def _found(exchange: Exchange) -> tuple[Endpoint, str]:
    """The endpoint of a request, and the conversation that its path names."""
    # people type the slash; below it no path may lose one, or an id that is missing would stand for all conversations
    path = "/autocompact" if exchange.path == "/autocompact/" else exchange.path
    matching = [(one, id) for one in ENDPOINTS if (id := one.match(path)) is not None]
    if not matching:
        message = f"there is nothing at {exchange.path!r}: see /autocompact/openapi.json"
        raise Refused(Refusal(status=404, message=message))
    # our server leaves the body of its answer out
    method = "GET" if exchange.method == "HEAD" else exchange.method
    for endpoint, id in matching:
        if endpoint.method == method:
            return endpoint, id
    allowed = ", ".join(endpoint.method for endpoint, _ in matching)
    raise Refused(
        Refusal(
            status=405,
            message=f"{exchange.path!r} takes {allowed}, not {exchange.method}",
            headers=[(b"allow", allowed.encode())],
        )
    )


async def _body(request: Request) -> bytes:
    body = b""
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > _MOST_BODY:
                raise Refused(Refusal(status=413, message=f"the body is larger than {_MOST_BODY:,} bytes"))
    except ClientDisconnect as error:
        raise ConnectionResetError("the client went away") from error
    return body


def _position(asked: Asked) -> ConversationInfo | None:
    """Where the page before ended."""
    given = asked.query.get("after", "")
    if len(given) > MOST_CURSOR:
        raise _bad("after is too long: it must be what `next` of the page before says")
    updated, _, name = given.partition(" ")
    key = Key(conversation=name, namespace=asked.namespace)
    return ConversationInfo(key=key, last_seq=0, created="", updated=updated) if given else None


def _key(key: AccessKey, *, used: Mapping[Period, Spent]) -> told.KeyLine:
    return told.KeyLine(
        id=key.id,
        name=key.name,
        tenant=key.tenant,
        user=key.user,
        scopes=list(key.scopes),
        models=list(key.models),
        routes=list(key.routes),
        allowance={name: figure for name, figure in asdict(key.allowance).items() if figure is not None},
        used={
            period: told.Used(
                requests=spent.requests,
                tokens=spent.tokens,
                dollars=spent.micros / MICROS,
                refused=spent.refused,
            )
            for period, spent in used.items()
        },
        created=key.created,
        expires=key.expires,
        revoked=key.revoked,
    )


def _line(info: ConversationInfo) -> told.Line:
    return told.Line(
        id=info.key.conversation,
        messages=info.last_seq,
        created=info.created,
        updated=info.updated,
        title=info.title,
        compressed_at=info.compressed_at,
    )


def _record(record: Compaction) -> told.Record:
    return told.Record(
        id=record.id,
        status=record.status,
        from_seq=record.from_seq,
        through_seq=record.through_seq,
        summary=record.summary,
        receipt=record.receipt,
    )


def _result(found: Found, *, default: str) -> told.Result:
    conversation, _, reference = found.reference.rpartition(":")
    return told.Result(
        conversation=conversation or default,
        seq=parse_reference(reference),
        source=found.source,
        excerpt=found.excerpt,
        time=found.time,
        match=found.match,
        beside=found.beside,
        note=found.note,
    )


def _page(name: str) -> Response:
    page = files("autocompact.gateway").joinpath(name).read_bytes()
    return Response(page, media_type="text/html", headers=_PAGE_HEADERS)


def _json(value: Any, *, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status_code=status, media_type="application/json")


def _bad(message: str) -> Refused:
    return Refused(Refusal(status=400, message=message))


def _refusal(error: AutocompactError) -> Refusal:
    if isinstance(error, CompactionRunning | Conflict | InvalidInput):
        return Refusal(status=409, message=str(error))
    return unavailable(str(error))
