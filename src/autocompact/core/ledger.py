"""The ledger: what must survive, found without a model, and what of it fits a budget.

Three steps: `extract` finds every entry in one pass, `choose` takes the ones worth most for their size, `render`
writes them for a reader.

What must not be missing comes first: the user's requests, errors still open, the plan, what is running, the files
that were changed. The rest of the budget goes, line by line, where the expected need per token is greatest. A line
explains all the names whose last line it is, so lines are weighed, not names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from autocompact.core.decisions import find_decisions
from autocompact.core.deeds import find_commands, find_errors, find_files, find_running, find_todos
from autocompact.core.entries import Entry, Kind, Ledger, State
from autocompact.core.language import WORDS, detect
from autocompact.core.ledger_text import render
from autocompact.core.lines import find_identifiers
from autocompact.core.messages import Message
from autocompact.core.requests import find_requests
from autocompact.core.scan import scan
from autocompact.core.secrets import redact
from autocompact.core.tokens import Counter

__all__ = ["Entry", "Kind", "Ledger", "State", "choose", "extract", "render"]

FADING = 0.5
REQUEST_SHARE = 0.35
FLOOR_SHARE = 0.6
_CAPS = ((100_000, 100_000), (1200, 400), (800, 240), (500, 120), (300, 80), (160, 48), (120, 0), (40, 0))


def extract(messages: Iterable[Message], *, previous: Ledger | None = None) -> Ledger:
    """All entries of these messages, merged with the ledger of an earlier compaction."""
    found = scan(messages)
    requests = find_requests(found)
    words = WORDS[detect(entry.text for entry in requests)]
    entries = [
        *requests,
        *find_errors(found.calls),
        *find_todos(found.calls),
        *find_running(found.calls, found.said),
        *find_files(found.calls, words=words),
        *find_commands(found.calls, words=words),
        *find_decisions(found.said, found.calls),
    ]
    clean = [replace(entry, text=redact(entry.text)) for entry in entries]
    merged = _merged([*clean, *find_identifiers(found.sightings)], previous)
    return Ledger(entries=tuple(sorted(merged, key=lambda entry: (-entry.need, -entry.seq, entry.key))))


def _merged(entries: list[Entry], previous: Ledger | None) -> list[Entry]:
    if previous is None:
        return entries
    known = {(entry.kind, entry.key) for entry in entries}
    has_todos = any(entry.kind == "todo" for entry in entries)
    for entry in previous.entries:
        if (entry.kind, entry.key) not in known and not (entry.kind == "todo" and has_todos):
            entries.append(replace(entry, need=entry.need * FADING))
    return entries


def choose(ledger: Ledger, budget: int, *, counter: Counter) -> tuple[Entry, ...]:
    """The entries worth most whose rendering takes at most ``budget`` tokens."""
    floor = _floor(ledger.entries, budget, counter=counter)
    bundles = _ranked(ledger.entries, counter=counter)
    return _fill(floor, bundles, budget=budget, counter=counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bundle:
    """Entries that stand or fall together (all names of one line), with their worth and tokens."""

    entries: tuple[Entry, ...]
    value: float
    cost: int


def _is_floor(entry: Entry) -> bool:
    return (
        entry.kind in ("request", "error", "running")
        or (entry.kind == "todo" and entry.state != "withdrawn")
        or (entry.kind == "file" and entry.state == "done")
    )


def _floor(entries: Sequence[Entry], budget: int, *, counter: Counter) -> list[Entry]:
    requests = sorted((entry for entry in entries if entry.kind == "request"), key=lambda entry: entry.seq)
    others = [entry for entry in entries if entry.kind != "request" and _is_floor(entry)]
    kept = shortened(requests, int(budget * REQUEST_SHARE), counter=counter)
    limit = budget * FLOOR_SHARE
    while others and counter.count(render([*kept, *others])) > limit:
        del others[-max(1, len(others) // 10) :]
    return [*kept, *others]


def shortened(requests: Sequence[Entry], budget: int, *, counter: Counter) -> list[Entry]:
    """The requests, cut until they take at most ``budget`` tokens: the last one least, the oldest to a pointer."""
    kept = list(requests)
    for newest, others in _CAPS:
        kept = [_cut(entry, others) for entry in requests[:-1]] + [
            _cut(entry, newest) for entry in requests[-1:]
        ]
        if counter.count(render(kept)) <= budget:
            break
    return kept


def _cut(entry: Entry, limit: int) -> Entry:
    if len(entry.text) <= limit:
        return entry
    shorter = entry.text[:limit].rsplit(None, 1)[0] if limit else ""
    return replace(entry, text=f"{shorter}…")


def _ranked(entries: Sequence[Entry], *, counter: Counter) -> list[_Bundle]:
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        if entry.kind == "identifier":
            groups.setdefault((entry.text,), []).append(entry)
        elif not _is_floor(entry):
            groups[entry.kind, entry.key] = [entry]
    bundles = [
        _Bundle(
            entries=tuple(group),
            value=sum(entry.need for entry in group),
            cost=counter.count(group[0].text) + 3,
        )
        for group in groups.values()
    ]
    return sorted(bundles, key=lambda bundle: -bundle.value / bundle.cost)


def _fill(
    floor: list[Entry], bundles: Sequence[_Bundle], *, budget: int, counter: Counter
) -> tuple[Entry, ...]:
    def chosen(count: int) -> list[Entry]:
        return [*floor, *(entry for bundle in bundles[:count] for entry in bundle.entries)]

    low, high = 0, len(bundles)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(render(chosen(middle))) <= budget:
            low = middle
        else:
            high = middle - 1
    kept = chosen(low)
    while kept and counter.count(render(kept)) > budget:
        kept.pop()
    return tuple(kept)
