from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from autocompact.compaction.goal import Goal
from autocompact.compaction.transcript import Transcript
from autocompact.core.messages import Message, Reasoning, Text, ToolCall, ToolResult, text_message
from autocompact.core.redacted import Redactor
from autocompact.core.strides import LINE
from autocompact.ledger.extraction import read_in_stretches
from autocompact.ledger.passages import sentences
from autocompact.ledger.scan import scan
from autocompact.ledger.stretches import FINDINGS_LAST, READ, readable, stretches
from tests.compaction.offline import climb_offline
from tests.core.strategies import LengthCounter

SHORT, CALL = Text(text="and that was it"), ToolCall(id="c", name="Read")
ROLES = st.sampled_from(["user", "assistant"])


@given(st.lists(st.tuples(ROLES, st.integers(1, 40)), max_size=60), st.integers(1, 100))
def test_stretches_make_up_the_log_and_all_but_the_first_are_long_enough(
    said: list[tuple[str, int]], least: int
) -> None:
    messages = [text_message(n, "user" if role == "user" else "assistant", "x" * size) for n, (role, size) in enumerate(said, 1)]  # fmt: skip
    found = stretches(messages, tokens=lambda message: len(message.text), least=least)
    assert [message for stretch in found for message in stretch] == messages
    for stretch in found[1:]:
        size = sum(len(message.text) for message in stretch)
        assert size >= least
        assert stretch[0].is_request or 2 * size >= 3 * least


def test_a_short_log_is_one_stretch() -> None:
    messages = [text_message(1, "user", "hello"), text_message(2, "user", "again")]
    assert stretches(messages, tokens=lambda _: 10) == [messages]
    assert stretches([], tokens=lambda _: 10) == [[]]


def test_of_a_message_of_megabytes_the_two_ends_are_read() -> None:
    middle = "nobody reads src/middle.py\n" * 40_000
    text = f"first: src/first.py\n{middle}last: src/last.py"
    read = readable(Message(seq=1, role="user", parts=(Text(text=text), SHORT, CALL)))
    assert len(read.text) <= 2 * READ + 20
    assert read.text.startswith("first: src/first.py\nnobody")
    assert read.text.endswith("src/middle.py\nlast: src/last.py\nand that was it")
    assert set(read.text.split()) == {*text.split(), *SHORT.text.split()}  # no word is parted
    solid = ToolResult(call_id="c", text="ab" * (2 * READ))
    (cut,) = readable(Message(seq=1, role="tool", parts=(solid,))).parts
    assert isinstance(cut, ToolResult)
    assert cut.text.replace("\n", "") == "ab" * READ
    whole = text_message(1, "user", "x" * (2 * READ))
    assert readable(whole) is whole


def test_a_reading_without_names_says_what_was_said_and_done() -> None:
    messages = [
        text_message(1, "user", "Change src/a.py"),
        text_message(2, "assistant", "I change load_state()."),
    ]
    with_names, without = scan(messages), scan(messages, with_names=False)
    assert with_names.said == without.said
    assert with_names.sightings.by_name
    assert not without.sightings.by_name


@pytest.mark.uncovered
def test_a_log_of_many_stretches_keeps_rules_the_last_request_and_what_is_open() -> None:
    """A first compaction of a log that is as long as many contexts."""
    rule, last = "Never push without my approval.", "Now rename the module."
    failing = ToolCall(id="t", name="Bash", arguments='{"command":"pytest tests/test_tax.py"}')
    said: list[Message] = [
        text_message(1, "user", rule),
        Message(seq=2, role="assistant", parts=(failing,)),
        Message(seq=3, role="tool", parts=(ToolResult(call_id="t", text="Exit code 1\nE   AssertionError: 3 != 4\n1 failed", is_error=True),)),
    ]  # fmt: skip
    for number in range(40):
        said.append(text_message(len(said) + 1, "user", f"Please look at item {number}. " + "word " * 8_000))
        said.append(text_message(len(said) + 1, "assistant", f"Item {number} is right."))
    said.append(text_message(len(said) + 1, "user", last))
    log = Transcript(said, counter=LengthCounter())
    goal = Goal(
        limit=160_000, target=80_000, summary_tokens=16_000, tail_tokens=1_000, first_rung="summarise"
    )
    record = climb_offline(log, goal)
    assert record is not None

    assert rule in {entry.text for entry in record.ledger.entries if entry.kind == "rule"}
    assert any("AssertionError: 3 != 4" in entry.text for entry in record.ledger.entries)
    assert sum(len(entry.text) for entry in record.ledger.entries) < sum(len(m.text) for m in said) / 2


def test_findings_of_the_last_stretches_are_told_and_changes_of_all() -> None:
    said: list[Message] = []
    for number in range(12):
        edit = ToolCall(id=f"c{number}", name="Write", arguments=f'{{"file_path":"src/part{number}.py","content":"x = {number}"}}')  # fmt: skip
        cause = f"The totals of `part{number}.py` were wrong because `round_{number}()` cut each line."
        turn = (
            text_message(0, "user", f"Please mend part {number}. " + "word " * 500),
            Message(seq=0, role="assistant", parts=(Text(text=cause), edit)),
            Message(seq=0, role="tool", parts=(ToolResult(call_id=edit.id, text="written"),)),
            text_message(0, "assistant", f"Part {number} is mended."),
        )
        said += [replace(message, seq=len(said) + place) for place, message in enumerate(turn, 1)]
    ledger = read_in_stretches(
        said,
        previous=None,
        tokens=lambda message: len(message.text),
        least=2_000,
        redactor=Redactor(),
        passing=Redactor,
    ).ledger()

    told = {(entry.seq - 1) // 4 for entry in ledger.entries if entry.kind == "finding"}
    changed = {entry.key for entry in ledger.entries if entry.kind == "change"}
    assert told == set(range(11 - FINDINGS_LAST, 12))
    assert changed == {f"src/part{number}.py" for number in range(12)}


@pytest.mark.uncovered
@pytest.mark.requirement("E1")
@pytest.mark.parametrize("text", ["so, and (we " * 15_000, "(" * 180_000, "我住在这里，" * 30_000])
def test_no_line_or_sentence_is_longer_than_one_search_of_an_expression_may_take(text: str) -> None:
    """One line of 400,000 characters held up all other threads for half a second, within a single search."""
    call, result = ToolCall(id="c", name="Read"), ToolResult(call_id="c", text=text)
    messages = [
        text_message(1, "user", text),
        Message(seq=2, role="assistant", parts=(Reasoning(text=text), Text(text=text), call)),
        Message(seq=3, role="tool", parts=(result,)),
    ]
    found = scan(messages)
    texts = [
        *(words.text for words in found.said),
        *(words.text for words in found.spoken),
        found.calls[0].output,
    ]
    assert len(texts) == 5
    assert max(len(line) for read in texts for line in read.split("\n")) <= LINE
    assert max(map(len, sentences(text))) <= LINE
    assert {"".join(read.split()) for read in texts} == {"".join(text.split())}
