"""How hard hypothesis looks, and Ctrl-C as a terminal has it."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

from tests.lengths import PROFILE

# No deadline and no "too slow": both measure the machine, not the code.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)

settings.register_profile("dev", _UNTIMED, max_examples=40)
settings.register_profile("ci", _UNTIMED, max_examples=40, derandomize=True, database=None)
settings.register_profile("long", _UNTIMED, max_examples=1_000)
settings.load_profile(PROFILE)

# Who runs the tests in the background ignores Ctrl-C, and each program that a test starts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
