"""What a key may do, and when it may again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.access import (
    AccessKey,
    Allowance,
    Denied,
    Period,
    Reason,
    Scope,
    Spent,
    denied_entry,
    denied_use,
    period_of,
    periods,
    seconds_left,
)
from autocompact.errors import InvalidInput

NOW = "2026-11-26T10:29:30.500+00:00"


def key(**more: object) -> AccessKey:
    given: dict[str, object] = {
        "id": "k1",
        "digest": "0" * 64,
        "name": "n",
        "tenant": "t",
        "created": "2026-01-01T00:00:00.000+00:00",
    }
    return AccessKey(**(given | more))  # pyright: ignore[reportArgumentType] - a test's table of fields


def entry(given: AccessKey | None, *, scope: Scope = "models", route: str = "/v1/messages") -> Denied | None:
    return denied_entry(given, now=NOW, scope=scope, route=route)


@pytest.mark.parametrize(
    "given, scope, route, reason, status",
    [
        (None, "models", "/v1/messages", "unknown", 401),
        (key(revoked="2026-02-01"), "models", "/v1/messages", "revoked", 401),
        (key(expires=NOW), "models", "/v1/messages", "expired", 401),
        (key(), "admin", "/autocompact/keys", "scope", 403),
        (key(routes=("/v1/messages*",)), "models", "/v1/embeddings", "route", 403),
    ],
)
def test_who_may_not_come_in_is_told_why(
    given: AccessKey | None, scope: Scope, route: str, reason: Reason, status: int
) -> None:
    denied = entry(given, scope=scope, route=route)
    assert denied is not None
    assert (denied.reason, denied.status, denied.retry_after) == (reason, status, None)
    assert denied.message


def test_who_may_come_in_does() -> None:
    later = "2026-11-26T10:29:30.501+00:00"
    assert entry(key(expires=later, routes=("/v1/m*",))) is None
    assert entry(key()) is None


def use(
    given: AccessKey, spent: dict[Period, Spent], *, model: str | None = "gpt-5", priced: bool = True
) -> Denied | None:
    return denied_use(given, now=NOW, spent=spent, model=model, is_priced=priced)


@pytest.mark.parametrize(
    "allowance, spent, reason, seconds",
    [
        (Allowance(requests_per_minute=2), {"minute": Spent(requests=2)}, "requests", 30),
        (Allowance(tokens_per_minute=10), {"minute": Spent(tokens=11)}, "tokens", 30),
        (Allowance(tokens_per_day=10), {"day": Spent(tokens=10)}, "budget", 48_630),
        (Allowance(tokens_per_month=10), {"month": Spent(tokens=10)}, "budget", 4 * 86_400 + 48_630),
        (Allowance(dollars_per_day=0.5), {"day": Spent(micros=500_000)}, "budget", 48_630),
        (Allowance(dollars_per_month=0.5), {"month": Spent(micros=500_000)}, "budget", 4 * 86_400 + 48_630),
    ],
)
def test_what_is_used_up_is_told_with_when_it_is_not_any_more(
    allowance: Allowance, spent: dict[Period, Spent], reason: Reason, seconds: int
) -> None:
    denied = use(key(allowance=allowance), spent)
    assert denied is not None
    assert (denied.reason, denied.status, denied.retry_after) == (reason, 429, seconds)
    (period,) = spent
    assert period in denied.message
    used: dict[Period, Spent] = {name: Spent(requests=1, tokens=9, micros=499_999) for name in spent}
    assert use(key(allowance=allowance), used) is None
    assert use(key(allowance=allowance), {}) is None


def test_what_runs_counts_as_used_until_it_is_counted() -> None:
    limited = key(allowance=Allowance(tokens_per_day=100))
    used: dict[Period, Spent] = {"day": Spent(tokens=60)}
    running = Spent(tokens=40)

    def asked(running: Spent, *, given: AccessKey = limited) -> Denied | None:
        return denied_use(given, now=NOW, spent=used, model="gpt-5", is_priced=True, running=running)

    denied = asked(running)
    assert denied is not None
    assert (denied.reason, denied.status, denied.retry_after) == ("running", 429, 5)
    assert asked(running.with_running(Spent(tokens=1), times=-1)) is None
    assert asked(running, given=key()) is None
    paid = key(allowance=Allowance(dollars_per_month=1))
    assert asked(Spent(micros=999_999), given=paid) is None
    assert asked(Spent().with_running(Spent(micros=1_000_000)), given=paid) is not None


def test_the_longest_wait_is_the_one_that_is_told() -> None:
    both = Allowance(requests_per_minute=1, tokens_per_day=1)
    denied = use(key(allowance=both), {"minute": Spent(requests=1), "day": Spent(tokens=1)})
    assert denied is not None
    assert "day" in denied.message


def test_a_model_has_to_be_allowed_and_priced_where_money_counts() -> None:
    some = key(models=("gpt-5*", "claude-opus-?"))
    assert use(some, {}, model="gpt-5-mini") is None
    assert use(some, {}, model=None) is None
    for model in ("gpt-4o", "claude-opus-45", ""):
        denied = use(some, {}, model=model)
        assert denied is not None
        assert (denied.reason, denied.status) == ("model", 403)
    paid = key(allowance=Allowance(dollars_per_month=1))
    assert use(paid, {}, priced=True) is None
    assert use(paid, {}, model=None, priced=False) is None
    denied = use(paid, {}, priced=False)
    assert denied is not None
    assert (denied.reason, denied.status) == ("price", 403)


@pytest.mark.parametrize("figure", [0, -1, float("nan"), float("inf")])
def test_an_allowance_is_above_nothing(figure: float) -> None:
    with pytest.raises(InvalidInput, match="dollars per day"):
        Allowance(dollars_per_day=figure)


@given(st.integers(1_577_836_800_000, 1_893_456_000_000))
def test_a_period_ends_when_its_name_changes(milliseconds: int) -> None:
    now = datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    at = datetime.fromisoformat(now)
    names = periods(now)
    for period, name in names.items():
        left = seconds_left(now, period)
        assert left >= 1
        end = (at + timedelta(seconds=left)).isoformat(timespec="milliseconds")
        assert period_of(end, period) != name
        before = (at + timedelta(seconds=left - 1)).isoformat(timespec="milliseconds")
        assert left == 1 or period_of(before, period) == name
