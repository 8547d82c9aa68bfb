"""What a recording tells of its provider's tokens, and what it read and needed again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from msgspec import structs

from autocompact.core.messages import Message, Usage
from autocompact.sessions.session import Skipped
from autocompact.what_if.course import (
    NEXT_CALLS,
    ReadOnce,
    Remembering,
    course_of,
    requests,
    usage_notes,
)
from tests.core.strategies import call, numbered, result, said
from tests.what_if.recordings import COUNTER, course, made, reported, session, work


@pytest.mark.requirement("E10")
@pytest.mark.parametrize(("fixed", "factor"), [(12_000, 1.25), (900, 0.7), (0, 1.0)])
def test_fixed_tokens_and_the_factor_are_fitted_to_what_was_reported(fixed: int, factor: float) -> None:
    found = course(reported(work(20, words=400), fixed=fixed, factor=factor), fixed=None)
    assert found.usage.factor == pytest.approx(factor, rel=0.01)
    assert found.usage.fixed == pytest.approx(fixed, abs=60)
    assert found.usage.notes == ()


def test_without_usage_the_factor_is_that_of_the_models_family() -> None:
    found = course(work(3), fixed=None)
    assert (found.usage.fixed, found.usage.factor) == (0, 1.2)
    assert "no usage is recorded" in found.usage.notes[0]


def test_a_file_that_begins_in_the_midst_tells_nothing_of_what_is_fixed() -> None:
    found = course(reported(work(20), fixed=150_000), fixed=None)
    assert found.usage.fixed == 0
    assert "begins in the midst" in found.usage.notes[0]


def test_what_the_caller_knows_goes_before_the_recording() -> None:
    assert course(reported(work(20), fixed=12_000), fixed=3_000).usage.fixed == 3_000


def test_reports_after_the_first_compaction_belong_to_another_context() -> None:
    recorded = reported(work(20, words=400), fixed=1_000)
    late = [
        structs.replace(message, usage=Usage(prompt=9, completion=1))
        if message.usage and message.seq > 40
        else message
        for message in recorded.messages
    ]
    cut = replace(recorded, messages=tuple(late), compactions=(made(40),))
    assert course(cut, fixed=None).usage.fixed == pytest.approx(1_000, abs=60)


def test_each_reply_is_one_request_sent_at_the_time_of_the_message_before() -> None:
    log = numbered(
        [
            said("assistant", "Hello."),
            structs.replace(said("user", "Hi."), time="2026-03-01T10:00:00Z"),
            said("assistant", "One."),
            said("assistant", "Two."),
            structs.replace(said("user", "And?"), time="2026-03-01T09:00:00Z"),
            said("assistant", "Three."),
        ]
    )
    ten = datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert list(requests(log)) == [(2, ten), (5, ten)]


def test_a_reply_has_the_tokens_that_were_reported_unless_its_text_has_more() -> None:
    log = numbered(
        [said("user", "Hi."), said("assistant", "word " * 200), said("user", "Go."), said("assistant", "Ok.")]
    )
    log[1], log[3] = (structs.replace(log[place], usage=Usage(prompt=10, completion=50)) for place in (1, 3))
    first, second = course(session(log)).requests
    assert first.output > 150
    assert second.output == 50


def test_files_that_are_read_again_are_found_unless_they_were_edited_between() -> None:
    def read(id: str, path: str = "/srv/pump/a.py") -> list[Message]:
        return [
            said("assistant", call(id, "Read", f'{{"file_path": "{path}"}}')),
            said("tool", result(id, "x = 1\n" * 30)),
        ]

    edit = [
        said(
            "assistant",
            call("e", "Edit", '{"file_path": "/srv/pump/a.py", "old_string": "1", "new_string": "2"}'),
        ),
        said("tool", result("e")),
    ]
    failed = [
        said("assistant", call("f", "Read", '{"file_path": "/srv/pump/a.py"}')),
        said("tool", result("f", "no", is_error=True)),
    ]
    log = [
        said("user", "Go."),
        *read("1"),
        *read("b", "/srv/pump/b.py"),
        *read("2"),
        *failed,
        *edit,
        *read("3"),
        *read("4"),
    ]
    found = course(session(numbered(log))).read_again
    assert [(each.seq, each.earlier, each.path) for each in found] == [
        (6, 3, "/srv/pump/a.py"),
        (14, 13, "/srv/pump/a.py"),
    ]
    assert all(each.tokens > 50 for each in found)
    whole = course(session(numbered(log)))
    assert [each.seq for each in whole.read_again_between(7, 14)] == [14]


def test_the_names_of_the_next_calls_are_what_is_wanted() -> None:
    found = course(work(NEXT_CALLS + 10))
    wanted = found.wanted_after(2)
    assert wanted == {f"file_{number}.py": 3 + 4 * number for number in range(NEXT_CALLS)}
    # each turn has two requests, for the call and for the answer
    assert [found.request_of(seq) for seq in (3, 5, 7, 9)] == [1, 2, 3, 4]
    assert found.occurrences["file_3.py"] == [14, 15, 17]
    assert found.wanted_after(10_000) == {}


def test_a_text_is_counted_once() -> None:
    class Counting:
        name = "counting"
        asked = 0

        def count(self, text: str) -> int:
            self.asked += 1
            return len(text)

    counter = Counting()
    remembering = Remembering(counter)
    assert [remembering.count(text) for text in ("ab", "abc", "ab")] == [2, 3, 2]
    assert (remembering.name, counter.asked) == ("counting", 2)


def test_a_message_is_redacted_once_whatever_usage_it_has_under_a_policy() -> None:
    read = ReadOnce()
    one, other = numbered([said("user", "The key is sk-" + "x8Kd03mZq7Lw2Rt5" * 2), said("user", "Hi.")])
    first = read(one)
    assert "[secret: " in first.text
    assert read(structs.replace(one, usage=Usage(prompt=9, completion=1))) is first
    assert read(other) is not first
    # the same words at another place are another message
    assert read(structs.replace(one, seq=7)).seq == 7


def test_what_a_recording_does_not_say_is_told() -> None:
    log = numbered([said("user", "Hi."), said("assistant", "Hello.")])
    recorded = replace(
        session(log, compactions=(made(1, before=150_000),)), skipped=(Skipped(line=3, reason="no JSON"),)
    )
    notes = usage_notes(course_of(recorded, name="x", counter=COUNTER, window=1_000_000))
    assert [note.split(":")[0][:40] for note in notes] == [
        "no usage is recorded",
        "no message has a time",
        "its program compacted at 150,000 tokens ",
        "1 line could not be read",
    ]
