from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, date
from pathlib import Path

import pytest
from filelock import FileLock

from autocompact.errors import MemoryInUse, StoreUnavailable
from autocompact.memory.schedule import AfterSessions, Schedule, Upkeep
from autocompact.memory.schedule.running import LOCK, STATE
from autocompact.testing.clock import FakeClock

pytestmark = pytest.mark.anyio
FRIDAY = "2026-11-20T10:00:00.000+00:00"
DAY = 86_400


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Ran:
    """Jobs that say for which day they ran; they fail as often as they are told to."""

    def __init__(self, failures: int = 0) -> None:
        self.days: list[tuple[str, date]] = []
        self.failures = failures

    async def weekly(self, day: date) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("the disk is full")
        self.days.append(("weekly", day))

    async def monthly(self, day: date) -> None:
        self.days.append(("monthly", day))


def schedule(folder: Path, ran: Ran, clock: FakeClock) -> Schedule:
    return Schedule(folder, jobs={"weekly": ran.weekly, "monthly": ran.monthly}, clock=clock, zone=UTC)


_HOLDER = "import sys, filelock; held = filelock.FileLock(sys.argv[1]); held.acquire(); print(flush=True); sys.stdin.read()"


@contextmanager
def held(lock: Path) -> Generator[None]:
    """Another process has the lock."""
    command = [sys.executable, "-c", _HOLDER, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"\n"
        yield
        other.communicate()


@pytest.mark.requirement("C5")
async def test_a_week_and_a_month_go_by(tmp_path: Path):
    clock, ran = FakeClock(FRIDAY), Ran()
    one = schedule(tmp_path, ran, clock)
    assert await one.look() == ()  # the first start: nothing was missed
    for _ in range(12):
        clock.advance(DAY)
        await one.look()
        await one.look()
    assert ran.days == [
        ("weekly", date(2026, 11, 22)),
        ("weekly", date(2026, 11, 29)),
        ("monthly", date(2026, 12, 1)),
    ]


@pytest.mark.requirement("C5")
async def test_after_a_downtime_what_was_missed_runs_once(tmp_path: Path):
    clock, ran = FakeClock(FRIDAY), Ran()
    await schedule(tmp_path, ran, clock).look()
    clock.advance(100 * DAY)
    assert await schedule(tmp_path, ran, clock).look() == ("weekly", "monthly")
    assert await schedule(tmp_path, ran, clock).look() == ()
    assert ran.days == [("weekly", date(2027, 2, 28)), ("monthly", date(2027, 2, 1))]


async def test_a_job_that_fails_is_due_until_it_can_and_holds_up_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    clock, ran = FakeClock(FRIDAY), Ran(failures=2)
    one = schedule(tmp_path, ran, clock)
    await one.look()
    clock.advance(20 * DAY)
    assert [await one.look() for _ in range(4)] == [("monthly",), (), ("weekly",), ()]
    assert [(record.levelname, vars(record)["job"], vars(record)["detail"]) for record in caplog.records] == [
        ("WARNING", "weekly", "the disk is full"),
    ] * 2


async def test_a_fault_in_a_job_ends_neither_the_others_nor_the_schedule(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    clock, ran, looked = FakeClock(FRIDAY), Ran(), list[date]()

    async def faulty(_: date) -> None:
        raise ZeroDivisionError

    async def work(day: date) -> None:
        looked.append(day)
        raise StoreUnavailable("the disk is full")

    after = AfterSessions(count=lambda: 3, most=2, work=work)
    (tmp_path / STATE).write_text('{"weekly": "2026-11-08", "monthly": "2026-11-01"}')
    one = Schedule(
        tmp_path, jobs={"weekly": faulty, "monthly": ran.monthly}, after=after, clock=clock, zone=UTC
    )
    assert [await one.look() for _ in range(2)] == [(), ()]
    assert looked == [date(2026, 11, 20)] * 2
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"] * 2
    assert caplog.records[0].exc_info is not None


async def test_a_fault_outside_of_the_jobs_ends_the_schedule_as_little(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    clock, ran, pauses = FakeClock(FRIDAY), Ran(), asyncio.Queue[float]()

    def faulty() -> int:
        raise ZeroDivisionError

    async def pause(seconds: float) -> None:
        pauses.put_nowait(seconds)
        if pauses.qsize() > 1:
            await asyncio.Event().wait()

    after = AfterSessions(count=faulty, most=2, work=ran.weekly)
    one = Schedule(tmp_path, jobs={}, after=after, clock=clock, zone=UTC, pause=pause)
    one.start()
    await asyncio.wait_for(pauses.get(), 10)
    await asyncio.wait_for(pauses.get(), 10)
    await one.aclose()
    assert {record.message for record in caplog.records} == {"upkeep failed"}


async def test_sessions_that_cannot_be_counted_hold_up_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    clock, ran = FakeClock(FRIDAY), Ran()
    upkeep = Upkeep(folder=tmp_path)
    after = AfterSessions(count=upkeep.sessions, most=2, work=ran.weekly)
    (tmp_path / "CONTEXT_ARCHIVE.md").write_bytes(b"\xff\xfe\x00")
    one = Schedule(tmp_path, jobs={"monthly": ran.monthly}, after=after, clock=clock, zone=UTC)
    await one.look()
    clock.advance(20 * DAY)
    assert await one.look() == ("monthly",)
    assert await one.look() == ()
    assert {record.message for record in caplog.records} == {"the archived sessions could not be counted"}


async def test_while_somebody_else_works_in_the_folder_jobs_wait(tmp_path: Path):
    async def busy(_: date) -> None:
        raise MemoryInUse("another run is at it")

    (tmp_path / STATE).write_text('{"weekly": "2026-11-08", "monthly": "2026-11-01"}')
    one = Schedule(tmp_path, jobs={"weekly": busy}, clock=FakeClock(FRIDAY), zone=UTC)
    with pytest.raises(MemoryInUse):
        await one.look()
    assert json.loads((tmp_path / STATE).read_text())["weekly"] == "2026-11-08"


async def test_while_another_process_is_at_it_nothing_runs(tmp_path: Path):
    clock, ran = FakeClock(FRIDAY), Ran()
    one = schedule(tmp_path, ran, clock)
    await one.look()
    clock.advance(2 * DAY)
    with held(tmp_path / LOCK):
        assert await one.look() == ()
    assert await one.look() == ("weekly",)


async def test_without_a_memory_folder_nothing_runs_and_none_is_made(tmp_path: Path):
    ran = Ran()
    assert await schedule(tmp_path / "none", ran, FakeClock(FRIDAY)).look() == ()
    assert not (tmp_path / "none").exists()


async def test_a_note_that_cannot_be_read_is_written_anew(tmp_path: Path):
    (tmp_path / STATE).write_text("{")
    ran = Ran()
    assert await schedule(tmp_path, ran, FakeClock(FRIDAY)).look() == ()
    assert json.loads((tmp_path / STATE).read_text()) == {
        "weekly": "2026-11-15",
        "monthly": "2026-11-01",
        "sessions": 0,
    }


async def test_in_the_background_it_runs_at_each_midnight_and_ends_when_it_is_told(tmp_path: Path):
    clock, ran = FakeClock(FRIDAY), Ran(failures=1)
    enough, pauses = asyncio.Event(), list[float]()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        clock.advance(seconds)
        if ran.days:
            enough.set()
            await asyncio.Event().wait()
        await asyncio.sleep(0)

    one = Schedule(tmp_path, jobs={"weekly": ran.weekly}, clock=clock, zone=UTC, pause=pause)
    await one.aclose()  # one that never started
    one.start()
    await asyncio.wait_for(enough.wait(), 20)
    await one.aclose()
    assert ran.days == [("weekly", date(2026, 11, 22))]
    assert max(pauses) == 3_600
    with FileLock(tmp_path / LOCK, timeout=0):
        pass  # nobody holds it any more


async def test_a_job_that_runs_when_it_is_told_to_end_is_finished(tmp_path: Path):
    clock, begun, go, ended = FakeClock(FRIDAY), asyncio.Event(), asyncio.Event(), list[date]()

    async def slow(day: date) -> None:
        begun.set()
        await go.wait()
        ended.append(day)

    (tmp_path / STATE).write_text('{"weekly": "2026-11-08", "monthly": "2026-11-01"}')
    one = Schedule(tmp_path, jobs={"weekly": slow}, clock=clock, zone=UTC)
    one.start()
    await asyncio.wait_for(begun.wait(), 20)
    closing = asyncio.create_task(one.aclose())
    await asyncio.sleep(0)
    go.set()
    await asyncio.wait_for(closing, 20)
    assert ended == [date(2026, 11, 15)]
    assert json.loads((tmp_path / STATE).read_text())["weekly"] == "2026-11-15"


@pytest.mark.requirement("C4", "C5")
async def test_tasks_are_looked_at_besides_after_so_many_sessions(tmp_path: Path):
    clock, found, looked = FakeClock(FRIDAY), [3], list[date]()

    async def work(day: date) -> None:
        looked.append(day)

    async def monthly(_: date) -> None:
        pass

    after = AfterSessions(count=lambda: found[0], most=2, work=work)
    one = Schedule(tmp_path, jobs={"monthly": monthly}, after=after, clock=clock, zone=UTC)
    for sessions in (3, 4, 5, 5, 6):
        found[0] = sessions
        await one.look()
    assert looked == [date(2026, 11, 20)]
    clock.advance(20 * DAY)
    found[0] = 9
    await one.look()  # the monthly run counts
    assert len(looked) == 1
    found[0] = 11
    await one.look()
    assert len(looked) == 2
    (tmp_path / "CONTEXT_ARCHIVE.md").write_text(
        "".join(f"## 2026-11-20T00:00:00 c{n}\n\n- Conversation: `s{n % 2}`\n\n" for n in range(5))
    )
    assert Upkeep(folder=tmp_path).sessions() == 2


@pytest.mark.requirement("C5", "C6")
async def test_the_jobs_archive_observations_and_tasks_and_write_the_report(tmp_path: Path):
    (tmp_path / "OBSERVATIONS.md").write_text(
        "- 2026-09-01: Old\n- 2026-09-01: Confirmed (9 confirmations)\n"
    )
    (tmp_path / "DONE.md").write_text(
        "".join(f"- 2026-10-{day:02}: T-{day} x (done)\n" for day in range(1, 13))
    )
    (tmp_path / STATE).write_text('{"weekly": "2026-10-25", "monthly": "2026-10-01"}')
    clock = FakeClock("2026-11-01T00:00:00.000+00:00")
    upkeep = Upkeep(folder=tmp_path, clock=clock)
    one = Schedule(tmp_path, jobs=upkeep.jobs(), clock=clock, zone=UTC)
    assert await one.look() == ("weekly", "monthly")
    assert "Rule 1: Confirmed" in (tmp_path / "ACTIVE_RULES.md").read_text()
    assert "Old" in (tmp_path / "OBSERVATION_ARCHIVE.md").read_text()
    assert (tmp_path / "TASK_ARCHIVE.md").read_text().count("| T-") == 2
    assert "| Tasks finished | 12 |" in (tmp_path / "reports" / "2026-10.md").read_text()
    await Upkeep(folder=tmp_path, clock=FakeClock("2026-12-01T00:00:00.000+00:00"), report=False).monthly(
        date(2026, 12, 1)
    )
    assert not (tmp_path / "reports" / "2026-11.md").exists()
