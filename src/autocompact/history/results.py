"""From index hits to the results of a search: what is one thing becomes one result, what is outdated comes later.

Pure: `autocompact.history.recall` reads the messages and shows what is chosen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from autocompact.core.actions import Action, interpret
from autocompact.core.content import content_of
from autocompact.core.filters import Filters, is_on
from autocompact.core.messages import Message, Text, ToolCall, ToolResult
from autocompact.core.pairing import Place, answered_calls
from autocompact.core.redacted import redacted_call
from autocompact.core.search import Passage, part_text
from autocompact.core.terms import terms
from autocompact.ports import Hit

PREFERRED = 1.3
"""Factor on the score of a result of the day or the speaker that a question mentions."""

OUTDATED = 0.8
"""Factor on the score of an older version of a file."""

DUMP = 0.85
"""Factor on the score of a file or a listing that was read: what somebody says about it explains more."""

ALIKE = 0.75
"""Share of an output's words that a result above it shows, from which on it is only named there. What somebody said has to
be the same: a new figure in an old sentence is news."""

LONG_ENOUGH = 8
"""Distinct words below which only the same words are a repetition."""


PLAN = 0.85
"""Factor on the score of a plan that was written down: what was planned is told by what was done, and often said again."""

_WRITES = ("edit", "create", "delete", "todo")
"""What calls do whose output only says that it was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A message that may become a result.

    Attributes:
        hit: as the index found it.
        message: the message.
        passage: the best one.
        text: the words of the passage, secrets included.
        score: of the hit, raised or lowered.
        call: the call that the passage is, or that it answers.
        action: what that call does.
        answer: the message and the part that belong to it: the output of a call, the reply to a request.
        outdated_by: a later one with the same file.
    """

    hit: Hit
    message: Message
    passage: Passage
    text: str
    score: float
    call: ToolCall | None = None
    action: Action | None = None
    answer: tuple[Message, int] | None = None
    outdated_by: Candidate | None = None

    @property
    def is_asking(self) -> bool:
        """True if it is a call whose output is what a reader wants to know: any but one that writes."""
        return self.passage.kind == "call" and self.answer is not None

    @property
    def match(self) -> float:
        """Share of the query's weight that the passage holds; 1 where there were no words."""
        total = sum(self.hit.weights.values())
        held = set(terms(self.text))
        return (
            sum(weight for term, weight in self.hit.weights.items() if term in held) / total if total else 1.0
        )


@dataclass(slots=True, kw_only=True)
class Group:
    """A group of search results that say the same: the best candidate, and the others."""

    best: Candidate
    words: frozenset[str]
    same: list[Candidate] = field(default_factory=list[Candidate])


def candidate(hit: Hit, log: Sequence[Message], *, at: int) -> Candidate:
    """The hit with its message and what belongs to it.

    Args:
        hit: as the index found it.
        log: the message with some around it.
        at: index of the message in ``log``.
    """
    message, passage = log[at], hit.passages[0]
    part = message.parts[passage.part]
    answered = answered_calls(log)
    call = part if isinstance(part, ToolCall) else answered.get(Place(at, passage.part))
    action = interpret(redacted_call(call)) if call else None
    writes = action is not None and action.verb in _WRITES
    return Candidate(
        hit=hit,
        message=message,
        passage=passage,
        text=part_text(part)[passage.start : passage.end],
        score=hit.score,
        call=call,
        action=action,
        answer=_answer(log, at=at, call=part if isinstance(part, ToolCall) else None, writes=writes),
    )


def _answer(
    log: Sequence[Message], *, at: int, call: ToolCall | None, writes: bool
) -> tuple[Message, int] | None:
    following = log[at + 1] if at + 1 < len(log) else None
    if call is not None:
        places = (place for place, answered in answered_calls(log).items() if answered is call)
        found = next(((log[place.message], place.part) for place in places), None)
        return None if writes and found and not _failed(found) else found
    if following is None or not log[at].is_request or following.role != "assistant":
        return None
    said = (
        index for index, part in enumerate(following.parts) if isinstance(part, Text) and part.text.strip()
    )
    return next(((following, index) for index in said), None)


def _failed(place: tuple[Message, int]) -> bool:
    part = place[0].parts[place[1]]
    return isinstance(part, ToolResult) and part.is_error


def ranked(candidates: Sequence[Candidate], *, preferred: Filters) -> list[Candidate]:
    """Best first: what the question prefers raised, what was merely read and what is outdated lowered."""
    latest: dict[tuple[str, str], Candidate] = {}
    for one in candidates:
        for path in _paths(one):
            known = latest.setdefault((one.hit.key.conversation, path), one)
            if one.hit.seq > known.hit.seq:
                latest[one.hit.key.conversation, path] = one
    scored: list[Candidate] = []
    for one in candidates:
        # by its first file: a call that touches several is about that one
        newer = next((latest[one.hit.key.conversation, path] for path in _paths(one)), one)
        # a call and its own output are one version of the file, not two
        outdated = newer if newer.hit.seq > one.hit.seq and newer.call != one.call else None
        score = one.score * (OUTDATED if outdated else 1.0) * (DUMP if _is_dump(one) else 1.0)
        if one.action is not None and one.action.verb == "todo":
            score *= PLAN
        if preferred and _is_preferred(one, preferred):
            score *= PREFERRED
        scored.append(replace(one, score=score, outdated_by=outdated))
    # rounded, so that equal scores keep the order of the index, whatever the last digits of their sums say
    return sorted(scored, key=lambda one: -round(one.score, 6))


def _paths(one: Candidate) -> list[str]:
    return [path for path, _ in one.action.files] if one.action else []


def _is_dump(one: Candidate) -> bool:
    if one.action is None or not isinstance(one.message.parts[one.passage.part], ToolResult):
        return False
    return content_of(one.action, one.text) in ("file read", "listing")


def _is_preferred(one: Candidate, preferred: Filters) -> bool:
    if not is_on(one.message.time, preferred.days):
        return False
    kinds = preferred.kinds
    return kinds is None or one.passage.kind in kinds


def grouped(candidates: Sequence[Candidate], *, k: int) -> list[Group]:
    """At most ``k`` groups, in the order of their best candidates."""
    groups: list[Group] = []
    units: set[tuple[str, str, str] | None] = set()
    for one in candidates:
        unit = _unit(one)
        if unit is not None and unit in units:
            continue
        words = frozenset(terms(one.text))
        alike = next((group for group in groups if _is_alike(one, words, group=group)), None)
        if alike is not None:
            alike.same.append(one)
        elif len(groups) < k:
            groups.append(Group(best=one, words=words))
        units.add(unit)
    return groups


def _unit(one: Candidate) -> tuple[str, str, str] | None:
    """Key that a call and its output share."""
    call = one.call
    # the arguments too: servers that count from zero use an id in every turn
    return (one.hit.key.conversation, call.id, call.arguments) if call else None


def _is_alike(one: Candidate, words: frozenset[str], *, group: Group) -> bool:
    """True if a result repeats one above it; a statement never stands behind an output that holds its few words."""
    if one.passage.kind != group.best.passage.kind:
        return False
    if words == group.words:
        return True
    is_said = one.passage.kind in ("request", "words")
    return not is_said and len(words) >= LONG_ENOUGH and len(words & group.words) >= ALIKE * len(words)
