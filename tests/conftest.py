"""How hard hypothesis looks: ``dev`` while writing, ``ci`` in the gate, ``thorough`` by hand."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# No deadline and no "too slow": both measure the machine, not the code.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)

settings.register_profile("dev", _UNTIMED, max_examples=50)
settings.register_profile("ci", _UNTIMED, max_examples=100, derandomize=True, database=None)
settings.register_profile("thorough", _UNTIMED, max_examples=10_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))
