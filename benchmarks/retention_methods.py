"""What can be kept of a history within a budget: ours, and simple baselines of the same size."""

from __future__ import annotations

import math
import random
import re
from collections import Counter as Counted
from collections.abc import Callable, Iterable, Mapping, Sequence

from autocompact.core.messages import Message, ToolResult
from autocompact.core.redaction import redact
from autocompact.core.tokens import Counter
from autocompact.ledger.entries import Ledger
from autocompact.ledger.extraction import extract
from autocompact.ledger.summary import offline_summary
from autocompact.ledger.summary_repair import repair_summary
from autocompact.ledger.verification import verify
from autocompact.what_if.needs import content
from benchmarks.retention_cases import Case

Method = Callable[[Case, Counter], str]
_WORD = re.compile(r"\w{3,}")


def ledger_of(case: Case) -> Ledger:
    """Our ledger of what leaves the context; what stays is evidence."""
    return extract((*case.history, *case.recent), through=case.history[-1].seq)


def plain_ledger(case: Case, counter: Counter) -> str:
    """Names and the last line that each stood in, whatever it is, the most needed first."""
    entries = [entry for entry in ledger_of(case).entries if entry.kind == "identifier"]
    lines = list(dict.fromkeys(entry.text for entry in entries))
    return _taken(lines, list(range(len(lines))), budget=case.budget, counter=counter)


def offline(case: Case, counter: Counter) -> str:
    """The whole offline summary: prose and ledger."""
    return offline_summary(ledger_of(case), budget=case.budget, counter=counter)


def recorded(case: Case, _counter: Counter) -> str:
    """The summary the agent's model wrote."""
    return case.recorded


def repaired(factor: float) -> Method:
    """The recorded summary, verified and repaired within ``factor`` times its size."""

    def method(case: Case, counter: Counter) -> str:
        ledger = ledger_of(case)
        return repair_summary(
            redact(case.recorded),
            ledger,
            verification=verify(case.recorded, ledger),
            budget=int(case.budget * factor),
            counter=counter,
        ).text

    return method


def truncation(case: Case, counter: Counter) -> str:
    """The last tokens of the history."""
    return _last((content(message) for message in reversed(case.history)), case.budget, counter=counter)


def masking(case: Case, counter: Counter) -> str:
    """The last tokens of the history without its tool outputs."""
    return _last((_masked(message) for message in reversed(case.history)), case.budget, counter=counter)


def random_lines(case: Case, counter: Counter) -> str:
    """Lines taken at random (a fixed source), in their order."""
    lines = _lines(case)
    order = list(range(len(lines)))
    random.Random(case.name).shuffle(order)
    return _taken(lines, order, budget=case.budget, counter=counter)


def centroid(case: Case, counter: Counter) -> str:
    """The lines nearest to the centroid of the history, by TF-IDF over lines (Radev et al. 2004)."""
    lines = _lines(case)
    bags = [Counted(_WORD.findall(line.lower())) for line in lines]
    frequency = Counted(word for bag in bags for word in bag)
    weight = {word: math.log(len(lines) / times) for word, times in frequency.items()}
    total: Counted[str] = Counted()
    for bag in bags:
        total.update(bag)

    def score(index: int) -> float:
        bag = bags[index]
        length = math.sqrt(sum((times * weight[word]) ** 2 for word, times in bag.items()))
        dot = sum(times * total[word] * weight[word] ** 2 for word, times in bag.items())
        return dot / length if length else 0.0

    order = sorted(range(len(lines)), key=lambda index: -score(index))
    return _taken(lines, order, budget=case.budget, counter=counter)


def _masked(message: Message) -> str:
    return content(message.with_parts(part for part in message.parts if not isinstance(part, ToolResult)))


def _last(texts: Iterable[str], budget: int, *, counter: Counter) -> str:
    kept: list[str] = []
    for text in texts:
        size = counter.count(text) + 1
        if size > budget:
            kept.append(text[-int(len(text) * budget / size) :] if budget > 0 else "")
            break
        kept.append(text)
        budget -= size
    return "\n".join(reversed(kept))


def _lines(case: Case) -> list[str]:
    text = "\n".join(content(message) for message in case.history)
    return list(dict.fromkeys(line.strip() for line in text.split("\n") if line.strip()))


def _taken(lines: Sequence[str], order: list[int], *, budget: int, counter: Counter) -> str:
    kept: list[int] = []
    for index in order:
        size = counter.count(lines[index]) + 1
        if size <= budget:
            kept.append(index)
            budget -= size
        if budget < 5:
            break
    return "\n".join(lines[index] for index in sorted(kept))


SAME_SIZE: Mapping[str, Method] = {
    "recorded summary": recorded,
    "names with their last line": plain_ledger,
    "offline summary": offline,
    "truncation": truncation,
    "masking": masking,
    "random lines": random_lines,
    "centroid lines": centroid,
}
OURS: Mapping[str, Method] = {
    "names with their last line": plain_ledger,
    "offline summary": offline,
}
"""Ours, and the methods that it is held against at artificial cuts."""

LARGER: Mapping[str, Method] = {
    "recorded + repair, 1.25 x": repaired(1.25),
    "recorded + repair, 2 x": repaired(2.0),
}
