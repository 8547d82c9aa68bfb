"""What a line says of a state: conditions, nothing and a way of working are not done."""

from __future__ import annotations

import pytest

from autocompact.core.redaction import redact
from autocompact.ledger.claims import claim
from autocompact.ledger.entries import Entry, Ledger
from autocompact.ledger.verification import verify


@pytest.mark.parametrize(
    "sentence",
    [
        "Nothing is implemented yet.",
        "None of the tests were added",
        "No test is added.",
        "Check whether the table was created",
        "Check whether the table was fixed",
        "If the cache is updated twice, the row is lost.",
        "If somebody asks, the file is created.",
        "Wait until the files are now written.",
        "Make sure that all files are written.",
        "The file is created lazily when somebody asks",
        "The retry file is created when the file is created",
        "It locks so that a row is created only once",
    ],
)
def test_a_condition_nothing_and_a_habit_are_not_done(sentence: str) -> None:
    assert claim(sentence) == ""


@pytest.mark.parametrize(
    "sentence",
    [
        "The retry was added.",
        "The retry was added [m3]",
        "The files are now written to the folder",
        "The retry is added already to the worker",
        "No errors, all are fixed",
        "If it fails, retry [x]",
        "When it failed I looked. The retry was added.",
        "No new dependencies ✅",
    ],
)
def test_what_is_there_is_done(sentence: str) -> None:
    assert claim(sentence) == "done"


@pytest.mark.parametrize(
    ("tail", "accused"),
    [
        ("The retry file is created when the file is created", False),
        ("so that a row is created only once", False),
        ("it was added.", True),
    ],
)
def test_how_a_thing_works_does_not_contradict_an_open_request(tail: str, accused: bool) -> None:
    words = redact("Add a retry to the upload worker")
    asked = Entry(kind="request", text=words, seq=1, key=words, state="open")
    summary = f"- Add a retry to the upload worker: {tail}"
    assert bool(verify(summary, Ledger(entries=(asked,))).contradictions) is accused
