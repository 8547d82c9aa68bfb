"""Learn the numbers of `autocompact.ledger.rule_weights`, and say how well they do on sentences of an author who was left out.

    python -m benchmarks.learn_rules [--data DIR] [--left-out]

`rule_sentences` holds messages of five authors, of whom all but the fourth did not know the program: one file each, a
sentence a line, "+" before one that is a standing instruction, an empty line between messages. With them go the sentences of
the tests, and those of the users of the recorded chats and sessions, in which few are rules. One logistic regression by
coordinate descent: a lasso chooses which cues, alone and in pairs, say something; a ridge weighs those. With ``--left-out``
each author is judged by weights that never saw a word of theirs.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from autocompact.core.messages import Message
from autocompact.core.spoken import spoken
from autocompact.errors import UnreadableSession
from autocompact.ledger.conventions import clauses, outright
from autocompact.ledger.cues import BIT, bits
from autocompact.ledger.passages import passages, sentences
from autocompact.ledger.rules import LONGEST, cues_of
from autocompact.ledger.scan import scan
from autocompact.sessions.read import read_session
from benchmarks.retention_cases import DATA

HERE = Path(__file__).parent / "rule_sentences"
LASSO, RIDGE, LEAST, PASSES = 3.0, 3.0, 10, 36
IN_TESTS, IN_CHATS, IN_SESSIONS = 12.0, 0.4, 5.0
"""For how many sentences one of the tests stands, one of the chats, and one of the sessions."""

FOLDERS = ("claude_code", "codex", "copilot_cli", "gemini_cli", "openhands_sdk", "pi", "swe_agent")
RULES_RECORDED = (
    "keep each commit with working code",
    "keep our working documentation in linear",
    "We should add the agent name to any logging",
    "We don't want if-else call site",
    "I don't want to have tokens under my account",
    "do not stash anything",
    "avoid inventing our own",
    "never force-push, snake_case wire",
    "We want to AVOID force push entirely",
    "Use `bun` for any package/script ops",
    "translate only at boundaries",
    "NO force push anywhere",
    "Never rewrite shared history",
    "do not require Phoenix",
    "This is a design-first task: do NOT",
    "If you make any code change at all",
    "Verify per `.agents/verification.md`",
    "Use RELATIVE paths only",
    "i would only want e2e tests",
)
"""Parts of the sentences of the recorded sessions that are rules, as read one by one."""

Cues = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A sentence, where it is from, whether it is a rule, and for how many it stands."""

    author: str
    message: int
    seen: int
    is_rule: bool
    weight: float = 1.0


@dataclass(slots=True)
class _Feature:
    names: Cues
    rows: list[int]
    weight: float = 0.0


