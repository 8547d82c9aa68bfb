"""Learn the numbers of `autocompact.ledger.weights`, and say how well they do on sessions that were left out.

    python -m benchmarks.learn_weights [--data DIR] [--folds N]

Every recorded Claude Code session is cut at its compactions and at 40, 55, 70 and 85% of each segment. For each name
that stood before a cut: the facts about it, and whether the agent's next 40 tool calls use it. One logistic
regression (Newton's method, ridge 3; of the unused names every fourth, weighted by four) gives the weights. With
``--folds`` sessions are left out in turn, and retention is measured with weights that never saw them.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from autocompact.core.messages import Message, ToolCall
from autocompact.core.redaction import redact
from autocompact.ledger.account import account
from autocompact.ledger.extraction import extract
from autocompact.ledger.identifiers import Shape
from autocompact.ledger.scan import scan
from autocompact.ledger.sightings import Piece, Sightings
from autocompact.ledger.weights import FACTS, Weights, facts
from autocompact.models.vocabulary import load_counter
from autocompact.what_if.needs import argument_text, content
from benchmarks.retention import averages, lines_of
from benchmarks.retention_cases import CALLS, DATA, ENDLESS, boundaries, calls_of, real_cases, segments
from benchmarks.retention_measure import DEFINITIONS, Rate, needs, rate

SHAPES: tuple[Shape, ...] = get_args(Shape)
SHARES = (0.4, 0.55, 0.7, 0.85, 1.0)
LEAST, RIDGE, STEPS, EVERY = 60_000, 3.0, 8, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One name at one cut: its facts, its shape, whether it was used, and for how many rows it stands."""

    session: str
    values: tuple[float, ...]
    shape: int
    used: bool
    weight: float


def main() -> int:
    """Learn and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args()
    rows = list(gathered(options.data))
    print(f"{len(rows)} rows, {sum(row.used for row in rows)} of names that were used")
    learned = fitted(rows)
    for name, weight in zip(FACTS, learned.facts, strict=True):
        print(f"{name:14} {weight:6.2f}")
    print({shape: round(bias, 2) for shape, bias in learned.bias.items()})
    if options.folds > 1:
        print_left_out(rows, data=options.data, folds=options.folds)
    return 0


def gathered(data: Path) -> Iterator[Row]:
    """A row per name and cut; of the names that were not used every `EVERY`-th."""
    for path in sorted((data / "claude_code").glob("*.jsonl")):
        for history, after in cuts(path, data=data):
            calls = calls_of(after)
            if len(calls) >= 5:
                yield from _rows(history, calls, session=path.stem[-12:])


def cuts(path: Path, *, data: Path) -> Iterator[tuple[Sequence[Message], Sequence[Message]]]:
    """The cuts of a session: what lies before each, and what comes after it up to the next compaction."""
    lines = sorted(m["boundary_line"] for m in boundaries(data) if m["file"].endswith(path.name))
    parts = segments(path, [0, *lines, ENDLESS])
    for index, segment in enumerate(parts):
        sizes = [len(content(message)) for message in segment]
        for share in SHARES:
            passed, at = 0, 0
            while at < len(sizes) and passed < share * sum(sizes):
                passed += sizes[at]
                at += 1
            after = segment[at:] if share < 1 else parts[index + 1] if index + 1 < len(parts) else ()
            if passed > LEAST or share == 1:
                yield segment[:at], after


def _rows(history: Sequence[Message], calls: Sequence[ToolCall], *, session: str) -> Iterator[Row]:
    seen = scan(history).sightings
    used = Sightings()
    for call in calls[:CALLS]:
        used.add(Piece(seq=0, source="call", text=redact(argument_text(call))))
    for index, sighting in enumerate(seen.by_name.values()):
        is_used = sighting.name in used.by_name
        if is_used or index % EVERY == 0:
            yield Row(
                session=session,
                values=facts(sighting, length=seen.length),
                shape=SHAPES.index(sighting.shape),
                used=is_used,
                weight=1.0 if is_used else float(EVERY),
            )


def fitted(rows: Sequence[Row]) -> Weights:
    """Logistic regression with a ridge: `STEPS` steps of Newton's method from zero."""
    count, size = len(FACTS), len(FACTS) + len(SHAPES)
    beta = [0.0] * size
    for _ in range(STEPS):
        hessian = [[RIDGE if row == column else 0.0 for column in range(size)] for row in range(size)]
        gradient = [-RIDGE * value for value in beta]
        for row in rows:
            at = count + row.shape
            score = beta[at] + sum(weight * value for weight, value in zip(beta, row.values, strict=False))
            chance = 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))
            pull = row.weight * (row.used - chance)
            curve = row.weight * chance * (1 - chance)
            present = [(index, value) for index, value in enumerate(row.values) if value]
            present.append((at, 1.0))
            for index, value in present:
                gradient[index] += pull * value
                line = hessian[index]
                for other, factor in present:
                    line[other] += curve * value * factor
        beta = [value + step for value, step in zip(beta, solved(hessian, gradient), strict=True)]
    bias = dict(zip(SHAPES, beta[count:], strict=True))
    return Weights(facts=tuple(beta[:count]), bias=bias)


def solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """The solution of a system of linear equations, by elimination; the matrix is positive definite."""
    size = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for pivot in range(size):
        for below in range(pivot + 1, size):
            factor = rows[below][pivot] / rows[pivot][pivot]
            rows[below] = [a - factor * b for a, b in zip(rows[below], rows[pivot], strict=True)]
    found = [0.0] * size
    for row in range(size - 1, -1, -1):
        rest = sum(rows[row][column] * found[column] for column in range(row + 1, size))
        found[row] = (rows[row][size] - rest) / rows[row][row]
    return found


def print_left_out(rows: Sequence[Row], *, data: Path, folds: int) -> None:
    """Retention of the account at the real compactions, by weights that never saw the session."""
    sessions = sorted({row.session for row in rows})
    fold_of: Mapping[str, int] = {session: index % folds for index, session in enumerate(sessions)}
    models = [fitted([row for row in rows if fold_of[row.session] != fold]) for fold in range(folds)]
    counter = load_counter()
    for definition, define in DEFINITIONS.items():
        rates: list[Rate] = []
        for case in real_cases(data):
            session = case.name.partition(":")[0][-12:]
            ledger = extract(case.history, weights=models[fold_of[session]])
            kept = account(ledger, budget=case.budget, counter=counter)
            wanted = needs(lines_of(case.history), recent="", calls=case.calls, define=define)
            rates += [rate(wanted, kept)] if wanted else []
        shown = averages(rates)
        print(f"left out, {definition}: plain {shown['plain']:.1f}, supported {shown['supported']:.1f}")


if __name__ == "__main__":
    raise SystemExit(main())
