from __future__ import annotations

import pytest

from autocompact.core.messages import (
    Document,
    Image,
    Message,
    Part,
    Reasoning,
    Role,
    Text,
    decoded,
    text_message,
)
from tests.core.strategies import call, result, said


def test_a_message_finds_its_calls_results_and_words() -> None:
    message = said(
        "assistant", "first", Reasoning(text="hidden"), call("a"), result("b"), "second", call("c")
    )
    assert [part.id for part in message.calls] == ["a", "c"]
    assert [part.call_id for part in message.results] == ["b"]
    assert message.text == "first\nsecond"


@pytest.mark.parametrize(
    ("role", "parts", "expected"),
    [
        ("user", ["do it"], True),
        ("user", [result("a"), "and this"], True),
        ("user", [Image()], True),
        ("user", [Document()], True),
        ("user", [result("a")], False),
        ("user", [" \n"], False),
        ("user", [], False),
        ("assistant", ["do it"], False),
    ],
)  # fmt: skip
def test_a_request_is_what_the_person_said(role: Role, parts: list[Part | str], *, expected: bool) -> None:
    assert said(role, *parts).is_request is expected


def test_what_the_program_says_in_the_users_role_is_no_request() -> None:
    assert text_message(1, "user", "hook output").is_request
    assert not text_message(1, "user", "hook output", synthetic=True).is_request


def test_other_parts_keep_the_bytes_and_mark_the_message_as_changed() -> None:
    message = Message(
        seq=3, role="user", parts=(Text(text="a"),), raw=b'{"role":"user"}', dialect="openai_chat"
    )
    other = message.with_parts([Text(text="b")])
    assert (other.text, other.changed, other.raw, other.seq) == ("b", True, message.raw, 3)
    assert not message.changed


def test_a_message_of_words_takes_further_fields() -> None:
    message = text_message(7, "assistant", "hello", id="m7", model="some-model")
    assert (message.seq, message.text, message.id, message.model) == (7, "hello", "m7", "some-model")


def test_a_message_is_equal_to_the_same_one_wherever_its_parts_came_from() -> None:
    message = text_message(7, "assistant", "hello")
    same = Message(seq=7, role="assistant", parts=(Text(text="hello"),), places=(3,))
    assert (same, hash(same)) == (message, hash(message))
    for other, differs in ((same, False), (text_message(8, "assistant", "hello"), True), ("hello", True)):
        assert (message == other, message != other) == (not differs, differs)


@pytest.mark.parametrize(
    ("levels", "is_read"), [(1, True), (29, True), (31, False), (300, False), (90_000, False)]
)
def test_arguments_that_are_nested_too_deep_to_be_walked_are_none(levels: int, *, is_read: bool) -> None:
    assert bool(decoded('{"a": [' * levels + "1" + "]}" * levels)) is is_read
    assert decoded('{"a": ["' + "{" * 99 + '"]}') == {"a": ["{" * 99]}
