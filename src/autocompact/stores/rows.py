"""Converts between a message's place in the log and the id of its row.

One number holds both, so that a conversation's messages lie side by side in the file, a range of the log is a range
of ids, and a search index needs no table to find its way back.
"""

from __future__ import annotations

SEQ_BITS = 24
"""Bits of an id that number the messages of one conversation: 16.7 million. Fewer bits make shorter ids, of which a
search index holds one per word and message."""

LAST_SEQ = (1 << SEQ_BITS) - 1


def row_id(conversation: int, seq: int) -> int:
    """The id of message ``seq``."""
    return conversation << SEQ_BITS | seq


def place(row: int) -> tuple[int, int]:
    """The conversation and the ``seq`` of a message's row."""
    return row >> SEQ_BITS, row & LAST_SEQ


def row_range(conversation: int, *, from_seq: int = 1, through_seq: int | None = None) -> tuple[int, int]:
    """The first and the last id of a range of the log; the first is larger where the range is empty."""
    last = LAST_SEQ if through_seq is None else min(max(through_seq, 0), LAST_SEQ)
    return row_id(conversation, 0) + min(max(from_seq, 1), LAST_SEQ), row_id(conversation, last)
