"""``autocompact keys``: the access keys of a gateway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

import click

from autocompact.cli.defaults import settings
from autocompact.cli.running import run
from autocompact.cli.sources import deliver
from autocompact.cli.values import count, store_option
from autocompact.core.access import MICROS, SCOPES, USUAL_SCOPES, AccessKey, Allowance, Period, Spent
from autocompact.core.plurals import plural
from autocompact.errors import InvalidInput
from autocompact.history.archive import encode
from autocompact.stores.access import AccessKeys, Note
from autocompact.stores.naming import IN_MEMORY, StorePlace, is_there
from autocompact.ui.terminal.output import display, tell

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., None])
COUNT = count(least=1)
_MONEY = click.FloatRange(min=0, min_open=True)

_db = store_option(
    "--db", help="The gateway's store: a file, or postgresql://…  [default: gateway.db of the settings]"
)
_json = click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")

_ALLOWANCE = (
    ("--requests-per-minute", COUNT, "Requests begun in a minute."),
    ("--tokens-per-minute", COUNT, "Tokens of requests and replies in a minute."),
    ("--tokens-per-day", COUNT, "The same in a day (UTC)."),
    ("--tokens-per-month", COUNT, "The same in a month."),
    ("--dollars-per-day", _MONEY, "US dollars in a day, by list prices or models.inputPrices."),
    ("--dollars-per-month", _MONEY, "The same in a month."),
)


def _limited(command: F) -> F:
    for name, kind, said in reversed(_ALLOWANCE):
        command = click.option(name, type=kind, metavar="N", help=f"{said}  [default: no limit]")(command)
    return command


@click.group()
def keys() -> None:
    """Make, list and revoke the access keys of a gateway.

    A gateway that is started with --access-keys and --upstream-key lets in who has one. Only their SHA-256 is kept, in the
    gateway's store; keys of the same tenant and user reach the same conversations.
    """


@keys.command()
@click.argument("name")
@click.option(
    "--tenant", default="default", show_default=True, metavar="NAME", help="Whose it is: a team, a customer."
)
@click.option("--user", default="", metavar="NAME", help="Of the tenant; each has conversations of its own.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(list(SCOPES)),
    default=USUAL_SCOPES,
    show_default=True,
    help="What it may do. May be repeated.",
)
@click.option(
    "--model", "models", multiple=True, metavar="NAME", help="Only these models: gpt-5*. May be repeated."
)
@click.option(
    "--route",
    "routes",
    multiple=True,
    metavar="PATH",
    help="Only these paths: /v1/messages*. May be repeated.",
)
@click.option(
    "--expires-in-days", type=COUNT, metavar="N", help="How long it is valid.  [default: until revoked]"
)
@_limited
@_json
@_db
def create(
    name: str, *, db: StorePlace | None, as_json: bool, expires_in_days: int | None, **options: Any
) -> None:
    """Make a key, called NAME, and print it: this once only."""
    limits = {option.lstrip("-").replace("-", "_") for option, _, _ in _ALLOWANCE}
    allowance = Allowance(**{each: options.pop(each) for each in limits})
    expires = _in_days(expires_in_days)
    key, secret = _ask(
        lambda keys: keys.create(name=name, allowance=allowance, expires=expires, **options), db=db, make=True
    )
    if as_json:
        deliver([encode({"id": key.id, "key": secret, "expires": key.expires}) + b"\n"], None)
        return
    tell(f"Key {key.id} for {_whose(key)}. It is shown this once: keep it.")
    display(secret)


@keys.command("list")
@click.option("--tenant", metavar="NAME", help="Only those of this tenant.")
@_json
@_db
def list_keys(*, tenant: str | None, db: StorePlace | None, as_json: bool) -> None:
    """List the keys, what each may do, and what it used today and this month."""

    async def read(keys: AccessKeys) -> list[tuple[AccessKey, dict[Period, Spent]]]:
        return [(key, await keys.spent(key.id)) for key in await keys.keys() if tenant in (None, key.tenant)]

    found = _ask(read, db=db)
    if as_json:
        deliver([encode([_document(key, used) for key, used in found]) + b"\n"], None)
    elif found:
        display("\n".join(_lines(key, used) for key, used in found))
    else:
        tell("There are no access keys: `autocompact keys create NAME` makes one.")


@keys.command()
@click.argument("id")
@_db
def revoke(id: str, *, db: StorePlace | None) -> None:
    """End the key ID at once, in all gateways on the store; it stays in the list."""
    key = _ask(lambda keys: keys.revoke(id), db=db)
    tell(f"Key {key.id} ({key.name}) of {_whose(key)} is revoked since {key.revoked}")


@keys.command("log")
@click.option(
    "-n", "limit", type=COUNT, default="100", show_default=True, metavar="N", help="Entries at most."
)
@_json
@_db
def show_log(*, limit: int, db: StorePlace | None, as_json: bool) -> None:
    """Show the audit log, the newest entry first: keys made and revoked, requests refused, conversations deleted."""
    from dataclasses import asdict

    notes: tuple[Note, ...] = _ask(lambda keys: keys.notes(limit=limit), db=db)
    if as_json:
        deliver([encode([asdict(note) for note in notes]) + b"\n"], None)
    else:
        display("\n".join(f"{n.at}  {n.actor}  {n.action}  {n.key}  {n.detail}".rstrip() for n in notes))


def _ask(question: Callable[[AccessKeys], Awaitable[T]], *, db: StorePlace | None, make: bool = False) -> T:
    from autocompact.settings import gateway_database_of
    from autocompact.stores.opening import open_store

    place = db or gateway_database_of(settings())
    if place is None or str(place) == IN_MEMORY:
        raise InvalidInput(
            "access keys are kept in a database: name one with --db, or in the setting gateway.db"
        )
    if not make and not is_there(place):
        raise InvalidInput(
            f"there is no gateway's store {str(place)!r}: `autocompact keys create NAME` makes it"
        )

    async def work() -> T:
        async with open_store(place) as store:
            return await question(AccessKeys(store))

    return run(work())


def _in_days(days: int | None) -> str | None:
    from autocompact.ports import SystemClock

    if days is None:
        return None
    try:
        end = datetime.fromisoformat(SystemClock().now()) + timedelta(days=days)
    except OverflowError as error:
        raise InvalidInput(f"--expires-in-days: {days} days from now are beyond the calendar") from error
    return end.isoformat(timespec="milliseconds")


def _whose(key: AccessKey) -> str:
    return f"{key.tenant}/{key.user}" if key.user else key.tenant


def _lines(key: AccessKey, used: dict[Period, Spent]) -> str:
    from dataclasses import asdict

    state = "valid" if key.expires is None else f"until {key.expires[:10]}"
    state = state if key.revoked is None else f"revoked {key.revoked[:10]}"
    limits = [
        f"{figure:,g} {name.replace('_', ' ')}"
        for name, figure in asdict(key.allowance).items()
        if figure is not None
    ]
    may = [*key.scopes, *key.models, *key.routes]
    return (
        f"{key.id}  {key.name}  {_whose(key)}  {state}\n    may: {', '.join(may)}\n"
        f"    limits: {', '.join(limits) or 'none'}\n"
        f"    today: {_used(used['day'])}; this month: {_used(used['month'])}"
    )


def _used(spent: Spent) -> str:
    refused = f", {spent.refused:,} refused" if spent.refused else ""
    return (
        f"{plural(spent.requests, 'request')}, {plural(spent.tokens, 'token')}, "
        f"${spent.micros / MICROS:,.2f}{refused}"
    )


def _document(key: AccessKey, used: dict[Period, Spent]) -> dict[str, Any]:
    import msgspec

    shown = msgspec.to_builtins(key)
    del shown["digest"]
    return shown | {"used": msgspec.to_builtins(used)}
