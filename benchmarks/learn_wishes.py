"""Learn the numbers of `autocompact.ledger.wish_words`, and say how well they do on an author who was left out.

    python -m benchmarks.learn_wishes [--data DIR] [--left-out]      # writes the module to stdout

`rule_sentences` holds messages of five authors, of whom all but the fourth did not know the program: one file each, a
sentence a line, "+" before one that is a standing instruction, an empty line between messages. With them go the sentences of
the users of the recorded chats and sessions, in which few are rules. What is learned is one weight for each word that two
authors used, by logistic regression with a ridge. With ``--left-out`` each author is judged by weights that never saw a word of
theirs, on the sentences that have no form of a rule.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autocompact.core.messages import Message
from autocompact.core.spoken import spoken
from autocompact.errors import UnreadableSession
from autocompact.ledger.passages import passages, sentences
from autocompact.ledger.rules import is_rule
from autocompact.ledger.scan import scan
from autocompact.ledger.wishes import LEAST, features
from autocompact.sessions.read import read_session
from benchmarks.retention_cases import DATA

HERE = Path(__file__).parent / "rule_sentences"
FOLDERS = ("claude_code", "codex", "copilot_cli", "gemini_cli", "openhands_sdk", "pi", "swe_agent")
RIDGE, PASSES, OFTEN, LEAST_WEIGHT = 1.0, 40, 3, 0.25
"""Of the regression; sentences that a word stands in at least; the smallest weight kept."""

LONGEST = 280
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A sentence, who wrote it, and whether it is a rule."""

    author: str
    text: str
    is_rule: bool


def main() -> None:
    """Learn and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--left-out", action="store_true")
    options = parser.parse_args()
    samples = [*written(), *chatted(options.data), *recorded(options.data)]
    if not options.left_out:
        print(module(*fitted(samples)))
        return
    for author in sorted({sample.author for sample in samples}):
        begin, weights = fitted([sample for sample in samples if sample.author != author])
        left = [sample for sample in samples if sample.author == author and not is_rule(sample.text)]
        print(author, judged(left, begin=begin, weights=weights))


def written() -> Iterator[Sample]:
    """The sentences of the authors."""
    for path in sorted(HERE.glob("*.txt")):
        for line in filter(None, path.read_text("utf-8").splitlines()):
            yield Sample(author=path.stem, text=line[2:], is_rule=line.startswith("+"))


def chatted(data: Path) -> Iterator[Sample]:
    """What users say in the recorded chats, none of it a rule but for a handful."""
    turns = map(json.loads, (data / "retrieval" / "documents.jsonl").read_text("utf-8").splitlines())
    texts = (turn["text"] for turn in turns if turn.get("role") == "user")
    yield from (Sample(author="chats", text=said, is_rule=False) for said in _once(map(_sentences, texts)))


def recorded(data: Path) -> Iterator[Sample]:
    """What users say in the recorded sessions of agents."""
    paths = sorted(path for folder in FOLDERS for path in (data / folder).rglob("*.json*"))
    said = (words for path in paths for words in scan(_messages(path)).said)
    texts = (spoken(words.text) for words in said if words.by in ("user", "reply"))
    for sentence in _once(map(_sentences, texts)):
        yield Sample(
            author="sessions", text=sentence, is_rule=any(part in sentence for part in RULES_RECORDED)
        )


def _messages(path: Path) -> Sequence[Message]:
    try:
        return read_session(path).messages
    except UnreadableSession:
        return ()


def _sentences(text: str) -> Iterator[str]:
    for passage in passages(text):
        for part in passage.text.split("; "):
            yield from (sentence.strip(' -*#>\t|"') for sentence in sentences(part))


def _once(groups: Iterable[Iterable[str]]) -> Iterator[str]:
    found = dict.fromkeys(said for group in groups for said in group)
    yield from (said for said in found if said and len(said) <= LONGEST)


def fitted(samples: Sequence[Sample]) -> tuple[float, dict[str, float]]:
    """What the log-odds begin with, and the weight of each feature, by coordinate descent."""
    rows: dict[str, list[int]] = defaultdict(list)
    authors: dict[str, set[str]] = defaultdict(set)
    for at, sample in enumerate(samples):
        for feature in features(sample.text):
            rows[feature].append(at)
            authors[feature].add(sample.author)
    own = {path.stem for path in HERE.glob("*.txt")}
    used = {
        name: found for name, found in rows.items() if len(found) >= OFTEN and len(authors[name] & own) > 1
    }
    columns = {"": range(len(samples)), **dict(sorted(used.items()))}
    weights = dict.fromkeys(columns, 0.0)
    margins = [0.0] * len(samples)
    for _ in range(PASSES):
        for name, found in columns.items():
            slope = curve = 0.0
            for at in found:
                likely = 1 / (1 + math.exp(-margins[at]))
                slope += likely - samples[at].is_rule
                curve += likely * (1 - likely)
            ridge = RIDGE if name else 0.0
            step = -(slope + ridge * weights[name]) / (curve + ridge + 1e-9)
            step = max(-1.0, min(1.0, step))
            weights[name] += step
            for at in found:
                margins[at] += step
    begin = weights.pop("")
    return round(begin, 2), {name: round(w, 1) for name, w in weights.items() if abs(w) >= LEAST_WEIGHT}


def judged(samples: Sequence[Sample], *, begin: float, weights: Mapping[str, float]) -> str:
    """How many of the rules without the form of one are wishes, and how many of the other sentences."""
    least = math.log(LEAST / (1 - LEAST))
    taken = Counter[bool]()
    total = Counter(sample.is_rule for sample in samples)
    for sample in samples:
        if begin + sum(weights.get(feature, 0.0) for feature in features(sample.text)) >= least:
            taken[sample.is_rule] += 1
    return f"rules {taken[True]} of {total[True]}, others {taken[False]} of {total[False]}"


def module(begin: float, weights: Mapping[str, float]) -> str:
    """The source of `autocompact.ledger.wish_words`, to be formatted."""
    groups: dict[float, list[str]] = defaultdict(list)
    for name, weight in sorted(weights.items()):
        groups[weight].append(name)
    lines = (f"    {weight}: {' '.join(groups[weight])!r}," for weight in sorted(groups))
    return "\n".join(
        (
            '"""What words speak for a standing wish of the user and against it, learned by `benchmarks/learn_wishes.py`.',
            "",
            "Read a weight as: how much one such word raises the log-odds. The signs are those of `autocompact.ledger.wishes.features`.",
            '"""',
            "",
            "from __future__ import annotations",
            "",
            "from collections.abc import Mapping",
            "",
            f"BEGIN = {begin}",
            '"""The log-odds of a sentence of which no word is known."""',
            "",
            "LEARNED: Mapping[float, str] = {",
            *lines,
            "}",
        )
    )


if __name__ == "__main__":
    main()
