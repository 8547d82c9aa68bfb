"""The tables of the queue (Procrastinate's own, in the schema that the database's user has as its first).

Which of its migrations a database has run is noted in ``autocompact.job_migrations``. They come in pairs: what is named
``pre`` suits the programs that run, what is named ``post`` suits the new ones alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import LiteralString, cast

import psycopg
from procrastinate.schema import SchemaManager

from autocompact.errors import StoreUnavailable
from autocompact.stores.naming import ServerUrl

_INSTALLING = 0x4143_4A51
"""The advisory lock under which the tables are made and changed."""


async def install(url: ServerUrl, *, post: bool | None = None) -> Sequence[str]:
    """Make the tables of the queue, or bring them up to date; names of the migrations that ran.

    Args:
        url: of the database, whose user may make tables.
        post: run also what programs of before do not get along with; None does, unless all but that was run on purpose.

    Raises:
        StoreUnavailable: the server cannot be reached, or the user may not make tables.
    """
    try:
        async with await psycopg.AsyncConnection.connect(
            url.url, prepare_threshold=None, client_encoding="utf8"
        ) as connection:
            return await _install(connection, post=post)
    except psycopg.Error as error:
        said = url.hidden(" ".join(str(error).split()))
        raise StoreUnavailable(
            f"{url}: the tables of the jobs could not be made; its owner runs `autocompact migrate --db URL` once ({said})"
        ) from error


async def _install(connection: psycopg.AsyncConnection, *, post: bool | None) -> Sequence[str]:
    if await _done(connection) >= (names := migrations()).keys():
        return ()
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_INSTALLING])
    done = await _done(connection)
    if not done:
        await connection.execute(_sql(SchemaManager.get_schema()))
        await connection.execute("CREATE TABLE autocompact.job_migrations (name TEXT PRIMARY KEY)")
        ran = list(names)
    else:
        missing = [name for name in names if name not in done]
        if post is None:
            post = any("_post_" not in name for name in missing)
        ran = [name for name in missing if post or "_post_" not in name]
        for name in ran:
            await connection.execute(_sql(names[name].read_text("utf-8")))
    await connection.cursor().executemany(
        "INSERT INTO autocompact.job_migrations (name) VALUES (%s)", [[name] for name in ran]
    )
    return ran


async def _done(connection: psycopg.AsyncConnection) -> set[str]:
    """Names of the migrations that the database has run; empty where there are no tables."""
    there = (
        "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'autocompact' AND tablename = 'job_migrations'"
    )
    if await (await connection.execute(there)).fetchone() is None:
        return set()
    cursor = await connection.execute("SELECT name FROM autocompact.job_migrations")
    return {name for (name,) in await cursor.fetchall()}


def migrations() -> dict[str, Path]:
    """Procrastinate's migrations by name, in order."""
    folder = Path(SchemaManager.get_migrations_path())
    return {path.name: path for path in sorted(folder.glob("*.sql"))}


def _sql(script: str) -> LiteralString:
    # Procrastinate's own files; psycopg wants to see that they are literals.
    return cast("LiteralString", script)
