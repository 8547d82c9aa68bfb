"""What a provider's own summary lacks, and what of it stands beside it with ``gateway.checkProviderCompaction``.

    python -m benchmarks.provider_checks [--data DIR] [--json FILE]

At each recorded compaction of a coding agent the summary that its model wrote is checked against the history that it stands
for, as the gateway checks a readable summary of a provider's (Anthropic's ``compaction`` block). A sealed one (OpenAI's)
says nothing to us, so the whole addition is made of the ledger; what the model knows of the sealed summary is not counted.
Entries are those of the ledger by kind; "most needed" are the 40 with the highest need. An entry that is neither stated nor
missing is referenced: it is named, or a reference such as m5-m33 points to its message, and a model without the memory tools
can open that only with a command. "Used next" are the identifiers of the agent's next 40 tool calls (`benchmarks.retention`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import mean

from autocompact.core.lookup import Lookup
from autocompact.core.redaction import redact
from autocompact.core.tokens import Counter
from autocompact.gateway.provider_checks import ADDED_TOKENS, check_summary
from autocompact.ledger.entries import Entry, Ledger
from autocompact.ledger.summary import frame_beside
from autocompact.ledger.verification import verify
from autocompact.models.vocabulary import load_counter
from autocompact.what_if.needs import mixed
from benchmarks.retention import lines_of
from benchmarks.retention_cases import DATA, Case, real_cases
from benchmarks.retention_measure import needs, rate

NEEDED = 40
KINDS = ("rule", "request", "change", "finding", "error", "todo", "command", "identifier", "file")

Row = Mapping[str, int | float | str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 2 where the data pack is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", type=Path, help="write the figures of each compaction there as well")
    options = parser.parse_args(arguments)
    if not (options.data / "compactions.jsonl").is_file():
        print(f"no data pack at {options.data}: pass --data", file=sys.stderr)
        return 2
    counter = load_counter()
    rows = [row for case in real_cases(options.data) for row in checked(case, counter=counter)]
    for how in ("readable", "sealed"):
        print_table([row for row in rows if row["summary"] == how], title=how)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


def checked(case: Case, *, counter: Counter) -> Iterator[Row]:
    """One compaction, with its summary readable and sealed."""
    budget = ADDED_TOKENS - counter.count(frame_beside("", lookup=Lookup(tools=False)))
    wanted = needs(lines_of(case.history), recent="", calls=case.calls, define=mixed)
    for how, summary in (("readable", case.recorded), ("sealed", "")):
        start = time.perf_counter()
        finding = check_summary(summary, case.history, recent=case.recent, budget=budget, counter=counter)
        seconds = time.perf_counter() - start
        row: dict[str, int | float | str] = {"case": case.name, "summary": how, "seconds": round(seconds, 2)}
        row |= {
            "summary tokens": case.budget,
            "added tokens": counter.count(finding.text),
            "used": len(wanted),
        }
        for name, text in (("before", summary), ("after", f"{summary}\n\n{finding.text}")):
            found = rate(wanted, text)
            row |= {f"{name} plain": found.plain, f"{name} supported": found.supported}
            row |= {f"{name} {what}": count for what, count in _standing(text, finding.ledger)}
        yield row


def _standing(text: str, ledger: Ledger) -> Iterator[tuple[str, int]]:
    """How many entries are stated and missing, by kind, all of them, and of the most needed."""
    found = verify(redact(text), ledger)
    needed = {id(entry) for entry in ledger.entries[:NEEDED]}
    groups: dict[str, Callable[[Entry], bool]] = {
        "all": bool,
        "most needed": lambda entry: id(entry) in needed,
    }
    groups |= {kind: partial(_is_of, kind) for kind in KINDS}
    for what, belongs in groups.items():
        yield f"of {what}", sum(map(belongs, ledger.entries))
        yield f"stated {what}", sum(map(belongs, found.stated))
        yield f"missing {what}", sum(map(belongs, found.missing))


def _is_of(kind: str, entry: Entry) -> bool:
    return entry.kind == kind


def print_table(rows: Sequence[Row], *, title: str) -> None:
    """Sums over the compactions, and what it costs."""

    def total(name: str) -> int:
        return sum(int(row[name]) for row in rows)

    seconds = sorted(float(row["seconds"]) for row in rows)
    print(
        f"\n{title} summary: {len(rows)} compactions, {total('summary tokens') / len(rows):,.0f} tokens, ",
        end="",
    )
    print(f"{total('added tokens') / len(rows):,.0f} added; ", end="")
    print(f"{seconds[len(seconds) // 2]:.2f} s each (median), {seconds[-1]:.2f} s at most")
    print(f"{'entries':12} {'of':>7} {'stated':>16} {'missing':>18}")
    for what in ("all", "most needed", *KINDS):
        shown = [
            f"{total(f'before {how} {what}'):,} -> {total(f'after {how} {what}'):,}"
            for how in ("stated", "missing")
        ]
        print(f"{what:12} {total(f'after of {what}'):7,} {shown[0]:>16} {shown[1]:>18}")
    for what, name in (("name", "plain"), ("with its words", "supported")):
        shares = [
            100 * mean(int(row[f"{when} {name}"]) / int(row["used"]) for row in rows if row["used"])
            for when in ("before", "after")
        ]
        print(f"used next, {what}: {shares[0]:.1f}% -> {shares[1]:.1f}%")


if __name__ == "__main__":
    raise SystemExit(main())
