"""Can a reader go on from the compacted context? Writes the contexts that readers are asked about.

    python ../shared/probes/probe.py prepare WORK
    python -m benchmarks.probes WORK
    python ../shared/probes/probe.py packets WORK offline repaired_125 repaired_100 recorded

A reader with an empty context answers each packet, another grades blind; how, and what they are told, says the README of
the probes. Sizes: the summary of the recording product for each session, which the offline account gets as its budget,
the repaired summary 1.25 and 1.0 times of it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from autocompact.history.recorded import Options, compact_session
from autocompact.ledger.summary import frame
from autocompact.models.vocabulary import default_counter
from autocompact.ports import SystemClock
from autocompact.sessions import read_session

CASES = Path(__file__).resolve().parents[2] / "shared" / "probes" / "cases.json"
WINDOW = 1_000_000
CONDITIONS = {"offline": (False, 1.0), "repaired_125": (True, 1.25), "repaired_100": (True, 1.0)}


def contexts(work: Path) -> None:
    """Write ``WORK/contexts/CONDITION/CASE.txt`` for each condition, and the recorded summaries as one more."""
    for case in json.loads(CASES.read_text("utf-8")):
        folder = work / "cases" / case["id"]
        recorded = folder / "recorded_summary.txt"
        if recorded.exists():
            _write(work, "recorded", case=case["id"], text=recorded.read_text("utf-8"))
        for name, (repairs, scale) in CONDITIONS.items():
            if repairs and not recorded.exists():
                continue
            options = Options(
                window=WINDOW,
                summary_tokens=int(case["budget_tokens"] * scale),
                tail_tokens=0,
                through=case.get("through_seq"),
                summary=recorded.read_text("utf-8") if repairs else None,
            )
            _write(work, name, case=case["id"], text=_context(folder / "history.jsonl", options))


def _context(history: Path, options: Options) -> str:
    """The summary message and what the user asked last, as they stand in the context; no system prompt."""
    compacted = compact_session(
        read_session(history), options, counter=default_counter(), clock=SystemClock()
    )
    asked = [message.text for message in compacted.after.messages if message.is_request]
    return "\n\n".join((frame(compacted.summary, placement="user"), *asked[-1:]))


def _write(work: Path, condition: str, *, case: str, text: str) -> None:
    path = work / "contexts" / condition / f"{case}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


if __name__ == "__main__":
    contexts(Path(sys.argv[1]))