def main() -> int:
    """Learn and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--left-out", action="store_true")
    options = parser.parse_args()
    samples = [*written(), *tested(), *chatted(options.data), *recorded(options.data)]
    if options.left_out:
        for author in sorted({sample.author for sample in samples if sample.message}):
            learned = fitted([sample for sample in samples if sample.author != author])
            print(author, left_out([sample for sample in samples if sample.author == author], learned))
        return 0
    for names, weight in sorted(fitted(samples).items()):
        print(f"{weight:.2f} {' '.join(names)}".rstrip())
    return 0


def written() -> Iterator[Sample]:
    """The sentences of the authors."""
    for path in sorted(HERE.glob("*.txt")):
        for message, block in enumerate(path.read_text("utf-8").split("\n\n"), start=1):
            for line in block.splitlines():
                yield Sample(
                    author=path.stem, message=message, seen=seen_in(line[2:]), is_rule=line.startswith("+")
                )


def tested() -> Iterator[Sample]:
    """The sentences that the tests demand to be rules, and to be none."""
    from tests.ledger.rule_sentences import NONE, RULES

    for is_rule, texts in ((True, RULES), (False, NONE)):
        for text in texts:
            yield Sample(author="tests", message=0, seen=seen_in(text), is_rule=is_rule, weight=IN_TESTS)


def chatted(data: Path) -> Iterator[Sample]:
    """What users say in the recorded chats, none of it a rule but for a handful."""
    for line in (data / "retrieval" / "documents.jsonl").read_text("utf-8").splitlines():
        turn = json.loads(line)
        if turn.get("role") == "user":
            for sentence in said_in(turn["text"]):
                yield Sample(
                    author="chats", message=0, seen=seen_in(sentence), is_rule=False, weight=IN_CHATS
                )


def recorded(data: Path) -> Iterator[Sample]:
    """What users say in the recorded sessions of agents, each sentence once."""
    known: set[str] = set()
    for path in sorted(path for folder in FOLDERS for path in (data / folder).rglob("*.json*")):
        for words in scan(_messages(path)).said:
            fresh = [] if words.by not in ("user", "reply") else said_in(spoken(words.text))
            for sentence in fresh:
                if sentence not in known:
                    known.add(sentence)
                    is_rule = any(part in sentence for part in RULES_RECORDED)
                    yield Sample(
                        author="sessions",
                        message=0,
                        seen=seen_in(sentence),
                        is_rule=is_rule,
                        weight=IN_SESSIONS,
                    )


def _messages(path: Path) -> Sequence[Message]:
    try:
        return read_session(path).messages
    except UnreadableSession:
        return ()  # one of the recorded sessions has no message


def said_in(text: str) -> list[str]:
    """The sentences of a text that are not too long for a rule."""
    parts = [
        part for passage in passages(text) for item in passage.text.split("; ") for part in sentences(item)
    ]
    found = [clause.strip() for part in parts for clause in clauses(part)]
    return [clause for clause in found if clause and len(clause) <= LONGEST]


def seen_in(sentence: str) -> int:
    """The cues of a sentence as `autocompact.ledger.rules` reads it."""
    return cues_of(sentence, order=outright(sentence))


def features(samples: Sequence[Sample]) -> list[_Feature]:
    """The cues that stand in at least `LEAST` sentences, alone and in pairs."""
    alone: dict[str, list[int]] = {}
    for row, sample in enumerate(samples):
        for name, bit in BIT.items():
            if sample.seen & bit:
                alone.setdefault(name, []).append(row)
    frequent = {name: rows for name, rows in alone.items() if len(rows) >= LEAST}
    found = [
        _Feature((), list(range(len(samples)))),
        *(_Feature((name,), rows) for name, rows in frequent.items()),
    ]
    for first, second in combinations(frequent, 2):
        if first.lstrip("^,") != second.lstrip("^,"):
            both = sorted(set(frequent[first]).intersection(frequent[second]))
            if LEAST <= len(both) < min(len(frequent[first]), len(frequent[second])) - 2:
                found.append(_Feature((first, second), both))
    return found


def fitted(samples: Sequence[Sample]) -> Mapping[Cues, float]:
    """The weights of the cues and pairs that the lasso leaves; "()" is what the log-odds begin with."""
    found = features(samples)
    _descend(found, samples, lasso=LASSO, ridge=0.1)
    found = [one for one in found if one.weight or not one.names]
    _descend(found, samples, lasso=0.0, ridge=RIDGE)
    return {one.names: round(one.weight, 2) for one in found}


def _descend(found: Sequence[_Feature], samples: Sequence[Sample], *, lasso: float, ridge: float) -> None:
    """Minimise the loss one weight at a time; a quarter bounds the curvature of a logistic loss."""
    margins = [0.0] * len(samples)
    for one in found:
        for row in one.rows:
            margins[row] += one.weight
    sizes = [sample.weight for sample in samples]
    wanted = [float(sample.is_rule) for sample in samples]
    for at in range(PASSES):
        for one in found:
            if not one.weight and at % 6 > 1:
                continue  # most stay at nothing: they are looked at again now and then
            pull = sum(sizes[row] * (1 / (1 + math.exp(-margins[row])) - wanted[row]) for row in one.rows)
            curve = 0.25 * sum(sizes[row] for row in one.rows)
            free = not one.names
            curve += 0.0 if free else ridge
            goal = one.weight - (pull + (0.0 if free else ridge * one.weight)) / curve
            shrunk = 0.0 if free else lasso / curve
            goal = math.copysign(max(0.0, abs(goal) - shrunk), goal)
            if (step := goal - one.weight) != 0:
                one.weight = goal
                for row in one.rows:
                    margins[row] += step


def left_out(samples: Sequence[Sample], learned: Mapping[Cues, float]) -> str:
    """The share of the rules that are known, and of the messages without a rule of which a sentence is taken for one."""
    table = [(bits(names), weight) for names, weight in learned.items()]
    odds = [sum(weight for bit, weight in table if bit & sample.seen == bit) for sample in samples]
    with_rule = {sample.message for sample in samples if sample.is_rule}
    others = {sample.message for sample in samples} - with_rule
    rows: list[str] = []
    for least in (-0.4, 0.0, 0.4, 0.8, 1.2):
        known = Counter(value > least for sample, value in zip(samples, odds, strict=True) if sample.is_rule)
        taken = {
            sample.message for sample, value in zip(samples, odds, strict=True) if value > least
        } & others
        rows.append(
            f"{least}: {100 * known[True] / known.total():.0f}% known, {100 * len(taken) / len(others):.0f}% taken"
        )
    return "; ".join(rows)


if __name__ == "__main__":
    raise SystemExit(main())
