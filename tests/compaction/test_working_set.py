"""The working set in a context: the latest version of files beside the summary, within a budget of their own."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from autocompact.compaction.goal import Goal
from autocompact.compaction.record import Compaction
from autocompact.compaction.repair import problems
from autocompact.compaction.transcript import Transcript, view
from autocompact.compaction.working_set import EXCERPT_TOKENS, with_working_set
from autocompact.core.messages import Message, ToolCall
from autocompact.core.redacted import Redactor
from autocompact.core.tokens import Cost
from autocompact.errors import IncompressibleContext
from tests.compaction.offline import climb_offline
from tests.compaction.test_ladder import COUNTER, log_of, work
from tests.core.strategies import call, numbered, result, said

GOAL = Goal(limit=100_000, target=6_000, summary_tokens=800, tail_tokens=400, first_rung="summarise")
WITH = replace(GOAL, working_set_tokens=2_000)
LARGE = replace(GOAL, target=9_000, working_set_tokens=5_000)
KEY = "AKIA" + "IOSFODNN7EXAMPL3"


def tool(id: str, name: str, **arguments: str) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=json.dumps(arguments))


def text(path: str, *, lines: int = 8) -> str:
    return "\n".join(f"{path} line {n}: the total of item {n} is rounded to cents" for n in range(lines))


def session(*, lines: int = 8, later: int = 14) -> list[Message]:
    """A file is read beside another one and edited; then others are read, and the agent speaks of the first."""
    messages = [
        said("system", "You are careful."),
        said("user", "Please mend tax.py."),
        *(
            message
            for n in range(2)
            for message in (
                said("assistant", call(f"before{n}", "Read", '{"file_path":"/srv/tax.py"}')),
                said("tool", result(f"before{n}", text("tax", lines=lines))),
            )
        ),
        said(
            "assistant",
            call("a", "Read", '{"file_path":"/srv/tax.py"}'),
            call("b", "Read", '{"file_path":"/srv/log.py"}'),
        ),
        said("tool", result("a", text("tax", lines=lines))),
        said("tool", result("b", text("log", lines=40))),
        said(
            "assistant",
            tool("e", "Edit", file_path="/srv/tax.py", old_string="item 2", new_string="item two"),
        ),
        said("tool", result("e", "The file was updated.")),
    ]
    for n in range(later):
        messages += [
            said("assistant", call(f"c{n}", "Read", f'{{"file_path":"/srv/other{n}.py"}}')),
            said("tool", result(f"c{n}", text(f"other{n}", lines=30))),
        ]
    messages += [
        said("assistant", "Next I change tax.py once more, where item 6 is rounded."),
        said("user", "Go on."),
    ]
    return numbered(messages)


def compacted(messages: list[Message], goal: Goal) -> tuple[Transcript, Compaction]:
    log = log_of(messages)
    record = climb_offline(log, goal)
    assert record is not None
    return log, record


def told(log: Transcript, record: Compaction) -> str:
    return "\n".join(part.text for message in view(log, record).messages for part in message.results)


def test_without_a_budget_nothing_stays() -> None:
    log, record = compacted(session(), GOAL)
    assert "tax line 3" not in told(log, record)


def test_the_latest_version_of_a_file_that_the_agent_speaks_of_stays_word_for_word() -> None:
    messages = session()
    log, record = compacted(messages, WITH)
    shown = view(log, record).messages
    assert {7, 8, 9, 10, 11} <= set(record.keep)
    by_seq = {message.seq: message for message in shown}
    assert by_seq[8] == messages[7]
    assert by_seq[10] == messages[9]
    assert "[left the context" in by_seq[9].results[0].text  # read in the same step, needed by nobody
    assert problems(list(shown)) == []
    bare = compacted(messages, GOAL)[1]
    assert bare.receipt.tokens_after < record.receipt.tokens_after <= bare.receipt.tokens_after + 2_000
    assert record.receipt.tokens_after == view(log, record).cost.tokens


def test_of_a_large_reading_an_excerpt_stays_around_what_the_agent_speaks_of() -> None:
    log, record = compacted(session(lines=300), LARGE)
    shown = next(message for message in view(log, record).messages if message.seq == 8).results[0].text
    assert "item 6 is rounded" in shown
    assert 'memory_expand("m8") shows all of it]' in shown
    assert COUNTER.count(shown) <= EXCERPT_TOKENS + 10
    lines = set(text("tax", lines=300).splitlines())
    assert {line for line in shown.splitlines() if line.startswith("tax line")} <= lines


def test_a_compaction_after_another_keeps_a_file_that_is_still_needed() -> None:
    messages = session()
    log, first = compacted(messages, WITH)
    more = [
        said("assistant", "I read on, then I change tax.py."),
        *(
            message
            for n in range(12)
            for message in (
                said("assistant", call(f"d{n}", "Read", f'{{"file_path":"/srv/more{n}.py"}}')),
                said("tool", result(f"d{n}", text(f"more{n}", lines=30))),
            )
        ),
        said("assistant", "Now I change tax.py again."),
        said("user", "Go on."),
    ]
    log = log_of(numbered([*messages, *more]))
    second = climb_offline(log, replace(WITH, working_set_tokens=4_000), active=first)
    assert second is not None
    assert second.through_seq > first.through_seq
    assert 8 in second.keep
    assert "tax line 3" in told(log, second)
    assert problems(list(view(log, second).messages)) == []


def test_secrets_in_an_excerpt_are_hidden_as_in_every_record() -> None:
    messages = session(lines=300)
    messages[7] = structs.replace(
        messages[7], parts=(result("a", f"item 6 is rounded with key {KEY}\n" + text("tax", lines=300)),)
    )
    _, record = compacted(messages, LARGE)
    (excerpt,) = [mask for mask in record.masks if mask.seq == 8]
    assert KEY not in excerpt.stub


def test_what_comes_after_the_summary_anyway_or_is_pinned_is_not_kept_twice() -> None:
    log, record = compacted(session(), replace(WITH, pins=frozenset({8}), tail_tokens=1_500))
    assert sorted(set(record.keep)) == list(record.keep)
    assert all(mask.seq != 8 for mask in record.masks)
    assert problems(list(view(log, record).messages)) == []


def test_a_file_that_does_not_fit_the_budget_makes_way_for_the_next() -> None:
    bare = compacted(session(), GOAL)[1]
    _, record = compacted(session(), replace(WITH, working_set_tokens=20))
    assert record == bare


@pytest.mark.parametrize("tight", [{"max_bytes": 1}, {"target": 0}])
def test_a_record_stays_as_it_is_where_the_request_would_become_too_large(tight: dict[str, int]) -> None:
    log, record = compacted(session(), GOAL)
    goal = replace(WITH, **tight)
    made = with_working_set(
        record, log, goal=goal, active=None, before=Cost(tokens=50_000), redactor=Redactor()
    )
    assert made is record


def test_a_context_does_not_become_larger_than_it_was() -> None:
    log, record = compacted(session(), GOAL)
    before = Cost(tokens=record.receipt.tokens_after + 10)
    made = with_working_set(record, log, goal=WITH, active=None, before=before, redactor=Redactor())
    assert made is record


def test_calls_that_stand_in_the_text_stay_with_their_outcome() -> None:
    turns = [said("system", "Use <tool> tags."), said("user", "Please mend tax.py.")]
    for n in range(20):
        turns += [
            said("assistant", f"I look.\n\n```bash\ncat src/part{n % 15}.py\n```"),
            said("user", text(f"part{n}", lines=30)),
        ]
    turns += [said("assistant", "Next I change part3.py."), said("user", "Go on.")]
    log, record = compacted(numbered(turns), WITH)
    assert problems(list(view(log, record).messages)) == []
    assert record.receipt.tokens_after <= WITH.target


@given(st.integers(1, 120), st.integers(0, 14), st.integers(0, 6_000), st.integers(300, 8_000))
def test_with_a_working_set_every_context_keeps_the_invariants(
    lines: int, later: int, budget: int, target: int
) -> None:
    messages = session(lines=lines, later=later)
    log = log_of(messages)
    goal = replace(GOAL, limit=target + 500, target=target, working_set_tokens=budget)
    try:
        record, again = climb_offline(log, goal), climb_offline(log_of(messages), goal)
    except IncompressibleContext:
        return
    assert record == again
    if record is None:
        return
    context = view(log, record)
    assert problems(list(context.messages)) == []
    assert context.cost.tokens == record.receipt.tokens_after <= goal.limit
    assert record.receipt.tokens_after < record.receipt.tokens_before
    assert context.messages[-1] == messages[-1]
    stays = {message.seq: message for message in context.messages if message.seq and not message.changed}
    assert all(message == log[seq] for seq, message in stays.items())


def test_the_work_of_the_ladder_goes_on_with_a_working_set() -> None:
    log = log_of(work(30))
    record = climb_offline(log, replace(WITH, target=8_000))
    assert record is not None
    kept = [log[seq] for seq in record.keep]
    assert any(message.results for message in kept)
