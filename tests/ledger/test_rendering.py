from __future__ import annotations

from autocompact.core.redaction import redact
from autocompact.ledger.entries import Entry
from autocompact.ledger.rendering import render


def name(key: str, text: str, *, seq: int) -> Entry:
    return Entry(kind="identifier", text=redact(text), key=redact(key), seq=seq, need=0.5)


def test_a_line_that_explains_two_names_is_shown_once() -> None:
    line = "retry_limit is read by upload_worker."
    text = render([name("retry_limit", line, seq=4), name("upload_worker", line, seq=4)])

    assert text.count(line) == 1
