"""How likely a name is needed again: a logistic model of a few plain facts about where it stood.

Learned by `benchmarks/learn_weights.py` from recorded coding sessions: at many cuts, which of the names that stood
before the cut does the agent use in its next 40 tool calls? Distances enter as ``log(1 + characters / 2000)``,
counts as ``log(1 + n)``. Read a weight as: how much one such step raises the log-odds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import mul

from autocompact.core.identifiers import Shape
from autocompact.core.sightings import Sighting

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
WEIGHTS = (-0.36, 1.88, -0.13, 1.14, -0.17, 0.25, -0.20, 0.08, 0.53, 0.17, 0.30, 1.07)
BIAS: Mapping[Shape, float] = {
    "path": -2.78, "file": -2.99, "url": -3.80, "snake": -2.68, "camel": -2.31, "dotted": -2.18, "hash": -3.45, "number": -3.39, "flag": -2.47, "kebab": -3.07,
}  # fmt: skip
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


def need(sighting: Sighting, *, length: int) -> float:
    """The probability that the name is used in the next 40 tool calls."""
    score = BIAS[sighting.shape] + sum(map(mul, WEIGHTS, facts(sighting, length=length)))
    return 1 / (1 + math.exp(-score))
