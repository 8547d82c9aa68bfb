"""Looks at a whole store on a PostgreSQL server: reads everything, and compares it with its checksums. It changes nothing.

What lies below the rows (pages, indexes, the disk) is PostgreSQL's: ``pg_amcheck`` and its administrator look at that.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from autocompact.errors import StoreCorrupt, StoreTooNew
from autocompact.ports import Key
from autocompact.stores.doctor import UPDATE, Examination, Finding
from autocompact.stores.naming import ServerUrl
from autocompact.stores.opening import open_store
from autocompact.stores.queries import queries
from autocompact.stores.table_store import TableStore
from autocompact.stores.tenants import Tenants

_RESTORE = "restore the database from a backup; the other conversations are well: `autocompact move` copies them elsewhere"


async def examine_server(url: ServerUrl) -> Examination:
    """Read every conversation of a database.

    Raises:
        StoreUnavailable: the server cannot be reached, or refuses.
        StoreTooNew: a newer program made the tables.
    """
    counts = Counter(conversations=0, messages=0, compactions=0)
    findings: list[Finding] = []
    async with open_store(url) as store:
        for key in await _keys(store):
            try:
                whole = await store.whole(key)
            except StoreCorrupt as error:
                findings.append(_damaged(key, error))
                continue
            except StoreTooNew as error:
                # one compaction is: newer tables were refused before
                where = f"conversation {key.conversation!r}"
                findings.append(Finding(check="compactions", where=where, what=str(error), next=UPDATE))
                continue
            if whole is not None:
                counts.update(conversations=1, messages=len(whole.messages), compactions=len(whole.records))
        findings += await _orphans(store)
    findings += _unguarded(url)
    return Examination(place=url, counts=dict(counts), findings=tuple(findings))


async def _keys(store: TableStore[Any]) -> list[Key]:
    """Keys of all conversations, also of those whose entry is damaged."""
    names = await store.reading(
        lambda connection: list(connection.execute(queries("postgres")["every_name"])),
        tenant=Tenants.EVERY,
    )
    return [Key(conversation=name, namespace=namespace) for namespace, name in names]


async def _orphans(store: TableStore[Any]) -> list[Finding]:
    found: int = await store.reading(
        lambda connection: connection.execute(queries("postgres")["orphans"]).get, tenant=Tenants.EVERY
    )
    if not found:
        return []
    what = f"{found:,} of no conversation"
    return [Finding(check="messages", where="autocompact.messages", what=what, next=_RESTORE)]


def _unguarded(url: ServerUrl) -> list[Finding]:
    """A note where row-level security does not hold for the role of the URL."""
    from autocompact.stores.postgres_roles import ADVICE, role_of

    remark = role_of(url).remark
    return (
        [Finding(level="note", check="tenants", where=str(url), what=remark, next=ADVICE)] if remark else []
    )


def _damaged(key: Key, error: StoreCorrupt) -> Finding:
    where = f"conversation {key.conversation!r}"
    return Finding(check="contents", where=where, what=str(error).removeprefix(f"{where}: "), next=_RESTORE)
