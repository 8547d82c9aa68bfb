"""Due dates of the upkeep: each Sunday and each first of a month, at the beginning of the day.

A run belongs to a day of the local calendar, not to an instant; that of a month waits until the month is over in UTC, too, whose days
the report counts. So clocks that are set forward or back never skip or
repeat one: where a day has no midnight it begins with its first instant, and where midnight comes twice the day was
done after the first. A day that is done stays done when one travels west over the date line. What was missed while
nothing ran is done once, for its last day.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal, TypeAlias, get_args

Job: TypeAlias = Literal["weekly", "monthly"]
JOBS: tuple[Job, ...] = get_args(Job)

_SUNDAY = 6
LONGEST_PAUSE = 3_600.0
"""Seconds after which the calendar is looked at again: clocks are set, and computers sleep."""


def day_of(job: Job, now: str, *, zone: tzinfo | None = None) -> date:
    """The day that it is for a job.

    Args:
        job: which.
        now: a stamp in ISO 8601 with an offset.
        zone: the local time zone; None is that of the machine.
    """
    instant = datetime.fromisoformat(now)
    local = instant.astimezone(zone).date()
    return local if job == "weekly" else min(local, instant.astimezone(UTC).date())


def last_due(job: Job, day: date) -> date:
    """The last day up to ``day`` on which the job is due."""
    match job:
        case "weekly":
            return day - timedelta(days=(day.weekday() - _SUNDAY) % 7)
        case "monthly":
            return day.replace(day=1)


def due(done: Mapping[Job, date], now: str, *, zone: tzinfo | None = None) -> Iterator[tuple[Job, date]]:
    """The jobs to run, each with the day that it is for.

    Args:
        done: the day for which each job ran last; one that is missing never ran, and is due.
        now: a stamp in ISO 8601 with an offset.
        zone: the local time zone; None is that of the machine.
    """
    for job in JOBS:
        wanted = last_due(job, day_of(job, now, zone=zone))
        if job not in done or done[job] < wanted:
            yield job, wanted


def seconds_to_next_day(now: str, *, zone: tzinfo | None = None) -> float:
    """Seconds until the local day ends, at most `LONGEST_PAUSE`; those of a clock that is set meanwhile not counted."""
    instant = datetime.fromisoformat(now).astimezone(zone)
    tomorrow = datetime.combine(instant.date() + timedelta(days=1), datetime.min.time())
    midnight = tomorrow.replace(tzinfo=zone) if zone else tomorrow.astimezone()
    return min(LONGEST_PAUSE, max(1.0, midnight.timestamp() - instant.timestamp()))
