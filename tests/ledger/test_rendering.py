from __future__ import annotations

from dataclasses import replace

from autocompact.core.redaction import redact
from autocompact.ledger.entries import FOLLOWS, Entry
from autocompact.ledger.rendering import LONGEST_ALONE, render, told_alone
from tests.ledger.entries import entry


def name(key: str, text: str, *, seq: int) -> Entry:
    return Entry(kind="identifier", text=redact(text), key=redact(key), seq=seq, need=0.5)


def test_a_line_that_explains_two_names_is_shown_once() -> None:
    line = "retry_limit is read by upload_worker."
    text = render([name("retry_limit", line, seq=4), name("upload_worker", line, seq=4)])

    assert text.count(line) == 1


def test_an_open_request_that_stands_below_is_told_with_the_messages_of_the_work_on_it() -> None:
    asked = replace(entry("request", FOLLOWS, seq=7), state="open", state_seq=41)

    assert "- m7 [open; work since m8–m41]: stands below, word for word ↓" in render([asked])
    assert "- m7 [open]: stands below" in render([replace(asked, state_seq=7)])
    answered = entry("request", "Which? → that", seq=30)
    assert "- m7 [work since m8–m30]: stands below" in render(
        [replace(asked, state="", state_seq=0), answered]
    )


def test_a_summary_that_is_read_alone_tells_the_request_that_follows_in_its_context():
    said = "## Requests\n- m2: stands below, word for word ↓\n- m7 [open]: 原文见下 ↓\n- m9: stands below, word for word ↓\n"
    said += "- m11 [open; work since m12–m20]: stands below, word for word ↓"
    long = "x" * (LONGEST_ALONE + 1)
    entries = [
        entry("request", "One\ntwo", seq=2),
        entry("request", long, seq=7),
        entry("request", FOLLOWS, seq=9),
        entry("request", "merged", seq=11),
    ]
    told = told_alone(redact(said), entries)
    assert told == (
        f"## Requests\n- m2: One\n  two\n- m7 [open]: {long[:-1]}…\n- m9: stands below, word for word ↓\n- m11 [open; work since m12–m20]: merged"
    )
