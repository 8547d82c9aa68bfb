"""The same session gives the same compaction in every process, whatever order Python's sets happen to have."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import CODING

PROGRAM = """
import hashlib, sys
from pathlib import Path
from autocompact.core.tokens import Estimator
from autocompact.history.recorded.compacting import Options, compact_session
from autocompact.sessions import read_session
from autocompact.testing.clock import FakeClock

for name in sys.argv[1:]:
    session = read_session(Path(name))
    for options in (Options(), Options(to=4_000), Options(to=1_500, focus="rounding of the tax")):
        made = compact_session(session, options, counter=Estimator(), clock=FakeClock())
        print(hashlib.sha256(repr((tuple(made.after.messages), made.record)).encode()).hexdigest())
"""


WORDS = """parser lexer token buffer stream cursor window margin header footer column record branch commit thread worker bucket
packet socket router filter mapper reducer sampler""".split()


def findings(rng: random.Random) -> str:
    """Findings that weigh the same, as they say the same words in another order."""
    return "\n".join(
        f"- the cause was {' '.join(rng.sample(WORDS, 9))}, because {' '.join(rng.sample(WORDS, 4))} failed"
        for _ in range(40)
    )


def alike(path: Path) -> Path:
    """A session in which only the last digit of a sum of weights could tell what is worth more."""
    rng = random.Random(7)
    messages: list[dict[str, object]] = []
    for turn in range(4):
        function = {"name": "run", "arguments": json.dumps({"command": "make build"})}
        calls = [{"id": f"c{turn}", "type": "function", "function": function}]
        messages.append({"role": "user", "content": f"Please find out why build {turn} fails."})
        messages.append({"role": "assistant", "content": findings(rng), "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": f"c{turn}", "content": "done"})
        messages.append({"role": "assistant", "content": findings(rng)})
    path.write_text(json.dumps(messages))
    return path


@pytest.mark.requirement("D3")
def test_a_compaction_does_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    seen = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM, str(CODING), str(alike(tmp_path / "alike.json"))],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2", "77")
    }
    assert len(seen) == 1
    assert len(seen.pop().split()) == 6
