from __future__ import annotations

import pytest

from autocompact.core.messages import Text, text_message
from autocompact.ledger.extraction import extract
from autocompact.ledger.rendering import render
from tests.core.talk import Talk


def test_requests_are_verbatim_and_in_order() -> None:
    talk = Talk().user("Fix the  rounding.\n\nPlease.").agent("Looking.").user("And the tax?")

    assert [(e.seq, e.text) for e in talk.entries("request")] == [
        (1, "Fix the  rounding.\n\nPlease."),
        (3, "And the tax?"),
    ]


def test_two_texts_of_one_message_are_one_request() -> None:
    talk = Talk().user("Fix it.")
    talk.messages[0] = talk.messages[0].with_parts((*talk.messages[0].parts, *talk.messages[0].parts))

    assert [e.text for e in talk.entries("request")] == ["Fix it.\nFix it."]


@pytest.mark.parametrize(
    ("reaction", "state"),
    [
        ("no, round per invoice instead", "superseded"),
        ("Actually, use the other file", "superseded"),
        ("用错了吗？", ""),
        ("不对，应该按行", "superseded"),
        ("never mind", "withdrawn"),
        ("vergiss das", "withdrawn"),
        ("thanks! next: the tests", "done"),
        ("ありがとう。次は", "done"),
        ("what about the tests", ""),
    ],
)
def test_what_the_user_says_next_tells_what_became_of_a_request(reaction: str, state: str) -> None:
    first, _ = Talk().user("Round per line").agent("I rounded, I think").user(reaction).entries("request")

    assert (first.state, first.state_seq) == (state, 3 if state else 0)


@pytest.mark.parametrize(
    ("closing", "state"),
    [
        ("Done: all tests pass.", "done"),
        ("Implementiert und erledigt.", "done"),
        ("修正が完了しました。", "done"),
        ("I implemented one half. Should I go on with the rest?", ""),
        ("Fixed one, but the other is not yet working", ""),
        ("The rounding is in invoice.py.", ""),
    ],
)
def test_the_models_closing_words_tell_whether_a_request_is_done(closing: str, state: str) -> None:
    talk = Talk().user("Round per line").runs("pytest", "2 passed").agent(closing)
    (request,) = talk.entries("request")

    # without a state it is told where the turn was closed
    assert (request.state, request.state_seq) == (state, 4)


def test_of_a_request_without_a_state_the_reply_is_told_unless_it_is_the_next_message() -> None:
    talk = Talk().user("Where is it rounded?").runs("grep round", "invoice.py").agent("In invoice.py.")
    talk.user("And the tax, where is that?").agent("In tax.py.")

    assert "- m1 [answered m4]: Where is it rounded?\n- m5: And the tax" in render(talk.entries("request"))


def test_a_request_is_open_only_while_its_turn_runs() -> None:
    talk = Talk().agent("Hello").runs("ls", "x").user("Round per line").agent("Done soon.")
    talk.calls("Read", {"path": "a.py"})
    (request,) = talk.entries("request")

    assert (request.state, request.state_seq) == ("open", 6)


def test_an_interrupted_request_is_of_unknown_state() -> None:
    talk = Talk().user("Round per line").calls("Read", {"path": "a.py"})
    talk.user("[Request interrupted by user]").user("Look at b.py")

    assert [(e.text, e.state) for e in talk.entries("request")] == [
        ("Round per line", ""),
        ("Look at b.py", "open"),
    ]


def test_a_message_of_the_client_alone_is_no_request() -> None:
    assert Talk().user("<local-command-stdout>Bye</local-command-stdout>").entries("request") == []


def test_a_note_of_the_client_in_a_part_before_the_users_words_is_not_of_the_request() -> None:
    talk = Talk().user("Fix it.")
    note = Text(text="<local-command-stdout>Bye</local-command-stdout>")
    talk.messages[0] = talk.messages[0].with_parts((note, *talk.messages[0].parts))

    assert [e.text for e in talk.entries("request")] == ["Fix it."]


def test_what_is_taken_back_is_the_request_that_speaks_of_it() -> None:
    talk = Talk().user("Add a --currency flag to the export").agent("Looking.").user("Fix the rounding")
    talk.agent("ok").user("Stop, please. Forget the --currency flag").agent("x")

    assert [(e.state, e.state_seq) for e in talk.entries("request")] == [("withdrawn", 5), ("", 0), ("", 0)]


def test_a_correction_is_beside_the_request_it_contradicts() -> None:
    talk = Talk().user("Round the totals, with banker's rounding").agent("Rounded, done.")
    talk.user("Now the docs").agent("I looked.").user("No banker's rounding after all").agent("x")

    assert [(e.state, e.state_seq) for e in talk.entries("request")] == [("superseded", 5), ("", 0), ("", 0)]


def test_a_correction_of_nothing_that_was_asked_is_about_the_request_before_or_none() -> None:
    talk = Talk().user("Fix the rounding").agent("ok").user("No pagination after all").agent("x")
    assert [e.state for e in talk.entries("request")] == ["superseded", ""]

    talk = Talk().user("Fix the rounding").agent("ok").user("Forget about the pagination").agent("x")
    assert [e.state for e in talk.entries("request")] == ["", ""]


def test_an_order_that_is_nothing_but_a_note_is_no_request() -> None:
    order = "<hook_prompt><system-reminder>The list of tasks is empty.</system-reminder></hook_prompt>"
    log = [text_message(1, "user", "Fix the pump."), text_message(2, "user", order)]
    assert [entry.text for entry in extract(log).entries if entry.kind == "request"] == ["Fix the pump."]


def test_a_turn_that_is_blocked_is_not_done() -> None:
    talk = (
        Talk()
        .user("Review the figures.")
        .runs("ls", "a")
        .agent(
            "The review itself is complete and matches.\n\nThe current blocker is mechanical: the file is older."
        )
    )
    talk.user("And now the rest.").runs("ls", "a").agent("Done, no blocker left.")
    assert [entry.state for entry in talk.entries("request")] == ["", "done"]


def test_an_agent_that_yields_its_result_is_through() -> None:
    talk = Talk().user("Complete the assignment.").agent("All changes are complete and verified.")
    talk.calls("yield", {"result": {"data": "done"}}).gets("Result submitted.")
    assert [entry.state for entry in talk.entries("request")] == ["done"]
