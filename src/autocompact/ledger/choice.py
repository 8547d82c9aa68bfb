"""Which entries of a ledger fit a budget.

What must not be missing comes first: the user's requests, errors still open, the plan, what is running, the files
that were changed. The rest of the budget goes, line by line, where the expected need per token is greatest. A line
explains all the names whose last line it is, so lines are weighed, not names.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from autocompact.core.redacted import cut, edited, filled
from autocompact.core.tokens import Counter
from autocompact.ledger.entries import Entry, Kind, Ledger
from autocompact.ledger.identifiers import chunks, names
from autocompact.ledger.lines import is_sentence
from autocompact.ledger.rendering import render

REQUEST_SHARE = 0.35
FLOOR_SHARE = 0.6
FLOOR_NEED = 0.5
SHARES: Mapping[Kind, float] = {"finding": 0.3, "fact": 0.3, "command": 0.06}
WORTH_TELLING = 0.1
EXPLAINED = 0.4
_SPACE = re.compile(r"\s+")
_CAPS = (
    (100_000, 100_000, 100_000), (1200, 400, 100_000), (800, 240, 100), (500, 120, 100), (300, 80, 100), (160, 48, 100),
    (160, 100, 16), (160, 100, 8), (160, 80, 4), (120, 60, 2), (120, 0, 0), (40, 0, 0), (0, 0, 0),
)  # fmt: skip
"""How requests shrink: characters of the last one, of the ones before it, and how many of these keep any."""


def choose(ledger: Ledger, budget: int, *, counter: Counter) -> tuple[Entry, ...]:
    """The entries worth most whose rendering takes at most ``budget`` tokens."""
    floor = _floor(ledger.entries, budget, counter=counter)
    order = ranked(ledger.entries, floor, counter=counter)
    return _fill(floor, order, budget=budget, counter=counter)


def _is_floor(entry: Entry) -> bool:
    return (
        entry.kind in ("request", "running")
        or (entry.kind == "error" and entry.need >= FLOOR_NEED)
        or (entry.kind == "todo" and entry.state != "withdrawn")
        or entry.kind == "change"
    )


def _floor(entries: Sequence[Entry], budget: int, *, counter: Counter) -> list[Entry]:
    """What must not be missing, the first to be given up last: the newest request."""
    requests = sorted((entry for entry in entries if entry.kind == "request"), key=lambda entry: entry.seq)
    others = [entry for entry in entries if entry.kind != "request" and _is_floor(entry)]
    for kind, share in SHARES.items():
        others += _share(entries, kind, budget=int(budget * share), counter=counter)
    kept = shortened(requests, int(budget * REQUEST_SHARE), counter=counter)
    limit = budget * FLOOR_SHARE
    while others and counter.count(render([*kept, *others])) > limit:
        del others[-max(1, len(others) // 10) :]
    return [*reversed(kept), *others]


def _share(entries: Sequence[Entry], kind: Kind, *, budget: int, counter: Counter) -> list[Entry]:
    """The entries of a kind that is kept for the reader's sake: the most needed and latest within ``budget``."""
    found = [entry for entry in entries if entry.kind == kind and entry.need >= WORTH_TELLING]
    taken: list[Entry] = []
    for entry in sorted(found, key=lambda entry: (-entry.need, -entry.seq)):
        budget -= counter.count(entry.text) + 5
        if budget < 0:
            break
        taken.append(entry)
    return taken


def shortened(requests: Sequence[Entry], budget: int, *, counter: Counter) -> list[Entry]:
    """The requests, cut until they take at most ``budget`` tokens: the last one least, the oldest to a pointer."""
    kept = list(requests)
    for newest, others, texts in _CAPS:
        kept = [
            _cut(entry, newest if left == 0 else others if left <= texts else 0)
            for left, entry in zip(range(len(requests) - 1, -1, -1), requests, strict=True)
        ]
        if counter.count(render(kept)) <= budget:
            break
    return kept


def _cut(entry: Entry, limit: int) -> Entry:
    if len(entry.text) <= limit:
        return entry
    return replace(entry, text=filled("{}…", edited(cut(entry.text, end=limit), _to_a_word)))


def _to_a_word(text: str) -> str:
    return text.rsplit(None, 1)[0] if text else ""


