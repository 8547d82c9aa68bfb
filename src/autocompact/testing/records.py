"""Logs and compaction records to put into a store."""

from __future__ import annotations

from collections.abc import Sequence

from autocompact.compaction.record import Compaction, Mask, Receipt, Status
from autocompact.core.messages import Message, Role, text_message
from autocompact.core.redacted import own
from autocompact.core.redaction import redact
from autocompact.ledger.entries import Entry, Ledger
from autocompact.ports import Key

KEY = Key(conversation="talk")
RECEIPT = Receipt(
    tokens_before=900, tokens_after=90, bytes_before=9000, bytes_after=900, rung="summarise", cost=0.25
)


def compaction(
    id: str, through_seq: int, *, status: Status = "active", keep: Sequence[int] = (), parent: str = ""
) -> Compaction:
    """A record with something in every field."""
    entry = Entry(
        kind="file", text=own("created src/tax.py"), seq=2, key=own("src/tax.py"), state="done", need=0.5
    )
    return Compaction(
        id=id,
        from_seq=1,
        through_seq=through_seq,
        summary=redact(f"Summary {id}: 税 is computed in src/tax.py"),
        ledger=Ledger(entries=(entry,)),
        masks=(Mask(seq=2, part=0, stub=own("[output: see m2]")),),
        keep=tuple(keep),
        placement="system",
        prefix="00ff",
        focus=own("taxes"),
        parent=parent,
        status=status,
        receipt=RECEIPT,
    )


def talk(*roles: Role) -> list[Message]:
    """Messages of these roles."""
    return [text_message(seq, role, f"{role} {seq}") for seq, role in enumerate(roles, start=1)]
