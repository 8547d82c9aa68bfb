"""Writes the table of the real clients from the reports of a run.

    python -m tests.real.table build/clients docs/reference/clients.md

Nothing is written if a client has no report, or if nothing but the date would change.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.real.agents import CLIENTS, TURNS

NOT_TRIED = (
    ("Gemini CLI (0.61.0)", "speaks Google's API only, which the gateway does not serve"),
    (
        "GitHub Copilot CLI (1.0.102)",
        "runs through `wrap` with a key of a provider (two turns, started manually); forty turns were not tried",
    ),
    (
        "Crush, goose",
        "not installed: Crush's npm package loads the program from GitHub, and no package of goose was found; "
        "`wrap` sets what their documentation names",
    ),
)
"""Clients that are not run, and why."""

_HEAD = """# Real clients

Written by `make test-clients` on {date}; the versions are pinned in `tools/clients`. Each client runs through
`autocompact serve` before a provider that refuses what the real one refuses, and besides: instructions or tools that
changed, contexts above the window, invalid histories, forged thinking. It takes {turns} tool turns (aider: {turns} questions) of about
1,700 tokens each; the gateway is told a window that these do not fit. Every request of the client is compared with what
went upstream: instructions, tools and every other member must be unchanged.

| client | version | API | window | requests | compactions | served from the cache | outcome |
|---|---|---|---|---|---|---|---|
"""


def main(arguments: Sequence[str]) -> int:
    """Write the table unless nothing changed."""
    reports, target = Path(arguments[0]) / "reports", Path(arguments[1])
    lost = [each.name for each in CLIENTS if not (reports / f"{each.name}.json").exists()]
    if lost:
        sys.stderr.write(f"no table: these clients have no report: {', '.join(lost)}\n")
        return 0
    rows = [_row(json.loads((reports / f"{each.name}.json").read_text())) for each in CLIENTS]
    head = _HEAD.format(date=datetime.now(UTC).date().isoformat(), turns=TURNS)
    missed = "\n".join(f"| {name} | {reason} |" for name, reason in NOT_TRIED)
    text = f"{head}{''.join(rows)}\nNot run:\n\n| client | why |\n|---|---|\n{missed}\n"
    if not target.exists() or _undated(target.read_text()) != _undated(text):
        target.write_text(text)
        sys.stderr.write(f"wrote {target}\n")
    return 0


def _row(report: dict[str, Any]) -> str:
    outcome = "holds" if not report["faults"] else "; ".join(report["faults"])
    cached = round(100 * report["cached_tokens"] / max(1, report["sum_tokens"]))
    cells = (
        *(report["name"], f"{report['package']} {report['version']}", report["api"], f"{report['window']:,}"),
        *(report["requests"], report["compactions"], f"{cached}%", outcome),
    )
    return f"| {' | '.join(map(str, cells))} |\n"


def _undated(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("Written by")]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
