from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from autocompact.compaction.repair import NO_RESPONSE, UNDERSTOOD, Repairer, problems, repair
from autocompact.core.messages import Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from tests.core.strategies import (
    broken_histories,
    call,
    histories,
    numbered,
    result,
    said,
    talk,
    valid_histories,
)

ASK = said("user", "list the files")
ANSWER = said("assistant", "there are two")


def shown(messages: list[Message]) -> list[str]:
    """Each message as one short line."""
    return [" ".join([message.role, *map(_shown, message.parts)]) for message in messages]


def _shown(part: object) -> str:
    match part:
        case ToolCall():
            return f"call:{part.id}"
        case ToolResult():
            return f"result:{part.call_id}={part.text}"
        case Text():
            return repr(part.text)
        case _:
            return type(part).__name__


def repaired(*messages: Message, closed: bool = False) -> list[str]:
    return shown(repair(numbered(messages), closed=closed))


@given(histories())
@pytest.mark.requirement("D3")
def test_every_repaired_history_is_valid(messages: list[Message]) -> None:
    assert problems(repair(messages)) == []


@given(valid_histories())
def test_a_valid_history_has_no_problems_and_passes_as_the_very_same_messages(
    messages: list[Message],
) -> None:
    assert problems(messages) == []
    assert [id(message) for message in repair(messages)] == [id(message) for message in messages]


@given(broken_histories())
def test_whatever_the_checker_finds_valid_passes_as_the_very_same_messages(messages: list[Message]) -> None:
    fixed = repair(messages)
    assert (fixed == messages) == (problems(messages) == [])
    assert [id(message) for message in repair(fixed)] == [id(message) for message in fixed]


@given(histories())
def test_a_closed_history_is_valid_and_ends_on_no_tool_result(messages: list[Message]) -> None:
    closed = repair(messages, closed=True)
    assert problems(closed) == []
    assert not closed or not isinstance(closed[-1].parts[-1], ToolResult) or closed[-1].role == "user"
    assert closed[: len(repair(messages))] == repair(messages)


@given(histories())
def test_lists_handed_out_earlier_keep_saying_what_they_said(messages: list[Message]) -> None:
    repairer = Repairer()
    handed_out: list[tuple[list[Message], list[Message]]] = []
    for message in messages:
        before = list(repairer.messages)
        first = repairer.push(message)
        assert repairer.messages[:first] == before[:first]
        assert first <= len(repairer.messages)
        handed_out.append((repairer.messages, list(repairer.messages)))
    for held, then in handed_out:
        assert held[: len(then)] == then


@given(histories())
def test_messages_of_the_log_are_shown_at_most_once_and_no_words_are_lost(messages: list[Message]) -> None:
    fixed = repair(messages)
    spoken = [
        p for m in messages if m.role != "tool" for p in m.parts if isinstance(p, Text) and p.text.strip()
    ]
    kept = [
        p
        for m in fixed
        if m.role != "tool" and m.seq
        for p in m.parts
        if isinstance(p, Text) and p.text.strip()
    ]
    repeated = [m for m in messages if m.calls and [o.parts for o in messages].count(m.parts) > 1]
    assert len(kept) <= len(spoken)
    assert repeated or sorted(p.text for p in kept) == sorted(p.text for p in spoken)


@pytest.mark.requirement("D3")
def test_an_unanswered_call_gets_a_result_that_says_so() -> None:
    assert repaired(ASK, said("assistant", call("a"))) == [
        "user 'list the files'",
        "assistant call:a",
        f"tool result:a={NO_RESPONSE}",
    ]
    assert repaired(said("assistant", call("a"), call("b")), said("tool", result("b")), ASK) == [
        "assistant call:a call:b",
        "tool result:b=done",
        f"tool result:a={NO_RESPONSE}",
        "user 'list the files'",
    ]


@pytest.mark.requirement("D3")
def test_a_closed_history_never_ends_on_a_tool_message() -> None:
    assert repaired(said("assistant", call("a")), closed=True)[-2:] == [
        f"tool result:a={NO_RESPONSE}",
        f"assistant {UNDERSTOOD!r}",
    ]
    assert repaired(said("assistant", call("a")), said("tool", result("a")), closed=True)[-1:] == [
        f"assistant {UNDERSTOOD!r}"
    ]
    words_last = [said("assistant", call("a")), said("user", result("a"), "go on")]
    assert repaired(*words_last, closed=True)[-1:] == ["user result:a=done 'go on'"]
    assert repaired(ASK, ANSWER, closed=True)[-1:] == ["assistant 'there are two'"]
    assert repaired(closed=True) == []


