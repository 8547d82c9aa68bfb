"""Tool calls on the page, as values: each result with the call that it answers, whatever their ids are."""

from __future__ import annotations

import pytest

from autocompact.chat.events import ToolFinished
from autocompact.chat.views import Entry, RunningCall
from autocompact.core.messages import Message, Text, ToolCall, ToolResult, text_message
from autocompact.ui.web.calls import LogPlace, ShownCalls


def calls(seq: int, *arguments: str, id: str) -> Entry:
    parts = tuple(ToolCall(id=id, name="look", arguments=each) for each in arguments)
    return Entry(message=Message(seq=seq, role="assistant", parts=(Text(text="I look."), *parts)))


def result(seq: int, text: str, *, id: str) -> Entry:
    return Entry(message=Message(seq=seq, role="tool", parts=(ToolResult(call_id=id, text=text),)))


def says(seq: int, text: str) -> Entry:
    return Entry(message=text_message(seq, "user", text))


@pytest.mark.parametrize("id", ["call_0", ""])
def test_results_belong_to_the_calls_of_their_own_turn(id: str) -> None:
    entries = [
        says(1, "One?"),
        calls(2, "a", "b", id=id),
        result(3, "of a", id=id),
        result(4, "of b", id=id),
        says(5, "Two?"),
        calls(6, "c", id=id),
    ]
    shown = ShownCalls(entries)
    assert [(call.arguments, call.result) for call in shown.known.values()] == [
        ("a", "of a"),
        ("b", "of b"),
        ("c", ""),
    ]
    answer = result(7, "of c", id=id)
    assert not shown.answers(answer)
    assert shown.push(answer) == [LogPlace(6, 1)]
    assert shown.answers(answer)
    assert [call.result for call in shown.known.values()] == ["of a", "of b", "of c"]


def test_what_runs_is_a_call_of_the_last_answer() -> None:
    shown = ShownCalls([calls(1, "a", id="x"), says(2, "Go on."), calls(3, "b", "c", id="x")])
    ended = ToolFinished(
        conversation_id="c", call_id="x", name="look", text="of b", is_error=False, seconds=1.0
    )
    assert shown.finished(ended) == [LogPlace(3, 1)]
    running = RunningCall(id="x", name="look", arguments="c")
    assert shown.running([running]) == []
    done = RunningCall(id="x", name="look", arguments="c", result="of c", is_error=True, seconds=2.0)
    assert shown.running([done]) == [LogPlace(3, 2)]
    assert shown.finished(ended) == []
    assert [(call.result, call.done) for call in shown.known.values()] == [
        ("", False),
        ("of b", True),
        ("of c", True),
    ]
    assert not shown.answers(result(9, "of nothing", id="y"))


def test_of_parallel_calls_with_one_id_the_one_at_its_place_has_ended() -> None:
    shown = ShownCalls([calls(1, "a", "b", id="x")])
    ended = ToolFinished(
        conversation_id="c", call_id="x", name="look", text="of b", is_error=False, seconds=1.0, index=1
    )
    assert shown.finished(ended) == [LogPlace(1, 2)]
    assert shown.finished(ended) == []
    again = RunningCall(id="x", name="look", arguments="a", result="of a", seconds=2.0, index=0)
    assert shown.running([again]) == [LogPlace(1, 1)]
    assert [(call.result, call.seconds) for call in shown.known.values()] == [("of a", 2.0), ("of b", 1.0)]
