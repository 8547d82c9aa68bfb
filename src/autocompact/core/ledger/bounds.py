"""How much of one ledger goes into the next: as much after twenty compactions as after two.

What is still open goes on, however much it is: requests and errors without an outcome, requests that say how to work, the
plan, what is running. Of everything else the most needed and latest entries, so many of each kind; the rest is left to
recall, which has the messages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from autocompact.core.ledger.entries import Entry, Kind, Ledger
from autocompact.core.redacted import edited

MOST: Mapping[Kind, int] = {
    "identifier": 250, "file": 60, "command": 30, "decision": 30, "request": 40
}  # fmt: skip
"""Entries of the kinds that fade, and requests that are not open. A summary of 4,000 tokens has room for about a hundred."""

LONGEST = 2_000
"""Characters of a request that is neither open nor the last one; a summary shows 400 of it where room is short."""

_STANDING = re.compile(
    r"\b(?:never|always|must|don't|do not|only|without (?:my|asking|telling)|from now on"
    r"|nie|niemals|immer|nicht|kein\w*|nur|jamais|toujours|ne pas|seulement|nunca|siempre|no debes|solo)\b"
    r"|不要|必须|禁止|总是|只能|絶対|必ず|しないで|だけ",
    re.IGNORECASE,
)


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
    """The most needed first, of equals the latest; of requests the latest, since all are needed alike."""
    return (0.0 if entry.kind == "request" else -entry.need, -entry.seq)


def _may_go(entry: Entry, *, last: int) -> bool:
    """Errors, the plan and what is running never do: each is there because nothing has settled it."""
    if entry.kind == "request":
        return entry.seq != last and entry.state != "open" and not _STANDING.search(entry.text)
    return entry.kind in MOST


def _short(entry: Entry, *, last: int) -> Entry:
    whole = entry.kind != "request" or entry.state == "open" or entry.seq == last
    if whole or len(entry.text) <= LONGEST:
        return entry
    return replace(entry, text=edited(entry.text, lambda text: f"{text[:LONGEST].rsplit(None, 1)[0]}…"))
