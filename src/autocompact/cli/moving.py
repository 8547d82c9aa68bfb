"""``autocompact move`` and ``autocompact migrate``: from a file to a server, and from a version to the next."""

from __future__ import annotations

import click

from autocompact.cli.defaults import database
from autocompact.cli.running import run
from autocompact.cli.store_options import db_option
from autocompact.cli.values import store_option
from autocompact.core.plurals import plural
from autocompact.errors import InvalidInput
from autocompact.stores.moving import Moved
from autocompact.stores.namespace_key import carry_key
from autocompact.stores.naming import ServerUrl, StorePlace, is_there
from autocompact.ui.terminal.output import display, progress

_NAMES = 5


@click.command()
@store_option(
    "--from", "source", required=True, help="Where the conversations are: a file, or postgresql://…"
)
@store_option("--to", "target", required=True, help="Where they are to be; a file is made if there is none.")
def move(*, source: StorePlace, target: StorePlace) -> None:
    """Copy all conversations of a store to another one, from a file to a PostgreSQL server or back.

    Every conversation is read back from there and compared: messages, compactions, notes, titles and stamps; access keys
    come along. Nothing is taken out of the first store. One that was interrupted goes on when it is run again. Stop what writes to it before.
    """
    if source == target:
        raise InvalidInput(f"{source} cannot be moved to itself")
    if not is_there(source):
        raise InvalidInput(f"there is no conversation store {str(source)!r}")
    with progress(f"Moving {source} to {target}"):
        carry_key(source, target)
        moved = run(_moved(source, target))
    display(_told(moved, target=target))
    if moved.different:
        raise InvalidInput(_differing(moved, target=target))


@click.command()
@db_option
@click.option(
    "--pre",
    is_flag=True,
    help="Only what programs of the version before get along with: for the time in which both run. The rest waits for a migrate without it.",
)
@click.option(
    "--grant",
    metavar="ROLE",
    help="Let this role use the tables, and no more: programs that connect as it are held to row-level security.",
)
def migrate(*, db: StorePlace | None, pre: bool, grant: str | None) -> None:
    """Make the tables of a store, or bring them up to date with this version of autocompact.

    Every command does so when it opens a store, and every worker with the tables of the jobs. On a server where programs
    may not make tables, or where programs of two versions run for a while, its owner runs this: with --pre before an update, and
    without it after.
    """
    from autocompact.history import database_path

    place = database(db) or database_path()
    if grant is not None and not isinstance(place, ServerUrl):
        raise InvalidInput(f"{place} is a file, which knows no roles: --grant is for postgresql://…")
    with progress(f"Bringing {place} up to date"):
        run(_migrated(place, post=not pre))
        if grant is not None:
            _granted(place, grant)
    display(f"{place} is up to date" + (f", and {grant} may use it" if grant is not None else ""))


async def _moved(source: StorePlace, target: StorePlace) -> Moved:
    from autocompact.stores.access import AccessKeys
    from autocompact.stores.moving import move as moving
    from autocompact.stores.opening import open_store

    async with open_store(source) as old, open_store(target) as new:
        await AccessKeys(new).copy_from(AccessKeys(old))
        return await moving(old, new)


async def _migrated(place: StorePlace, *, post: bool) -> None:
    from autocompact.stores.opening import open_store

    store = open_store(place)
    if isinstance(place, ServerUrl):
        from autocompact.jobs.schema import install
        from autocompact.stores.postgres import migrate_tables

        # before the store is opened, which would do all of it
        migrate_tables(place, post=post)
        await install(place, post=post)
    async with store:
        pass


def _granted(place: StorePlace, role: str) -> None:
    from autocompact.stores.postgres_roles import grant

    assert isinstance(place, ServerUrl)
    grant(place, role)


def _told(moved: Moved, *, target: StorePlace) -> str:
    there = f", {moved.there:,} {'was' if moved.there == 1 else 'were'} there already" if moved.there else ""
    conversations, messages = plural(moved.conversations, "conversation"), plural(moved.messages, "message")
    return f"{conversations} with {messages} moved to {target} and compared{there}"


def _differing(moved: Moved, *, target: StorePlace) -> str:
    names = ", ".join(repr(key.conversation) for key in moved.different[:_NAMES])
    more = f" and {len(moved.different) - _NAMES:,} more" if len(moved.different) > _NAMES else ""
    return (
        f"{names}{more}: {target} has another conversation of that name, which was left as it is: "
        "delete one of the two, then run this again"
    )
