from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.memory.schedule.times import (
    JOBS,
    LONGEST_PAUSE,
    Job,
    day_of,
    due,
    last_due,
    seconds_to_next_day,
)

DAYS = st.dates(min_value=date(2000, 1, 1), max_value=date(2099, 12, 1))
ZONES = st.sampled_from(
    [
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Africa/Cairo",
        "Asia/Beirut",
        "Pacific/Apia",
        "Australia/Lord_Howe",
    ]
)


@given(DAYS)
def test_each_job_was_last_due_on_a_sunday_or_a_first_of_the_month(day: date):
    sunday, first = last_due("weekly", day), last_due("monthly", day)
    assert (sunday.weekday(), (day - sunday).days in range(7)) == (6, True)
    assert (first.day, first.month, first.year) == (1, day.month, day.year)


@pytest.mark.requirement("C5")
def test_what_was_missed_for_months_is_due_once():
    done: dict[Job, date] = {"weekly": date(2026, 3, 1), "monthly": date(2026, 3, 1)}
    assert list(due(done, "2026-11-21T12:00:00+00:00", zone=UTC)) == [
        ("weekly", date(2026, 11, 15)),
        ("monthly", date(2026, 11, 1)),
    ]
    assert list(due({}, "2026-11-01T12:00:00+00:00", zone=UTC)) == [
        ("weekly", date(2026, 11, 1)),
        ("monthly", date(2026, 11, 1)),
    ]


@pytest.mark.requirement("C6")
@pytest.mark.parametrize(
    "now, zone, day",
    [
        # nine hours of October are still to come in UTC, whose days the report counts
        ("2026-11-01T00:30:00+09:00", "Asia/Tokyo", date(2026, 10, 1)),
        ("2026-11-01T09:00:00+09:00", "Asia/Tokyo", date(2026, 11, 1)),
        ("2026-11-01T00:30:00+00:00", "America/New_York", date(2026, 10, 1)),
        ("2026-11-01T00:30:00-04:00", "America/New_York", date(2026, 11, 1)),
    ],
)
def test_a_month_is_reported_on_when_it_is_over_here_and_in_utc(now: str, zone: str, day: date):
    assert last_due("monthly", day_of("monthly", now, zone=ZoneInfo(zone))) == day


@given(ZONES, st.datetimes(datetime(2020, 1, 1), datetime(2027, 1, 1)), st.integers(20, 400))  # noqa: DTZ001 - made aware below
def test_on_any_calendar_each_sunday_and_each_first_is_done_exactly_once(
    name: str, start: datetime, hours: int
):
    zone, instant = ZoneInfo(name), start.replace(tzinfo=UTC)
    begun: dict[Job, date] = {job: day_of(job, instant.isoformat(), zone=zone) for job in JOBS}
    done: dict[Job, date] = {job: last_due(job, day) for job, day in begun.items()}
    ran: list[tuple[Job, date]] = []
    seen: set[tuple[Job, date]] = set()
    for _ in range(hours):
        instant += timedelta(hours=1)
        now = instant.isoformat()
        seen |= {(job, day_of(job, now, zone=zone)) for job in JOBS}
        for job, day in due(done, now, zone=zone):
            done[job] = day
            ran.append((job, day))
    assert len(set(ran)) == len(ran)
    assert set(ran) == {(job, day) for job, day in seen if day == last_due(job, day) and day > begun[job]}


@pytest.mark.parametrize(
    "now, zone, seconds",
    [
        ("2026-11-21T23:59:00+00:00", "UTC", 60),
        ("2026-11-21T23:00:00.500+01:00", "Europe/Berlin", 3_599.5),
        ("2026-11-21T10:00:00+00:00", "UTC", LONGEST_PAUSE),
        ("2026-11-21T23:59:59.900+00:00", "UTC", 1),
        # Cairo, 24 April 2026: midnight does not exist, the day begins at one o'clock
        ("2026-04-23T21:30:00+00:00", "Africa/Cairo", 1_800),
    ],
)
def test_the_pause_ends_with_the_local_day_and_is_an_hour_at_most(now: str, zone: str, seconds: float):
    assert seconds_to_next_day(now, zone=ZoneInfo(zone)) == pytest.approx(seconds)


def test_without_a_zone_it_is_that_of_the_machine():
    now = "2026-11-21T12:00:00+00:00"
    assert day_of("weekly", now) == datetime.fromisoformat(now).astimezone().date()
    assert 1 <= seconds_to_next_day(now) <= LONGEST_PAUSE


def test_a_day_that_is_done_stays_done_on_the_other_side_of_the_date_line():
    done: dict[Job, date] = {"weekly": date(2026, 11, 15), "monthly": date(2026, 11, 1)}
    assert list(due(done, "2026-11-14T12:00:00+00:00", zone=UTC)) == []
    assert list(due(done, "2026-10-31T12:00:00+00:00", zone=UTC)) == []
