"""Carries out what ``compress-context`` was asked, step by step, and what is said about each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autocompact.cli import memory
from autocompact.cli.defaults import loaded
from autocompact.cli.models import chosen_model
from autocompact.cli.running import run
from autocompact.cli.sources import deliver
from autocompact.core.plurals import plural
from autocompact.errors import InvalidInput, ModelError
from autocompact.history.paths import database_path
from autocompact.memory.documents.observations import Verdicts
from autocompact.memory.documents.rules import Pair
from autocompact.memory.judging import judge
from autocompact.memory.paths import project_of
from autocompact.memory.report import Month, write_report
from autocompact.memory.sessions import Places, SessionPolicy, SessionRun, compact_session_now, newest_session
from autocompact.memory.upkeep import LAYERS, FileChange, Layer, combined, run_upkeep
from autocompact.ports import Model
from autocompact.settings import (
    Settings,
    databases_of,
    session_mode_of,
)
from autocompact.settings.upkeep import prices_of, upkeep_policy_of
from autocompact.stores.naming import store_place
from autocompact.ui.terminal.output import progress, tell

LAST_MONTH = "last"
NEWEST = ""
"""As a session: the newest there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The steps that were asked for.

    Attributes:
        folder: the memory folder.
        layers: to run.
        session: to compact, `NEWEST`, or None for none.
        if_any: do without the newest session where there is none.
        report: the month to report on, `LAST_MONTH`, or None for no report.
        dry_run: only say what would happen.
    """

    folder: Path
    layers: Sequence[Layer] = ()
    session: str | None = None
    if_any: bool = False
    report: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The outcome of a step: the files that changed, the text for a person, its members of the JSON document, a summary."""

    changes: tuple[FileChange, ...]
    text: str
    members: dict[str, Any] = field(default_factory=dict[str, Any])
    summary: str = ""


def layers_of(*, observations: bool, tasks: bool) -> Sequence[Layer]:
    """The layers that were asked for, in the order in which they run."""
    wanted: dict[Layer, bool] = {"observations": observations, "tasks": tasks}
    return [layer for layer, is_wanted in wanted.items() if is_wanted]


def everything(folder: Path, *, session: str | None, report: str | None, dry_run: bool) -> Asked:
    """Make a request for all steps: of the session and the month that are named, else of the newest and the last."""
    return Asked(
        folder=folder,
        layers=LAYERS,
        session=NEWEST if session is None else session,
        if_any=session is None,
        report=LAST_MONTH if report is None else report,
        dry_run=dry_run,
    )


def carried_out(asked: Asked) -> list[Told]:
    """Carry out every step; in a dry run each sees the folder as those before it would have left it."""
    settings = loaded(asked.folder.absolute().parent).settings
    month = None if asked.report in (None, LAST_MONTH) else Month.read(asked.report)
    with progress(f"Working on {asked.folder}"):
        return list(_steps(asked, settings, month=month))


def _steps(asked: Asked, settings: Settings, *, month: Month | None) -> Iterator[Told]:
    ahead: dict[str, bytes] = {}
    if asked.session is not None:
        told = _session_told(run(_closed(asked, settings)), dry_run=asked.dry_run)
        ahead |= {change.name: change.after for change in told.changes}
        yield told
    if asked.layers:
        report = run_upkeep(
            asked.folder,
            layers=asked.layers,
            policy=upkeep_policy_of(settings),
            dry_run=asked.dry_run,
            ahead=ahead,
            verdicts=_judged(asked, settings, ahead=ahead),
        )
        ahead |= {change.name: change.after for change in report.changes}
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
            ahead=ahead if asked.dry_run else None,
        )
        written = run(work)
        yield Told(
            changes=written.changes,
            text=memory.report_text(written, dry_run=asked.dry_run),
            members=memory.report_members(written),
        )


def _judged(asked: Asked, settings: Settings, *, ahead: Mapping[str, bytes]) -> Verdicts:
    """Ask the model of the settings about pairs of observations that may say the same; no verdicts without a model."""
    if "observations" not in asked.layers or not asked.folder.is_dir():
        return {}
    try:
        model = chosen_model(model=settings.compaction.summary_model, base_url=None, api_key_env=None)
    except InvalidInput as error:
        tell(f"pairs of observations are not judged: {error}")
        return {}
    if model is None:
        return {}
    policy = upkeep_policy_of(settings)
    looked = run_upkeep(asked.folder, layers=["observations"], policy=policy, dry_run=True, ahead=ahead)
    if (found := looked.observations) is None:
        return {}
    pairs = [*found.alike, *found.contradictions, *found.distant]
    try:
        verdicts = run(_asked(model, pairs))
    except ModelError as error:
        tell(f"pairs of observations are not judged: {error}")
        return {}
    if len(verdicts) < len(pairs):
        told = plural(len(pairs), "pair")
        tell(f"{model.name} judged {len(verdicts):,} of {told} of observations; the others stay as they are")
    return verdicts


async def _asked(model: Model, pairs: Sequence[Pair]) -> Verdicts:
    try:
        return await judge(model, pairs)
    finally:
        await model.aclose()


def _session_told(done: SessionRun | None, *, dry_run: bool) -> Told:
    if done is None:
        return Told(changes=(), text=memory.NO_SESSION)
    return Told(
        changes=done.changes,
        text=memory.session_text(done, dry_run=dry_run),
        members=memory.session_members(done),
        summary=done.summary,
    )


async def _closed(asked: Asked, settings: Settings) -> SessionRun | None:
    """The session that was asked for, compacted with the model of the settings; None if it may be left out."""
    name, database = settings.compaction.summary_model, settings.chat.db
    folder = asked.folder.absolute()
    places = Places(
        database=store_place(database) if database else database_path(),
        project=project_of(folder),
    )
    if asked.session == NEWEST and asked.if_any and await newest_session(places) is None:
        return None
    model = chosen_model(model=name, base_url=None, api_key_env=None)
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


def show(asked: Asked, told: Sequence[Told], *, as_json: bool) -> bool:
    """Say what every step did; True if it changed files, or would."""
    changes = combined(change for each in told for change in each.changes)
    if as_json:
        deliver([memory.document(asked.folder, [each.members for each in told], changes=changes)], None)
    else:
        summaries = [f"{each.summary}\n".encode() for each in told if each.summary and not asked.dry_run]
        deliver([*summaries, *(change.diff().encode() for change in changes if asked.dry_run)], None)
        tell("\n".join(each.text for each in told))
    return bool(changes)
