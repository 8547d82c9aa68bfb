"""How programs are called here: what most calls of a program begin with, its settings, runners, hosts and flags.

The last outcome of each command says what came of it. That ``kubectl`` needs a setting here, which user a host is reached
as, or by which runner the tests are run, stands in calls that are long past, and nobody says it in words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from autocompact.core.actions import HEREDOC
from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction import Redacted
from autocompact.ledger.commands import is_setting, parts
from autocompact.ledger.outcomes import without_comments
from autocompact.ledger.scan import Call

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
    r"(?:for \w+ in [^;\n]*|while [^;\n]*|if [^;\n]*|do|then|else)\s*(?:;|\n)?\s*(?:do|then)?\s+"
)
_VALUE = LazyPattern(r"[\w./:@~$={}%+,-]+\Z")


def habits(calls: Iterable[Call]) -> tuple[Redacted, int]:
    """One line on how programs are called here, and the last message that it comes from; "" and 0 for nothing to tell."""
    begun: Counter[tuple[str, ...]] = Counter()
    last: dict[tuple[str, ...], int] = {}
    for call in calls:
        for words in _simple(call.action.command):
            for end in range(1, len(words) + 1):
                begun[words[:end]] += 1
                last[words[:end]] = call.seq
    told = sorted(_common(begun), key=lambda start: (-begun[start], start))[:PROGRAMS]
    pieces = [f"`{' '.join(start)}{_variants(begun, start)}` {begun[start]}×" for start in told]
    return Redacted(", ".join(pieces)), max((last[start] for start in told), default=0)


def _simple(command: str) -> Iterator[tuple[str, ...]]:
    """Of each command in a command line the words before the first that is no plain one."""
    for part in parts(without_comments(HEREDOC.sub(r"\1\3", command))):
        words = _LOOP.sub("", part, count=1).split()[:_WORDS]
        plain = [len(words), *(at for at, word in enumerate(words) if not _VALUE.match(word))]
        words = words[: min(plain)]
        program = next((at for at, word in enumerate(words) if not is_setting(word)), len(words))
        if program < len(words) and words[program].rpartition("/")[2] not in _PLAIN:
            yield tuple(words)


def _common(begun: Counter[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """What most calls of each program begin with, of those called often and in more words than their name."""
    for start, count in begun.items():
        is_program = not is_setting(start[-1]) and all(map(is_setting, start[:-1]))
        if is_program and count >= OFTEN:
            while (following := _following(begun, start)) and following[0][1] >= _MOST_CALLS * count:
                start = (*start, following[0][0])
            if len(start) > 1 or _variants(begun, start):
                yield start


def _following(begun: Counter[tuple[str, ...]], start: tuple[str, ...]) -> list[tuple[str, int]]:
    """The words that follow ``start``, with their counts, the most frequent first."""
    size = len(start)
    found = [
        (words[-1], count)
        for words, count in begun.items()
        if len(words) == size + 1 and words[:size] == start
    ]
    return sorted(found, key=lambda one: (-one[1], one[0]))


def _variants(begun: Counter[tuple[str, ...]], start: tuple[str, ...]) -> str:
    """The words that follow, now this and now that: " {build,lint}"; of many those that come again."""
    following = _following(begun, start)
    least = 1 if len(following) <= VARIANTS else 2
    words = [word for word, count in following if count >= least and len(word) <= _LONGEST][:VARIANTS]
    return f" {{{','.join(words)}}}" if len(words) > 1 else ""
