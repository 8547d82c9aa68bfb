"""Writes the tables of the real clients from the reports of their runs.

    python -m tests.real.table build/clients build/clients-newest docs/reference/clients.md

A part of the document whose clients were not run, or for which nothing but the date would change, stays as it is.
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
    (
        "Kimi Code 2.1.0 (OpenAI Chat Completions and Responses, Anthropic, its own), Continue CLI 1.5.47 (OpenAI, "
        "Anthropic), grok-cli 0.0.34, mini-swe-agent 2.4.6 (Anthropic); the Vercel AI SDK 7.0.173 (OpenAI Chat "
        "Completions and Responses, Anthropic), OpenAI Agents for JavaScript 0.20.0 (OpenAI, both)",
        "run by hand on 2026-11-26: forty turns each, everything that is checked above held; not run again with each "
        "change",
    ),
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
"""Clients that are not run with each change, and why."""

_INTRODUCTION = f"""# Real clients

Each client runs through `autocompact serve` before a provider that refuses what the real one refuses, and besides:
instructions or tools that changed, contexts above the window, invalid histories, forged thinking. It takes {TURNS} tool
turns (aider: {TURNS} questions) of about 1,700 tokens each; the gateway is told a window that these do not fit. Every request
of the client is compared with what went upstream: instructions, tools and every other member must be unchanged. Then the
session that the client itself recorded is read: it must hold everything once, and nothing of a search of the gateway's.

"""
_TITLES = "| client | version | API | window | requests | compactions | served from the cache | outcome |"
_HEADS = {
    "## Pinned releases": "Written by `make test-clients` on {date}; the versions are pinned in `tools/clients`.",
    "## Newest releases": "Written by `make test-clients-newest` on {date}, with what the registries had then.",
}


def main(arguments: Sequence[str]) -> int:
    """Write the tables unless nothing changed."""
    *folders, target = map(Path, arguments)
    before = target.read_text() if target.exists() else ""
    parts = [
        _part(heading, folder / "reports", before=_between(before, heading))
        for heading, folder in zip(_HEADS, folders, strict=True)
    ]
    missed = "\n".join(f"| {name} | {reason} |" for name, reason in NOT_TRIED)
    text = f"{_INTRODUCTION}{''.join(parts)}## Not in these tables\n\n| client | why |\n|---|---|\n{missed}\n"
    if text != before:
        target.write_text(text)
        sys.stderr.write(f"wrote {target}\n")
    return 0


def _part(heading: str, reports: Path, *, before: str) -> str:
    """The table of one run; the one that stands where there was no whole run since."""
    lost = [each.name for each in CLIENTS if not (reports / f"{each.name}.json").exists()]
    if lost:
        if len(lost) < len(CLIENTS):
            sys.stderr.write(f"no table: these clients have no report: {', '.join(lost)}\n")
        return before
    rows = "".join(_row(json.loads((reports / f"{each.name}.json").read_text())) for each in CLIENTS)
    written = _HEADS[heading].format(date=datetime.now(UTC).date().isoformat())
    text = f"{heading}\n\n{written}\n\n{_TITLES}\n|{'---|' * (_TITLES.count('|') - 1)}\n{rows}\n"
    return before if _undated(text) == _undated(before) else text


def _between(text: str, heading: str) -> str:
    """The part of the document below a heading of the second level, with it; "" if it is not there."""
    begin = text.find(f"{heading}\n")
    end = text.find("\n## ", begin + 1) + 1
    return text[begin:end] if begin >= 0 and end > 0 else ""


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
