"""Makes the figures of a receipt: weighs and checks what a compaction does to a log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Context, Transcript, view
from autocompact.core.messages import Text, ToolCall, ToolResult
from autocompact.core.tokens import Cost
from autocompact.ledger.verification import verify


def weigh(record: Compaction, log: Transcript, *, before: Cost, overhead: Cost) -> Compaction:
    """``record`` with a receipt that says what it does to ``log`` as it is now, verified against its ledger."""
    context = view(log, record)
    after = context.cost + overhead
    checked = verify("\n".join(_texts(context)), record.ledger)
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
            stated=len(checked.stated),
            referenced=len(checked.referenced),
            missing=len(checked.missing),
            masked=sum(log.holds(mask.seq) and bool(log[mask.seq].results) for mask in record.masks),
            counter=log.counter.name,
        ),
    )


def _texts(context: Context) -> Iterator[str]:
    for message in context.messages:
        for part in message.parts:
            if isinstance(part, Text | ToolResult):
                yield part.text
            elif isinstance(part, ToolCall):
                yield part.arguments
