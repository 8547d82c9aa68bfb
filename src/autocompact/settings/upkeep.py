"""What the settings mean to the upkeep of memory files."""

from __future__ import annotations

from autocompact.core.memory.policy import ObservationPolicy, TaskPolicy, UpkeepPolicy
from autocompact.settings.values import Settings


def upkeep_policy_of(settings: Settings) -> UpkeepPolicy:
    """The figures of the layers; a layer is off where its trigger or compaction as a whole is."""
    compaction = settings.compaction
    age, archive = compaction.triggers.observation_age, compaction.triggers.task_archive
    return UpkeepPolicy(
        observations=ObservationPolicy(
            enabled=compaction.enabled and age.enabled,
            archive_after_days=age.archive_after_days,
            escalate_after=age.escalate_after_confirmations,
        ),
        tasks=TaskPolicy(
            enabled=compaction.enabled and archive.enabled, keep_recent=archive.keep_recent_count
        ),
    )
