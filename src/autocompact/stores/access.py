"""Access keys in a store's database: what they are, what they used, and a log of what was done with them.

What a key may do is decided by `autocompact.core.access`; here it is kept, and counted within one transaction with that
decision, so that any number of gateways on one database count together.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar

import msgspec

from autocompact.core.access import (
    NOTHING_SPENT,
    USUAL_SCOPES,
    AccessKey,
    Allowance,
    Denied,
    Period,
    Scope,
    Spent,
    denied_use,
    periods,
)
from autocompact.core.prices import Price
from autocompact.errors import InvalidInput
from autocompact.ports import Clock, Key, SystemClock
from autocompact.stores.connection import Statements, Value
from autocompact.stores.queries import queries
from autocompact.stores.table_store import TableStore

T = TypeVar("T")

PREFIX = "ak-"
"""How a key begins."""

MOST_NOTES = 10_000

_SECRET_BYTES = 32
_ID_BYTES = 6
_DAY = 10
"""Characters of a stamp that say which day it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """An entry of the log.

    Attributes:
        at: ISO 8601 stamp (UTC).
        actor: who did it: the id of a key, or "operator" on the command line.
        action: what: "key created", "key revoked", "refused: budget", "conversation deleted"…
        key: the key that it concerns.
        detail: more of it; nothing that was said in a conversation.
    """

    at: str
    actor: str
    action: str
    key: str
    detail: str = ""


class AccessKeys:
    """The keys of one database.

    Args:
        store: on it; it is opened with its first use, and left open.
        clock: says when a key expires, and which minute, day and month it is.
    """

    def __init__(self, store: TableStore[Any], *, clock: Clock | None = None) -> None:
        self._store = store
        self._clock = clock or SystemClock()

    async def create(
        self,
        *,
        name: str,
        tenant: str,
        user: str = "",
        scopes: Iterable[Scope] = USUAL_SCOPES,
        models: Iterable[str] = (),
        routes: Iterable[str] = (),
        allowance: Allowance | None = None,
        expires: str | None = None,
        actor: str = "operator",
    ) -> tuple[AccessKey, str]:
        """Make a key; with the key itself, which is kept nowhere.

        Raises:
            InvalidInput: a name is empty, or it would have expired already.
            StoreError: it could not be stored.
        """
        now, models, routes = self._clock.now(), tuple(models), tuple(routes)
        if not name.strip() or not tenant.strip():
            raise InvalidInput("an access key needs a name, and a tenant whose it is")
        if any(not each.isprintable() for each in (name, tenant, user, *models, *routes)):
            raise InvalidInput("names of an access key are single lines without control characters")
        if expires is not None and expires <= now:
            raise InvalidInput(f"an access key that expires at {expires} would never be valid")
        secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        key = AccessKey(
            id=secrets.token_hex(_ID_BYTES),
            digest=digest_of(secret.encode()),
            name=name,
            tenant=tenant,
            user=user,
            scopes=tuple(dict.fromkeys(scopes)),
            models=models,
            routes=routes,
            allowance=allowance or Allowance(),
            created=now,
            expires=expires,
        )

        def add(tables: _Tables) -> None:
            tables.run("add_key", id=key.id, digest=key.digest, tenant=tenant, record=_encoded(key))
            tables.note(
                Note(at=now, actor=actor, action="key created", key=key.id, detail=f"{tenant}/{user} {name}")
            )

        await self._change(add, key=key.id)
        return key, secret

    async def keys(self) -> tuple[AccessKey, ...]:
        """All of them, also those that are not valid any more, the oldest first."""
        found = await self._read(lambda tables: [row for (row,) in tables.run("keys")])
        return tuple(sorted(map(_decoded, found), key=lambda key: (key.created, key.id)))

    async def find(self, secret: bytes) -> AccessKey | None:
        """The key that a client sent; None if there is none."""
        # a quick hash will do: 32 random bytes cannot be guessed, whatever a guess costs
        digest = digest_of(secret)
        row = await self._read(lambda tables: tables.run("key_of_digest", digest=digest).get)
        return None if row is None else _decoded(row)

    async def revoke(self, id: str, *, actor: str = "operator") -> AccessKey:
        """End a key; it stays in the list. One that was revoked stays as it is.

        Raises:
            InvalidInput: there is none of that id.
        """
        now = self._clock.now()

        def revoke(tables: _Tables) -> AccessKey:
            row = tables.run("key", id=id).get
            if row is None:
                raise InvalidInput(f"there is no access key {id!r}: `autocompact keys list` shows them")
            key = _decoded(row)
            if key.revoked is not None:
                return key
            key = replace(key, revoked=now)
            tables.run("put_key", id=id, record=_encoded(key))
            tables.note(Note(at=now, actor=actor, action="key revoked", key=id))
            return key

        return await self._change(revoke, key=id)

    async def spent(self, id: str) -> dict[Period, Spent]:
        """What a key used in this minute, day and month."""
        now = self._clock.now()
        return await self._read(lambda tables: tables.spent(id, now=now))

    async def admit(
        self, key: AccessKey, *, model: str | None, is_priced: bool, running: Spent = NOTHING_SPENT
    ) -> Denied | None:
        """Count a request of a key; why it may not go on, None if it may.

        Args:
            key: as `find` gave it.
            model: that is asked; None for a request that names none and costs nothing.
            is_priced: see `denied_use`.
            running: likewise.
        """
        now = self._clock.now()

        def admit(tables: _Tables) -> Denied | None:
            denied = denied_use(
                key,
                now=now,
                spent=tables.spent(key.id, now=now),
                model=model,
                is_priced=is_priced,
                running=running,
            )
            tables.spend(key.id, Spent(refused=1) if denied else Spent(requests=1), now=now)
            if denied is not None:
                tables.refused(key, denied, now=now)
            return denied

        return await self._change(admit, key=key.id)

    async def refuse(self, key: AccessKey, denied: Denied) -> None:
        """Count and note a request of a key that may not come in."""
        now = self._clock.now()

        def refuse(tables: _Tables) -> None:
            tables.spend(key.id, Spent(refused=1), now=now)
            tables.refused(key, denied, now=now)

        await self._change(refuse, key=key.id)

    async def spend(self, id: str, *, tokens: int, micros: int) -> None:
        """Count what a request of a key took."""
        now = self._clock.now()
        await self._change(
            lambda tables: tables.spend(id, Spent(tokens=tokens, micros=micros), now=now), key=id
        )

    async def note(self, action: str, *, key: str, actor: str, detail: str = "") -> None:
        """Add an entry to the log."""
        note = Note(at=self._clock.now(), actor=actor, action=action, key=key, detail=detail)
        await self._change(lambda tables: tables.note(note), key=key)

    async def notes(self, *, limit: int = 100) -> tuple[Note, ...]:
        """The newest entries of the log, the newest first."""
        rows = await self._read(lambda tables: list(tables.run("notes", limit=min(limit, MOST_NOTES))))
        return tuple(
            Note(at=at, actor=actor, action=action, key=key, detail=detail)
            for at, actor, action, key, detail in rows
        )

    async def _read(self, work: Callable[[_Tables], T]) -> T:
        return await self._store.reading(
            lambda connection: work(_Tables(connection, dialect=self._store.dialect))
        )

    async def _change(self, work: Callable[[_Tables], T], *, key: str) -> T:
        # one after the other for each key: what it has used is compared and counted in one step
        lock = Key(conversation=key, namespace="autocompact access keys")
        return await self._store.changing(
            lambda connection: work(_Tables(connection, dialect=self._store.dialect)), name="access", key=lock
        )

    async def copy_from(self, other: AccessKeys) -> int:
        """Take over the keys of another database that are not here, without what they used; how many.

        Raises:
            StoreError: one of the two cannot be used.
        """
        known = {key.id for key in await self.keys()}
        return await self.put([key for key in await other.keys() if key.id not in known])

    async def put(self, keys: Iterable[AccessKey]) -> int:
        """Add keys as another database had them, without what they used; how many.

        Raises:
            StoreError: they could not be stored, or are here already.
        """

        def add(tables: _Tables, key: AccessKey) -> None:
            tables.run("add_key", id=key.id, digest=key.digest, tenant=key.tenant, record=_encoded(key))

        keys = tuple(keys)
        for key in keys:
            await self._change(partial(add, key=key), key=key.id)
        return len(keys)


