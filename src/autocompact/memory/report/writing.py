"""Makes the report of a month and writes it into the memory folder."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

from autocompact.core.prices import Price
from autocompact.errors import InvalidInput, MemoryInUse
from autocompact.memory.documents.pages import NAMES
from autocompact.memory.files.changes import Change, Failpoint, locked, read_files, write
from autocompact.memory.files.others import REPORTS, project_around
from autocompact.memory.observing import TRIES, today
from autocompact.memory.report.conversations import records_of_place
from autocompact.memory.report.figures import MonthlyReport, monthly_report
from autocompact.memory.report.folder import records_of_folder
from autocompact.memory.report.markdown import as_markdown
from autocompact.memory.report.page import as_html
from autocompact.memory.report.records import Month, Records
from autocompact.memory.upkeep import FileChange
from autocompact.ports import Clock, SystemClock
from autocompact.stores.naming import StorePlace, is_there


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenReport:
    """A report and its files.

    Attributes:
        report: what it says.
        changes: the files that are new or say something else than before.
        files: where they are, or would be.
    """

    report: MonthlyReport
    changes: tuple[FileChange, ...]
    files: tuple[Path, ...]


async def write_report(
    folder: Path,
    month: Month | None = None,
    *,
    databases: Iterable[StorePlace] = (),
    prices: Mapping[str, Price] | None = None,
    clock: Clock | None = None,
    dry_run: bool = False,
    ahead: Mapping[str, bytes] | None = None,
    failpoint: Failpoint = lambda _: None,
) -> WrittenReport:
    """Write ``reports/YYYY-MM.md`` and ``.html`` of ``month``; both change or none does.

    Args:
        folder: the memory folder; made where it is missing.
        month: which; by default the last whole one.
        databases: where conversations are kept; files that do not exist are left out.
        prices: by the beginning of a model's name; they go before the table that comes along.
        clock: says what day it is (UTC).
        dry_run: only say what would be written.
        ahead: in a dry run, files as an earlier step would have left them.
        failpoint: for tests, see `autocompact.memory.files.changes`.

    Raises:
        InvalidInput: the month has not begun, or a file of the folder is no text.
        MemoryInUse: another process is at the folder for more than ten seconds.
        StoreError: the folder or a store cannot be used.
    """
    day = today(clock or SystemClock())
    wanted = month or Month.before(day)
    if wanted.first > day:
        raise InvalidInput(f"{wanted} has not begun: there is nothing to report on yet")
    # in a thread, as all below that takes long: this runs beside the requests of a gateway, and somebody else may be at the folder
    files = {**await asyncio.to_thread(read_files, folder, NAMES), **(ahead or {})}
    places = _existing(databases)
    earlier = await _found(files, places, month=Month.before(wanted.first)) if wanted.first > date.min else []
    found = await _found(files, places, month=wanted)
    told = partial(_told, folder, found, earlier=earlier, over=wanted.last < day, prices=prices)
    report, texts = await asyncio.to_thread(told)
    after = {f"{REPORTS}/{wanted}{ending}": text.encode() for ending, text in texts.items()}
    work = _changes if dry_run else partial(_written, failpoint=failpoint)
    changes = await asyncio.to_thread(work, folder, after)
    return WrittenReport(report=report, changes=changes, files=tuple(folder / name for name in after))


async def _found(files: Mapping[str, bytes], places: Iterable[StorePlace], *, month: Month) -> list[Records]:
    """What the folder and the stores recorded of a month."""
    return [*[await records_of_place(place, month) for place in places], records_of_folder(files, month)]


def _told(
    folder: Path,
    found: list[Records],
    *,
    earlier: list[Records],
    over: bool,
    prices: Mapping[str, Price] | None,
) -> tuple[MonthlyReport, dict[str, str]]:
    """The report on what was found, beside the month before, and its texts by the ending of their file."""
    before = monthly_report(earlier, over=True, prices=prices) if earlier else None
    project = project_around(folder)
    name = project.name if project else ""
    report = monthly_report(found, over=over, prices=prices, project=name, before=before)
    return report, {".md": as_markdown(report), ".html": as_html(report)}


def _existing(databases: Iterable[StorePlace]) -> list[StorePlace]:
    """A store that is not there is not made."""
    return [place for place in dict.fromkeys(databases) if is_there(place)]


def _changes(folder: Path, after: Mapping[str, bytes]) -> tuple[FileChange, ...]:
    before = read_files(folder, after)
    return tuple(
        FileChange(name=name, before=before.get(name), after=content)
        for name, content in after.items()
        if before.get(name) != content
    )


def _written(folder: Path, after: Mapping[str, bytes], *, failpoint: Failpoint) -> tuple[FileChange, ...]:
    with locked(folder):
        for _ in range(TRIES):
            changes = _changes(folder, after)
            change = Change(
                before={each.name: each.before for each in changes if each.before is not None},
                after={each.name: each.after for each in changes},
            )
            if not changes or write(folder, change, failpoint=failpoint):
                return changes
    raise MemoryInUse(f"somebody keeps changing the reports in {str(folder)!r}: try again later")
