"""Run the benchmarks one after another, each in its own process.

    python -m benchmarks            all of the quick ones, which need no network, account or model
    python -m benchmarks NAME ...   only these

Each is also a program of its own with its own options: ``python -m benchmarks.NAME --help``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

QUICK = (
    "retention",
    "retrieval",
    "counters",
    "storage",
    "speed",
    "compaction",
    "chat",
    "upkeep",
    "gateway",
    "neighbour",
    "redaction",
)
HERE = Path(__file__).parent


def run(name: str) -> bool:
    """Whether the benchmark ran to its end; one that is not there is passed over."""
    print(f"\n== {name} ==", flush=True)
    if not (HERE / f"{name}.py").exists():
        print(f"skipped: there is no benchmarks/{name}.py", flush=True)
        return True
    done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], cwd=HERE.parent, check=False)
    return done.returncode == 0


def main(names: list[str]) -> int:
    failed = [name for name in names or QUICK if not run(name)]
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
