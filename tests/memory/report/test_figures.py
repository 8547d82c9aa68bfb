from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message, Text
from autocompact.core.prices import Price
from autocompact.core.tokens import Estimator, message_cost
from autocompact.errors import InvalidInput
from autocompact.memory.report.conversations import records_of_place, records_of_store
from autocompact.memory.report.figures import Retention, merged, monthly_report
from autocompact.memory.report.folder import records_of_folder
from autocompact.memory.report.records import Month, Records
from autocompact.memory.report.telling import opening_of
from autocompact.ports import Key
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing.clock import FakeClock
from tests.memory.report import support

pytestmark = pytest.mark.anyio
OCTOBER = Month(year=2026, number=10)


@pytest.fixture
async def kept(tmp_path: Path) -> Records:
    return await records_of_place(await support.store(tmp_path / "x.db"), OCTOBER)


def written(tmp_path: Path) -> Records:
    folder = support.folder(tmp_path / "memory")
    return records_of_folder({path.name: path.read_bytes() for path in folder.iterdir()}, OCTOBER)


def test_a_month_is_read_and_is_by_default_the_one_before():
    assert Month.read("2026-02").days == 28
    assert str(Month.before(date(2026, 1, 31))) == "2025-12"
    assert OCTOBER.has("2026-10-31T23:59:59.999+00:00")
    assert not OCTOBER.has(date(2026, 11, 1))
    assert not OCTOBER.has("")
    for wrong in ("2026-13", "2026-00", "0000-01", "October", "2026-1", "2026-10-01"):
        with pytest.raises(InvalidInput, match="YYYY-MM"):
            Month.read(wrong)


@pytest.mark.requirement("C6")
def test_the_files_say_what_was_noted_escalated_archived_finished_and_compacted_in_the_month(tmp_path: Path):
    found = written(tmp_path)
    assert found.escalated == ("Use UTC <b>everywhere</b>",)
    assert found.archived == ("Tea helps",)
    assert found.noted == ("Noted then",)
    assert found.tasks == ("T-2 Round | per line", "T-1 Import")
    assert found.sessions == ("invoices", "week-44")
    (first, second) = found.compactions
    assert (first.tokens_before, first.tokens_after, first.peak, first.recovered) == (
        100_000,
        10_000,
        100_005,
        90_000,
    )
    assert (first.stated, first.referenced, first.missing, first.seconds, first.model) == (
        6,
        3,
        1,
        2.5,
        "offline",
    )
    assert (second.conversation, second.id) == ("week-44", "c9")


@pytest.mark.requirement("C6")
async def test_a_compaction_that_file_and_store_know_counts_once(tmp_path: Path, kept: Records):
    both = merged([kept, written(tmp_path)])
    assert [each.id for each in both.compactions] == ["c1", "c9"]
    assert both.compactions[0].peak == 100_005
    assert both.sessions == ("invoices", "week-44")
    again = merged([written(tmp_path), kept, kept])
    assert again.compactions == both.compactions


@pytest.mark.requirement("C6")
async def test_each_request_after_a_compaction_would_have_been_larger_by_what_it_recovered(kept: Records):
    assert [(call.tokens, call.saved, call.reported) for call in kept.calls] == [
        (50_000, 0, True),
        (90_000, 0, True),
        (12_000, 90_000, True),
        (15_000, 90_000, True),
    ]
    report = monthly_report([kept], over=True)
    assert (report.average_tokens, report.starting_tokens, report.peak) == (41_750, 100_000, 100_000)
    assert (report.recovered, report.ratio) == (90_000, 0.9)
    assert report.days[5].tokens == 12_000
    assert report.days[5].without == 102_000
    assert report.retention == Retention(stated=6, referenced=3, missing=1)


@pytest.mark.requirement("C6")
async def test_the_cost_is_that_of_the_reported_tokens_with_and_without_what_was_recovered(kept: Records):
    report = monthly_report([kept], over=True, prices={"gpt-5": Price(input=10, output=100)})
    replies = 4 * 100 * 100 / 1e6
    assert report.cost == pytest.approx(167_000 * 10 / 1e6 + replies)
    assert report.cost_without == pytest.approx((167_000 + 180_000) * 10 / 1e6 + replies)
    assert report.cached_saving is None  # no such price is known
    assert [(each.family, each.own) for each in report.priced_as] == [("gpt-5", True)]
    listed = monthly_report([kept], over=True)
    assert listed.cached_saving == pytest.approx(180_000 * 0.125 / 1e6)


@pytest.mark.parametrize(
    "made, summaries",
    [
        (support.record(cost=0.25, model="gpt-5"), 0.25),
        (support.record(model="gpt-5"), (100_000 * 1.25 + 10_000 * 10) / 1e6),
        (support.record(model="mystery"), None),
        (support.record(model="offline"), 0),
    ],
)
async def test_summaries_cost_what_the_receipt_says_or_at_most_what_their_size_allows(
    tmp_path: Path, made: Compaction, summaries: float | None
):
    kept = await records_of_place(await support.store(tmp_path / "x.db", made=(made,)), OCTOBER)
    assert monthly_report([kept], over=True).summaries == (
        None if summaries is None else pytest.approx(summaries)
    )


