"""How programs are called here: what most calls of a program begin with, its settings, runners, hosts and flags.

The last outcome of each command says what came of it. That ``kubectl`` needs a setting here, which user a host is reached
as, or by which runner the tests are run, stands in calls that are long past, and nobody says it in words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from autocompact.core.actions import HEREDOC
from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction import Redacted
from autocompact.ledger.commands import is_setting, parts
from autocompact.ledger.outcomes import was_not_run, without_comments
from autocompact.ledger.scan import Call

_Words: TypeAlias = tuple[str, ...]

OFTEN, PROGRAMS, VARIANTS = 3, 5, 3
"""Calls from which on a program is told, programs that are told, and words told of those that follow now this, now that."""

_WORDS = 7
_MOST_CALLS = 0.6
"""Share of the calls that must go on alike."""

_LONGEST = 60
_PLAIN = frozenset(
    "[ alias async await awk basename break cat cd chmod class command const continue cp cut date declare def diff dirname do done echo egrep else env eval exit export"
    " false fgrep fi file find for from function git grep head if import jq kill let local ls md5sum mkdir mktemp mv nl pgrep printf ps pwd read readlink"
    " return rg rm sed set sha256sum shift sleep sort source stat sudo tac tail tee test then touch tr trap tree true type uniq unset"
    " wait wc where which while xargs".split()
)
"""Programs that every agent calls everywhere."""

_LOOP = LazyPattern(
    r"\A(?:for \w+ in [^;\n]*|while [^;\n]*|if [^;\n]*|do|then|else)\s*(?:;|\n)?\s*(?:do|then)?\s+"
)
_OPENS = ("for ", "while ", "if ", "do", "then", "else")
_VALUE = LazyPattern(r"[\w./:@~$={}%+,-]{1,120}\Z")
"""A plain word; nobody writes a longer one anew."""


def habits(calls: Iterable[Call]) -> tuple[Redacted, int]:
    """One line on how programs are called here, and the last message that it comes from; "" and 0 for nothing to tell."""
    made: Counter[_Words] = Counter()
    last: dict[_Words, int] = {}
    for call in calls:
        is_run = bool(call.action.command) and not was_not_run(call.output)
        for words in _simple(call.action.command) if is_run else ():
            made[words] += 1
            last[words] = call.seq
    tree = _Tree(made)
    told = sorted(_common(tree), key=lambda start: (-tree.times(start), start))[:PROGRAMS]
    pieces = [f"`{' '.join(start)}{_variants(tree, start)}` {tree.times(start)}×" for start in told]
    seqs = (seq for words, seq in last.items() for start in told if words[: len(start)] == start)
    return Redacted(", ".join(pieces)), max(seqs, default=0)


class _Tree:
    """Calls by the words that they begin with: how often each word follows the ones before it."""

    def __init__(self, made: Mapping[_Words, int]) -> None:
        self._after: dict[_Words, Counter[str]] = {}
        for words, times in made.items():
            for end, word in enumerate(words):
                self._after.setdefault(words[:end], Counter())[word] += times

    def __iter__(self) -> Iterator[_Words]:
        """All beginnings."""
        return ((*start, word) for start, following in self._after.items() for word in following)

    def times(self, start: _Words) -> int:
        """How many calls begin so."""
        return self._after[start[:-1]][start[-1]]

    def after(self, start: _Words) -> list[tuple[str, int]]:
        """The words that follow ``start``, with their counts, the most frequent first."""
        return sorted(self._after.get(start, Counter()).items(), key=lambda one: (-one[1], one[0]))


def _simple(command: str) -> Iterator[tuple[str, ...]]:
    """Of each command in a command line the words before the first that is no plain one."""
    for part in parts(without_comments(HEREDOC.sub(r"\1\3", command))):
        inside = _LOOP.sub("", part, count=1) if part.startswith(_OPENS) else part
        words = inside.split(None, _WORDS)[:_WORDS]
        words = words[: next((at for at, word in enumerate(words) if not _VALUE.match(word)), _WORDS)]
        program = next((at for at, word in enumerate(words) if not is_setting(word)), len(words))
        if program < len(words) and words[program].rpartition("/")[2] not in _PLAIN:
            yield tuple(words)


def _common(tree: _Tree) -> Iterator[_Words]:
    """What most calls of each program begin with, of those called often and in more words than their name."""
    for start in tree:
        is_program = not is_setting(start[-1]) and all(map(is_setting, start[:-1]))
        if is_program and (count := tree.times(start)) >= OFTEN:
            while (following := tree.after(start)) and following[0][1] >= _MOST_CALLS * count:
                start = (*start, following[0][0])
            if len(start) > 1 or _variants(tree, start):
                yield start


def _variants(tree: _Tree, start: _Words) -> str:
    """The words that follow, now this and now that: " {build,lint}"; of many those that come again."""
    following = tree.after(start)
    least = 1 if len(following) <= VARIANTS else 2
    words = [word for word, count in following if count >= least and len(word) <= _LONGEST][:VARIANTS]
    return f" {{{','.join(words)}}}" if len(words) > 1 else ""
