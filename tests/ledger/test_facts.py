"""What people say of themselves and others in a chat."""

from __future__ import annotations

import pytest

from autocompact.core.messages import text_message
from autocompact.core.redaction import redact
from autocompact.ledger.extraction import extract
from autocompact.ledger.facts import find_facts
from autocompact.ledger.scan import Said, Speaker


def _facts(*texts: str, by: Speaker = "user") -> list[str]:
    said = [Said(seq=seq, by=by, text=redact(text)) for seq, text in enumerate(texts, start=1)]
    return [str(entry.text) for entry in find_facts(said)]


@pytest.mark.requirement("F6")
def test_a_statement_with_a_name_or_a_number_is_worth_more_than_pleasantries() -> None:
    found = _facts(
        "Hi there, thank you for all the help so far, I really appreciate it.",
        "I live in Seattle and work as a designer.",
        "It has been a long and rather uneventful day for everybody here.",
        "My sister Ana turned 31 last week.",
    )
    assert set(found[:2]) == {
        "I live in Seattle and work as a designer.",
        "My sister Ana turned 31 last week.",
    }


def test_questions_state_nothing() -> None:
    assert _facts("Do you ship to Seattle by Friday?", "ok") == []


def test_a_long_sentence_gives_its_clauses_and_short_ones_stay_with_their_neighbour() -> None:
    found = _facts(
        "I moved to Portland in 2019 for a new job, and my brother Tom opened a bakery called Crumb, ok"
    )
    assert "I moved to Portland in 2019 for a new job" in found
    assert any("Crumb" in clause for clause in found)
    assert "ok" not in found


def test_what_was_said_before_is_worth_less_the_second_time() -> None:
    found = _facts(
        "I live in Seattle near the harbour.", "My cat is named Miso.", "I live in Seattle near the harbour."
    )
    assert found[-1] == "I live in Seattle near the harbour."


def test_a_chat_has_facts_with_their_speaker_and_no_findings() -> None:
    log = [
        text_message(1, "user", "I live in Seattle and my cat is named Miso."),
        text_message(2, "assistant", "Miso is a lovely name. Seattle has 12 cat cafes."),
    ]
    ledger = extract(log)
    assert {entry.where for entry in ledger.entries if entry.kind == "fact"} == {"user", "assistant"}
    assert not [entry for entry in ledger.entries if entry.kind == "finding"]
