"""Carries out what ``compress-context`` was asked, step by step, and what is said about each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autocompact.cli import memory
from autocompact.cli.running import run
from autocompact.cli.terminal import progress
from autocompact.settings import Settings, databases_of, load_settings, prices_of, upkeep_policy_of
from autocompact.upkeep import run_upkeep
from autocompact.upkeep.monthly import Month, write_report

if TYPE_CHECKING:
    from autocompact.upkeep import FileChange, Layer

LAST_MONTH = "last"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to do.

    Attributes:
        folder: the memory folder.
        layers: to run.
        report: the month to report on, `LAST_MONTH`, or None for no report.
        dry_run: only say what would happen.
    """

    folder: Path
    layers: Sequence[Layer] = ()
    report: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one step did: the files that changed, the text for a person, its members of the JSON document."""

    changes: tuple[FileChange, ...]
    text: str
    members: dict[str, Any] = field(default_factory=dict[str, Any])


def carried_out(asked: Asked) -> list[Told]:
    """What every step did."""
    settings = load_settings(asked.folder.absolute().parent).settings
    month = None if asked.report in (None, LAST_MONTH) else Month.read(asked.report)
    with progress(f"Working on {asked.folder}"):
        return list(_steps(asked, settings, month=month))


def _steps(asked: Asked, settings: Settings, *, month: Month | None) -> Iterator[Told]:
    if asked.layers:
        report = run_upkeep(
            asked.folder, layers=asked.layers, policy=upkeep_policy_of(settings), dry_run=asked.dry_run
        )
        yield Told(
            changes=report.changes,
            text=memory.run_text(report, dry_run=asked.dry_run),
            members=memory.run_members(report),
        )
    if asked.report is not None:
        work = write_report(
            asked.folder,
            month,
            databases=databases_of(settings),
            prices=prices_of(settings),
            dry_run=asked.dry_run,
        )
        written = run(work)
        yield Told(
            changes=written.changes,
            text=memory.report_text(written, dry_run=asked.dry_run),
            members=memory.report_members(written),
        )
