import pytest

from autocompact.compaction.record import Compaction, Receipt
from autocompact.core.redaction import redact
from autocompact.ledger.entries import Entry, Ledger
from autocompact.memory.documents.context_archive import ArchiveEntry


def record(*entries: Entry, tokens_before: int = 1_000) -> Compaction:
    return Compaction(
        id="c1",
        from_seq=1,
        through_seq=9,
        summary=redact("The total was rounded.\n\n- by line"),
        ledger=Ledger(entries=entries),
        receipt=Receipt(
            tokens_before=tokens_before,
            tokens_after=100,
            bytes_before=4_000,
            bytes_after=400,
            rung="summarise",
            stated=3,
            referenced=2,
            seconds=1.5,
            time="2026-11-21T10:00:00.000+00:00",
        ),
    )


@pytest.mark.requirement("C9", "C6")
def test_an_entry_says_when_how_long_how_much_what_and_where_the_original_is():
    task = Entry(
        kind="request", text=redact("Round per line"), seq=4, key=redact("round"), state="done", state_seq=8
    )
    fact = Entry(kind="identifier", text=redact("RATE in tax.py"), seq=5, key=redact("RATE"))
    text = ArchiveEntry(
        conversation="invoices",
        record=record(task, fact),
        peak_tokens=1_200,
        transcript="`autocompact show invoices`",
    ).render()
    for expected in (
        "## 2026-11-21T10:00:00.000+00:00 c1",
        "messages 1 to 9",
        "1.50 s",
        "1,000 in, 100 out (90% recovered)",
        "1,200 tokens",
        "3 stated, 2 referenced, 0 missing",
        "- Round per line (done) [m4]",
        "> The total was rounded.",
        "`autocompact show invoices`",
    ):
        assert expected in text
    assert "RATE" not in text


def test_an_entry_lists_todos_and_the_requests_that_say_what_is_to_be_done():
    requests = [
        Entry(kind="request", text=redact(text), seq=seq, key=redact(f"request {seq}"), state="done")
        for seq, text in ((1, "Mend the importer"), (2, "go on"), (4, "thanks"))
    ]
    todo = Entry(kind="todo", text=redact("commit"), seq=3, key=redact("todo commit"), state="done")
    entries = (*requests, todo)
    text = ArchiveEntry(
        conversation="invoices", record=record(*entries), peak_tokens=0, transcript="-"
    ).render()
    assert "Tasks:\n\n- Mend the importer (done) [m1]\n- commit (done) [m3]\n\nSummary:" in text


def test_an_entry_without_tasks_and_without_tokens_says_so():
    text = ArchiveEntry(
        conversation="empty", record=record(tokens_before=0), peak_tokens=0, transcript="-"
    ).render()
    assert "- none found" in text
    assert "(0% recovered)" in text