def test_a_late_result_takes_the_place_of_the_one_that_stood_in_for_it() -> None:
    repairer = Repairer()
    history = numbered([ASK, said("assistant", call("a")), ANSWER, ASK, said("tool", result("a", "late"))])
    for message in history[:-1]:
        repairer.push(message)
    before = repairer.messages
    assert shown(before)[-2:] == [f"tool result:a={NO_RESPONSE}", "user 'list the files'"]
    assert repairer.push(history[-1]) == 3
    assert shown(repairer.messages)[3:] == ["tool result:a=late", "user 'list the files'"]
    assert repairer.messages[3] is history[-1]
    assert shown(before)[3] == f"tool result:a={NO_RESPONSE}"


def test_several_late_results_in_one_message_each_find_their_place() -> None:
    assert repaired(
        said("assistant", call("a"), call("b")), ASK, said("user", result("b"), result("a"), "as you asked")
    ) == [
        "assistant call:a call:b",
        "user result:a=done",
        "user result:b=done",
        "user 'list the files'",
        "user 'as you asked'",
    ]


def test_a_result_before_its_call_is_placed_after_it() -> None:
    early = [ASK, said("tool", result("a")), said("assistant", call("a"))]
    assert repaired(*early) == ["user 'list the files'", "assistant call:a", "tool result:a=done"]
    assert repaired(*early, ANSWER, ASK)[1:] == [
        "assistant call:a",
        "assistant 'there are two'",
        "tool result:a=done",
        "user 'list the files'",
    ]


def test_a_result_directly_after_its_call_wins_over_one_that_came_before_it() -> None:
    cut_off = [said("tool", result("a", "of a call that was cut off")), said("assistant", call("a"))]
    assert repaired(*cut_off, said("tool", result("a", "mine"))) == ["assistant call:a", "tool result:a=mine"]


def test_an_early_result_is_final_once_its_step_is_closed() -> None:
    early = [
        said("tool", result("a", "first")),
        said("assistant", call("a")),
        ASK,
        said("tool", result("a", "2nd")),
    ]
    assert repaired(*early) == ["assistant call:a", "tool result:a=first", "user 'list the files'"]


def test_results_without_any_call_stay_out() -> None:
    assert repaired(ASK, said("tool", result("x")), ANSWER) == [
        "user 'list the files'",
        "assistant 'there are two'",
    ]
    assert repaired(said("user", result("x"), "and this")) == ["user 'and this'"]


def test_the_first_real_result_wins() -> None:
    twice = [said("tool", result("a", "first")), said("tool", result("a", "second"))]
    assert repaired(said("assistant", call("a")), *twice) == ["assistant call:a", "tool result:a=first"]
    assert repaired(said("assistant", call("a")), ASK, *twice) == [
        "assistant call:a",
        "tool result:a=first",
        "user 'list the files'",
    ]


def test_a_repeated_message_with_the_same_calls_is_dropped() -> None:
    thought, step = said("assistant", Reasoning(text="hm")), said("assistant", "look:", call("a"))
    assert repaired(thought, step, thought, step, said("tool", result("a")), ANSWER) == [
        "assistant Reasoning",
        "assistant 'look:' call:a",
        "tool result:a=done",
        "assistant 'there are two'",
    ]
    named = said("assistant", call("a"), id="msg_1")
    assert repaired(named, said("tool", result("a")), named) == ["assistant call:a", "tool result:a=done"]


def test_a_call_id_used_again_is_renamed_with_its_result() -> None:
    turn = [said("assistant", call("0", arguments='{"n":1}')), said("tool", result("0", "one"))]
    again = [said("assistant", call("0", arguments='{"n":2}')), said("tool", result("0", "two"))]
    assert repaired(*turn, *again, *turn) == [
        "assistant call:0",
        "tool result:0=one",
        "assistant call:0_2",
        "tool result:0_2=two",
        "assistant call:0_3",
        "tool result:0_3=one",
    ]


def of_openai(*parts: ToolCall) -> Message:
    return replace(said("assistant", *parts), raw=b"{}", dialect="openai_chat")


@pytest.mark.parametrize("id", ["call_0", ""])
def test_an_openai_message_keeps_an_id_that_an_earlier_step_used(id: str) -> None:
    history = [of_openai(call(id)), said("tool", result(id, "1")), of_openai(call(id, arguments="[2]"))]
    messages = numbered([*history, said("tool", result(id, "2"))])
    shown = repair(messages)
    assert all(a is b for a, b in zip(shown, messages, strict=True))
    assert problems(shown) == []
    twins = [of_openai(call(id), call(id)), said("tool", result(id, "1")), said("tool", result(id, "2"))]
    assert repaired(*twins) == [
        f"assistant call:{id} call:{id}_2",
        f"tool result:{id}=1",
        f"tool result:{id}_2=2",
    ]
    assert problems(numbered(twins)) == [
        f"call id {id!r} is used 2 times",
        f"call {id!r} of messages[0] has 2 results directly after it, not one",
    ]