def _may_tell(entry: Entry, paths: Set[str]) -> bool:
    """Whether the line of an identifier tells a reader anything: a sentence, or a name that is no path told anyway."""
    if entry.text == entry.key:
        return entry.key not in paths
    return is_sentence(entry.text)


@dataclass(slots=True)
class _Bundle:
    """Entries that stand or fall together: all names that one line explains, and the names it merely states."""

    text: str
    entries: list[Entry]
    states: frozenset[str]
    cost: int

    def is_told(self, stated: Set[str]) -> bool:
        """Whether it says nothing but names that stand in the text already."""
        return all(entry.text == entry.key and entry.key in stated for entry in self.entries)

    def value(self, stated: Set[str], needs: Mapping[str, float]) -> float:
        """What taking it adds, when the names in ``stated`` stand in the text already."""
        own = {entry.key for entry in self.entries}
        value = sum(entry.need * (EXPLAINED if entry.key in stated else 1.0) for entry in self.entries)
        # the order of a set differs between processes, a sum that is rounded once does not
        return value + math.fsum((1 - EXPLAINED) * needs[name] for name in self.states - own - stated)


def ranked(entries: Sequence[Entry], floor: Sequence[Entry], *, counter: Counter) -> list[list[Entry]]:
    """What may be added to ``floor``, in the order of expected need per token.

    Lazy greedy: what a line adds only falls while others are taken, so the heap's first item is re-valued and
    taken if it stays first.
    """
    needs: dict[str, float] = {entry.key: entry.need for entry in entries if entry.kind == "identifier"}
    taken = {(entry.kind, entry.key) for entry in floor}
    paths = {entry.key for entry in entries if entry.kind in ("file", "change")}
    left = [
        entry
        for entry in entries
        if (entry.kind, entry.key) not in taken
        and not (entry.kind == "identifier" and not _may_tell(entry, paths))
    ]
    told = _SPACE.sub(" ", "\n".join(entry.text for entry in floor))
    bundles = [bundle for bundle in _bundles(left, needs, counter=counter) if bundle.text not in told]
    stated: set[str] = set()
    for entry in floor:
        stated |= stated_names(entry.text, needs)
    heap = [(-bundle.value(stated, needs) / bundle.cost, index) for index, bundle in enumerate(bundles)]
    heapq.heapify(heap)
    order: list[list[Entry]] = []
    while heap:
        before, index = heapq.heappop(heap)
        density = -bundles[index].value(stated, needs) / bundles[index].cost
        if density > before and heap and density > heap[0][0]:
            heapq.heappush(heap, (density, index))
            continue
        if bundles[index].is_told(stated):
            continue
        stated |= bundles[index].states
        order.append(bundles[index].entries)
    return order


def _bundles(entries: Sequence[Entry], needs: Mapping[str, float], *, counter: Counter) -> list[_Bundle]:
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        if entry.kind == "identifier":
            groups.setdefault((entry.text,), []).append(entry)
        elif not _is_floor(entry):
            groups[entry.kind, entry.key] = [entry]
    return [
        _Bundle(
            text=group[0].text,
            entries=group,
            states=stated_names(group[0].text, needs),
            cost=counter.count(group[0].text) + 3,
        )
        for group in groups.values()
    ]


def stated_names(text: str, needs: Mapping[str, float]) -> frozenset[str]:
    """The names of ``needs`` that ``text`` states; a path states its own endings too."""
    found: set[str] = set()
    for chunk in chunks(text):
        for name, shape in names(chunk):
            found.add(name)
            if shape == "path":
                parts = name.split("/")
                found.update("/".join(parts[index:]) for index in range(1, len(parts)))
    return frozenset(found & needs.keys())


def _fill(
    floor: list[Entry], order: Sequence[list[Entry]], *, budget: int, counter: Counter
) -> tuple[Entry, ...]:
    def chosen(count: int) -> list[Entry]:
        return [*floor, *(entry for group in order[:count] for entry in group)]

    def fits(entries: Sequence[Entry]) -> bool:
        return counter.count(render(entries)) <= budget

    count = _most(len(order), lambda count: fits(chosen(count)))
    if count or fits(floor):
        return tuple(chosen(count))
    return tuple(floor[: _most(len(floor), lambda count: fits(floor[:count]))])


def _most(count: int, fits: Callable[[int], bool]) -> int:
    """The highest number up to ``count`` that fits, given that fewer always fit where more do. 0 is not tried."""
    low, high = 0, count
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
