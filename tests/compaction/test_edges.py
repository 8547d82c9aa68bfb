"""Small behaviours at the edges of the core."""

from __future__ import annotations

import pytest

from autocompact.compaction.goal import Goal
from autocompact.compaction.ladder import SummaryReply, answer, plan
from autocompact.compaction.modes import DEFAULT, at_preset
from autocompact.compaction.transcript import Transcript
from autocompact.core.figures import check_windows
from autocompact.core.messages import (
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    text_message,
)
from autocompact.core.redacted import redacted_call
from autocompact.core.redaction import redact
from autocompact.core.references import false_references, parse_range, without_references
from autocompact.core.reply import Ok, check_reply
from autocompact.core.tokens import Estimator, size
from autocompact.errors import InvalidInput
from autocompact.ledger.facts import find_facts
from autocompact.ledger.scan import Said, scan
from autocompact.memory.documents.pages import Pages

TOKEN = "ghp_" + "x8Kd03mZq7Lw2Rt5Vb9N" + "c4Fh6Jp1Ys0A"


def test_no_windows_are_a_table_of_windows() -> None:
    check_windows({})


@pytest.mark.parametrize(
    ("text", "ends"), [("m12", (12, 12)), ("m12-m15", (12, 15)), ("[m12]–[m15]", (12, 15))]
)
def test_a_range_of_references_is_read(text: str, ends: tuple[int, int]) -> None:
    assert parse_range(text) == ends


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(InvalidInput, match="turn it round"):
        parse_range("m15-m12")


def test_a_list_of_right_references_stays_as_it_is() -> None:
    assert without_references("See [m12, m13] and m99.", {99}) == "See [m12, m13] and m99 (no such message)."
    assert without_references("See [m12, m99].", {99}) == "See [m12]."


@pytest.mark.parametrize(
    ("text", "wrong", "left"),
    [
        ("See [m70-m80].", (70, 80), "See."),
        ("See [m5–m90] too.", (90,), "See [m5] too."),
        ("See [m3 - m9] and m3-m9.", (), "See [m3 - m9] and m3-m9."),
        (
            "From m5-m70, and m70 – m80.",
            (70, 80),
            "From m5-m70 (no such message), and m70 – m80 (no such message).",
        ),
        ("m70–m80 (no such message)", (), "m70–m80 (no such message)"),
        ("In a/m70-m80.txt and x-m70-m80.", (), "In a/m70-m80.txt and x-m70-m80."),
    ],
)
def test_a_range_that_names_no_message_is_cut_or_marked(text: str, wrong: tuple[int, ...], left: str) -> None:
    assert false_references(text, lambda seq: seq < 50) == wrong
    assert without_references(text, wrong) == left


def test_a_mode_takes_the_threshold_of_a_preset() -> None:
    assert at_preset(DEFAULT, "session-50k").policy.tokens == 50_000


@pytest.mark.parametrize(
    ("part", "length"),
    [
        (Text(text="four"), 4),
        (Reasoning(text="four"), 4),
        (ToolResult(call_id="c", text="four"), 4),
        (ToolCall(id="c", name="n", arguments="{}"), 2),
        (Opaque(kind="k", raw=b"abc"), 3),
        (Image(data="abcde"), 5),
    ],
)
def test_what_there_is_to_look_at_is_known_without_looking(part: Part, length: int) -> None:
    assert size(Message(seq=1, role="user", parts=(part, part))) == 2 * length
    assert size(Message(seq=1, role="user", parts=(part,), raw=b"raw bytes")) == 9


def test_pages_that_did_not_change_are_not_read_again() -> None:
    pages = Pages({"a.md": b"# A\n", "b.md": b"# B\n"})
    first = pages["a.md"]
    later = pages.changed({"b.md": b"# C\n"})
    assert later["a.md"] is first
    assert later.files["b.md"] == b"# C\n"


def test_a_secret_that_takes_a_quote_along_is_gone_from_the_arguments_too() -> None:
    call = redacted_call(ToolCall(id="c", name="Bash", arguments='{"command": "export DB=' + TOKEN + '"}'))
    assert TOKEN not in call.arguments
    assert TOKEN not in str(call.values)


def test_a_tag_that_only_stands_in_a_sentence_is_taken_where_there_is_no_other() -> None:
    text = "Here is the <summary> that you asked for:\nthe pump is mended and all tests pass now.\n</summary>"
    checked = check_reply(text, replaced_tokens=10_000, counter=Estimator())
    assert isinstance(checked, Ok)
    assert "the pump is mended" in checked.text


def test_a_false_reference_is_found_beside_pictures_and_calls() -> None:
    words = "Please look at this picture of the pump, and tell me which valve leaks. " * 20
    log = Transcript(
        [
            Message(seq=1, role="user", parts=(Text(text=words), Image(data="abcd", width=10, height=10))),
            Message(
                seq=2, role="assistant", parts=(ToolCall(id="c", name="Read", arguments='{"path": "a"}'),)
            ),
            Message(seq=3, role="tool", parts=(ToolResult(call_id="c", text="valve 3 " * 200),)),
            text_message(4, "assistant", "Valve 3 leaks."),
            text_message(5, "user", "Thanks. And now?"),
        ],
        counter=Estimator(),
    )
    goal = Goal(limit=10_000, target=2_000, summary_tokens=400, tail_tokens=0, first_rung="summarise")
    reply = SummaryReply(text=redact("Valve 3 of the pump leaks, as m999 says."), model="m")
    record = answer(plan(log, goal), reply)
    assert record is not None
    assert "m999 (no such message)" in record.summary


def test_an_order_of_a_lead_in_the_users_place_is_the_leads() -> None:
    text = "<teammate-message teammate_id='lead'>Mend the pump.</teammate-message>"
    assert [said.by for said in scan([text_message(1, "user", text)]).said] == ["lead"]


def test_a_clause_of_nothing_but_marks_is_none() -> None:
    facts = find_facts(
        [Said(seq=1, by="user", text=redact("— — and my cat is named Miso, which is 3 years old"))]
    )
    assert facts
    assert all(entry.text.strip(" —") for entry in facts)
