"""Reads what is imported into the library: a recorded session of any program, or an archive of ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Transcript
from autocompact.core.messages import Message
from autocompact.core.plurals import plural
from autocompact.core.tokens import Estimator
from autocompact.errors import UnreadableSession
from autocompact.history.archive import BEGINNING, FORMAT, is_archive, read_archive
from autocompact.sessions import Session, read_session


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A conversation to take in.

    Attributes:
        format: which program wrote it, "autocompact" for an archive.
        name: what it is called; "" where the file does not say.
        messages: the log.
        compactions: records over it, oldest first; each names the one before it as its parent.
        active: id of the one that was active at the end.
        state: what the engine kept beside the log, b"" if nothing.
        left_out: what of the file is not taken in, a phrase each.
    """

    format: str
    name: str
    messages: tuple[Message, ...]
    compactions: tuple[Compaction, ...] = ()
    active: str | None = None
    state: bytes = b""
    left_out: tuple[str, ...] = ()


def read_incoming(path: Path) -> Incoming:
    """The conversation in a file.

    Raises:
        UnreadableSession: it cannot be read, or holds none.
    """
    if not is_archive(_beginning(path)):
        return from_session(read_session(path))
    archive = read_archive(path.read_bytes(), source=str(path))
    return Incoming(
        format=FORMAT,
        name=archive.name,
        messages=archive.messages,
        compactions=archive.compactions,
        active=archive.active,
        state=archive.state,
    )


def _beginning(path: Path) -> bytes:
    """The first bytes; none of a file that cannot be read, which the session reader then reports."""
    try:
        with path.open("rb") as file:
            return file.read(BEGINNING)
    except OSError:
        return b""


def from_session(session: Session) -> Incoming:
    """A recorded session. What the recording program compacted itself becomes records that can be undone one by one.

    Raises:
        UnreadableSession: a record of the session covers messages that it does not have.
    """
    log = Transcript(session.messages, counter=Estimator())
    records = tuple(_chained(session.compactions, log))
    made = [record.id for record in records if record.status == "active"]
    return Incoming(
        format=session.format,
        name="",
        messages=session.messages,
        compactions=records,
        active=made[-1] if made else None,
        left_out=tuple(_left_out(session)),
    )


def _chained(records: Sequence[Compaction], log: Transcript) -> Iterator[Compaction]:
    before = ""
    for record in records:
        if record.through_seq > len(log):
            raise UnreadableSession(
                f"compaction {record.id!r} of the session covers {plural(record.through_seq, 'message')} of {len(log)}"
            )
        # without a hash a record would fit whatever the log becomes by later edits
        yield replace(record, parent=before, prefix=log.prefix(record.through_seq))
        before = record.id if record.status == "active" else before


def _left_out(session: Session) -> Iterator[str]:
    if session.sidechains:
        yield f"{_many(len(session.sidechains), 'conversation')} beside it (sub-agents)"
    if session.abandoned:
        yield f"{_many(len(session.abandoned), 'message')} of a branch that was left"
    if session.skipped:
        first = session.skipped[0]
        where = f"line {first.line}: " if first.line else ""
        yield f"{_many(len(session.skipped), 'line')} that could not be used ({where}{first.reason})"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
