from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from autocompact.compaction.cuts import (
    DEFAULT,
    ParallelGroups,
    ReasoningBlocks,
    Rule,
    ToolPairs,
    Unseen,
    UserTurn,
    legal_cuts,
    tail_cut,
)
from autocompact.compaction.repair import problems
from autocompact.core.messages import Message, Reasoning, text_message
from tests.core.strategies import call, histories, numbered, result, said, talk, valid_histories

ASK = said("user", "list the files")
ANSWER = said("assistant", "there are two")
THOUGHT = said("assistant", Reasoning(text="hm", raw=b"{}"))


def cuts(rule: Rule, *messages: Message) -> list[int]:
    return sorted(rule.allowed(numbered(messages)))


@given(valid_histories())
def test_both_sides_of_a_legal_cut_are_valid_as_they_are(messages: list[Message]) -> None:
    for index in legal_cuts(messages):
        assert problems(messages[:index]) == []
        assert problems(messages[index:]) == []


@example(numbered([said("system", result("a")), said("system", call("a"))]))
@given(histories())
def test_a_legal_cut_parts_no_call_from_its_result(messages: list[Message]) -> None:
    callers = [(index, message) for index, message in enumerate(messages) if message.role == "assistant"]
    calls = [(c.id, index) for index, message in callers for c in message.calls]
    answers = [(r.call_id, index) for index, message in enumerate(messages) for r in message.results]
    for cut in legal_cuts(messages):
        for id, called in calls:
            places = [index for other, index in answers if other == id]
            if len(places) == 1 and [other for other, _ in calls].count(id) == 1:
                assert (called < cut) == (places[0] < cut)


@given(histories())
def test_cuts_ascend_and_folding_nothing_or_everything_is_always_legal(messages: list[Message]) -> None:
    found = legal_cuts(messages)
    assert list(found) == sorted(set(found))
    assert found[0] == 0
    assert found[-1] == len(messages)


@given(histories(), st.sets(st.sampled_from(DEFAULT)))
def test_a_legal_cut_is_one_that_every_rule_allows(messages: list[Message], rules: set[Rule]) -> None:
    every = set(range(len(messages) + 1))
    assert set(legal_cuts(messages, rules=rules)) == every.intersection(*(r.allowed(messages) for r in rules))
    for rule in rules:
        allowed = list(rule.allowed(messages))
        assert len(allowed) == len(every.intersection(allowed))


def test_tool_pairs_hold_calls_and_results_together_in_whichever_order() -> None:
    step = [said("assistant", call("a")), said("tool", result("a"))]
    assert cuts(ToolPairs(), ASK, *step, ASK) == [0, 1, 3, 4]
    assert cuts(ToolPairs(), step[0], ASK, step[1], ASK) == [0, 3, 4]
    assert cuts(ToolPairs(), step[1], ASK, step[0], ASK) == [0, 3, 4]


def test_a_result_given_twice_or_an_id_used_again_ties_no_more_than_its_pair() -> None:
    step = [said("assistant", call("a")), said("tool", result("a"))]
    assert cuts(ToolPairs(), *step, ASK, step[1]) == [0, 2, 3, 4]
    assert cuts(ToolPairs(), *step, ASK, *step) == [0, 2, 3, 5]
    assert cuts(ToolPairs(), said("tool", result("x")), ASK, said("tool", result("x"))) == [0, 1, 2, 3]


def test_what_the_model_has_not_seen_yet_is_not_parted_from_what_it_did_before() -> None:
    step = [said("assistant", call("a")), said("tool", result("a"))]
    assert cuts(Unseen(), ASK, *step) == [0, 1]
    assert cuts(Unseen(), ASK, *step, ASK) == [0, 1]
    assert cuts(Unseen(), ASK, *step, ANSWER, ASK) == [0, 1, 2, 3, 4, 5]
    assert cuts(Unseen()) == [0]
    assert legal_cuts(numbered([ASK, ANSWER, *step]), rules=(*DEFAULT, Unseen())) == (0, 1)


