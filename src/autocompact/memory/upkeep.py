"""A run of the layers over a memory folder."""

from __future__ import annotations

import difflib
import gc
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from autocompact.errors import InvalidInput, MemoryInUse
from autocompact.memory.documents.context_archive import CONTEXT_ARCHIVE
from autocompact.memory.documents.document import read_document
from autocompact.memory.documents.index import plan_index
from autocompact.memory.documents.observations import ObservationRun, Verdicts, plan_observations
from autocompact.memory.documents.pages import DONE, NAMES, OBSERVATIONS, Pages
from autocompact.memory.documents.policy import UpkeepPolicy
from autocompact.memory.documents.session import plan_noting
from autocompact.memory.documents.tasks import TaskRun, plan_tasks
from autocompact.memory.files.changes import Change, Failpoint, locked, read_files, write
from autocompact.memory.files.others import topics_in, untouched_by
from autocompact.memory.observing import TRIES, today
from autocompact.ports import Clock, SystemClock

Layer: TypeAlias = Literal["observations", "tasks"]
LAYERS: tuple[Layer, ...] = get_args(Layer)
_MAKE = "`autocompact observe TEXT` makes one, or name another with --dir"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file of the folder, before (None where it is new) and after."""

    name: str
    before: bytes | None
    after: bytes

    def diff(self) -> str:
        """The change as a unified diff."""
        old, new = (_lines(content or b"", name=self.name) for content in (self.before, self.after))
        source = self.name if self.before is not None else "/dev/null"
        return "".join(difflib.unified_diff(old, new, source, self.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepReport:
    """The outcome of a run, or of a dry run.

    Attributes:
        folder: the memory folder.
        changes: the files that changed.
        observations: what happened to observations, None if that layer did not run.
        tasks: what happened to tasks, None if that layer did not run.
        noted: tasks of sessions that came to DONE.md.
        off: layers that were asked for and are switched off.
        untouched: other files of memory, by name: those of other programs, or of a person, in the folder and its project.
        backup: folder with the changed files as they were, None if there were none before.
    """

    folder: Path
    changes: tuple[FileChange, ...] = ()
    observations: ObservationRun | None = None
    tasks: TaskRun | None = None
    noted: tuple[str, ...] = ()
    off: tuple[Layer, ...] = ()
    untouched: tuple[str, ...] = ()
    backup: Path | None = None


def combined(changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """The changes of several steps as one for each file; none for a file that is as it was."""
    whole: dict[str, FileChange] = {}
    for change in changes:
        first = whole.get(change.name, change)
        whole[change.name] = replace(first, after=change.after)
    return tuple(change for change in whole.values() if change.before != change.after)


def run_upkeep(
    folder: Path,
    *,
    layers: Collection[Layer] = LAYERS,
    policy: UpkeepPolicy | None = None,
    clock: Clock | None = None,
    dry_run: bool = False,
    ahead: Mapping[str, bytes] | None = None,
    verdicts: Verdicts | None = None,
    failpoint: Failpoint = lambda _: None,
) -> UpkeepReport:
    """Run ``layers`` over the memory folder and bring its index up to date.

    All files change together or none does, also if the process dies; a second run right after changes nothing.

    Args:
        folder: the memory folder.
        layers: which; their order does not matter.
        policy: their figures.
        clock: says what day it is (UTC).
        dry_run: only say what would happen; nothing is written, not even a lock.
        ahead: in a dry run, files as an earlier step would have left them.
        verdicts: what `autocompact.memory.judge` said of the pairs that a dry run proposed.
        failpoint: for tests, see `autocompact.memory.files.changes`.

    Raises:
        InvalidInput: there is no such folder, or one of its files is no text.
        MemoryInUse: another process is at the folder for more than ten seconds.
        StoreUnavailable: the folder cannot be read or written.
    """
    if not folder.is_dir() and not ahead:
        raise InvalidInput(f"there is no memory folder {str(folder)!r}: {_MAKE}")
    policy, clock = policy or UpkeepPolicy(), clock or SystemClock()
    if dry_run:
        files = {**read_files(folder, NAMES), **(ahead or {})}
        return _planned(folder, files, layers=layers, policy=policy, clock=clock, verdicts=verdicts)
    with locked(folder):
        for _ in range(TRIES):
            files = read_files(folder, NAMES)
            report = _planned(folder, files, layers=layers, policy=policy, clock=clock, verdicts=verdicts)
            if not report.changes:
                return report
            after = {change.name: change.after for change in report.changes}
            stamp = clock.now()[:19].replace(":", "-")
            change = Change(
                before=files, after=after, sources=(OBSERVATIONS, DONE, CONTEXT_ARCHIVE), backup=stamp
            )
            if written := write(folder, change, failpoint=failpoint):
                return replace(report, backup=written.backup)
    raise MemoryInUse(f"somebody keeps changing the files of {str(folder)!r}: try again later")


@contextmanager
def _uncollected() -> Generator[None]:
    """Without Python's search for cycles: a large folder is hundreds of thousands of objects, and no cycle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # not to switch on what the caller had off
        if was_on:
            gc.enable()


@_uncollected()
def _planned(
    folder: Path,
    files: Mapping[str, bytes],
    *,
    layers: Collection[Layer],
    policy: UpkeepPolicy,
    clock: Clock,
    verdicts: Verdicts | None,
) -> UpkeepReport:
    """Plan the run; change nothing."""
    day, pages = today(clock), Pages(files)
    enabled = {"observations": policy.observations.enabled, "tasks": policy.tasks.enabled}
    observations, tasks, noted = None, None, ()
    if "observations" in layers and policy.observations.enabled:
        changed, observations = plan_observations(
            pages, today=day, policy=policy.observations, verdicts=verdicts
        )
        pages = pages.changed(changed)
    if "tasks" in layers and policy.tasks.enabled:
        # dates are noted first, since the age of a task decides whether it goes
        changed, noted = plan_noting(pages, today=day)
        pages = pages.changed(changed)
        changed, tasks = plan_tasks(pages, today=day, policy=policy.tasks)
        pages = pages.changed(changed)
    # An empty folder has nothing to index.
    now = pages.changed(plan_index(pages, topics_in(folder)) if pages.files else {}).files
    return UpkeepReport(
        folder=folder,
        changes=tuple(
            FileChange(name=name, before=files.get(name), after=now[name])
            for name in NAMES
            if name in now and now[name] != files.get(name)
        ),
        observations=observations,
        tasks=tasks,
        noted=noted,
        off=tuple(layer for layer in LAYERS if layer in layers and not enabled[layer]),
        untouched=tuple(untouched_by(folder)),
    )


def _lines(content: bytes, *, name: str) -> list[str]:
    return [f"{text}\n" for text in read_document(content, name=name).texts]
