"""The record of one compaction: what it covers, what stands in its place, and what it did.

A compaction never edits the log. It says: everything through ``through_seq`` is told to the model as ``summary``,
except the messages in ``keep``, which stay verbatim; and the tool results named in ``masks`` are shown as a stub.
`autocompact.compaction.transcript.view` folds log and record into the context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from msgspec import structs

from autocompact.core.messages import Message, Part, Text, ToolResult
from autocompact.core.redacted import EMPTY
from autocompact.core.redaction import Redacted, find_secrets, redact
from autocompact.core.spoken import standing_words
from autocompact.ledger.entries import Entry, Ledger

Status: TypeAlias = Literal["prepared", "active", "undone"]
Rung: TypeAlias = Literal["none", "repair", "mask", "summarise", "tighten", "floor"]
Placement: TypeAlias = Literal["system", "user", "assistant"]
Trigger: TypeAlias = Literal["manual", "threshold", "prepared", "overflow", "import"]

DONE: Mapping[Rung, str] = {
    "none": "nothing to gain",
    "repair": "calls and results put in order",
    "mask": "old tool outputs cut",
    "summarise": "summarised",
    "tighten": "summarised more tightly than asked for",
    "floor": "cut down to what must stay",
}
"""What each rung did, in words for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask:
    """Replaces one tool result, or one text of a request that is too large, by a one-line ``stub``.

    Attributes:
        seq: the message of the log that holds it.
        part: its index among the parts of that message; -1 in a record of a version that named a result by
            ``call_id``.
        stub: what is shown instead.
        call_id: the id by which such a record names the result; "" in all others.
    """

    seq: int
    part: int = -1
    stub: Redacted
    call_id: str = ""

    def located(self, message: Message) -> Mask | None:
        """This mask with the part of ``message``, the log's message ``seq``, that it names; None if it names none.

        Older records name the result by its id as the context had it: where ids repeat, with a number at its end.
        """
        if not self.call_id:
            there = 0 <= self.part < len(message.parts)
            return self if there and isinstance(message.parts[self.part], ToolResult | Text) else None
        results = {i: part.call_id for i, part in enumerate(message.parts) if isinstance(part, ToolResult)}
        named = [i for i, id in results.items() if self.call_id == id]
        renamed = [i for i, id in results.items() if _COPY.sub("", self.call_id) == id]
        only = list(results) if len(results) == 1 else []
        found = (*named, *renamed, *only)
        return Mask(seq=self.seq, part=found[0], stub=self.stub) if found else None