def test_a_poll_repeated_after_its_answer_is_a_new_call_and_not_a_repetition() -> None:
    poll = said("assistant", call("0", arguments='"git status"'))
    states = [said("tool", result("0", "dirty")), said("tool", result("0", "clean"))]
    assert repaired(poll, states[0], poll, states[1])[-1] == "tool result:0_2=clean"


def test_a_renamed_call_takes_no_id_that_exists_and_loses_its_old_bytes() -> None:
    old = ToolCall(id="0", name="bash", raw=b'{"id":"0"}')
    steps = [
        said("assistant", old, call("0_2")),
        said("assistant", "again", old),
        ASK,
        said("tool", result("0_2")),
    ]
    fixed = repair(numbered(steps))
    assert [c.id for m in fixed for c in m.calls] == ["0", "0_2", "0_3"]
    assert fixed[1].calls[0].raw is None
    assert fixed[1].changed
    assert "tool result:0_2=done" in shown(fixed)


def test_an_early_result_follows_its_call_into_another_id() -> None:
    taken = [said("assistant", call("0"), call("0", arguments="[]"), call("0_2")), ASK]
    assert [c.id for c in repair(numbered(taken))[0].calls] == ["0", "0_2", "0_2_2"]
    early = [said("tool", result("0_2", "early")), *taken]
    assert repaired(*early)[1:4] == [
        f"tool result:0={NO_RESPONSE}",
        f"tool result:0_2={NO_RESPONSE}",
        "tool result:0_2_2=early",
    ]


def test_empty_messages_stay_out() -> None:
    blanks = [said("user"), said("user", " \n"), said("assistant", "", Reasoning()), said("system", "")]
    assert repaired(*blanks, said("tool"), said("tool", "no result")) == []
    assert repaired(
        said("assistant", Opaque(kind="x", raw=b"{}")), said("assistant", Reasoning(raw=b"{}")), ANSWER
    ) == [
        "assistant Opaque",
        "assistant Reasoning",
        "assistant 'there are two'",
    ]


def test_results_among_words_come_first_and_in_one_message_if_they_complete_the_step() -> None:
    step = said("assistant", call("a"), call("b"))
    assert repaired(step, said("user", "well", result("a"), result("b"))) == [
        "assistant call:a call:b",
        "user result:a=done result:b=done 'well'",
    ]
    assert repaired(step, said("user", result("a"), "well"), said("user", result("b"))) == [
        "assistant call:a call:b",
        "user result:a=done",
        "user result:b=done",
        "user 'well'",
    ]


def test_blank_text_beside_results_is_no_word() -> None:
    step = [
        said("assistant", call("a"), call("b")),
        said("user", "", result("a")),
        said("user", result("b"), " "),
    ]
    history = numbered(step)
    assert problems(history) == []
    assert repair(history) == history
    assert repaired(*step, closed=True)[-1] == f"assistant {UNDERSTOOD!r}"


def test_what_a_tool_message_holds_besides_its_result_stays_with_it() -> None:
    history = numbered(
        [
            said("assistant", call("a"), call("b")),
            said("tool", result("a"), Opaque(kind="x", raw=b"{}")),
            said("tool", result("b")),
        ]
    )
    assert repair(history) == history
    assert problems(history) == []


def test_consecutive_assistant_messages_with_calls_are_one_step() -> None:
    items = [
        said("assistant", Reasoning(raw=b"{}")),
        said("assistant", call("a")),
        said("assistant", call("b")),
    ]
    history = numbered([*items, said("tool", result("b")), said("tool", result("a")), ANSWER])
    assert problems(history) == []
    assert repair(history) == history


def test_words_of_the_model_between_a_call_and_its_result_do_not_break_the_pair() -> None:
    history = [said("assistant", call("a")), ANSWER, said("tool", result("a"))]
    assert problems(numbered(history)) == []
    assert repaired(*history) == ["assistant call:a", "assistant 'there are two'", "tool result:a=done"]
    halfway = [
        said("assistant", call("a"), call("b")),
        said("tool", result("a")),
        ANSWER,
        said("tool", result("b")),
    ]
    assert repaired(*halfway) == [
        "assistant call:a call:b",
        "tool result:a=done",
        "tool result:b=done",
        "assistant 'there are two'",
    ]


