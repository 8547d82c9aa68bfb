"""A memory folder as values, and the layers on it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from autocompact.memory.documents.index import plan_index
from autocompact.memory.documents.notes import Note
from autocompact.memory.documents.observations import (
    ObservationRun,
    Observed,
    Verdicts,
    plan_observations,
    plan_observe,
)
from autocompact.memory.documents.pages import (
    DONE,
    OBSERVATION_ARCHIVE,
    OBSERVATIONS,
    RULES,
    TASK_ARCHIVE,
    Pages,
)
from autocompact.memory.documents.policy import ArchiveFormat, ObservationPolicy, TaskPolicy
from autocompact.memory.documents.task_table import Row, rows_in
from autocompact.memory.documents.tasks import TaskRun, plan_tasks

TODAY = date(2026, 11, 21)


class Folder(dict[str, bytes]):
    """Files by name; each layer changes them and says what it did."""

    def put(self, name: str, text: str) -> None:
        self[name] = text.encode()

    def text(self, name: str) -> str:
        return self[name].decode()

    def all(self, name: str) -> str:
        """A file's text, "" where there is none."""
        return self.get(name, b"").decode()

    def notes(self, name: str) -> tuple[Note, ...]:
        return Pages(self)[name].notes

    def rows(self) -> list[Row]:
        return rows_in(Pages(self)[TASK_ARCHIVE].texts)

    def observe(self, text: str, *, why: str = "", same_as: str = "", today: date = TODAY) -> Observed:
        changed, observed = plan_observe(Pages(self), text, why=why, same_as=same_as, today=today)
        self.update(changed)
        return observed

    def upkeep(
        self,
        *,
        today: date = TODAY,
        archive_after_days: int = 28,
        escalate_after: int = 5,
        verdicts: Verdicts | None = None,
    ) -> ObservationRun:
        policy = ObservationPolicy(archive_after_days=archive_after_days, escalate_after=escalate_after)
        changed, run = plan_observations(Pages(self), today=today, policy=policy, verdicts=verdicts)
        self.update(changed)
        return run

    def tasks(
        self,
        *,
        keep_recent: int = 10,
        propose_after: int = 5,
        archive_format: ArchiveFormat = "markdown-table",
    ) -> TaskRun:
        policy = TaskPolicy(
            keep_recent=keep_recent, propose_after=propose_after, archive_format=archive_format
        )
        changed, run = plan_tasks(Pages(self), today=TODAY, policy=policy)
        self.update(changed)
        return run

    def index(self, topics: Mapping[str, bytes] | None = None) -> None:
        self.update(plan_index(Pages(self), topics or {}))

    def texts(self) -> dict[str, list[str]]:
        """What stands where, in any order."""
        kinds = {
            name: sorted(note.text for note in self.notes(name))
            for name in (RULES, OBSERVATIONS, OBSERVATION_ARCHIVE, DONE)
        }
        return {**kinds, TASK_ARCHIVE: sorted(row.task for row in self.rows())}