_COPY = re.compile(r"_\d+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Instructions in a covered message that a client resends with each request: they stay, before the summary.

    Attributes:
        seq: the message of the log that holds them.
        parts: the indexes of the parts that are, or begin with, instructions.
        outdated: the indexes of such parts of which a later message has a newer version: they are shown nowhere.
    """

    seq: int
    parts: tuple[int, ...] = ()
    outdated: tuple[int, ...] = ()

    @property
    def is_whole(self) -> bool:
        """True if the message is instructions and nothing else."""
        return not self.parts and not self.outdated

    def shown(self, message: Message) -> Message | None:
        """The instructions of ``message``, the log's message ``seq``, alone; None if all are outdated."""
        if self.is_whole:
            return message
        parts = [
            structs.replace(part, text=part.text[: standing_words(part.text)[0]])
            for part in (message.parts[index] for index in self.parts)
            if isinstance(part, Text)
        ]
        return structs.replace(message.with_parts(parts), synthetic=True) if parts else None

    def rest(self, message: Message) -> Message | None:
        """The message without its instructions; None if nothing is left."""
        left: list[Part] = []
        for index, part in enumerate(() if self.is_whole else message.parts):
            if index in (*self.parts, *self.outdated) and isinstance(part, Text):
                words = part.text[standing_words(part.text)[0] :]
                left += [structs.replace(part, text=words)] if words.strip() else []
            else:
                left.append(part)
        return message.with_parts(left) if left else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The receipt: what one compaction did.

    Attributes:
        tokens_before: tokens of the context before, by ``counter``.
        tokens_after: tokens of the context after.
        bytes_before: bytes of the context on the wire before (JSON, images included).
        bytes_after: bytes on the wire after.
        images_before: images in the context before.
        images_after: images in it after.
        rung: the step of the ladder whose result was accepted.
        stated: ledger entries that the new context says in words, at their present state.
        referenced: entries that it only points to.
        missing: entries that it does not have; recall finds them in the log.
        masked: tool results shown as a stub.
        seconds: how long it took, by the caller's clock; 0.0 where nobody measured.
        counter: name of the token counter.
        model: the summary's author: a model name, "offline", or "given".
        trigger: why it ran.
        time: ISO 8601 stamp (UTC), empty where the caller has no clock.
        cost: price in US dollars where known.
        problem: what went wrong on the way, e.g. why the model's summary was not used; empty if nothing.
        notes: what is not as it was asked for, a sentence each: a summary that was shortened, a request that was cut.
    """

    tokens_before: int
    tokens_after: int
    bytes_before: int
    bytes_after: int
    rung: Rung
    images_before: int = 0
    images_after: int = 0
    stated: int = 0
    referenced: int = 0
    missing: int = 0
    masked: int = 0
    seconds: float = 0.0
    counter: str = ""
    model: str = "offline"
    trigger: Trigger = "manual"
    time: str = ""
    cost: float | None = None
    problem: Redacted = EMPTY
    notes: tuple[Redacted, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """A record over the log; `seq` numbers bound it.

    Attributes:
        id: unique within the conversation.
        from_seq: first message it covers that an earlier compaction did not.
        through_seq: last message that is told through the summary; 0 for a compaction that only masks.
        summary: the text the model sees, ledger included, without the framing that the view puts around it.
        ledger: the entries it was checked against, chosen ones first in order of need.
        masks: tool results shown as stubs, and texts of a request that is cut.
        keep: messages at or before ``through_seq`` that stay verbatim, ascending.
        standing: instructions in messages at or before ``through_seq``, ascending; of a message that is in ``keep`` as
            well, the rest stays after the summary.
        placement: where the summary goes.
        prefix: hash of the log through ``through_seq``; a log that no longer has it (edited, regenerated) cannot
            use this compaction. Empty: not checked.
        focus: what the user asked to concentrate on.
        parent: id of the compaction that was in force when this one was made, "" if none.
        status: prepared, active or undone.
        receipt: what it did.
    """

    id: str
    from_seq: int
    through_seq: int
    summary: Redacted
    ledger: Ledger
    masks: tuple[Mask, ...] = ()
    keep: tuple[int, ...] = ()
    standing: tuple[Standing, ...] = ()
    placement: Placement = "user"
    prefix: str = ""
    focus: Redacted = EMPTY
    parent: str = ""
    status: Status = "active"
    receipt: Receipt

    @property
    def needed(self) -> frozenset[int]:
        """The messages at or before ``through_seq`` that a context under it needs, whole or in part."""
        return frozenset((*self.keep, *(one.seq for one in self.standing)))

    @property
    def standing_whole(self) -> frozenset[int]:
        """The messages at or before ``through_seq`` that are instructions and nothing else."""
        return frozenset(one.seq for one in self.standing if one.is_whole)


def redacted_record(record: Compaction) -> Compaction:
    """``record`` without secrets; the same one where it has none.

    An earlier version, which knew fewer kinds of secrets, may have made it. All of its texts are searched at once first.
    """
    if not find_secrets("\n".join(_texts(record))):
        return record
    return replace(
        record,
        summary=redact(record.summary),
        focus=redact(record.focus),
        ledger=Ledger(entries=tuple(map(_redacted_entry, record.ledger.entries))),
        masks=tuple(replace(mask, stub=redact(mask.stub)) for mask in record.masks),
        receipt=replace(
            record.receipt,
            problem=redact(record.receipt.problem),
            notes=tuple(map(redact, record.receipt.notes)),
        ),
    )


def _redacted_entry(entry: Entry) -> Entry:
    return replace(entry, text=redact(entry.text), key=redact(entry.key), where=redact(entry.where))


def _texts(record: Compaction) -> Iterator[str]:
    yield record.summary
    yield record.focus
    for entry in record.ledger.entries:
        yield from (entry.text, entry.key, entry.where)
    yield from (mask.stub for mask in record.masks)
    yield record.receipt.problem
    yield from record.receipt.notes
