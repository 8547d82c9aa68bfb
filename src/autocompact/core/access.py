"""Access keys of a gateway: what each may do, how much it may use, and whether a request is within that.

A key is known by its digest; the key itself is shown once, when it is made. Use is counted by the minute, day and month of UTC.
A request is let in or not before what it takes is known. While it runs it is taken for what it probably takes, so that those
which run at the same time do not exceed a budget together by more than that guess is off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Literal, TypeAlias

from autocompact.errors import InvalidInput

Scope: TypeAlias = Literal["models", "conversations", "manage", "admin"]
Period: TypeAlias = Literal["minute", "day", "month"]
Reason: TypeAlias = Literal[
    "unknown",
    "expired",
    "revoked",
    "scope",
    "route",
    "model",
    "price",
    "requests",
    "tokens",
    "budget",
    "running",
]

SCOPES: Mapping[Scope, str] = MappingProxyType(
    {
        "models": "requests to models",
        "conversations": "reads and searches its own conversations",
        "manage": "compacts, undoes and deletes its own conversations",
        "admin": "sees all keys, their use, and the audit log",
    }
)
"""What a key may be allowed, with what that means."""

USUAL_SCOPES: tuple[Scope, ...] = ("models", "conversations", "manage")

MICROS = 1_000_000
"""Parts of a US dollar in which money is counted."""

_LENGTHS: Mapping[Period, int] = MappingProxyType({"minute": 16, "day": 10, "month": 7})
_HTTP: Mapping[Reason, int] = MappingProxyType(
    {
        "unknown": 401,
        "expired": 401,
        "revoked": 401,
        "requests": 429,
        "tokens": 429,
        "budget": 429,
        "running": 429,
    }
)
_FORBIDDEN = 403

_RUNNING_SECONDS = 5
"""After which who was refused because of requests that run may ask again: most answers are whole by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """The most that a key may use; None is as much as it wants.

    Attributes:
        requests_per_minute: begun.
        tokens_per_minute: of requests and replies, as all figures of tokens.
        tokens_per_day: likewise.
        tokens_per_month: likewise.
        dollars_per_day: US dollars, by the list prices of the models.
        dollars_per_month: likewise.

    Raises:
        InvalidInput: a figure is not above 0.
    """

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    tokens_per_day: int | None = None
    tokens_per_month: int | None = None
    dollars_per_day: float | None = None
    dollars_per_month: float | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            figure = getattr(self, name)
            if figure is not None and not 0 < figure < float("inf"):
                raise InvalidInput(f"{name.replace('_', ' ')} is {figure!r}: it must be above 0")

    @property
    def is_priced(self) -> bool:
        """True if money is limited, so that only models with a price may be used."""
        return self.dollars_per_day is not None or self.dollars_per_month is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessKey:
    """A key, and what it may do.

    Attributes:
        id: names it, for people.
        digest: SHA-256 of the key, in hexadecimal digits.
        name: what it is for.
        tenant: whose it is; keys of the same tenant and user reach the same conversations.
        user: of the tenant, "" for none.
        scopes: what it may do.
        models: patterns of names (``gpt-5*``); empty allows all.
        routes: patterns of paths (``/v1/messages*``); empty allows all.
        allowance: the most that it may use.
        created: ISO 8601 stamp (UTC).
        expires: likewise, None for never.
        revoked: since when it is not valid any more, None if it is.
    """

    id: str
    digest: str = field(repr=False)
    name: str
    tenant: str
    user: str = ""
    scopes: tuple[Scope, ...] = USUAL_SCOPES
    models: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    allowance: Allowance = field(default_factory=Allowance)
    created: str
    expires: str | None = None
    revoked: str | None = None

    def is_valid(self, now: str) -> bool:
        """True if it is neither revoked nor expired."""
        return self.revoked is None and (self.expires is None or now < self.expires)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a key used within a period.

    Attributes:
        requests: begun.
        tokens: of requests and replies.
        micros: millionths of a US dollar.
        refused: requests that were not let in.
    """

    requests: int = 0
    tokens: int = 0
    micros: int = 0
    refused: int = 0

    def with_running(self, more: Spent, *, times: int = 1) -> Spent:
        """This and the tokens and the money of requests that run; ``times`` is -1 when one is through."""
        return replace(
            self, tokens=self.tokens + times * more.tokens, micros=self.micros + times * more.micros
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Denied:
    """Why a request is not let in.

    Attributes:
        reason: for programs.
        message: for people.
        retry_after: seconds after which it may be; None where time does not help.
    """

    reason: Reason
    message: str
    retry_after: int | None = None

    @property
    def status(self) -> int:
        """Of HTTP."""
        return _HTTP.get(self.reason, _FORBIDDEN)


NOTHING_SPENT = Spent()


def period_of(now: str, period: Period) -> str:
    """The name of the period that a stamp is in, which is how the stamp begins: ``2026-11``, ``2026-11-26T10:29``."""
    return now[: _LENGTHS[period]]


def periods(now: str) -> dict[Period, str]:
    """The names of all periods that a stamp is in."""
    return {period: period_of(now, period) for period in _LENGTHS}


def seconds_left(now: str, period: Period) -> int:
    """Seconds to the end of the period, rounded up, 1 at least."""
    at = datetime.fromisoformat(now).astimezone(UTC)
    match period:
        case "minute":
            end = at.replace(second=0, microsecond=0) + timedelta(minutes=1)
        case "day":
            end = at.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        case _:  # a month
            # the 1st of a month and 32 days is always within the next one
            first = at.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
            end = (first + timedelta(days=32)).replace(day=1)
    return max(1, -((at - end) // timedelta(seconds=1)))


def denied_entry(key: AccessKey | None, *, now: str, scope: Scope, route: str) -> Denied | None:
    """Why a key may not come in at all; None if it may.

    Args:
        key: None if there is none of that digest.
        now: ISO 8601 stamp.
        scope: what the request does.
        route: its path.
    """
    if key is None:
        return Denied(
            reason="unknown",
            message="the access key is missing or unknown: ask the gateway's operator for one",
        )
    if key.revoked is not None:
        return Denied(reason="revoked", message=f"the access key {key.id} was revoked")
    if not key.is_valid(now):
        return Denied(reason="expired", message=f"the access key {key.id} expired at {key.expires}")
    if scope not in key.scopes:
        return Denied(
            reason="scope", message=f"the access key {key.id} is not for this: it lacks the scope {scope!r}"
        )
    if key.routes and not _matches(route, key.routes):
        return Denied(
            reason="route",
            message=f"the access key {key.id} may not use {route}, only {', '.join(key.routes)}",
        )
    return None


def allows_model(key: AccessKey, model: str) -> bool:
    """True if the key may ask this model."""
    return not key.models or _matches(model, key.models)


def denied_use(
    key: AccessKey,
    *,
    now: str,
    spent: Mapping[Period, Spent],
    model: str | None,
    is_priced: bool,
    running: Spent = NOTHING_SPENT,
) -> Denied | None:
    """Why a key may not ask a model now; None if it may.

    Args:
        key: that may come in.
        now: ISO 8601 stamp.
        spent: what it used in the periods of ``now``, without this request.
        model: that is asked; None for a request that names none and costs nothing.
        is_priced: the model has a known price.
        running: what its requests that are not counted yet will probably take.
    """
    if model is not None and not allows_model(key, model):
        return Denied(
            reason="model",
            message=f"the access key {key.id} does not have access to the model {model!r}, only {', '.join(key.models)}",
        )
    if model is not None and key.allowance.is_priced and not is_priced:
        return Denied(
            reason="price",
            message=f"the model {model!r} has no known price, and the access key {key.id} has a budget in money: name its "
            "price in the settings (models.inputPrices, models.outputPrices)",
        )
    for reason, period, used, most in _uses(key.allowance, spent):
        if most is not None and used >= most:
            said = f"{most:,} {reason}" if reason != "budget" else f"${most:,.2f}"
            return Denied(
                reason="budget" if period != "minute" else reason,
                message=f"the access key {key.id} has used its {said} of this {period}",
                retry_after=seconds_left(now, period),
            )
    return _denied_beside(running, key, spent=spent) if running != NOTHING_SPENT else None


def _denied_beside(running: Spent, key: AccessKey, *, spent: Mapping[Period, Spent]) -> Denied | None:
    """Why a key that has something left may not ask a model beside its requests that run; None if it may."""
    expected: Mapping[Period, Spent] = {
        period: spent.get(period, NOTHING_SPENT).with_running(running) for period in _LENGTHS
    }
    if all(most is None or used < most for _, _, used, most in _uses(key.allowance, expected)):
        return None
    return Denied(
        reason="running",
        message=f"the requests of the access key {key.id} that run now may take the rest of its allowance: try again when "
        "one of them is through",
        retry_after=_RUNNING_SECONDS,
    )


def _uses(
    most: Allowance, spent: Mapping[Period, Spent]
) -> Iterator[tuple[Literal["requests", "tokens", "budget"], Period, float, float | None]]:
    """Reason, period, what was used and the most of it, the longest period first: its end is the one to wait for."""
    minute, day, month = (spent.get(period, NOTHING_SPENT) for period in _LENGTHS)
    yield "budget", "month", month.micros / MICROS, most.dollars_per_month
    yield "tokens", "month", month.tokens, most.tokens_per_month
    yield "budget", "day", day.micros / MICROS, most.dollars_per_day
    yield "tokens", "day", day.tokens, most.tokens_per_day
    yield "tokens", "minute", minute.tokens, most.tokens_per_minute
    yield "requests", "minute", minute.requests, most.requests_per_minute


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
