"""Losses of a compaction: what left the context, and what the session needed of it later.

A *need* is a name in the arguments of the next calls that stood in what left and not in what stays; it is kept if the
summary, or a stub, has it. A rule is kept if the new context states it. Both are upper bounds of usefulness: that a name
stands there does not say that it is explained.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Context
from autocompact.core.redaction import Redacted, redact
from autocompact.history.recorded.checking import words_of
from autocompact.history.recorded.pieces import short_path
from autocompact.ledger.entries import Ledger
from autocompact.ledger.verification import verify
from autocompact.what_if.course import Course, ReadAgain
from autocompact.what_if.needs import content, names

SHOWN = 8
"""Names, rules and files that a loss lists of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The number of needed items, and how many of them the context has."""

    needed: int = 0
    kept: int = 0

    def __add__(self, other: Kept) -> Kept:
        return Kept(needed=self.needed + other.needed, kept=self.kept + other.kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The losses of one compaction.

    Attributes:
        request: number of the request that it came before, from 1.
        seq: the last message before it.
        rung: how far it went.
        before: tokens of the request without it.
        after: tokens of the request.
        summary: tokens of the summary that a model was asked for; 0 if none was.
        left: messages that left with it.
        needs: of the calls that follow.
        rules: of what has left by then.
        missing: names of needs that are not kept.
        missed: by name, the number of the request whose reply uses it first.
        unstated: rules that are not kept.
    """

    request: int
    seq: int
    rung: str
    before: int
    after: int
    summary: int
    left: int
    needs: Kept
    rules: Kept
    missing: tuple[Redacted, ...]
    missed: tuple[int, ...]
    unstated: tuple[Redacted, ...]


class Gone:
    """Finds the messages of the log that a context does not show unchanged.

    Args:
        record: the compaction; None without one.
        prompt: ``seq`` of the system prompt's messages, which stay under every compaction.
    """

    def __init__(self, record: Compaction | None, *, prompt: frozenset[int] = frozenset()) -> None:
        self.through = record.through_seq if record else 0
        self._stays = record.needed | prompt if record else frozenset[int]()
        self._masked = frozenset(mask.seq for mask in record.masks) if record else frozenset[int]()

    def __contains__(self, seq: int) -> bool:
        return seq in self._masked or (seq <= self.through and seq not in self._stays)

    def count(self, last: int) -> int:
        """Count the messages up to ``last`` that are gone."""
        stays = sum(seq <= self.through for seq in self._stays - self._masked)
        return self.through - stays + sum(self.through < seq <= last for seq in self._masked)

    def all_of(self, seqs: Sequence[int], *, last: int) -> bool:
        """True if what stands in these messages (ascending) stood in the log until ``last``, and all of it is gone."""
        end = bisect_right(seqs, last)
        recent = range(bisect_right(seqs, self.through), end)
        if not end or any(seqs[index] not in self._masked for index in recent):
            return False
        return not any(seq in self._stays and seq not in self._masked for seq in seqs[: recent.start])


def loss_of(
    course: Course,
    context: Context,
    *,
    request: int,
    seq: int,
    before: int,
    after: int,
    summary: int,
    left: int,
) -> Loss:
    """Compute the losses of a compaction whose ``context`` comes before message ``seq + 1``.

    Args:
        course: the session.
        context: the new one.
        request: number of the request.
        seq: the last message.
        before: tokens of the request without it.
        after: tokens of the request.
        summary: tokens of the summary that a model was asked for; 0 if none was.
        left: messages that left with it.
    """
    gone = Gone(context.compaction, prompt=course.prompt)
    made = "\n".join(content(each) for each in context.messages if not each.seq or each.changed)
    known = names(made)
    used = course.wanted_after(seq + 1)
    wanted = sorted(name for name in used if gone.all_of(course.occurrences.get(name, ()), last=seq))
    missing = [name for name in wanted if name not in known]
    rules, unstated = _rules(course, context, gone=gone)
    return Loss(
        request=request,
        seq=seq,
        rung=context.compaction.receipt.rung if context.compaction else "none",
        before=before,
        after=after,
        summary=summary,
        left=left,
        needs=Kept(needed=len(wanted), kept=len(wanted) - len(missing)),
        rules=rules,
        missing=tuple(redact(name) for name in missing[:SHOWN]),
        missed=tuple(course.request_of(used[name]) for name in missing[:SHOWN]),
        unstated=unstated,
    )


def _rules(course: Course, context: Context, *, gone: Gone) -> tuple[Kept, tuple[Redacted, ...]]:
    """The rules among what is ``gone``, and the texts of those that ``context`` does not state."""
    rules = tuple(rule for rule in course.rules.entries if rule.seq in gone)
    if not rules:
        return Kept(), ()
    # a rule is stated by a summary or by people: outputs of tools would be long to search
    spoken = (each for each in context.messages if not each.seq or each.role in ("system", "user"))
    checked = verify(words_of(spoken), Ledger(entries=rules))
    unstated = (*checked.referenced, *checked.missing)
    kept = Kept(needed=len(rules), kept=len(checked.stated))
    return kept, tuple(rule.text for rule in unstated[:SHOWN])


def path_of(read: ReadAgain, *, course: Course) -> Redacted:
    """The file of a reading, from the folder that the session ran in."""
    return short_path(read.path, cwd=course.session.cwd)
