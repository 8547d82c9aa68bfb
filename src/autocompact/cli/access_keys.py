"""Makes, lists and revokes access keys in a gateway's store: the work of ``autocompact keys``.

Apart from the commands, whose ``--help`` needs no store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, TypeVar

from autocompact.cli.defaults import settings
from autocompact.cli.running import run
from autocompact.cli.sources import deliver
from autocompact.core.access import MICROS, AccessKey, Allowance, Period, Spent
from autocompact.core.plurals import plural
from autocompact.errors import InvalidInput
from autocompact.history.archive import encode
from autocompact.stores.access import AccessKeys, Note
from autocompact.stores.naming import IN_MEMORY, StorePlace, is_there
from autocompact.ui.terminal.output import display, tell

T = TypeVar("T")


def create(
    name: str,
    *,
    db: StorePlace | None,
    as_json: bool,
    expires_in_days: int | None,
    limits: dict[str, Any],
    **options: Any,
) -> None:
    """Make a key, called ``name``, and print it: this once only.

    Args:
        name: of the key.
        db: the gateway's store; None takes that of the settings.
        as_json: an object on stdout instead of text.
        expires_in_days: how long it is valid; None until it is revoked.
        limits: fields of `Allowance`.
        options: of `AccessKeys.create`.

    Raises:
        InvalidInput: there is no such store, or a value cannot be.
    """
    allowance = Allowance(**limits)
    expires = _in_days(expires_in_days)
    key, secret = _ask(
        lambda keys: keys.create(name=name, allowance=allowance, expires=expires, **options), db=db, make=True
    )
    if as_json:
        deliver([encode({"id": key.id, "key": secret, "expires": key.expires}) + b"\n"], None)
        return
    tell(f"Key {key.id} for {_whose(key)}. It is shown this once: keep it.")
    display(secret)


def show_all(*, tenant: str | None, db: StorePlace | None, as_json: bool) -> None:
    """List the keys, of one ``tenant`` alone if it is given, with what each may do and what it used.

    Raises:
        InvalidInput: there is no such store.
    """

    async def read(keys: AccessKeys) -> list[tuple[AccessKey, dict[Period, Spent]]]:
        return [(key, await keys.spent(key.id)) for key in await keys.keys() if tenant in (None, key.tenant)]

    found = _ask(read, db=db)
    if as_json:
        deliver([encode([_document(key, used) for key, used in found]) + b"\n"], None)
    elif found:
        display("\n".join(_lines(key, used) for key, used in found))
    else:
        tell("There are no access keys: `autocompact keys create NAME` makes one.")


def revoke(id: str, *, db: StorePlace | None) -> None:
    """End the key ``id`` at once.

    Raises:
        InvalidInput: there is no such store, or no such key in it.
    """
    key = _ask(lambda keys: keys.revoke(id), db=db)
    tell(f"Key {key.id} ({key.name}) of {_whose(key)} is revoked since {key.revoked}")


def show_log(*, limit: int, db: StorePlace | None, as_json: bool) -> None:
    """Show the ``limit`` newest entries of the audit log.

    Raises:
        InvalidInput: there is no such store.
    """
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
    state = "valid" if key.expires is None else f"until {key.expires[:10]}"
    state = state if key.revoked is None else f"revoked {key.revoked[:10]}"
    limits = [
        f"{_figure(figure)} {name.replace('_', ' ')}"
        for name, figure in asdict(key.allowance).items()
        if figure is not None
    ]
    may = [*key.scopes, *key.models, *key.routes]
    return (
        f"{key.id}  {key.name}  {_whose(key)}  {state}\n    may: {', '.join(may)}\n"
        f"    limits: {', '.join(limits) or 'none'}\n"
        f"    today: {_used(used['day'])}; this month: {_used(used['month'])}"
    )


def _figure(figure: float) -> str:
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:,.2f}".removesuffix(".00")


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
