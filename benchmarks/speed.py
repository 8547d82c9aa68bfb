"""Decision and context per turn, against the peers: one run, one history, one way to time it.

    python -m benchmarks.speed [--large] [--no-peers] [--json FILE]

The peers (benchmarks/requirements-peers.txt) are installed once into benchmarks/.venvs/peers, apart from the project's
environment; where that is not possible, they are left out and the reason is printed. Each runner of benchmarks/peers
is a process of its own. What each does in a turn, and what is sampled, is said in its docstring.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
VENV = HERE / ".venvs" / "peers"
PINS = HERE / "requirements-peers.txt"
PEERS = ("langchain", "langmem", "harness", "llama_index")

OURS = "append, usage, decide, context"
ANCHORED = "estimate_context_tokens, anchored"
INSTALL_SECONDS = 600
RUN_SECONDS = 1_800

Row = dict[str, Any]


def python_of_peers() -> Path:
    """The interpreter that has the peers; they are installed if they are not yet, or others than pinned.

    Raises:
        OSError, subprocess.SubprocessError: that is not possible.
    """
    python = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = VENV / "installed.txt"
    if not stamp.exists() or stamp.read_text() != PINS.read_text():
        print(f"installing the peers into {VENV} ...", file=sys.stderr)
        quiet: Row = {"check": True, "capture_output": True, "text": True, "timeout": INSTALL_SECONDS}
        uv = Path(sys.executable).with_name("uv")
        if uv.exists():
            subprocess.run([uv, "venv", "--clear", "--python", sys.executable, VENV], **quiet)
            subprocess.run([uv, "pip", "install", "--python", python, "-r", PINS], **quiet)
        else:
            subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], **quiet)
            subprocess.run([python, "-m", "pip", "install", "-r", PINS], **quiet)
        stamp.write_text(PINS.read_text())
    return python


def reason(error: Exception) -> str:
    words = getattr(error, "stderr", None) or str(error)
    return words.strip().splitlines()[-1]


def run(runner: str, sizes: Iterable[int], *, python: str | Path) -> Iterator[Row]:
    """The rows of one runner, each with the package and version they belong to; none if it fails."""
    command = [python, "-m", f"benchmarks.peers.{runner}", "--sizes", ",".join(map(str, sizes))]
    print(f"running {runner} ...", file=sys.stderr)
    try:
        done = subprocess.run(
            command, cwd=HERE.parent, check=True, capture_output=True, text=True, timeout=RUN_SECONDS
        )
    except subprocess.SubprocessError as error:
        print(f"{runner}: left out: {reason(error)}")
        return
    found = json.loads(done.stdout.splitlines()[-1])
    for row in found["rows"]:
        yield {"package": f"{found['package']} {found['version']}", **row}


def collect(sizes: list[int], *, with_peers: bool) -> list[Row]:
    """All rows; ours first, and always up to 100,000 messages."""
    rows = list(run("ours", sorted({*sizes, 100_000}), python=sys.executable))
    if not with_peers:
        return rows
    try:
        python = python_of_peers()
    except (OSError, subprocess.SubprocessError) as error:
        print(f"peers left out: they cannot be installed: {reason(error)}")
        return rows
    for peer in PEERS:
        rows += run(peer, sizes, python=python)
    return rows


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 else f"{seconds:,.0f} s"
    return f"{seconds * 1e6:.3g} µs"


def table(rows: list[Row], figure: str, *, title: str) -> None:
    """One line per operation, one column per size, in Markdown."""
    sizes = sorted({row["messages"] for row in rows})
    print(f"\n| {title} | " + " | ".join(f"{size:,}" for size in sizes) + " |")
    print("|---|" + "---:|" * len(sizes))
    lines: dict[str, dict[int, str]] = {}
    for row in rows:
        cells = lines.setdefault(f"{row['package']}: {row['operation']}", {})
        cells[row["messages"]] = duration(row[figure])
    for name, cells in lines.items():
        if set(cells.values()) != {"-"}:
            print(f"| {name} | " + " | ".join(cells.get(size, "-") for size in sizes) + " |")


def figure_of(rows: list[Row], operation: str, *, messages: int, figure: str) -> float | None:
    found = (row[figure] for row in rows if (row["operation"], row["messages"]) == (operation, messages))
    return next(found, None)


def verdict(name: str, value: float, *, most: float | None = None, least: float | None = None) -> None:
    bound = f"at most {most:g}" if most is not None else f"at least {least:g}"
    met = value <= most if most is not None else value >= (least or 0)
    print(f"- {name}: {value:,.3g} ({bound}: {'met' if met else 'MISSED'})")


def verdicts(rows: list[Row], counter: str) -> None:
    """The targets, as far as what they are about was measured."""
    print(f"\nTargets, counting with {counter}:")
    for messages, most in ((10_000, 100), (100_000, 150)):
        turn = figure_of(rows, OURS, messages=messages, figure="turn_seconds")
        if turn is not None:
            verdict(f"µs per turn at {messages:,} messages", turn * 1e6, most=most)
    ours = figure_of(rows, OURS, messages=10_000, figure="session_seconds")
    # All that is sampled belongs to a peer; langmem's running summary is one of the un-anchored.
    others = {
        row["operation"]: row["session_seconds"]
        for row in rows
        if row["messages"] == 10_000 and row["sampled"] and row["session_seconds"]
    }
    anchored = others.pop(ANCHORED, None)
    if ours and others:
        best = min(others, key=lambda name: others[name])
        verdict(
            f"whole session of 10,000 messages, best un-anchored peer ({best}) / ours",
            others[best] / ours,
            least=50,
        )
    if ours and anchored:
        print(f"- the same, anchored peer ({ANCHORED}) / ours: {anchored / ours:.2g} (no target)")


def report(rows: list[Row]) -> None:
    for counter in dict.fromkeys(row["counter"] for row in rows):
        chosen = [row for row in rows if row["counter"] == counter]
        print(f"\n### {counter}")
        table(chosen, "turn_seconds", title="one turn, median, at so many messages")
        table(chosen, "session_seconds", title="all turns of a session of so many messages")
        between = [row for row in chosen if "with compactions" in row["operation"]]
        if between:
            table(
                between, "between_seconds", title="between the turns: offline compactions, not in the above"
            )
        verdicts(chosen, counter)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--large", action="store_true", help="peers at 100,000 messages as well (minutes)")
    parser.add_argument("--no-peers", action="store_true", help="only our own figures; nothing is installed")
    parser.add_argument("--json", type=Path, help="write all figures there as well")
    options = parser.parse_args()
    sizes = [100, 1_000, 10_000, *([100_000] if options.large else [])]
    today = datetime.datetime.now(datetime.UTC).date()
    print(f"{today}, Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} CPUs")
    rows = collect(sizes, with_peers=not options.no_peers)
    report(rows)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
