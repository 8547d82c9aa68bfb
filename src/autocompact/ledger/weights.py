"""How likely a name is needed again: a logistic model of a few plain facts about where it stood.

Learned by `benchmarks/learn_weights.py` from recorded coding sessions: at many cuts, which of the names that stood
before the cut does the agent use in its next 40 tool calls? Distances enter as ``log(1 + characters / 2000)``,
counts as ``log(1 + n)``. Read a weight as: how much one such step raises the log-odds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import mul

from msgspec import Struct

from autocompact.ledger.identifiers import Shape
from autocompact.ledger.sightings import Sighting

FACTS = (
    "seen ago",  # distance to where it stood last
    "used",  # stood in the arguments of a tool call
    "used ago",
    "said",  # stood in the words or thoughts of user or model
    "said ago",
    "in results",  # number of pieces it stood in, by source
    "in reasoning",
    "in answers",
    "in calls",
    "in edits",
    "in requests",
    "in summaries",
)


class Weights(Struct, frozen=True, kw_only=True):
    """The model: a weight for each of `FACTS`, and by shape the log-odds to begin with."""

    facts: tuple[float, ...]
    bias: Mapping[Shape, float]


LEARNED = Weights(
    facts=(-0.38, 1.84, -0.11, 0.95, -0.10, 0.22, -0.06, -0.05, 0.34, 0.12, 0.09, 0.70),
    bias={
        "path": -2.61, "file": -2.78, "url": -3.45, "snake": -2.46, "camel": -2.18, "dotted": -1.88, "hash": -3.27,
        "number": -3.30, "flag": -2.24, "kebab": -2.86,
    },
)  # fmt: skip
SCALE = 2_000
_LOG = tuple(math.log1p(count) for count in range(1_000))


def facts(sighting: Sighting, *, length: int) -> tuple[float, ...]:
    """What is known of a name, as numbers in the order of `FACTS`; ``length`` is where the text ends (characters)."""
    used, said = sighting.used, sighting.said
    log1p = math.log1p
    return (
        log1p((length - sighting.seen) / SCALE),
        1.0 if used >= 0 else 0.0,
        log1p((length - used) / SCALE) if used >= 0 else 0.0,
        1.0 if said >= 0 else 0.0,
        log1p((length - said) / SCALE) if said >= 0 else 0.0,
        *(_LOG[count] if count < 1_000 else log1p(count) for count in sighting.counts),
    )


def need(sighting: Sighting, *, length: int, weights: Weights = LEARNED) -> float:
    """The probability that the name is used in the next 40 tool calls."""
    score = weights.bias[sighting.shape] + sum(map(mul, weights.facts, facts(sighting, length=length)))
    return 1 / (1 + math.exp(-score))
