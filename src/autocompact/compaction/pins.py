"""Pins: messages that stay verbatim whatever is compacted, with what an API needs beside them.

A pinned call needs its results, a pinned result its call, and that call, where it is one of several in a message, the
results of the others. Those others stay as stubs: the user did not ask for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Final

from msgspec import Struct

from autocompact.compaction.masking import stub_results
from autocompact.compaction.record import Compaction, Mask
from autocompact.compaction.transcript import Transcript, masked
from autocompact.core.messages import Message
from autocompact.core.pairing import pairs
from autocompact.core.redacted import EMPTY, cut, filled, joined, own
from autocompact.core.redaction import Redacted
from autocompact.core.tokens import message_cost


class Kept(Struct, frozen=True, kw_only=True):
    """The messages that stay because of pins.

    Attributes:
        seqs: the messages, pinned or tied to a pinned one.
        masks: stubs for the results in them that nobody pinned.
    """

    seqs: frozenset[int] = frozenset()
    masks: tuple[Mask, ...] = ()

    def tokens(self, log: Transcript) -> int:
        """Tokens of these messages as they stay."""
        return sum(
            message_cost(
                masked(log[seq], [mask for mask in self.masks if mask.seq == seq]), log.counter
            ).tokens
            for seq in self.seqs
        )


def kept_steps(log: Transcript, pins: Collection[int]) -> Kept:
    """Return the messages that stay for ``pins`` (by ``seq``); pins that the log does not hold or that were replaced are left out. O(log)."""
    held = {seq for seq in pins if log.holds(seq) and not log.is_replaced(seq)}
    if not held:
        return Kept()
    messages = list(log.live())
    # who pins a call wants its result with it; who pins a result gets the call
    # for the API's sake, with its other results as stubs
    results = {
        messages[pair.result.message].seq
        for pair in pairs(messages)
        if messages[pair.call.message].seq in held
    }
    asked_for = held | results
    # a step is whole or absent: parallel calls tie several messages together
    seqs = whole_steps(held, ties(messages))
    steps = [message for message in messages if message.seq in seqs]
    return Kept(seqs=frozenset(seqs), masks=stub_results(steps, counter=log.counter, without=asked_for))


def ties(messages: Sequence[Message]) -> Mapping[int, Set[int]]:
    """For each message (``seq``) with calls those with their results, and the other way round."""
    tied: dict[int, set[int]] = {}
    for pair in pairs(messages):
        call, result = messages[pair.call.message].seq, messages[pair.result.message].seq
        tied.setdefault(call, set()).add(result)
        tied.setdefault(result, set()).add(call)
    return tied


def whole_steps(seqs: Iterable[int], tied: Mapping[int, Set[int]]) -> set[int]:
    """Everything that hangs together with ``seqs``, by `ties`."""
    found: set[int] = set()
    waiting = list(seqs)
    while waiting:
        seq = waiting.pop()
        if seq not in found:
            found.add(seq)
            waiting += tied.get(seq, ())
    return found


PINNED: Final = "## Pinned\n\n"
"""The heading of the pinned texts in a summary."""


def with_pins(record: Compaction, pins: Collection[int], *, log: Transcript) -> Compaction:
    """``record`` with ``pins`` in its context: what it covers of them stays beside its summary.

    Args:
        record: a compaction of ``log``.
        pins: by ``seq``; the others that it keeps stay as well.
        log: holds the pinned messages.
    """
    missing = [seq for seq in pins if seq <= record.through_seq and seq not in record.keep]
    kept = kept_steps(log, missing)
    new = kept.seqs - set(record.keep)
    stubs = [mask for mask in kept.masks if mask.seq in new]
    # pinned means verbatim
    unmasked = [mask for mask in record.masks if mask.seq not in pins]
    return replace(
        record,
        keep=tuple(sorted({*record.keep, *new})),
        masks=tuple(sorted((*unmasked, *stubs), key=lambda mask: (mask.seq, mask.part))),
    )


def with_notes(record: Compaction, notes: Iterable[Redacted]) -> Compaction:
    """``record`` with each of the pinned texts in its summary: those that it lacks stand under `PINNED` as well."""
    lines = (filled("- {}\n", note) for note in notes)
    # as a line of its own: words in the midst of a sentence may say the opposite of what was pinned
    has = f"\n{record.summary}\n"
    missing = joined("", (line for line in lines if f"\n{line}" not in has))
    if not missing:
        return record
    at = record.summary.find(PINNED)
    end = at + len(PINNED)
    before, after = (
        (EMPTY, filled("\n{}", record.summary))
        if at < 0
        else (cut(record.summary, end=at), cut(record.summary, end))
    )
    return replace(record, summary=joined("", (before, own(PINNED), missing, after)))
