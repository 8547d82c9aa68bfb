"""The jobs of the schedule on a memory folder: observations each week, tasks and the report each month."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from autocompact.core.prices import Price
from autocompact.memory.documents.archive_entries import entries_in
from autocompact.memory.documents.context_archive import CONTEXT_ARCHIVE
from autocompact.memory.documents.document import read_document
from autocompact.memory.documents.policy import UpkeepPolicy
from autocompact.memory.files.changes import read_files
from autocompact.memory.report import Month, write_report
from autocompact.memory.schedule.running import Work
from autocompact.memory.schedule.times import Job
from autocompact.memory.upkeep import Layer, run_upkeep
from autocompact.ports import Clock, SystemClock
from autocompact.stores.naming import StorePlace

log = logging.getLogger("autocompact.memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """The jobs of one memory folder.

    Attributes:
        folder: the memory folder.
        policy: figures and switches of the layers.
        databases: stores of conversations, for the report.
        prices: by the beginning of a model's name.
        report: write the monthly report.
        clock: what time it is.
    """

    folder: Path
    policy: UpkeepPolicy = field(default_factory=UpkeepPolicy)
    databases: Sequence[StorePlace] = ()
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    report: bool = True
    clock: Clock = field(default_factory=SystemClock)

    async def weekly(self, day: date) -> None:
        """The observation layer.

        Raises:
            AutocompactError: it could not run; nothing was changed.
        """
        await self._layer("observations", day)

    async def monthly(self, day: date) -> None:
        """The task layer, and the report on the month before ``day``.

        Raises:
            AutocompactError: one of them could not run; what it was to do is undone, not what ran before it.
        """
        await self.tasks(day)
        if self.report:
            await write_report(
                self.folder, Month.before(day), databases=self.databases, prices=self.prices, clock=self.clock
            )

    async def tasks(self, day: date) -> None:
        """The task layer alone.

        Raises:
            AutocompactError: it could not run; nothing was changed.
        """
        await self._layer("tasks", day)

    def sessions(self) -> int:
        """Number of sessions in CONTEXT_ARCHIVE.md.

        Raises:
            InvalidInput: it is no text.
            StoreUnavailable: it cannot be read.
        """
        content = read_files(self.folder, [CONTEXT_ARCHIVE]).get(CONTEXT_ARCHIVE, b"")
        entries = entries_in(read_document(content, name=CONTEXT_ARCHIVE).texts)
        return len({entry.conversation for entry in entries})

    async def _layer(self, layer: Layer, day: date) -> None:
        report = await asyncio.to_thread(
            run_upkeep, self.folder, layers=[layer], policy=self.policy, clock=self.clock
        )
        changed = [change.name for change in report.changes]
        log.info("upkeep ran", extra={"layer": layer, "due": day.isoformat(), "changed": changed})

    def jobs(self) -> dict[Job, Work]:
        """The work of each job."""
        return {"weekly": self.weekly, "monthly": self.monthly}
