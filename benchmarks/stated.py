"""Is what is called stated stated? Writes a sample of such entries, each with its place in the summary, to be read.

    python -m benchmarks.stated FILE

Summaries: those that a coding agent's own model wrote at its compactions (`../shared/data`, Claude Code and pi), and ours of
sessions in other formats. The sessions of the probes are left out. At most `MOST` entries of a kind, drawn with a fixed
seed. A reader marks those that the shown place does not say; how many there were stands in docs/reference/benchmarks.md.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autocompact.history.recorded import Options, compact_session
from autocompact.ledger.claims import heading
from autocompact.ledger.entries import Entry, Ledger
from autocompact.ledger.extraction import extract
from autocompact.ledger.verification import Checked, verify
from autocompact.models.vocabulary import default_counter
from autocompact.ports import SystemClock
from autocompact.sessions import read_session

SHARED = Path(__file__).resolve().parents[2] / "shared"
DATA = SHARED / "data"
OURS = ("codex/agentv__*.jsonl", "copilot_cli/*", "pi/*", "swe_agent/*")
SAMPLE, MOST, SEED = 200, 80, 20261144
AROUND = 200


@dataclass(frozen=True, slots=True)
class Stated:
    """An entry that a summary is said to state, and the words around the place."""

    source: str
    entry: Entry
    words: str


def recorded() -> Iterator[Stated]:
    """Entries stated by summaries that the recording program's model wrote."""
    probes = {case["file"] for case in json.loads((SHARED / "probes" / "cases.json").read_text("utf-8"))}
    files = [f"claude_code/{path.name}" for path in sorted((DATA / "claude_code").glob("*.jsonl"))]
    files += [f"pi/{path.name}" for path in sorted((DATA / "pi").glob("*.jsonl"))]
    for file in files:
        if file in probes:
            continue
        session = read_session(DATA / file)
        for number, record in enumerate(session.compactions):
            covered = (message for message in session.messages if message.seq <= record.through_seq)
            ledger = extract(covered)
            yield from _stated(f"{file} {number}", summary=record.summary, entries=ledger.entries)


def ours() -> Iterator[Stated]:
    """Entries stated by our own offline summaries."""
    probes = {case["file"] for case in json.loads((SHARED / "probes" / "cases.json").read_text("utf-8"))}
    for pattern in OURS:
        for path in sorted(DATA.glob(pattern)):
            if str(path.relative_to(DATA)) in probes or not path.is_file():
                continue
            session = read_session(path)
            if len(session.messages) < 20:
                continue
            options = Options(window=1_000_000, summary_tokens=2_500, tail_tokens=0)
            made = compact_session(session, options, counter=default_counter(), clock=SystemClock())
            yield from _stated(f"{path.name} ours", summary=made.summary, entries=made.ledger.entries)


def _stated(source: str, *, summary: str, entries: tuple[Entry, ...]) -> Iterator[Stated]:
    ledger = Ledger(entries=entries)
    checked = Checked(summary, ledger)
    for entry in verify(summary, ledger).stated:
        yield Stated(source, entry, _shown(checked, entry))


def _shown(checked: Checked, entry: Entry) -> str:
    """Every place that states a part of the entry, with the words around it and the heading above it."""
    text, lines = checked.statements.text, checked.statements.lines
    spans: list[tuple[int, int]] = []
    for start, end in sorted(checked.places(entry)):
        start, end = max(0, start - AROUND), min(len(text), end + AROUND)
        if spans and start <= spans[-1][1]:
            start, end = spans[-1][0], max(end, spans.pop()[1])
        spans.append((start, end))
    return "\n       ".join(
        f"(below the heading: {heading(lines, checked.statements.line_of(start)) or 'none'}) … {text[start:end]} …"
        for start, end in spans
    )


def sample(found: list[Stated], size: int) -> list[Stated]:
    """``size`` of them, at most `MOST` of a kind."""
    random.Random(SEED).shuffle(found)
    taken: list[Stated] = []
    kinds: Counter[str] = Counter()
    for each in found:
        if kinds[each.entry.kind] < MOST * size // SAMPLE and len(taken) < size:
            kinds[each.entry.kind] += 1
            taken.append(each)
    return taken


def main(target: Path) -> None:
    """Write the sample: three of five entries from models' summaries."""
    theirs, own = list(recorded()), list(ours())
    print(Counter(each.entry.kind for each in theirs), Counter(each.entry.kind for each in own), sep="\n")
    models = sample(theirs, SAMPLE * 3 // 5)
    shown = [*models, *sample(own, SAMPLE - len(models))]
    blocks = [
        f"## {number} {each.entry.kind} [{each.entry.state}] {each.source} m{each.entry.seq} {each.entry.key[:80]}\n"
        f"ENTRY: {each.entry.text}\nPLACE: {each.words}\n"
        for number, each in enumerate(shown, 1)
    ]
    target.write_text("\n".join(blocks), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
