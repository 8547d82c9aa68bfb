"""How much of one ledger goes into the next: as much after twenty compactions as after two.

What is still open goes on, however much it is: rules, requests and errors without an outcome, the plan, what is running. Of everything else the most needed and latest entries, so many of each kind; the rest is left to
recall, which has the messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from autocompact.core.redacted import edited
from autocompact.ledger.entries import Entry, Kind, Ledger

MOST: Mapping[Kind, int] = {
    "identifier": 250, "file": 60, "command": 30, "finding": 120, "fact": 300, "change": 150, "step": 0, "request": 40
}  # fmt: skip
"""Entries of the kinds that fade, and requests that are not open. A summary of 4,000 tokens has room for about a hundred."""

LONGEST = 2_000
"""Characters of a request that is neither open nor the last one; a summary shows 400 of it where room is short."""


def carried(ledger: Ledger) -> tuple[Entry, ...]:
    """The entries of an earlier ledger that the next one takes over, in their order."""
    last = max((entry.seq for entry in ledger.entries if entry.kind == "request"), default=0)
    left = dict(MOST)
    kept: set[int] = set()
    order = sorted(range(len(ledger.entries)), key=lambda index: _rank(ledger.entries[index]))
    for index in order:
        entry = ledger.entries[index]
        if not _may_go(entry, last=last):
            kept.add(index)
        elif left[entry.kind]:
            left[entry.kind] -= 1
            kept.add(index)
    return tuple(_short(ledger.entries[index], last=last) for index in sorted(kept))


def _rank(entry: Entry) -> tuple[float, int]:
    """The most needed first, of equals the latest; of requests and changes the latest, since all are needed alike."""
    return (0.0 if entry.kind in ("request", "change") else -entry.need, -entry.seq)


def _may_go(entry: Entry, *, last: int) -> bool:
    """Errors, the plan and what is running never do: each is there because nothing has settled it."""
    if entry.kind == "request":
        return entry.seq != last and entry.state != "open"
    return entry.kind in MOST


def _short(entry: Entry, *, last: int) -> Entry:
    whole = entry.kind != "request" or entry.state == "open" or entry.seq == last
    if whole or len(entry.text) <= LONGEST:
        return entry
    return replace(entry, text=edited(entry.text, lambda text: f"{text[:LONGEST].rsplit(None, 1)[0]}…"))
