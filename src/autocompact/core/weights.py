"""How likely a name is needed again: a logistic model of a few plain facts about where it stood.

Learned by `benchmarks/learn_weights.py` from recorded coding sessions: at many cuts, which of the names that stood
before the cut does the agent use in its next 40 tool calls? Distances enter as ``log(1 + characters / 2000)``,
counts as ``log(1 + n)``. Read a weight as: how much one such step raises the log-odds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from autocompact.core.identifiers import Shape
from autocompact.core.sightings import Sighting

BIAS = -3.15
SEEN_AGO = -0.32
USED, USED_AGO = 1.64, -0.12
SAID, SAID_AGO = 1.27, -0.20
COUNTS = (0.19, -0.13, -0.13, 0.90, 0.11, 0.02, 0.88)
SHAPES: Mapping[Shape, float] = {
    "path": 0.02, "file": -0.41, "url": -1.65, "snake": -0.05, "camel": 0.22, "dotted": 0.33, "hash": -0.84,
    "number": -0.60, "flag": 0.12, "kebab": -0.28,
}  # fmt: skip
SCALE = 2_000


def need(sighting: Sighting, *, length: int) -> float:
    """The probability that the name is used in the next 40 tool calls; ``length`` is where the text ends."""
    score = BIAS + SHAPES[sighting.shape] + SEEN_AGO * _ago(length - sighting.seen)
    if sighting.used >= 0:
        score += USED + USED_AGO * _ago(length - sighting.used)
    if sighting.said >= 0:
        score += SAID + SAID_AGO * _ago(length - sighting.said)
    for weight, times in zip(COUNTS, sighting.counts, strict=True):
        if times:
            score += weight * math.log1p(times)
    return 1 / (1 + math.exp(-score))


def _ago(distance: int) -> float:
    return math.log1p(max(0, distance) / SCALE)
