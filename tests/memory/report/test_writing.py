from __future__ import annotations

import asyncio
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from filelock import FileLock
from markdown_it import MarkdownIt

from autocompact.errors import InvalidInput
from autocompact.memory.documents.context_archive import CONTEXT_ARCHIVE
from autocompact.memory.files.changes import IGNORE, LOCK
from autocompact.memory.report import Month, write_report
from autocompact.memory.report.telling import dollars
from autocompact.testing.clock import FakeClock
from autocompact.ui.pages import short
from tests.memory.report import support

pytestmark = pytest.mark.anyio
OCTOBER = Month(year=2026, number=10)
CLOCK = FakeClock(support.NOW)
HOSTILE = "<script>alert(1)</script> | `x` [a](http://evil.example)"


class Tags(HTMLParser):
    """The tags and the attributes of a page, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.values: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.values += [value or "" for _, value in attrs]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.values += [value or "" for _, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.requirement("C6")
async def test_the_report_is_written_as_markdown_and_html_and_a_second_time_changes_nothing(tmp_path: Path):
    folder = support.folder(tmp_path / "memory")
    database = await support.store(tmp_path / "x.db")
    missing = tmp_path / "none.db"
    written = await write_report(folder, databases=[database, missing], clock=CLOCK)
    assert [path.name for path in written.files] == ["2026-10.md", "2026-10.html"]
    assert [change.name for change in written.changes] == ["reports/2026-10.md", "reports/2026-10.html"]
    text = (folder / "reports" / "2026-10.md").read_text("utf-8")
    for line in (
        "\n\nCompaction kept 180,000 tokens out of the month's requests (52%) and saved $0.2250 (51%).\n\nCounted",
        "A dash is a figure that nobody wrote down.",
        "| Sessions | 2 |",
        "| Compactions | 2 in 2 of 2 sessions (100%) |",
        "| Recovered tokens | 180,000 |",
        "| Escalated to rules | 1 |",
        "| Observations archived | 1 |",
        "| Cost with compaction | $0.2127 |",
        "| Cost without compaction | $0.4377 |",
        "| Savings | $0.2250 (51%) |",
        "| Tasks archived | 1 |",
        "| 2026-10-06 | 12,000 | 102,000 | 0 |",
        "gpt-5 1.25 in, 10 out, 0.125 cached",
        "list prices of November 2026",
        "- New rule: Use UTC \\<b\\>everywhere\\</b\\>",
        "- Finished task: T-2 Round \\| per line",
    ):
        assert line in text
    assert (await write_report(folder, OCTOBER, databases=[database], clock=CLOCK)).changes == ()
    assert not missing.exists()


@pytest.mark.requirement("C6")
async def test_the_report_names_the_project_and_compares_with_the_month_before(tmp_path: Path):
    folder = support.folder(tmp_path / "shop" / ".autocompact")
    earlier = support.record("c0", time="2026-09-05T12:00:00.000+00:00", before=50_000)
    with (folder / CONTEXT_ARCHIVE).open("a") as archive:
        archive.write(support.entry(earlier, name="week-36").render())
        archive.write(
            "\n## Session [2026-10-07 14:00]\n**Tokens:** 95K input, 35K output | **Tasks:** 4 completed\n"
        )
    with (folder / "TASK_ARCHIVE.md").open("a") as archive:
        archive.write("| TASK-85 | 2026-10-28 | Fix auth flow ✓; 42 passed | | | |\n")
    database = await support.store(tmp_path / "x.db")
    markdown, html = [
        path.read_text("utf-8")
        for path in (await write_report(folder, databases=[database], clock=CLOCK)).files
    ]
    for line in (
        "# Memory and context in 2026-10: shop\n\nCompaction kept 180,000 tokens",
        "The month before, 2026-09: compaction recovered 40,000 tokens (80% of the contexts).",
        "|  | 2026-10 | 2026-09 |\n",
        "| Sessions | 3 | 1 |",
        "| Average tokens of a session | 100,000 | 50,000 |",
        "| Tokens sent without compaction | 347,000 | - |",
        "| Tokens sent with compaction | 167,000 | - |",
        "| Tokens saved | 180,000 (52%) | - |",
        "| Recovered tokens | 180,000 | 40,000 |",
        "- Finished task: TASK-85: Fix auth flow ✓\n",
        "| 2026-10-07 14:00 | Session 2026-10-07 14:00 | 95,000 | - | - | - | - |",
    ):
        assert line in markdown
    assert "<dd>180,000</dd><dd><small>2026-09: 40,000</small></dd>" in html
    assert "Session 2026-10-07 14:00:" not in html
    assert Tags(html).open == []


async def test_a_dry_run_writes_nothing_and_shows_the_same_changes(tmp_path: Path):
    folder = support.folder(tmp_path / "memory")
    planned = await write_report(folder, clock=CLOCK, dry_run=True)
    assert not (folder / "reports").exists()
    assert not (folder / ".lock").exists()
    assert "+# Memory and context in 2026-10" in planned.changes[0].diff()
    assert (await write_report(folder, clock=CLOCK)).changes == planned.changes


async def test_a_month_without_records_says_so(tmp_path: Path):
    written = await write_report(tmp_path / "new", Month.read("2024-02"), clock=CLOCK)
    assert written.report.records.is_empty
    for path in written.files:
        text = path.read_text("utf-8")
        assert "Nothing was recorded in 2024-02." in text
        assert "| Sessions" not in text
        assert "<svg" not in text


async def test_a_month_that_is_not_over_says_so_and_one_that_has_not_begun_is_refused(tmp_path: Path):
    written = await write_report(support.folder(tmp_path), Month.read("2026-11"), clock=CLOCK)
    assert "these are the figures so far" in written.files[0].read_text("utf-8")
    with pytest.raises(InvalidInput, match="2026-12 has not begun"):
        await write_report(tmp_path, Month.read("2026-12"), clock=CLOCK)


async def test_the_page_loads_nothing_and_what_was_recorded_is_never_markup(tmp_path: Path):
    folder = support.folder(tmp_path / "memory")
    (folder / "OBSERVATION_ARCHIVE.md").write_text(
        f"- 2026-09-01: {HOSTILE}\n  - Archived: 2026-10-11: old\n"
    )
    log = tuple(
        support.said(message.seq, 6, tokens=message.usage.prompt if message.usage else 0, model=HOSTILE)
        for message in support.LOG
    )
    database = await support.store(tmp_path / "x.db", name=HOSTILE, log=log)
    written = await write_report(folder, OCTOBER, databases=[database], clock=CLOCK)
    markdown, html = (path.read_text("utf-8") for path in written.files)
    page = Tags(html)
    assert page.open == []
    assert not {"script", "link", "img", "iframe", "a"} & set(page.tags)
    assert page.tags.count("svg") == 3  # no price is known, so no chart of the cost
    assert "default-src 'none'; style-src 'unsafe-inline'" in page.values
    assert not re.search(r"(?:src|href|url)\s*[=(]", html)
    rendered = MarkdownIt("commonmark").enable("table").render(markdown)
    assert not {"script", "a", "b", "img"} & set(Tags(rendered).tags)
    assert rendered.count("&lt;script&gt;") >= 3


async def test_every_chart_is_there_in_light_and_dark_and_in_words(tmp_path: Path):
    folder = support.folder(tmp_path / "memory")
    database = await support.store(tmp_path / "x.db")
    html = (await write_report(folder, databases=[database], clock=CLOCK)).files[1].read_text("utf-8")
    labels = re.findall(r'role="img" aria-label="([^"]+)"', html)
    assert labels == [
        "Tokens by day, with and without compaction",
        "Tokens before and after each compaction",
        "What became of the entries of the ledgers",
        "Cost with and without compaction",
    ]
    assert "prefers-color-scheme: dark" in html
    assert "2026-10-06: 12,000 sent, 102,000 without compaction" in html


async def test_an_event_loop_goes_on_while_somebody_else_is_at_the_folder(tmp_path: Path):
    lock = FileLock(tmp_path / LOCK)
    lock.acquire()
    writing = asyncio.create_task(write_report(tmp_path, OCTOBER, clock=CLOCK))
    tried = asyncio.create_task(asyncio.to_thread((tmp_path / IGNORE).exists))
    while not await tried:
        tried = asyncio.create_task(asyncio.to_thread((tmp_path / IGNORE).exists))
    assert not writing.done()
    lock.release()
    assert len((await writing).changes) == 2


async def test_killed_between_the_two_files_the_next_run_finishes(tmp_path: Path):
    folder = support.folder(tmp_path / "memory")

    class Killed(BaseException):
        pass

    def die(step: str) -> None:
        if step == "replaced reports/2026-10.md":
            raise Killed

    with pytest.raises(Killed):
        await write_report(folder, clock=CLOCK, failpoint=die)
    assert not (folder / "reports" / "2026-10.html").exists()
    assert (await write_report(folder, clock=CLOCK)).changes == ()
    assert (folder / "reports" / "2026-10.html").exists()


async def test_the_archive_and_all_other_files_stay_as_they_are(tmp_path: Path):
    folder = support.folder(tmp_path / "memory")
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".md"}
    await write_report(folder, clock=CLOCK)
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert CONTEXT_ARCHIVE in before


def test_figures_are_short_in_charts_and_money_has_its_cents():
    assert [short(value) for value in (0, 950, 1_500, 84_000, 999_960, 1_200_000, 3e9)] == [
        "0", "950", "1.5k", "84k", "1.0M", "1.2M", "3.0G",
    ]  # fmt: skip
    assert [dollars(value) for value in (None, 0, 0.012, 1_234.5, -2)] == [
        "-", "$0.00", "$0.0120", "$1,234.50", "-$2.00",
    ]  # fmt: skip
