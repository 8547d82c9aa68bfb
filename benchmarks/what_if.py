"""A folder of recorded sessions under all policies: time, and memory of all processes together.

    python -m benchmarks.what_if [--data DIR] [--megabytes 100] [--processes 2] [--reported]

The recordings of the data pack, and of as many as the size needs a second time with other words, so that nothing is known
from the first; then the same folder again, of which every result is kept. Each run is `autocompact what-if FOLDER
--recommend` as a user starts it, with a cache of its own.

``--reported`` holds the replay of what was recorded against what the provider reported in the recordings: tokens of all
requests, and those that its cache served. Sessions count of which the file has the beginning.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from autocompact.what_if.comparison import compare_policies
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


def reported(path: Path) -> tuple[int, int]:
    """Tokens of all requests that the provider reported in a session of Claude Code or Codex, and those it served."""
    found: dict[str, tuple[int, int]] = {}
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            record: Any = json.loads(line)
        except ValueError:
            continue
        message: Any = record.get("message") or {}
        payload: Any = record.get("payload") or {}
        if record.get("type") == "assistant" and not record.get("isSidechain") and message.get("usage"):
            found[message["id"]] = _of_claude(message["usage"])
        elif payload.get("type") == "token_count" and payload.get("info"):
            used = payload["info"]["last_token_usage"]
            # an event may come twice: the sum so far tells
            found[str(payload["info"]["total_token_usage"])] = (
                used["input_tokens"],
                used["cached_input_tokens"],
            )
    return sum(all_of for all_of, _ in found.values()), sum(served for _, served in found.values())


def _of_claude(usage: dict[str, Any]) -> tuple[int, int]:
    read, written = (usage.get(f"cache_{name}_input_tokens") or 0 for name in ("read", "creation"))
    return usage.get("input_tokens", 0) + read + written, read


def print_reported(data: Path) -> None:
    """Print each session, and the sums by program."""
    print(
        f"{'session':44}{'tokens':>12}{'replayed':>12}{'served':>12}{'replayed':>12}{'not':>11}{'replayed':>11}"
    )
    for pattern in ("claude_code/*.jsonl", "codex/agentv__*.jsonl"):
        sums = [0, 0, 0, 0]
        for path in sorted(data.glob(pattern)):
            (replayed,) = compare_policies(path, policies=[{"name": "r", "kind": "recorded"}]).sessions
            figures, told = replayed.figures[0], reported(path)
            if any("midst" in note for note in replayed.notes) or not told[1] or figures.failed:
                continue
            row = [told[0], figures.tokens, told[1], figures.cache_read]
            sums = [sum(pair) for pair in zip(sums, row, strict=True)]
            print(_row(path.stem[:43], row), flush=True)
        print(_row(f"all of {pattern}", sums))


def _row(name: str, figures: Sequence[int]) -> str:
    tokens, replayed, served, read = figures
    return (
        f"{name:44}{tokens:12,}{replayed:12,}{served:12,}{read:12,}{tokens - served:11,}{replayed - read:11,}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 2 where the data pack is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--reported", action="store_true", help="hold a replay against what was reported, and no more"
    )
    options = parser.parse_args(arguments)
    if not (options.data / "compactions.jsonl").is_file():
        print(f"no data pack at {options.data}: pass --data", file=sys.stderr)
        return 2
    if options.reported:
        print_reported(options.data)
        return 0
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