def test_notes_of_a_program_that_the_model_has_not_seen_yet_are_not_parted_from_the_request_behind_them() -> (
    None
):
    note, made = (
        said("user", "<bash-stdout>a.py</bash-stdout>"),
        text_message(0, "user", "Earlier.", synthetic=True),
    )
    assert cuts(Unseen(), ASK, ANSWER, note, note, ASK) == [0, 1, 2]
    assert cuts(Unseen(), ASK, ANSWER, ASK, note) == [0, 1, 2, 3]
    assert cuts(Unseen(), ASK, note, ANSWER, ASK) == [0, 1, 2, 3, 4]
    assert cuts(Unseen(), note, ASK, ASK) == [0, 1, 2, 3]
    assert Unseen().allowed([made, ASK]) == range(3)  # what the context says itself is no part of the log


def test_parallel_groups_hold_the_calls_of_one_run_together() -> None:
    run = [said("assistant", call("a")), ANSWER, said("assistant", call("b")), ANSWER]
    assert cuts(ParallelGroups(), ASK, *run, ASK) == [0, 1, 4, 5, 6]
    assert cuts(ParallelGroups(), run[0], ASK, run[2]) == [0, 1, 2, 3]


def test_reasoning_blocks_hold_thoughts_and_what_they_led_to_together() -> None:
    assert cuts(ReasoningBlocks(), ASK, THOUGHT, ANSWER, ASK) == [0, 1, 3, 4]
    assert cuts(ReasoningBlocks(), THOUGHT, said("tool", result("a")), ANSWER) == [0, 3]
    assert cuts(ReasoningBlocks(), THOUGHT, ASK, ANSWER) == [0, 1, 2, 3]
    ended = said("assistant", "first", Reasoning(text="then"))
    assert cuts(ReasoningBlocks(), ended, ANSWER) == [0, 2]
    assert cuts(ReasoningBlocks(), said("assistant"), ANSWER) == [0, 1, 2]


def test_a_turn_begins_with_a_request_and_a_split_one_also_with_each_step() -> None:
    step = [THOUGHT, said("assistant", call("a")), said("tool", result("a"))]
    note = text_message(0, "user", "hook", synthetic=True)
    history = [said("system", "be brief"), ASK, *step, *step, note, ANSWER, ASK]
    assert cuts(UserTurn(), *history) == [0, 1, 10, 11]
    assert cuts(UserTurn(split=True), *history) == [0, 1, 2, 5, 8, 9, 10, 11]


@given(histories(), st.integers(0, 60), st.booleans(), st.data())
def test_the_tail_is_the_largest_that_fits(
    messages: list[Message], tail_tokens: int, prefer: bool, data: st.DataObject
) -> None:
    tokens = data.draw(st.lists(st.integers(0, 20), min_size=len(messages), max_size=len(messages)))
    index = tail_cut(messages, tokens, tail_tokens=tail_tokens, prefer_user_turn=prefer)
    fitting = [i for i in legal_cuts(messages) if sum(tokens[i:]) <= tail_tokens]
    assert index in fitting
    if tail_tokens == 0:
        assert index == len(messages)
    elif not prefer:
        assert index == fitting[0]
    else:
        assert index in (fitting[0], len(messages)) or messages[index].is_request
        assert 2 * sum(tokens[index:]) >= sum(tokens[fitting[0] :])


@pytest.mark.parametrize(
    ("tail_tokens", "prefer", "index"),
    [
        (120, True, 0),
        (100, True, 4),
        (0, True, 12),
        (9, True, 12),
        (70, False, 5),
        (70, True, 8),
        (75, True, 8),
        (80, True, 4),
        (30, True, 9),
    ],
)
def test_the_tail_begins_with_a_request_if_that_leaves_half_of_it(
    tail_tokens: int, *, prefer: bool, index: int
) -> None:
    assert tail_cut(talk(12), [10] * 12, tail_tokens=tail_tokens, prefer_user_turn=prefer) == index


def test_a_turn_that_is_too_long_is_split_at_its_steps() -> None:
    steps = [m for n in range(10) for m in (said("assistant", call(f"c{n}")), said("tool", result(f"c{n}")))]
    assert tail_cut(numbered([ASK, *steps]), [10] * 21, tail_tokens=55) == 17


def test_with_no_cut_late_enough_the_tail_is_the_smallest_there_is() -> None:
    cuts = [cut for cut in legal_cuts(talk(12)) if cut < 5]
    assert tail_cut(talk(12), [10] * 12, tail_tokens=20, cuts=cuts) == 4
    assert tail_cut(talk(12), [10] * 12, tail_tokens=0, cuts=cuts) == 4
