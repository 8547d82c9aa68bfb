"""The figures of the layers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

ArchiveFormat: TypeAlias = Literal["markdown-table", "markdown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationPolicy:
    """The observation layer.

    Attributes:
        enabled: False leaves observations alone.
        archive_after_days: an observation that was neither noted nor confirmed for more days is archived.
        escalate_after: so many confirmations make a rule.
    """

    enabled: bool = True
    archive_after_days: int = 28
    escalate_after: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPolicy:
    """The task layer.

    Attributes:
        enabled: False leaves tasks alone.
        keep_recent: so many tasks stay in detail.
        propose_after: a pattern seen in so many tasks is proposed as an observation.
        archive_format: form of a new month in TASK_ARCHIVE.md: a table, or list items.
    """

    enabled: bool = True
    keep_recent: int = 10
    propose_after: int = 5
    archive_format: ArchiveFormat = "markdown-table"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepPolicy:
    """Settings of all layers."""

    observations: ObservationPolicy = field(default_factory=ObservationPolicy)
    tasks: TaskPolicy = field(default_factory=TaskPolicy)
