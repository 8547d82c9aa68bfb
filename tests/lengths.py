"""How long the long tests are: in the gate long enough to compact several times, in ``make test-long`` much longer."""

from __future__ import annotations

import os

PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
"""``dev`` while writing, ``ci`` in the gate, ``long`` by ``make test-long``."""


def turns(gate: int, *, long: int) -> int:
    """How many turns a test talks."""
    return long if PROFILE == "long" else gate
