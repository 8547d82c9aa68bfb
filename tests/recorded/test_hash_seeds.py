"""The same session gives the same compaction in every process, whatever order Python's sets happen to have."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.cli.program import CODING

PROGRAM = """
import hashlib, sys
from pathlib import Path
from autocompact.core.tokens import Estimator
from autocompact.recorded.compacting import Options, compact_session
from autocompact.sessions import read_session
from autocompact.testing.clock import FakeClock

for name in sys.argv[1:]:
    session = read_session(Path(name))
    for options in (Options(), Options(to=4_000), Options(to=1_500, focus="rounding of the tax")):
        made = compact_session(session, options, counter=Estimator(), clock=FakeClock())
        print(hashlib.sha256(repr((tuple(made.after.messages), made.record)).encode()).hexdigest())
"""


@pytest.mark.requirement("D3")
def test_a_compaction_does_not_depend_on_the_hash_seed() -> None:
    seen = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM, str(CODING)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2", "77")
    }
    assert len(seen) == 1
    assert len(seen.pop().split()) == 3
