"""Recording what was noticed."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from autocompact.errors import MemoryInUse
from autocompact.memory.documents.observations import Observed, plan_observe
from autocompact.memory.documents.pages import OBSERVATION_ARCHIVE, OBSERVATIONS, RULES, Pages
from autocompact.memory.files.changes import Change, Failpoint, locked, read_files, write
from autocompact.ports import Clock, SystemClock

TRIES = 5
"""How often a change is decided anew because somebody edited a file meanwhile."""


def today(clock: Clock) -> date:
    """The day it is, UTC."""
    return date.fromisoformat(clock.now()[:10])


def observe(
    folder: Path,
    text: str,
    *,
    why: str = "",
    same_as: str = "",
    clock: Clock | None = None,
    failpoint: Failpoint = lambda _: None,
) -> Observed:
    """Note an observation in ``folder``, or confirm the one that says the same.

    A rule that says the same is confirmed as well; an archived observation comes back. Safe to call from several
    threads and processes: they wait for each other.

    Args:
        folder: the memory folder; made where it is missing.
        text: one or a few sentences; line breaks become spaces.
        why: the reason, or how it was noticed.
        same_as: the words of a known observation or rule that it confirms in other words.
        clock: says what day it is (UTC).
        failpoint: for tests, see `autocompact.memory.files.changes`.

    Raises:
        InvalidInput: the text is empty or too long, or a file of the folder is no text.
        MemoryInUse: another process is at the folder for more than ten seconds.
        StoreUnavailable: the folder cannot be read or written.
    """
    day = today(clock or SystemClock())
    plan_observe(Pages({}), text, why=why, today=day)  # what cannot be noted makes no folder either
    with locked(folder):
        for _ in range(TRIES):
            files = read_files(folder, (RULES, OBSERVATIONS, OBSERVATION_ARCHIVE))
            after, observed = plan_observe(Pages(files), text, why=why, same_as=same_as, today=day)
            if not after:
                return observed
            change = Change(before=files, after=after, sources=(OBSERVATION_ARCHIVE,))
            if write(folder, change, failpoint=failpoint):
                return observed
    raise MemoryInUse(f"somebody keeps changing the files of {str(folder)!r}: try again later")
