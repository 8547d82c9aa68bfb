"""How long the long tests are: in the gate long enough to compact several times, in ``make test-long`` much longer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
"""``dev`` while writing, ``ci`` in the gate, ``long`` by ``make test-long``."""


def turns(gate: int, *, long: int) -> int:
    """How many turns a test talks; half as many with the lowest releases of what others test with the locked one."""
    return {"long": long, "lowest": max(1, gate // 2)}.get(PROFILE, gate)


def some(cases: Sequence[T], *, gate: int) -> list[T]:
    """The cases of a test: in the gate so many, from the first to the last spread over all, in the long run all of them."""
    if PROFILE == "long" or len(cases) <= gate:
        return list(cases)
    return [cases[at * (len(cases) - 1) // max(1, gate - 1)] for at in range(gate)]
