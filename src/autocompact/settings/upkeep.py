"""Makes the policy of the upkeep of memory files, and the prices of models, from the settings. Apart: few commands need them."""

from __future__ import annotations

from autocompact.core.prices import Price
from autocompact.errors import InvalidInput
from autocompact.memory.documents.policy import ObservationPolicy, TaskPolicy, UpkeepPolicy
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
            enabled=compaction.enabled and archive.enabled,
            keep_recent=archive.keep_recent_count,
            archive_format=compaction.archive_format,
        ),
    )


def prices_of(settings: Settings) -> dict[str, Price]:
    """The prices of models by the beginning of their names.

    Raises:
        InvalidInput: one has only a price for requests, or only one for replies.
    """
    input, output = settings.models.input_prices, settings.models.output_prices
    for name in input.keys() ^ output.keys():
        lacking = "outputPrices" if name in input else "inputPrices"
        raise InvalidInput(f"models.{lacking}: no price for {name!r}, which the other table has: give both")
    return {name: Price(input=price, output=output[name]) for name, price in input.items()}
