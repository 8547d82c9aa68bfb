"""Makes the schedule of a server's upkeep from the settings. Apart, since a command that reads settings runs no upkeep."""

from __future__ import annotations

from autocompact.memory.schedule import AfterSessions, Schedule, Upkeep
from autocompact.ports import Clock, SystemClock
from autocompact.settings.places import databases_of, memory_folder_of
from autocompact.settings.upkeep import prices_of, upkeep_policy_of
from autocompact.settings.values import Settings


def schedule_of(settings: Settings, *, clock: Clock | None = None) -> Schedule:
    """Make the schedule of a server on the memory folder: empty where everything automatic is switched off.

    Raises:
        InvalidInput: the prices do not go together.
    """
    folder = memory_folder_of(settings)
    upkeep = Upkeep(
        folder=folder,
        policy=upkeep_policy_of(settings),
        databases=databases_of(settings),
        prices=prices_of(settings),
        report=settings.compaction.monthly_review,
        clock=clock or SystemClock(),
    )
    if not settings.compaction.enabled:
        return Schedule(folder, jobs={}, clock=clock)
    most = settings.compaction.triggers.task_archive.archive_after_sessions
    after = AfterSessions(count=upkeep.sessions, most=most, work=upkeep.tasks)
    return Schedule(folder, jobs=upkeep.jobs(), after=after, clock=clock)
