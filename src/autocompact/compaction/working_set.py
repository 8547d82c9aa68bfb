"""The working set in a context: files that the agent will need next stay beside the summary, within a budget of their own.

What stays is the last reading of each file and the edits since, as the log has them: the latest version word for word, and
nothing that is not in the log. Of a reading that is large an excerpt stays, around what the current step is about. The other
results of the same step, which an API needs there, become stubs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from msgspec import Struct

from autocompact.compaction.goal import Goal
from autocompact.compaction.masking import merged_masks, stub_results
from autocompact.compaction.pins import ties, whole_steps
from autocompact.compaction.receipts import weigh
from autocompact.compaction.record import Compaction, Mask
from autocompact.compaction.transcript import Transcript, masked
from autocompact.core.excerpts import excerpt
from autocompact.core.lookup import OPENS_ALL
from autocompact.core.messages import Message
from autocompact.core.pairing import pairs
from autocompact.core.redacted import RedactedMessage, Redactor, edited, filled, joined
from autocompact.core.redaction import Redacted
from autocompact.core.terms import terms
from autocompact.core.tokens import Cost, message_cost
from autocompact.ledger.entries import Entry
from autocompact.ledger.scan import Call, scan
from autocompact.ledger.working_set import FileNeed, foreseen

EXCERPT_TOKENS = 1_000
"""Tokens of one reading that stay at most; of a longer one an excerpt does."""

LEAST_NEED = 0.2
"""A file less likely to be read again than this is not worth its tokens."""


class WorkingSet(Struct, frozen=True, kw_only=True):
    """Messages that stay for the working set.

    Attributes:
        paths: the files, the most needed first.
        seqs: the messages, ascending.
        masks: stubs for other results in them, and excerpts of large readings.
        tokens: of these messages as they stay.
    """

    paths: tuple[Redacted, ...] = ()
    seqs: tuple[int, ...] = ()
    masks: tuple[Mask, ...] = ()
    tokens: int = 0


def with_working_set(
    record: Compaction,
    log: Transcript,
    *,
    goal: Goal,
    active: Compaction | None,
    before: Cost,
    redactor: Redactor,
) -> Compaction:
    """``record`` with the working set beside its summary, weighed anew; as it is where there is none or no space for it.

    Args:
        record: a compaction of ``log`` with a summary.
        log: the conversation.
        goal: has the budget, and the target that the context keeps to.
        active: the compaction before, of whose working set files may be needed still.
        before: the context before, overhead included.
        redactor: gives each message without secrets.
    """
    space = min(goal.working_set_tokens, goal.target - record.receipt.tokens_after)
    if space <= 0:
        return record
    covered = record.from_seq - 1
    earlier = [log[seq] for seq in (active.keep if active else ()) if log.holds(seq)]
    messages = [*(message for message in earlier if message.seq <= covered), *log.live(covered + 1)]
    calls = scan(messages, redactor=redactor, with_names=False).calls
    found = working_set(
        messages,
        foreseen(calls, record.ledger.entries),
        log=log,
        through_seq=record.through_seq,
        budget=space,
        wanted=wanted_terms(record.ledger.entries),
        without=record.needed,
        redactor=redactor,
    )
    if not found.seqs:
        return record
    bigger = replace(
        record,
        keep=tuple(sorted({*record.keep, *found.seqs})),
        masks=merged_masks(record.masks, found.masks),
    )
    weighed = weigh(bigger, log, before=before, overhead=goal.overhead)
    receipt = weighed.receipt
    after = Cost(tokens=receipt.tokens_after, bytes=receipt.bytes_after, images=receipt.images_after)
    # invariant 4: strictly smaller than before
    fits = goal.allows(after, tokens=goal.target) and after.tokens < before.tokens
    return weighed if fits else record


def wanted_terms(entries: Iterable[Entry]) -> dict[str, float]:
    """Terms of the current step and the open requests, by which excerpts are chosen."""
    told = (
        entry.text
        for entry in entries
        if entry.kind == "step" or (entry.kind in ("request", "todo") and entry.state in ("", "open"))
    )
    return dict.fromkeys(terms("\n".join(told)), 1.0)


def working_set(
    messages: Sequence[Message],
    files: Iterable[FileNeed],
    *,
    log: Transcript,
    through_seq: int,
    budget: int,
    wanted: Mapping[str, float],
    without: frozenset[int] = frozenset(),
    redactor: Callable[[Message], RedactedMessage],
    excerpt_tokens: int = EXCERPT_TOKENS,
    least_need: float = LEAST_NEED,
) -> WorkingSet:
    """Choose what stays for ``files``, in their order, as far as ``budget`` goes.

    Args:
        messages: of the log, those that the calls of the files stand in.
        files: what is foreseen, the most needed first.
        log: has these messages, and measures them.
        through_seq: what comes after it stays anyway.
        budget: tokens.
        wanted: terms that excerpts are chosen by, with their weights.
        without: messages that stay anyway.
        redactor: gives each message without secrets.
        excerpt_tokens: of one reading.
        least_need: files below it are left out.
    """
    choice = _Choice(
        messages, log=log, without=without, redactor=redactor, wanted=wanted, excerpt_tokens=excerpt_tokens
    )
    found = WorkingSet()
    calls: list[Call] = []
    for file in files:
        covered = [call for call in file.calls if call.seq <= through_seq]
        if file.need < least_need or not covered:
            continue
        tried = choice.kept([*calls, *covered], paths=(*found.paths, file.path))
        if tried.tokens <= budget:
            found = tried
            calls += covered
    return found


class _Choice:
    """The messages that can be chosen, and how they hang together."""

    def __init__(
        self,
        messages: Sequence[Message],
        *,
        log: Transcript,
        without: frozenset[int],
        redactor: Callable[[Message], RedactedMessage],
        wanted: Mapping[str, float],
        excerpt_tokens: int,
    ) -> None:
        self._log, self._without = log, without
        self._wanted, self._most = wanted, excerpt_tokens
        self._tied = ties(messages)
        self._results = {
            f"{messages[pair.call.message].seq}.{pair.call.part}": (
                messages[pair.result.message].seq,
                messages[pair.result.message].place_of(pair.result.part),
            )
            for pair in pairs(messages)
        }
        # once for all: which of them are wanted differs by choice
        self._stubs = stub_results(messages, counter=log.counter, without=(), redactor=redactor)
        self._excerpts: dict[tuple[int, int], Mask | None] = {}
        self._weights: dict[tuple[int, tuple[Mask, ...]], int] = {}

    def kept(self, calls: Sequence[Call], *, paths: tuple[Redacted, ...]) -> WorkingSet:
        """What stays for ``calls``, which show the latest versions of ``paths``."""
        named = {seq for call in calls for seq in (call.seq, call.answered)}
        seqs = whole_steps(named, self._tied) - self._without
        wanted = {self._results[call.id] for call in calls if call.id in self._results}
        masks = [mask for mask in self._stubs if mask.seq in seqs and (mask.seq, mask.part) not in wanted]
        masks += filter(None, (self._excerpt(call) for call in calls))
        tokens = sum(self._weight(seq, tuple(mask for mask in masks if mask.seq == seq)) for seq in seqs)
        return WorkingSet(paths=paths, seqs=tuple(sorted(seqs)), masks=tuple(masks), tokens=tokens)

    def _weight(self, seq: int, masks: tuple[Mask, ...]) -> int:
        """Tokens of a message as it stays."""
        if (seq, masks) not in self._weights:
            shown = masked(self._log[seq], masks)
            self._weights[seq, masks] = message_cost(shown, self._log.counter).tokens
        return self._weights[seq, masks]

    def _excerpt(self, call: Call) -> Mask | None:
        """The part of a large result that says most of what is wanted; None where it is small enough."""
        place = self._results.get(call.id)
        if place is None or place[0] in self._without:
            return None
        if place not in self._excerpts:
            self._excerpts[place] = self._cut(call, seq=place[0], part=place[1])
        return self._excerpts[place]

    def _cut(self, call: Call, *, seq: int, part: int) -> Mask | None:
        counter = self._log.counter
        if counter.count(call.output) <= self._most:
            return None
        note = filled("\n[" + OPENS_ALL, seq)
        shown = partial(
            excerpt, wanted=self._wanted, max_tokens=self._most - counter.count(note), counter=counter
        )
        return Mask(seq=seq, part=part, stub=joined("", (edited(call.output, shown), note)))
