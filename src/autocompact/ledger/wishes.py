"""Wishes: sentences of the user that may be meant to last, though they have no form of a rule.

"I read these on my phone, so keep it short" orders nothing by a form that `autocompact.ledger.rules` knows. What words it is
made of, and which one it begins with, tells that it is likelier a standing wish than an order for once. That is a guess: a
wish stands below the rules, in a small share of a summary, and gives way first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from autocompact.core.patterns import LazyPattern
from autocompact.core.references import reference
from autocompact.core.terms import terms
from autocompact.core.tokens import Counter
from autocompact.ledger.entries import Entry
from autocompact.ledger.rendering import inert
from autocompact.ledger.wish_words import BEGIN, LEARNED

LEAST = 0.27
"""Likelihood from which on a sentence is a wish: of five authors' rules that have no form, half to two thirds."""

SHORTEST, LONGEST = 4, 220
"""Characters of a wish."""

SHORT, LONG = 5, 24
"""Words up to which a sentence is short, and from which on it is long."""

MESSAGE = 400
"""Characters of a message from which on each of its sentences is less likely a wish: a long one tells a story or gives a task."""

SHARE, FEW, MOST_OF_SMALL, LEAST_BUDGET = 0.08, 60, 0.2, 100
"""Share of an account that wishes may take; tokens for a few of them, which they get of a small one up to a fifth of it; and the
tokens of an account below which they have none."""

_WORD = LazyPattern(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+|[?%:]")
_OF_A_TERMINAL = LazyPattern(r"\s*(?:[❯➜»λ$%>]\s|[\w.-]+@[\w.-]+[ :]|\d{3,}\b|\d+[:./]\d)")
"""Begins a line that somebody pasted: behind a prompt, or with a status, a time, a version."""

_EAST = LazyPattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LEADS = frozenset("ok so and but also btw oh please pls hey well then now just".split())
"""Words before the one that a sentence begins with."""


def likelihood(sentence: str, *, of: int) -> float:
    """The probability that a sentence of the user is meant to last; 0.0 below `LEAST`, for questions, and for what is too long.

    Args:
        sentence: without the form of a rule.
        of: characters of the message that it stands in.
    """
    if not SHORTEST <= len(sentence) <= LONGEST or sentence.rstrip("\"')` ").endswith(("?", "？")):
        return 0.0
    if _OF_A_TERMINAL.match(sentence):
        return 0.0
    weights = _weights()
    score = BEGIN + sum(weights.get(feature, 0.0) for feature in features(sentence))
    likely = 1 / (1 + math.exp(math.log(max(1.0, of / MESSAGE)) - score))
    return likely if likely >= LEAST else 0.0


def features(sentence: str) -> frozenset[str]:
    """What is weighed of a sentence: its words, "^" and the one it begins with, and "#short" or "#long".

    Of Chinese, Japanese and Korean pairs of characters are the words; a number is "0".
    """
    words = [*_words(sentence.lower().replace("’", "'"))]
    first = next((word for word in words if word not in _LEADS), "")
    size = ("#short",) if len(words) <= SHORT else ("#long",) if len(words) >= LONG else ()
    return frozenset((*words, f"^{first}", *size))


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if word[0].isdecimal():
            yield "0"
        elif not word.isascii() and _EAST.search(word):
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))
        else:
            yield word


@cache
def _weights() -> Mapping[str, float]:
    return {feature: weight for weight, found in LEARNED.items() for feature in found.split()}


def chosen_wishes(wishes: Iterable[Entry], budget: int, *, counter: Counter, told: str) -> list[Entry]:
    """The likeliest wishes that an account has room for, in the order in which they were said.

    Args:
        wishes: of a ledger.
        budget: tokens of the whole account.
        counter: measures them.
        told: what the account has word for word, which is not told again.
    """
    chosen: list[Entry] = []
    room = max(budget * SHARE, min(FEW, budget * MOST_OF_SMALL)) if budget >= LEAST_BUDGET else 0.0
    for entry in sorted(wishes, key=lambda entry: (-entry.need, -entry.seq)):
        size = counter.count(wish_line(entry)) + 1
        if size <= room and entry.text not in told:
            room -= size
            chosen.append(entry)
    return sorted(chosen, key=lambda entry: entry.seq)


def wish_line(entry: Entry) -> str:
    """The item that tells a wish."""
    return f"- {reference(entry.seq)} {inert(entry.text)}"


def beside_wishes(facts: Iterable[Entry], wishes: Iterable[Entry]) -> list[Entry]:
    """The facts but for those of which a wish has all the words."""
    said = {entry.seq: {*terms(entry.text)} for entry in wishes}
    return [entry for entry in facts if entry.seq not in said or not {*terms(entry.text)} <= said[entry.seq]]
