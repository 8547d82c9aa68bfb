"""Does a summary state what must survive? And putting back what it does not.

The summary may come from anywhere, so nothing is assumed about its form. It is indexed once, by its ASCII words and
their places; an entry is looked up at the places of its rarest word, and what stands around it decides:

- a request is kept if its words stand there verbatim or a reference (``m12``) points to it;
- a file is kept if it is named: whole, by the end of its path with its folder, or by a name no other file has;
- everything else is kept if its key stands there (an identifier as a name of its own) with at least `SHARE` of the
  content words of its text within `NEAR` characters. What has no place as a name (a decision, an error, a todo) is
  looked up by its own rarest words. A bare identifier explains nothing and counts as missing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter as Counted
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import assert_never

from autocompact.core.phrases import PHRASES
from autocompact.core.redacted import edited, filled, joined, own
from autocompact.core.redaction import Redacted
from autocompact.core.tokens import Counter
from autocompact.ledger.choice import choose
from autocompact.ledger.entries import Entry, Ledger
from autocompact.ledger.rendering import language_of, render
from autocompact.ledger.shortening import shortened_text

SHARE = 0.4
NEAR = 200
_REPAIR_SHARE = 0.3
_NAMED = 0.5
_PLACES = 24
_ANCHORS = 3

_ATOM = re.compile(r"[A-Za-z0-9_]+")
_RANGE = re.compile(r"(?<![A-Za-z0-9_])m([1-9][0-9]{0,17})–m([1-9][0-9]{0,17})(?![A-Za-z0-9_])")
_WORD = re.compile(r"[^\W\d_\u3040-\u9fff\uac00-\ud7af]{3,}|[\u3040-\u9fff\uac00-\ud7af]")
_REFERENCE = re.compile(r"(?<![A-Za-z0-9_])m([1-9][0-9]{0,17})(?![A-Za-z0-9_])")
_STOP = frozenset(
    "the and for that this with from are was were have has had not but you your will can all its into out our they"
    " them their there then than when what which who how why where would could should been being does did done just"
    " also only more most some any each other one two now let see use used using here very about".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What a text states of a ledger.

    Attributes:
        kept: stated, with enough of the words that explain it.
        recoverable: not stated, but its source is archived.
        lost: not stated, and its source is not in the archive.
    """

    kept: tuple[Entry, ...] = ()
    recoverable: tuple[Entry, ...] = ()
    lost: tuple[Entry, ...] = ()


def _has_source(seq: int) -> bool:
    return seq > 0


def verify(summary: str, ledger: Ledger, *, archived: Callable[[int], bool] = _has_source) -> Verification:
    """Check ``summary``, or a whole context that holds it, against ``ledger``.

    Args:
        summary: any text.
        ledger: what it should state.
        archived: whether message ``seq`` is in the log; by default every ``seq`` from 1.
    """
    stated = _Statements(summary, ledger)
    kept: list[Entry] = []
    recoverable: list[Entry] = []
    lost: list[Entry] = []
    for entry in ledger.entries:
        found = kept if stated.states(entry) else recoverable if archived(entry.seq) else lost
        found.append(entry)
    return Verification(kept=tuple(kept), recoverable=tuple(recoverable), lost=tuple(lost))


