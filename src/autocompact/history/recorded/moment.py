"""A recorded session as it was at some moment: the messages until then, and the active compaction."""

from __future__ import annotations

from msgspec import Struct

from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Transcript
from autocompact.core.lookup import WITH_TOOLS, Lookup
from autocompact.core.tokens import Counter
from autocompact.errors import InvalidInput
from autocompact.sessions import Session


class Moment(Struct, frozen=True, kw_only=True):
    """A session through one of its messages.

    Attributes:
        log: the messages until then.
        made: the compactions that the recording program had made by then and that were not undone, oldest first.
    """

    log: Transcript
    made: tuple[Compaction, ...]

    @property
    def active(self) -> Compaction | None:
        """The active compaction."""
        return self.made[-1] if self.made else None


def moment(session: Session, *, through: int | None, counter: Counter, lookup: Lookup = WITH_TOOLS) -> Moment:
    """The session after message ``through``, or at its end.

    Raises:
        InvalidInput: there is no such message.
    """
    last = len(session.messages)
    end = last if through is None else through
    if not 1 <= end <= last:
        raise InvalidInput(f"through {end}: there is no such message, choose one from 1 to {last}")
    log = Transcript(session.messages[:end], counter=counter, lookup=lookup)
    return Moment(
        log=log,
        made=tuple(
            record
            for record in session.compactions
            if record.status != "undone" and (through is None or _was_made(record, session, through=end))
        ),
    )


def _was_made(record: Compaction, session: Session, *, through: int) -> bool:
    """True if ``record`` was made before message ``through + 1`` came.

    One that covers the last message came after it. One that left messages verbatim tells by its time.
    """
    if record.through_seq >= through or any(mask.seq > through for mask in record.masks):
        return False
    # by its place one that kept a tail could be from before this message or after it
    later = session.messages[through : through + 1]
    return not (later and record.receipt.time > later[0].time > "")