def test_a_system_note_between_call_and_result_comes_after_them() -> None:
    assert repaired(said("assistant", call("a")), said("system", "note"), said("tool", result("a"))) == [
        "assistant call:a",
        "tool result:a=done",
        "system 'note'",
    ]


def test_a_push_that_adds_and_revises_reports_the_first_of_both() -> None:
    repairer = Repairer()
    repairer.push(said("assistant", call("a"), call("b")))
    assert repairer.push(said("system", "note", result("b"))) == 1
    assert shown(repairer.messages)[1:] == [
        f"tool result:a={NO_RESPONSE}",
        "tool result:b=done",
        "system 'note'",
    ]


def test_reasoning_travels_with_what_it_led_to_or_not_at_all() -> None:
    thought = said("assistant", Reasoning(text="hm", raw=b"{}"))
    assert repaired(
        said("assistant", call("a")), thought, said("tool", result("a")), said("system", "n"), ANSWER
    ) == [
        "assistant call:a",
        "tool result:a=done",
        "system 'n'",
        "assistant Reasoning",
        "assistant 'there are two'",
    ]
    assert repaired(ASK, thought, ASK, ANSWER) == [
        "user 'list the files'",
        "user 'list the files'",
        "assistant 'there are two'",
    ]
    assert repaired(ASK, thought) == ["user 'list the files'"]


def test_only_the_model_calls_and_neither_it_nor_the_system_answers() -> None:
    assert repaired(
        said("user", "hi", call("a")), said("user", call("b")), said("tool", call("c"), result("d"))
    ) == ["user 'hi'"]
    assert repaired(said("assistant", "doing", call("a"), result("a")), said("assistant", call("b"))) == [
        "assistant 'doing' call:a",
        "tool result:a=done",
        "assistant call:b",
        f"tool result:b={NO_RESPONSE}",
    ]
    assert repaired(said("assistant", call("a")), said("system", result("a"), "note")) == [
        "assistant call:a",
        "tool result:a=done",
        "system 'note'",
    ]
    assert repaired(said("assistant", call("a")), said("system", result("a"))) == [
        "assistant call:a",
        "tool result:a=done",
    ]


@given(st.integers(0, 60))
def test_pushing_costs_the_same_however_long_the_history_is(length: int) -> None:
    repairer = Repairer()
    held = repairer.messages
    for position, message in enumerate(talk(length)):
        assert repairer.push(message) == position
    assert repairer.messages is held


@pytest.mark.parametrize(
    ("history", "sentences"),
    [
        ([said("user", " ")], ["messages[0] (user) is empty"]),
        ([said("tool", "words")], ["messages[0] (tool) holds no tool result"]),
        (
            [said("user", "hi", call("a"))],
            ["messages[0] (user) calls a tool, which only the model does"],
        ),
        (
            [said("assistant", call("a"), result("a")), said("tool", result("a"))],
            ["messages[0] (assistant) holds a tool result"],
        ),
        (
            [said("assistant", call("a")), said("user", "hi", result("a"))],
            ["messages[1] (user) holds words before a tool result"],
        ),
        (
            [said("assistant", call("a")), said("tool", result("a"))] * 2,
            ["call id 'a' is used 2 times"],
        ),
        (
            [said("assistant", call("a")), ASK],
            ["call 'a' of messages[0] has 0 results directly after it, not one"],
        ),
        (
            [said("assistant", call("a")), said("tool", result("a")), said("tool", result("a"))],
            ["call 'a' of messages[0] has 2 results directly after it, not one"],
        ),
        (
            [ASK, said("tool", result("a"))],
            ["the result of 'a' in messages[1] has no call directly before it"],
        ),
        (
            [said("assistant", call("a"), call("b")), said("user", result("a"), "x"), said("user", result("b"))],
            ["messages[1] holds words between the results of one step"],
        ),
        (
            [said("assistant", Reasoning(text="hm")), ASK],
            ["messages[0] is reasoning without what it led to"],
        ),
    ],
)  # fmt: skip
def test_the_checker_names_each_problem(history: list[Message], sentences: list[str]) -> None:
    assert problems(history) == sentences


def test_results_of_calls_with_one_id_are_told_apart_by_their_order() -> None:
    twins = said("assistant", call("", arguments="[1]"), call("", arguments="[2]"))
    assert repaired(twins, said("tool", result("", "one")), said("tool", result("", "two"))) == [
        "assistant call: call:_2",
        "tool result:=one",
        "tool result:_2=two",
    ]
