"""``autocompact keys``: the access keys of a gateway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from autocompact.cli.values import count, store_option
from autocompact.core.access import SCOPES, USUAL_SCOPES
from autocompact.stores.naming import StorePlace

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
    from autocompact.cli import access_keys

    names = {option.lstrip("-").replace("-", "_") for option, _, _ in _ALLOWANCE}
    limits = {each: options.pop(each) for each in names}
    access_keys.create(
        name, db=db, as_json=as_json, expires_in_days=expires_in_days, limits=limits, **options
    )


@keys.command("list")
@click.option("--tenant", metavar="NAME", help="Only those of this tenant.")
@_json
@_db
def list_keys(*, tenant: str | None, db: StorePlace | None, as_json: bool) -> None:
    """List the keys.

    Each with what it may do, and what it used today and this month.
    """
    from autocompact.cli import access_keys

    access_keys.show_all(tenant=tenant, db=db, as_json=as_json)


@keys.command()
@click.argument("id")
@_db
def revoke(id: str, *, db: StorePlace | None) -> None:
    """End the key ID at once.

    It ends in all gateways on the store, and stays in the list.
    """
    from autocompact.cli import access_keys

    access_keys.revoke(id, db=db)


@keys.command("log")
@click.option(
    "-n", "limit", type=COUNT, default="100", show_default=True, metavar="N", help="Entries at most."
)
@_json
@_db
def show_log(*, limit: int, db: StorePlace | None, as_json: bool) -> None:
    """Show the audit log, the newest entry first.

    It tells of keys made and revoked, requests refused and conversations deleted.
    """
    from autocompact.cli import access_keys

    access_keys.show_log(limit=limit, db=db, as_json=as_json)
