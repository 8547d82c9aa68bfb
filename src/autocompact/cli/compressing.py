"""Carries out what ``compress-context`` was asked, step by step, and what is said about each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autocompact.cli import memory
from autocompact.cli.models import chosen_model
from autocompact.cli.running import run
from autocompact.cli.terminal import progress
from autocompact.library.place import database_path
from autocompact.settings import (
    Settings,
    databases_of,
    load_settings,
    prices_of,
    session_mode_of,
    upkeep_policy_of,
)
from autocompact.upkeep import run_upkeep
from autocompact.upkeep.monthly import Month, write_report
from autocompact.upkeep.place import FOLDER
from autocompact.upkeep.session import Places, SessionPolicy, SessionRun, compact_session_now

if TYPE_CHECKING:
    from autocompact.upkeep import FileChange, Layer

LAST_MONTH = "last"
NEWEST = ""
"""As a session: the newest there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to do.

    Attributes:
        folder: the memory folder.
        layers: to run.
        session: to compact, `NEWEST`, or None for none.
        report: the month to report on, `LAST_MONTH`, or None for no report.
        dry_run: only say what would happen.
    """

    folder: Path
    layers: Sequence[Layer] = ()
    session: str | None = None
    report: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one step did: the files that changed, the text for a person, its members of the JSON document, a summary."""

    changes: tuple[FileChange, ...]
    text: str
    members: dict[str, Any] = field(default_factory=dict[str, Any])
    summary: str = ""


def carried_out(asked: Asked) -> list[Told]:
    """What every step did."""
    settings = load_settings(asked.folder.absolute().parent).settings
    month = None if asked.report in (None, LAST_MONTH) else Month.read(asked.report)
    with progress(f"Working on {asked.folder}"):
        return list(_steps(asked, settings, month=month))


def _steps(asked: Asked, settings: Settings, *, month: Month | None) -> Iterator[Told]:
    if asked.session is not None:
        done = run(_closed(asked, settings))
        yield Told(
            changes=done.changes,
            text=memory.session_text(done, dry_run=asked.dry_run),
            members=memory.session_members(done),
            summary=done.record.summary if done.record else "",
        )
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


async def _closed(asked: Asked, settings: Settings) -> SessionRun:
    """The session that was asked for, compacted with the model of the settings."""
    name, database = settings.compaction.summary_model, settings.chat.db
    model = chosen_model(model=None if name == "offline" else name, base_url=None, api_key_env=None)
    folder = asked.folder.absolute()
    places = Places(
        database=Path(database) if database else database_path(),
        project=folder.parent if folder.name == FOLDER else None,
    )
    policy = SessionPolicy(
        mode=session_mode_of(settings),
        model=model,
        metrics=settings.compaction.preserve_token_metrics,
    )
    try:
        return await compact_session_now(
            folder, asked.session or None, places=places, policy=policy, dry_run=asked.dry_run
        )
    finally:
        if model is not None:
            await model.aclose()
