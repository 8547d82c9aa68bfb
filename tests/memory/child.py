"""A process that dies in the middle of an upkeep: ``python -m tests.memory.child FOLDER STEP``."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from autocompact.memory.upkeep import run_upkeep
from autocompact.testing.clock import FakeClock

NOW = "2026-11-21T10:00:00.000+00:00"


def main(folder: str, step: str) -> None:
    """Run all layers and be killed when ``step`` is reached; prints every step before it."""

    def reach(reached: str) -> None:
        sys.stdout.write(f"{reached}\n")
        sys.stdout.flush()
        if reached == step:
            os.kill(os.getpid(), signal.SIGKILL)

    run_upkeep(Path(folder), clock=FakeClock(NOW), failpoint=reach)


if __name__ == "__main__":
    main(*sys.argv[1:])
