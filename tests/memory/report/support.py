"""A memory folder and a store with a month of records."""

from __future__ import annotations

from pathlib import Path

from autocompact.compaction.record import Compaction, Receipt
from autocompact.core.messages import Message, Text, Usage
from autocompact.core.redaction import redact
from autocompact.ledger.entries import Entry, Ledger
from autocompact.memory.documents.context_archive import ARCHIVE_HEADING, CONTEXT_ARCHIVE, ArchiveEntry
from autocompact.ports import Key
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing.clock import FakeClock

NOW = "2026-11-21T10:00:00.000+00:00"


def record(
    id: str = "c1",
    *,
    time: str = "2026-10-05T12:00:00.000+00:00",
    before: int = 100_000,
    after: int = 10_000,
    through: int = 4,
    model: str = "offline",
    cost: float | None = None,
) -> Compaction:
    return Compaction(
        id=id,
        from_seq=1,
        through_seq=through,
        summary=redact("Rounded per line."),
        ledger=Ledger(
            entries=(Entry(kind="file", text=redact("edited"), seq=2, key=redact("src/totals.py")),)
        ),
        receipt=Receipt(
            tokens_before=before,
            tokens_after=after,
            bytes_before=4,
            bytes_after=2,
            rung="summarise",
            stated=6,
            referenced=3,
            missing=1,
            seconds=2.5,
            time=time,
            model=model,
            cost=cost,
        ),
    )


def said(
    seq: int, day: int, *, tokens: int = 0, reply: int = 100, model: str = "gpt-5", month: int = 10
) -> Message:
    """A message; with ``tokens`` a reply to a request of that size."""
    return Message(
        seq=seq,
        role="assistant" if tokens else "user",
        parts=(Text(text=f"message {seq}"),),
        time=f"2026-{month:02}-{day:02}T09:00:00.000+00:00",
        model=model if tokens else "",
        usage=Usage(prompt=tokens, completion=reply) if tokens else None,
    )


LOG = (
    said(1, 1),
    said(2, 1, tokens=50_000),
    said(3, 5),
    said(4, 5, tokens=90_000),
    said(5, 6),
    said(6, 6, tokens=12_000),
    said(7, 20),
    said(8, 20, tokens=15_000),
)
"""Compacted by `record` between messages 4 and 6."""


async def store(
    path: Path,
    *,
    log: tuple[Message, ...] = LOG,
    made: tuple[Compaction, ...] = (record(),),
    name: str = "invoices",
) -> Path:
    """A store with one conversation; its file."""
    key = Key(conversation=name)
    async with SqliteStore(path, clock=FakeClock(NOW)) as kept:
        await kept.append(key, log, after=0)
        for one in made:
            before = (await kept.load(key)).active
            await kept.commit(
                key, records=[one], active=one.id, expected=before.id if before else None, fence=0
            )
    return path


def archive(*entries: ArchiveEntry) -> bytes:
    """CONTEXT_ARCHIVE.md with these."""
    return (ARCHIVE_HEADING + "".join(entry.render() for entry in entries)).encode()


def entry(made: Compaction, *, name: str = "invoices", metrics: bool = True) -> ArchiveEntry:
    return ArchiveEntry(
        conversation=name,
        record=made,
        peak_tokens=made.receipt.tokens_before + 5,
        transcript="-",
        metrics=metrics,
    )


def folder(path: Path) -> Path:
    """A memory folder in which October 2026 left traces."""
    path.mkdir(parents=True, exist_ok=True)
    (path / CONTEXT_ARCHIVE).write_bytes(
        archive(entry(record()), entry(record("c9", time="2026-10-30T08:00:00.000+00:00"), name="week-44"))
    )
    (path / "ACTIVE_RULES.md").write_text(
        "# Active rules\n\n## Rule 1: Use UTC <b>everywhere</b>\n\n- Why: DST\n- Observed: 2026-09-01\n"
        "- Confirmations: 5\n- Rule since: 2026-10-04\n\n## Rule 2: Older\n\n- Rule since: 2026-09-27\n"
    )
    (path / "OBSERVATION_ARCHIVE.md").write_text(
        "# Observation archive\n\n## 2026-10\n\n- 2026-08-01: Tea helps\n  - Archived: 2026-10-11: 71 days\n"
        "- 2026-08-02: Coffee too\n  - Archived: 2026-11-01: 91 days\n"
    )
    (path / "OBSERVATIONS.md").write_text("- 2026-10-09: Noted then\n- 2026-11-09: Noted now\n")
    (path / "DONE.md").write_text("- 2026-10-12: T-2 Round | per line (done)\n- 2026-11-02: T-3 x (done)\n")
    (path / "TASK_ARCHIVE.md").write_text(
        "# Task archive\n\n## 2026-10\n\n| Task | Date | Outcome | Files | Tokens | Pattern |\n|---|---|---|---|---|---|\n"
        "| T-1 Import | 2026-10-02 | done | 2 | 84,000 | |\n"
    )
    return path
