"""Facts of a chat: what people say about themselves and others, things, events, plans and wishes.

In a chat without tools what counts is what was said in passing: a name, a number, a place, a date, a preference. A
statement is cut into clauses, and a clause is worth what it names that stands nowhere else, for the tokens it takes.
Questions, thanks and pleasantries state nothing.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter as Counted
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import filled, own
from autocompact.core.redaction import Redacted
from autocompact.core.terms import terms
from autocompact.ledger.entries import Entry
from autocompact.ledger.passages import passages, sentences
from autocompact.ledger.scan import Said
from autocompact.ledger.step import clipped

_CLAUSE = re.compile(
    r"(?:(?<=[,;:—–])\s+|\s+[—–-]\s+|(?<=[a-z])—)(?=(?:and|but|so|which|because|since|where|who|although|though|while|plus|especially|then|or|after|before|when|if|i|we|he|she|they|it|my|our|there|not|und|aber|weil|et|mais|y|pero|porque)\b)"
    r"|(?<=\w)(?=—)|(?<=[，、；])",
    re.IGNORECASE,
)
_SHORTEST, LONGEST = 24, 300
"""Characters of a clause; a longer one is cut at a word."""

AGAIN = 0.7
"""What each further clause of one message counts: its topic has been told."""

_NUMBER = re.compile(
    r"[$€£¥]?\d[\d,.:/-]*%?|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|half|double|first|second|third"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|june|july|august|september|october|november|december|yesterday|tomorrow|tonight|last (?:week|month|year|night)|next (?:week|month|year|weekend)|weekend|morning|evening)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[\w,;:–—-] )(?!I\b|I')[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*")
_QUOTED = re.compile(r"[\"“‘]([^\"”’]{2,60})[\"”’]")
_STATES = LazyPattern(
    r"\b(?:i(?:'m| am|'ve| have| had| was| live| work| study| moved| bought| ordered| got| started| prefer| like| love| hate| need| want| plan| decided| chose| use| own| paid| sold| lost| found| met| went| visited| joined| left| learned| adopted| named)"
    r"|my \w+|our \w+|we(?:'re| are|'ve| have| had| went| bought| live| plan)|(?:he|she|they|it) (?:is|was|has|had|said|told|works|lives|costs?|arrived|broke)|called|named"
    r"|ich (?:bin|habe|wohne|arbeite|mag)|mein\w*|je (?:suis|vis|travaille|préfère)|j'ai|ma|mon|mes|soy|tengo|vivo|trabajo|mi|mis)\b|我|私|僕",
    re.IGNORECASE,
)
_EMPTY = LazyPattern(
    r"\b(?:thanks?|thank you|appreciate|hope (?:you|this|that|all)|hi|hello|hey|sorry|looking forward|let me know|love to (?:know|hear)|wondering|curious|could you|can you|would you|do you|please|danke|merci|gracias)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Clause:
    text: str
    seq: int
    by: str
    order: int
    terms: frozenset[str]
    weight: float


def find_facts(statements: Sequence[Said], *, most: int = 600) -> list[Entry]:
    """The clauses that state most, ``need`` as their worth for their size; a later one says less if it repeats."""
    clauses = list(_clauses(statements))
    seen = Counted(term for clause in clauses for term in clause.terms)
    rare = {term: 1 / count for term, count in seen.items()}
    told: set[str] = set()
    taken: Counted[int] = Counted()

    def worth(index: int) -> float:
        clause = clauses[index]
        new = sum(rare[term] for term in clause.terms if term not in told)
        return clause.weight * (0.15 + new) / (5 + len(clause.text) / 4) * AGAIN ** taken[clause.seq]

    heap = [(-worth(index), -index) for index in range(len(clauses))]
    heapq.heapify(heap)
    chosen: list[Entry] = []
    while heap and len(chosen) < most:
        _, negative = heapq.heappop(heap)
        now = worth(-negative)
        if heap and now < -heap[0][0] - 1e-9:
            heapq.heappush(heap, (-now, negative))
            continue
        clause = clauses[-negative]
        told |= clause.terms
        taken[clause.seq] += 1
        chosen.append(
            Entry(
                kind="fact",
                text=Redacted(clause.text),  # a piece of redacted words
                seq=clause.seq,
                key=filled("fact {}", Redacted(clause.text[:80])),
                state_seq=clause.order,
                need=round(min(1.0, now), 4),
                where=own("assistant") if clause.by == "assistant" else own("user"),
            )
        )
    return chosen


def _clauses(statements: Iterable[Said]) -> Iterator[_Clause]:
    order = 0
    for words in statements:
        for passage in passages(words.text):
            for sentence in sentences(passage.text):
                if sentence.rstrip("\"')` ").endswith(("?", "？")):
                    continue
                for clause in _split(sentence):
                    order += 1
                    found = frozenset(terms(clause))
                    weight = _weight(clause)
                    if len(found) >= 2 and weight > 0:
                        yield _Clause(clause, words.seq, words.by, order, found, weight)


def _split(sentence: str) -> list[str]:
    """The clauses of a sentence; one too short to say anything goes with the one before."""
    found: list[str] = []
    for piece in _CLAUSE.split(sentence):
        piece = piece.strip(" ,;—–-")
        if found and (len(piece) < _SHORTEST or len(found[-1]) < _SHORTEST):
            found[-1] = f"{found[-1]}, {piece}"
        elif piece:
            found.append(piece)
    return [clipped(clause, LONGEST) for clause in found]


def _weight(clause: str) -> float:
    numbers = len(_NUMBER.findall(clause))
    names = len(_NAME.findall(clause)) + len(_QUOTED.findall(clause))
    weight = 0.45 + 0.55 * min(2, numbers) + 0.5 * min(2, names) + (0.5 if _STATES.found_in(clause) else 0.0)
    return weight * (0.45 if _EMPTY.found_in(clause) else 1.0)