async def test_models_without_a_name_or_a_price_are_counted_and_cost_nothing_known(tmp_path: Path):
    log = (
        support.said(1, 1),
        support.said(2, 1, tokens=5, model=""),
        support.said(3, 1, tokens=9, model="mystery"),
    )
    kept = await records_of_place(await support.store(tmp_path / "x.db", log=log, made=()), OCTOBER)
    report = monthly_report([kept], over=True)
    assert (report.cost, report.cost_without, report.unpriced, report.priced_as) == (None, None, 2, ())
    assert report.retention is None


async def test_requests_that_nobody_reported_are_counted_from_the_log(tmp_path: Path):
    log = tuple(
        Message(seq=seq, role="user" if seq % 2 else "assistant", parts=(Text(text="word " * 200),))
        for seq in range(1, 7)
    )
    made = support.record(time="2026-11-02T00:00:00.000+00:00", before=500, after=100, through=4)
    path = await support.store(tmp_path / "x.db", log=log, made=(made,))
    each = message_cost(log[0], Estimator()).tokens
    found = await records_of_place(path, Month(year=2026, number=11))
    assert [(call.tokens, call.saved, call.reported) for call in found.calls] == [
        (each, 0, False),
        (3 * each, 0, False),
        (5 * each - 400, 400, False),
    ]
    assert {call.day for call in found.calls} == {date(2026, 11, 21)}


async def test_replies_without_a_time_over_the_end_of_a_month_are_counted_as_undated(tmp_path: Path):
    clock = FakeClock("2026-10-31T23:00:00.000+00:00")
    key = Key(conversation="night")
    async with SqliteStore(tmp_path / "x.db", clock=clock) as store:
        log = [
            Message(seq=seq, role="user" if seq % 2 else "assistant", parts=(Text(text="x"),))
            for seq in (1, 2, 3, 4)
        ]
        await store.append(key, log[:2], after=0)
        clock.advance(7_200)
        await store.append(key, log[2:], after=2)
        found = await records_of_store(store, OCTOBER)
        assert (found.calls, found.undated_calls, found.sessions) == ((), 2, ())
        assert (await records_of_store(store, Month(year=2026, number=12))).is_empty


async def test_a_compaction_taken_back_saved_nothing(tmp_path: Path):
    path = await support.store(tmp_path / "x.db")
    async with SqliteStore(path) as store:
        undone = replace(support.record(), status="undone")
        await store.commit(
            Key(conversation="invoices"), records=[undone], active=None, expected="c1", fence=0
        )
        assert {call.saved for call in (await records_of_store(store, OCTOBER)).calls} == {0}


async def test_a_compaction_of_a_program_that_wrote_no_day_is_counted_on_none(tmp_path: Path):
    async with SqliteStore(tmp_path / "x.db", clock=FakeClock(support.NOW)) as store:
        key, made = Key(conversation="c"), support.record(time="2026-11")
        await store.append(key, [support.said(seq, 5, month=11) for seq in range(1, 7)], after=0)
        await store.commit(key, records=[made], active=made.id, expected=None, fence=0)
        found = await records_of_store(store, Month(year=2026, number=11))

    report = monthly_report([found], over=True)
    assert len(report.records.compactions) == 1
    assert not any(day.compactions for day in report.days)


def test_figures_that_the_settings_keep_out_of_the_archive_are_not_known(tmp_path: Path):
    made = support.archive(support.entry(support.record(), metrics=False))
    found = records_of_folder({"CONTEXT_ARCHIVE.md": made}, OCTOBER)
    (one,) = found.compactions
    assert (one.tokens_before, one.peak, one.stated, one.recovered, one.seconds) == (None, None, None, 0, 2.5)
    report = monthly_report([found], over=True)
    assert (report.ratio, report.starting_tokens, report.peak, report.retention) == (None, None, None, None)


def test_a_session_that_was_archived_later_counts_in_its_own_month():
    made = (
        b"## 2026-11-20T10:00:00Z c1\n\n- Conversation: `a`, messages 1 to 9\n"
        b"- Session: 2026-10-30 23:00 to 2026-10-31 01:00 UTC (2 h 0 min)\n- Tokens: 1,000 in, 100 out\n"
    )
    found = records_of_folder({"CONTEXT_ARCHIVE.md": made}, OCTOBER)
    assert (found.sessions, found.compactions[0].time) == (("a",), "2026-10-31T00:00")
    report = monthly_report([found], over=True)
    assert report.days[30].compactions == 1
    assert opening_of(report)[0] == "Compaction recovered 900 tokens (90% of the contexts)."