class _Statements:
    """An index of one text: where the words of a ledger stand in it."""

    def __init__(self, text: str, ledger: Ledger) -> None:
        self.text = " ".join(text.split())
        self.references = {int(number) for number in _REFERENCE.findall(self.text)}
        for first, last in _RANGE.findall(self.text):
            self.references |= {e.seq for e in ledger.entries if int(first) <= e.seq <= int(last)}
        told = "\n".join(f"{entry.key}\n{entry.text}" for entry in ledger.entries)
        names = set(_ATOM.findall(told))
        self.atoms: dict[str, list[int]] = {}
        for match in _ATOM.finditer(self.text):
            if (name := match.group()) in names:
                self.atoms.setdefault(name, []).append(match.start())
        words = content_words(told)
        self.starts: list[int] = []
        self.words: list[str] = []
        self.by_word: dict[str, list[int]] = {}
        for match in _WORD.finditer(self.text.lower()):
            if (word := match.group()) in words:
                self.starts.append(match.start())
                self.words.append(word)
                self.by_word.setdefault(word, []).append(match.start())
        paths = (entry.key for entry in ledger.entries if entry.kind in ("file", "change"))
        files = Counted(path.rsplit("/", 1)[-1] for path in paths)
        self.shared = {name for name, count in files.items() if count > 1}

    def states(self, entry: Entry) -> bool:
        match entry.kind:
            case "request":
                return entry.seq in self.references or self._holds(" ".join(entry.text.split()))
            case "file" | "change":
                return any(self._holds(name) for name in self._names(entry.key))
            case "identifier":
                wanted = content_words(entry.text.replace(entry.key, " "))
                places = islice(self._places(entry.key), _PLACES)
                return any(self._share(wanted, at, size=len(entry.key)) >= SHARE for at in places)
            case "rule" | "finding" | "fact" | "step" | "command" | "error" | "todo" | "running":
                return self._tells(entry.text)
            case _:
                assert_never(entry.kind)

    def _names(self, path: str) -> Iterator[str]:
        """The whole path, then shorter ends of it as long as they name one file."""
        parts = path.split("/")
        yield path
        for first in range(1, len(parts) - 1):
            yield "/".join(parts[first:])
        if parts[-1] not in self.shared:
            yield parts[-1]

    def _holds(self, phrase: str) -> bool:
        return any(True for _ in self._places(phrase))

    def _places(self, phrase: str) -> Iterator[int]:
        """Where ``phrase`` stands as a name of its own, the last place first."""
        atoms = list(_ATOM.finditer(phrase))
        if not atoms:
            at = self.text.find(phrase) if phrase else -1
            yield from (at,) if at >= 0 else ()
            return
        rarest = min(atoms, key=lambda atom: len(self.atoms.get(atom.group(), ())))
        for place in reversed(self.atoms.get(rarest.group(), ())):
            at = place - rarest.start()
            if at >= 0 and self.text.startswith(phrase, at) and not self._glued(at, at + len(phrase)):
                yield at

    def _glued(self, start: int, end: int) -> bool:
        """Whether the characters from ``start`` to ``end`` are only part of a longer name."""
        return any(
            bool(_ATOM.fullmatch(self.text[edge - 1 : edge + 1])) and 0 < edge < len(self.text)
            for edge in (start, end)
        )

    def _share(self, wanted: frozenset[str], at: int, *, size: int) -> float:
        """How much of ``wanted`` stands near ``at``."""
        if not wanted:
            return 1.0
        first = bisect_left(self.starts, at - NEAR)
        last = bisect_left(self.starts, at + size + NEAR)
        return len(wanted.intersection(self.words[first:last])) / len(wanted)

    def _tells(self, text: str) -> bool:
        """Whether enough of the words of ``text`` stand together around one of its rarest."""
        wanted = content_words(text)
        if not wanted:
            return self._holds(" ".join(text.split()))
        rare = sorted(wanted, key=lambda word: (len(self.by_word.get(word, ())), word))
        anchors = [word for word in rare if word in self.by_word][:_ANCHORS]
        return any(
            self._share(wanted, at, size=len(text) // 2) >= SHARE
            for word in anchors
            for at in self.by_word[word][-_PLACES:]
        )


def content_words(text: str) -> frozenset[str]:
    """The words of ``text`` that carry its content: letters, three or more (or one Chinese, Japanese or Korean sign)."""
    return frozenset(_WORD.findall(text.lower())) - _STOP


def repair_summary(
    summary: Redacted, ledger: Ledger, *, verification: Verification, budget: int, counter: Counter
) -> Redacted:
    """``summary`` with the most needed of what it does not state, verbatim, at its end.

    The summary itself stays as it is; only if it alone exceeds the budget it is cut to make room, at lines and
    sentences, the least needed first, and says so.

    Args:
        summary: the text that was verified.
        ledger: what it was verified against.
        verification: the result.
        budget: tokens of the whole.
        counter: measures it.
    """
    summary = edited(summary, str.strip)
    words = PHRASES[language_of(ledger.entries)]
    if counter.count(summary) > budget:
        room = int(budget * (1 - _REPAIR_SHARE))
        short = shortened_text(summary, room, counter=counter, ledger=ledger)
        note = edited(words["shortened"], partial(str.format, left=short.left_out, all=short.passages))
        noted = filled("{}\n\n({})", short.text, note)
        summary = noted if counter.count(noted) <= budget else short.text
        verification = verify(summary, ledger)
    missing = _missing(summary, verification)
    return _with_section(summary, missing, budget=budget, counter=counter, heading=words["verbatim"])


def _missing(summary: str, verification: Verification) -> Ledger:
    """What to put back, the most needed first.

    A request that the summary tells in other words needs no more than a reference to its own. A name that stands
    there without an explanation is worth less than one that does not stand there at all.
    """
    entries: list[Entry] = []
    for entry in (*verification.recoverable, *verification.lost):
        if entry.kind == "request":
            entries.append(replace(entry, text=own("…")))
        elif entry.kind == "identifier" and entry.key in summary:
            entries.append(replace(entry, need=entry.need * _NAMED))
        else:
            entries.append(entry)
    return Ledger(entries=tuple(sorted(entries, key=lambda entry: -entry.need)))


def _with_section(
    summary: Redacted, missing: Ledger, *, budget: int, counter: Counter, heading: Redacted
) -> Redacted:
    head = edited(filled("{}\n\n**{}**\n\n", summary, heading), str.lstrip)
    room = budget - counter.count(head)
    while room > 0:
        chosen = choose(missing, room, counter=counter)
        if not chosen:
            break
        repaired = joined("", (head, render(chosen)))
        excess = counter.count(repaired) - budget
        if excess <= 0:
            return repaired
        room -= excess
    return summary
