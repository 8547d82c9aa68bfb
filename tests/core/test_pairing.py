"""Calls and results are paired by where they stand, whatever ids a provider gives them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given

from autocompact.compaction.repair import NO_RESPONSE, repair
from autocompact.core.messages import Message, Reasoning, ToolCall, ToolResult
from autocompact.core.pairing import Place, answered_calls, pairs
from tests.core.strategies import call, histories, id_histories, numbered, result, said

ASK = said("user", "go on")


def named(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """The arguments of each call with the text of its result."""
    found: list[tuple[str, str]] = []
    for pair in pairs(messages):
        one = messages[pair.call.message].parts[pair.call.part]
        other = messages[pair.result.message].parts[pair.result.part]
        assert isinstance(one, ToolCall)
        assert isinstance(other, ToolResult)
        found.append((one.arguments, other.text))
    return found


def asked(*arguments: str, id: str = "call_0") -> Message:
    return said("assistant", *(call(id, arguments=each) for each in arguments))


def got(*texts: str, id: str = "call_0") -> Message:
    return said("tool", *(result(id, text) for text in texts))


@pytest.mark.parametrize("id", ["call_0", ""])
@pytest.mark.parametrize(
    ("history", "expected"),
    [
        (["?1", "!1", "?2", "!2"], [("1", "1"), ("2", "2")]),
        (["?1 2", "!1", "!2"], [("1", "1"), ("2", "2")]),
        (["?1 2", "!1 2"], [("1", "1"), ("2", "2")]),
        (["?1", "?2", "!1", "!2"], [("1", "1"), ("2", "2")]),
        (["?1", "", "?2", "", "!2"], [("2", "2")]),
        (["?1", "", "?2", "", "!2", "!1"], [("2", "2"), ("1", "1")]),
        (["?1", "", "!1", "?2", "!2", "!3"], [("1", "1"), ("2", "2")]),
        (["!0", "?1", "", "?2", "!2"], [("1", "0"), ("2", "2")]),
    ],
)
def test_a_result_answers_the_nearest_call_of_its_id_that_has_none(
    id: str, history: list[str], expected: list[tuple[str, str]]
) -> None:
    messages = [
        asked(*line[1:].split(), id=id) if line[:1] == "?" else got(*line[1:].split(), id=id) if line else ASK
        for line in history
    ]
    assert named(messages) == expected


def test_what_repair_leaves_out_has_no_pair() -> None:
    twice = said("assistant", call("a"))
    assert named([twice, twice, got("1", id="a"), got("2", id="a")]) == [("{}", "1")]
    assert named([said("user", call("a")), got("1", id="a")]) == []
    assert named([said("assistant", "  "), ASK, got("1", id="a")]) == []


def test_words_among_results_and_notes_end_a_step_and_thoughts_do_not() -> None:
    thinks = said("assistant", Reasoning(text="hm"))
    assert named([asked("1"), thinks, asked("2"), got("1", "2")]) == [("1", "1"), ("2", "2")]
    with_words = said("user", result("call_0", "1"), "now that")
    assert named([asked("1", "3"), with_words, asked("2"), got("2"), got("3")]) == [
        ("1", "1"),
        ("2", "2"),
        ("3", "3"),
    ]
    noted = said("system", "a note", result("call_0", "1"))
    assert named([asked("1"), noted]) == [("1", "1")]
    assert named([asked("1"), said("system", result("call_0", "1"))]) == [("1", "1")]


@given(histories() | id_histories())
def test_the_pairs_are_those_of_the_repaired_history(messages: list[Message]) -> None:
    shown = repair(messages)
    in_context = {
        (shown[pair.call.message].seq, place_of(shown, pair.call)): (
            shown[pair.result.message].seq,
            place_of(shown, pair.result),
        )
        for pair in pairs(shown)
        if shown[pair.result.message].seq
    }
    in_log = {
        (messages[pair.call.message].seq, pair.call.part): (
            messages[pair.result.message].seq,
            pair.result.part,
        )
        for pair in pairs(messages)
    }
    # a result directly after its call wins over one that came before it: both were paired, the later one is shown
    assert in_context.items() <= in_log.items()
    for call_place in in_log.keys() - in_context.keys():
        shown_calls = {
            (m.seq, m.place_of(i)) for m in shown for i, p in enumerate(m.parts) if isinstance(p, ToolCall)
        }
        assert call_place not in shown_calls


def place_of(shown: Sequence[Message], place: Place) -> int:
    return shown[place.message].place_of(place.part)


@given(id_histories())
def test_every_part_of_a_repaired_history_knows_its_place_in_the_log(messages: list[Message]) -> None:
    for message in repair(messages):
        if not message.seq:
            assert all(part == ToolResult(call_id=part.call_id, text=NO_RESPONSE) for part in message.results)
            continue
        for index, part in enumerate(message.parts):
            source = messages[message.seq - 1].parts[message.place_of(index)]
            match part, source:
                case ToolResult(), ToolResult():
                    assert part.text == source.text
                case ToolCall(), ToolCall():
                    assert part.arguments == source.arguments
                case _:
                    assert part == source


def test_the_call_of_a_result_is_found_by_its_place() -> None:
    messages = numbered([asked("1", "2"), got("1", "2"), got("3")])
    found = answered_calls(messages)
    assert {place: each.arguments for place, each in found.items()} == {Place(1, 0): "1", Place(1, 1): "2"}
