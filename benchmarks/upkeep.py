"""How long the upkeep of a large memory folder takes, and how much memory.

Run ``python -m benchmarks.upkeep [COUNT]``: COUNT observations and COUNT tasks (10,000 by default), half of the
observations as list items and half as headings, some confirmed often, some old, one in ten in other words a second
time. Then the report of a month on that folder, and the example session closed into it. Each measurement is a process of its own; its peak memory is that of the whole process, Python included.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from time import perf_counter, process_time

from autocompact.memory.observing import observe
from autocompact.memory.report import write_report
from autocompact.memory.sessions import Places, compact_session_now
from autocompact.memory.upkeep import run_upkeep
from autocompact.testing.clock import FakeClock

ROOT = Path(__file__).resolve().parents[1]
SESSION = ROOT / "examples" / "sessions" / "fix-invoice-rounding.jsonl"
NOW = "2026-11-21T10:00:00.000+00:00"
WORDS = (
    "importer parser cache queue worker schema invoice session gateway index token window ledger archive deploy"
    " migration fixture retry timeout webhook report rounding export login upload thread socket cursor lock batch"
).split()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("count", type=int, nargs="?", default=10_000, help="observations, and tasks")
    parser.add_argument("--step", choices=_STEPS, default="layers", help=argparse.SUPPRESS)
    parser.add_argument("--run", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run:
        _run(options.run, _STEPS[options.step])
        return 0
    print("| what | seconds | of the processor | peak memory |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        fill(Path(name), options.count)
        for what, step in (
            (f"{options.count:,} observations and tasks", "layers"),
            ("the same folder again", "layers"),
            ("the report of the last month", "report"),
            (f"the example session ({SESSION.stem}) closed", "session"),
        ):
            command = [sys.executable, "-m", "benchmarks.upkeep", "--run", name, "--step", step]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
            print(f"| {what} | {done.stdout.strip()} |")
        started, worked = perf_counter(), process_time()
        observe(Path(name), "The wheel of the importer needs a compiler", clock=FakeClock(NOW))
        taken, worked = perf_counter() - started, process_time() - worked
        print(f"| one observation more | {taken:.2f} | {worked:.2f} | |")
    return 0


def _layers(folder: Path) -> None:
    run_upkeep(folder, clock=FakeClock(NOW))


def _report(folder: Path) -> None:
    asyncio.run(write_report(folder, clock=FakeClock(NOW)))


def _session(folder: Path) -> None:
    asyncio.run(compact_session_now(folder, str(SESSION), places=Places(), clock=FakeClock(NOW)))


_STEPS: Mapping[str, Callable[[Path], None]] = {"layers": _layers, "report": _report, "session": _session}


def _run(folder: Path, step: Callable[[Path], None]) -> None:
    started, worked = perf_counter(), process_time()
    step(folder)
    taken, worked = perf_counter() - started, process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{taken:.2f} | {worked:.2f} | {peak:.0f} MB")


def fill(folder: Path, count: int) -> None:
    """Write a folder with ``count`` observations and as many tasks."""
    chance = random.Random(0)
    observations, tasks = (list(made(count, chance)) for made in (_observations, _tasks))
    (folder / "OBSERVATIONS.md").write_text("# Observations\n\n" + "".join(observations), encoding="utf-8")
    (folder / "DONE.md").write_text("# Done\n\n" + "".join(tasks), encoding="utf-8")


def _observations(count: int, chance: random.Random) -> Iterator[str]:
    texts: list[str] = []
    for number in range(count):
        day = date(2026, 11, 21) - timedelta(days=chance.randrange(60))
        words = chance.sample(WORDS, 4)
        text = f"The {words[0]} of the {words[1]} fails when the {words[2]} {number % 97} meets a {words[3]}"
        text = f"the {chance.choice(texts)[4:]}" if number % 10 == 9 else text
        texts.append(text)
        confirmed = chance.randrange(8)
        if number < count // 2:
            yield f"- {day}: {text} ({confirmed} confirmations)\n"
        else:
            head = "\n" if number == count // 2 else ""
            yield f"{head}## {text}\n\n- Date: {day}\n- Confirmations: {confirmed}\n\n"


def _tasks(count: int, chance: random.Random) -> Iterator[str]:
    for number in range(count):
        day = date(2025, 1, 1) + timedelta(days=number % 600)
        words = chance.sample(WORDS, 2)
        yield (
            f"## T-{number}: Mend the {words[0]}\n\n- Date: {day}\n- Outcome: done\n- Files: src/{words[0]}.py, "
            f"src/{words[1]}.py\n- Tokens: {number * 7:,}\n- Pattern: {words[1]} first\n\n"
            f"Decided to keep the {words[0]} because the {words[1]} needs it.\n\n```\n{number % 50} passed in 1.2s\n```\n\n"
        )


if __name__ == "__main__":
    sys.exit(main())
