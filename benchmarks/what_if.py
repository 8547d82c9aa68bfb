"""A folder of recorded sessions under all policies: time, and memory of all processes together.

    python -m benchmarks.what_if [--data DIR] [--megabytes 100] [--processes 2]

The recordings of the data pack, and of as many as the size needs a second time with other words, so that nothing is known
from the first; then the same folder again, of which every result is kept. Each run is `autocompact what-if FOLDER
--recommend` as a user starts it, with a cache of its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.retention_cases import DATA
from benchmarks.speed import verdict

FOLDERS = "claude_code codex copilot_cli gemini_cli pi openhands_sdk swe_agent tau_bench".split()
OTHER_WORDS = ((b"src/", b"lib/"), (b"test", b"exam"), (b"error", b"fault"), (b"return", b"answer"))
SAMPLE = 0.1
"""Seconds between two looks at the memory."""


def fill(folder: Path, *, data: Path, size: int) -> tuple[int, int]:
    """Copy recordings until ``folder`` has ``size`` bytes; returns how many files and bytes there are."""
    sources = sorted(path for name in FOLDERS for path in (data / name).glob("*"))
    count = total = 0
    for again in (False, True):
        for source in sources:
            if total >= size:
                break
            content = source.read_bytes()
            for word, other in OTHER_WORDS if again else ():
                content = content.replace(word, other)
            target = folder / str(int(again)) / source.parent.name / source.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            count, total = count + 1, total + len(content)
    return count, total


def measured(command: Sequence[str], *, cache: Path) -> tuple[float, float, int]:
    """Run ``command``; returns its seconds, those of processors, and the most bytes that its processes took together."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(_resident, _family(process.pid))))
        time.sleep(SAMPLE)
    if process.returncode:
        raise SystemExit(f"it ended with {process.returncode}: {' '.join(command)}")
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    processors = spent.ru_utime + spent.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - begun, processors, peak


def _family(pid: int) -> Iterator[int]:
    """The process and those that it started, and they."""
    yield pid
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = listed.read_text().split()
        except OSError:
            continue
        for child in children:
            yield from _family(int(child))


def _resident(pid: int) -> int:
    """Bytes of memory that a process takes, with what it shares; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 2 where the data pack is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    if not (options.data / "compactions.jsonl").is_file():
        print(f"no data pack at {options.data}: pass --data", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as made:
        folder, cache = Path(made) / "sessions", Path(made) / "cache"
        count, total = fill(folder, data=options.data, size=options.megabytes * 1_000_000)
        print(
            f"{count} files, {total / 1e6:.0f} MB, {options.processes} processes on {os.cpu_count()} processors"
        )
        command = [sys.executable, "-m", "autocompact", "what-if", str(folder), "--recommend"]
        command += ["--processes", str(options.processes)]
        for name, most in (("first run", 600.0), ("second run, nothing changed", 30.0)):
            seconds, processors, peak = measured(command, cache=cache)
            print(f"{name}: {seconds:,.1f} s, {processors:,.1f} s of processors", flush=True)
            verdict("seconds", seconds, most=most)
            verdict("MB of all processes", peak / 1e6, most=500)
    return 0


if __name__ == "__main__":
    sys.exit(main())
