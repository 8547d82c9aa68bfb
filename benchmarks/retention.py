"""How much of what the agent needs next survives a compaction.

    python -m benchmarks.retention [--data DIR] [--json FILE] [--all]

At each recorded compaction the history before it is cut to the size of the recorded summary, and what the agent used
in its next 40 tool calls is looked up in what was kept (`benchmarks.retention_measure` says how). With a tail, the last
messages stay in the context: they are left out of what is kept and of what is looked up alike. The figures are
tuning figures: the weights were learned on sessions of the same pack (`benchmarks/learn_weights.py` gives those of
sessions that were left out).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from autocompact.core.messages import Message
from autocompact.core.tokens import Counter
from autocompact.ledger.entries import Ledger
from autocompact.ledger.verification import verify
from autocompact.models.vocabulary import load_counter
from autocompact.what_if.needs import content
from benchmarks.retention_cases import DATA, OTHERS, Case, artificial_cases, real_cases
from benchmarks.retention_measure import DEFINITIONS, Rate, needs, rate
from benchmarks.retention_methods import LARGER, OURS, SAME_SIZE, Method, ledger_of, offline

TAILS = (0, 8_000)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 2 where the data pack is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", type=Path, help="write all figures there as well")
    parser.add_argument("--all", action="store_true", help="all definitions of an identifier, not just one")
    options = parser.parse_args(arguments)
    if not (options.data / "compactions.jsonl").is_file():
        print(f"no data pack at {options.data}: pass --data", file=sys.stderr)
        return 2
    counter = load_counter()
    definitions = tuple(DEFINITIONS) if options.all else ("mixed", "names")
    real = list(real_cases(options.data))
    cuts = list(artificial_cases(options.data, counter=counter))
    others = list(artificial_cases(options.data, counter=counter, files=OTHERS))
    figures = [
        *measured(real, {**SAME_SIZE, **LARGER}, definitions=definitions, counter=counter, where="real"),
        *measured(cuts, OURS, definitions=definitions, counter=counter, where="cut"),
        *measured(others, OURS, definitions=definitions, counter=counter, where="cut, other agents"),
    ]
    floors = {"real": floor(real, counter=counter), "cut": floor(cuts, counter=counter)}
    floors["cut, other agents"] = floor(others, counter=counter)
    print_table(figures)
    for where, shares in floors.items():
        print(f"{where}: " + ", ".join(f"{name} {share:.1%}" for name, share in shares.items()))
    if options.json:
        options.json.write_text(json.dumps({"figures": figures, "floors": floors}, indent=1))
    return 0


def measured(
    cases: Sequence[Case],
    methods: Mapping[str, Method],
    *,
    definitions: Iterable[str],
    counter: Counter,
    where: str,
) -> list[dict[str, Any]]:
    """One row per method, definition and tail: macro (mean over cases) and micro averages, in percent."""
    rows: list[dict[str, Any]] = []
    for tail in TAILS:
        older = [case.beside_tail(tail, counter=counter) for case in cases]
        kept = {name: [method(case, counter) for case in older] for name, method in methods.items()}
        for definition in definitions:
            wanted = [
                needs(
                    lines_of(case.history),
                    recent="\n".join(map(content, case.recent)),
                    calls=case.calls,
                    define=DEFINITIONS[definition],
                )
                for case in older
            ]
            for name, texts in kept.items():
                rates = [rate(need, text) for need, text in zip(wanted, texts, strict=True) if need]
                size = sum(map(counter.count, texts)) / sum(case.budget for case in cases)
                row = {"at": where, "tail": tail, "definition": definition, "method": name, "size": size}
                rows.append(row | averages(rates))
    return rows


def lines_of(messages: Sequence[Message]) -> list[str]:
    """All lines of these messages."""
    return "\n".join(map(content, messages)).split("\n")


def averages(rates: Sequence[Rate]) -> dict[str, float | int]:
    """Macro and micro averages in percent."""

    def macro(part: Callable[[Rate], int]) -> float:
        return 100 * sum(part(rate) / rate.needs for rate in rates) / len(rates)

    def micro(part: Callable[[Rate], int]) -> float:
        return 100 * sum(map(part, rates)) / sum(rate.needs for rate in rates)

    return {
        "cases": len(rates),
        "needs": sum(rate.needs for rate in rates),
        "plain": macro(lambda rate: rate.plain),
        "supported": macro(lambda rate: rate.supported),
        "plain_micro": micro(lambda rate: rate.plain),
        "supported_micro": micro(lambda rate: rate.supported),
    }


def floor(cases: Sequence[Case], *, counter: Counter) -> dict[str, float]:
    """The share of user requests that are stated or pointed to, and of changed files that are named."""
    totals = {"requests stated or pointed to": [0, 0], "changed files named": [0, 0]}
    for case in cases:
        ledger = ledger_of(case)
        text = offline(case, counter)
        for name, kind in zip(totals, ("request", "change"), strict=True):
            wanted = tuple(entry for entry in ledger.entries if entry.kind == kind)
            checked = verify(text, Ledger(entries=wanted))
            totals[name][0] += len(checked.stated) + len(checked.referenced)
            totals[name][1] += len(wanted)
    return {name: kept / max(1, wanted) for name, (kept, wanted) in totals.items()}


def print_table(rows: Iterable[Mapping[str, Any]]) -> None:
    """The rows as a Markdown table."""
    print(
        "| at | tail | identifiers | kept text | size | plain | supported | plain, micro | supported, micro |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        figures = (row[key] for key in ("plain", "supported", "plain_micro", "supported_micro"))
        print(
            f"| {row['at']} | {row['tail']:,} | {row['definition']} | {row['method']} | {row['size']:.2f} | "
            + " | ".join(f"{figure:.1f}" for figure in figures)
            + " |"
        )


if __name__ == "__main__":
    raise SystemExit(main())