class _Tables:
    """The tables of keys on one connection."""

    def __init__(self, connection: Statements, *, dialect: str) -> None:
        self._connection = connection
        self._sql = queries(dialect, "access.sql")

    def run(self, query: str, **values: Value) -> Any:
        return self._connection.execute(self._sql[query], values)

    def spent(self, id: str, *, now: str) -> dict[Period, Spent]:
        found = {
            period: Spent(requests=requests, tokens=tokens, micros=micros, refused=refused)
            for period, requests, tokens, micros, refused in self.run("spent", key=id)
        }
        return {period: found.get(name, NOTHING_SPENT) for period, name in periods(now).items()}

    def spend(self, id: str, more: Spent, *, now: str) -> None:
        for period, name in periods(now).items():
            self.run(
                "spend",
                key=id,
                period=name,
                requests=more.requests,
                tokens=more.tokens,
                micros=more.micros,
                refused=more.refused,
            )
            # months stay, for the bill; a minute and a day are over when the next one begins
            if period != "month":
                self.run("forget_spent", key=id, period=name, length=len(name))

    def refused(self, key: AccessKey, denied: Denied, *, now: str) -> None:
        """Note that a key was refused something: once a day for each reason, that nobody can fill the disk with it."""
        once = f"{key.id} {denied.reason} {now[:_DAY]}"
        note = Note(
            at=now, actor=key.id, action=f"refused: {denied.reason}", key=key.id, detail=denied.message
        )
        self.note(note, once=once)

    def note(self, note: Note, *, once: str | None = None) -> None:
        self.run(
            "note",
            at=note.at,
            actor=note.actor,
            action=note.action,
            key=note.key,
            detail=note.detail.replace("\0", ""),
            once=once,
        )


def digest_of(secret: bytes) -> str:
    """SHA-256 of a key, in hexadecimal digits."""
    return sha256(secret).hexdigest()


def micros_of(price: Price, *, prompt: int, completion: int) -> int:
    """Millionths of a dollar for so many tokens, rounded up; what a provider reads from its cache counts in full."""
    return math.ceil(prompt * price.input + completion * price.output)


def _encoded(key: AccessKey) -> bytes:
    return msgspec.json.encode(key)


def _decoded(row: bytes) -> AccessKey:
    return msgspec.json.decode(row, type=AccessKey)
