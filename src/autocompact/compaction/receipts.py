"""Makes the figures of a receipt: weighs each candidate for a compaction, and checks the one that is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Context, Transcript, view
from autocompact.core.messages import Text, ToolCall, ToolResult
from autocompact.core.tokens import Cost
from autocompact.ledger.verification import Verification, verify


def weigh(record: Compaction, log: Transcript, *, before: Cost, overhead: Cost) -> Compaction:
    """``record`` with a receipt that says how large the context of ``log`` is under it, and how large it was.

    Cheap enough for every candidate: what the context says of the ledger is not looked at, see `checked`.
    """
    after = view(log, record).cost + overhead
    return replace(
        record,
        receipt=replace(
            record.receipt,
            tokens_before=before.tokens,
            tokens_after=after.tokens,
            bytes_before=before.bytes,
            bytes_after=after.bytes,
            images_before=before.images,
            images_after=after.images,
            masked=sum(log.holds(mask.seq) and bool(log[mask.seq].results) for mask in record.masks),
            counter=log.counter.name,
        ),
    )


Check: TypeAlias = Callable[[Compaction, Transcript], Compaction]
"""Completes the receipt of a record that is taken, as `checked` does."""


def checked(record: Compaction, log: Transcript) -> Compaction:
    """``record`` with a receipt that says what of its ledger the context of ``log`` states. Reads the whole context."""
    return with_found(record, found_in(record, log))


def unchecked(record: Compaction, log: Transcript) -> Compaction:
    """``record`` as it is, for a caller that looks itself at what the context states, or for whom the receipt does not matter."""
    del log
    return record


def found_in(record: Compaction, log: Transcript) -> Verification:
    """What of its ledger the context of ``log`` states under ``record``. Reads the whole context."""
    return verify("\n".join(_texts(view(log, record))), record.ledger)


def with_found(record: Compaction, found: Verification) -> Compaction:
    """``record`` with a receipt that says how much was ``found``."""
    counts = {"stated": len(found.stated), "referenced": len(found.referenced), "missing": len(found.missing)}
    return replace(record, receipt=replace(record.receipt, **counts))


def _texts(context: Context) -> Iterator[str]:
    for message in context.messages:
        for part in message.parts:
            if isinstance(part, Text | ToolResult):
                yield part.text
            elif isinstance(part, ToolCall):
                yield part.arguments
