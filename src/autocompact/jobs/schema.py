"""The tables of the queue (Procrastinate's own, in the first schema of the database's user that is not the store's).

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

_PATH = """SELECT set_config('search_path', coalesce(
    (SELECT string_agg(quote_ident(name), ', ') FROM unnest(current_schemas(false)) AS name WHERE name <> 'autocompact'),
    current_setting('search_path')
), true)"""
"""Leaves the store's schema out: an owner who is called ``autocompact`` has it first, and the programs' role does not see it."""

_ASTRAY = """SELECT to_regclass('autocompact.procrastinate_jobs') IS NOT NULL
    AND EXISTS (SELECT FROM unnest(current_schemas(false)) AS name WHERE name <> 'autocompact')"""
"""True if the tables were made there all the same."""

_MOVE = """DO $$
DECLARE
    said TEXT;
BEGIN
    -- functions first, as long as the types of their arguments are called as they are now; sequences go with their tables
    FOREACH said IN ARRAY ARRAY(
        SELECT format('ALTER ROUTINE %s SET SCHEMA %I', oid::regprocedure, current_schema()) FROM pg_proc
        WHERE pronamespace = 'autocompact'::regnamespace AND proname ^@ 'procrastinate_'
    ) || ARRAY(
        SELECT format('ALTER TYPE autocompact.%I SET SCHEMA %I', typname, current_schema()) FROM pg_type
        WHERE typnamespace = 'autocompact'::regnamespace AND typname ^@ 'procrastinate_' AND (
            typtype = 'e' OR EXISTS (SELECT FROM pg_class AS held WHERE held.oid = typrelid AND held.relkind = 'c')
        )
    ) || ARRAY(
        SELECT format('ALTER TABLE autocompact.%I SET SCHEMA %I', relname, current_schema()) FROM pg_class
        WHERE relnamespace = 'autocompact'::regnamespace AND relname ^@ 'procrastinate_' AND relkind = 'r'
    ) LOOP
        EXECUTE said;
    END LOOP;
END $$"""


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
    # more than we know of a newer program has run, which suits us: see `pre`
    if await _done(connection) >= (names := migrations()).keys() and not await _are_astray(connection):
        return ()
    # looked at once more behind it: two workers may have started at once
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_INSTALLING])
    astray = await _are_astray(connection)
    await connection.execute(_PATH)
    if astray:
        await connection.execute(_MOVE)
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


async def _are_astray(connection: psycopg.AsyncConnection) -> bool:
    row = await (await connection.execute(_ASTRAY)).fetchone()
    return row is not None and bool(row[0])


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
