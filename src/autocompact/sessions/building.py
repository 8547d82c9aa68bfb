"""Shared by the readers: numbering messages, telling notes of a program from the person's words, import receipts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from autocompact.compaction.record import Compaction, Receipt, Standing, Status
from autocompact.core.messages import Message, Part, Role, Text, Usage
from autocompact.core.redaction import redact
from autocompact.ledger.entries import Ledger

_Shape = TypeVar("_Shape")

_text = msgspec.json.Decoder(str).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


@dataclass(slots=True)
class Log:
    """Messages in order, each with the line it begins at."""

    messages: list[Message] = field(default_factory=list[Message])
    lines: list[int] = field(default_factory=list[int])

    def add(
        self,
        role: Role,
        parts: Iterable[Part],
        *,
        line: int,
        synthetic: bool = False,
        id: str = "",
        time: str = "",
        model: str = "",
        usage: Usage | None = None,
    ) -> None:
        """Append a message; one without any part is left out."""
        parts = tuple(parts)
        if not parts:
            return
        self.lines.append(line)
        self.messages.append(
            Message(
                seq=len(self.messages) + 1,
                role=role,
                parts=parts,
                synthetic=synthetic,
                id=id,
                time=time,
                model=model,
                usage=usage,
            )
        )

    def add_user(
        self,
        parts: Iterable[Part],
        *,
        is_note: Callable[[str], bool],
        line: int,
        id: str = "",
        time: str = "",
    ) -> None:
        """Append what stands in the user's place: the program's notes first and apart, then the person's words."""
        parts = tuple(parts)
        notes = [part for part in parts if isinstance(part, Text) and is_note(part.text)]
        rest = [part for part in parts if not any(part is note for note in notes)]
        self.add("user", notes, line=line, synthetic=True, id=id, time=time)
        self.add("user", rest, line=line, id=id, time=time)

    def cut(self, first: int) -> tuple[Message, ...]:
        """Take the messages from ``seq`` ``first`` on out again."""
        gone = tuple(self.messages[first - 1 :])
        del self.messages[first - 1 :]
        del self.lines[first - 1 :]
        return gone

    @property
    def model(self) -> str:
        """The model that wrote the last reply."""
        return next((message.model for message in reversed(self.messages) if message.model), "")


def imported(
    *,
    id: str,
    summary: str,
    through_seq: int,
    earlier: Iterable[Compaction],
    author: str,
    keep: Iterable[int] = (),
    standing: Iterable[Standing] = (),
    tokens_before: int = 0,
    tokens_after: int = 0,
    time: str = "",
) -> Compaction:
    """The record of a compaction that the recording program made; token figures are its own."""
    covered = [compaction.through_seq for compaction in earlier if compaction.status == "active"]
    return Compaction(
        id=id,
        from_seq=min(covered[-1] if covered else 0, through_seq) + 1,
        through_seq=through_seq,
        summary=redact(summary),
        ledger=Ledger(),
        keep=tuple(sorted(set(keep))),
        standing=tuple(standing),
        receipt=Receipt(
            tokens_before=tokens_before,
            tokens_after=tokens_after,
            bytes_before=0,
            bytes_after=0,
            rung="summarise",
            counter=author,
            model=author,
            trigger="import",
            time=time,
        ),
    )


def undone_beyond(compactions: Iterable[Compaction], last: int) -> list[Compaction]:
    """The compactions, those that cover messages after ``seq`` ``last`` marked as undone."""
    undone: Status = "undone"
    return [
        replace(compaction, status=undone) if compaction.through_seq > last else compaction
        for compaction in compactions
    ]


def off_branch(parents: Mapping[str, str | None], last: str | None) -> frozenset[str]:
    """The ids that are not on the way from the entry ``last`` to the root.

    Args:
        parents: for each entry the one it follows, None for a root.
        last: where the active branch ends; None leaves no entry on it.
    """
    active: set[str] = set()
    while last is not None and last not in active:
        active.add(last)
        last = parents.get(last)
    return frozenset(id for id in parents if id not in active)


def iso_time(seconds: float | None) -> str:
    """A Unix time as ISO 8601 in UTC; "" for none and for what no calendar holds."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if seconds else ""
    except (OverflowError, ValueError, OSError):
        return ""


def not_exported(name: str) -> str:
    """A note in the place of a file of which an export has the name alone."""
    return f"{name}: attached; the export does not hold it"


def kind_of(fields: Mapping[str, msgspec.Raw]) -> str:
    """The ``type`` of a line, "" if it has none that is a string."""
    return string(fields.get("type", b""))


def string(raw: msgspec.Raw | bytes) -> str:
    """A JSON string's text; "" if it is none."""
    try:
        return _text(raw)
    except msgspec.DecodeError:
        return ""


def decoded(decode: Callable[[msgspec.Raw], _Shape], raw: msgspec.Raw) -> _Shape | None:
    """What a field holds; None if that is of another shape, which must not cost the message around it."""
    try:
        return decode(raw)
    except msgspec.DecodeError:
        return None


def items(raw: msgspec.Raw) -> list[msgspec.Raw]:
    """The elements of a JSON array; none for anything else."""
    return decoded(_items, raw) or []


def as_text(raw: msgspec.Raw | bytes) -> str:
    """A JSON string's text, and any other JSON as it stands; "" for null and nothing."""
    content = bytes(raw)
    if content in (b"", b"null"):
        return ""
    return string(content) if content.startswith(b'"') else content.decode()
