"""Messages as the values of a client library: what is taken, and that what is given back can be written as JSON."""

from __future__ import annotations

import json as stdlib
import math
import sys
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.messages import Dialect, Message, text_message
from autocompact.errors import InvalidInput, InvalidRequest
from autocompact.wire import check_raw, from_mapping, is_intact, json, plain_messages

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
TEXTS = st.text(st.characters(codec=None) | st.sampled_from('\ud800\udfff\x00"\\é世'), max_size=12)


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@given(VALUES)
def test_any_value_comes_back_also_beside_something_that_no_decoder_takes(value: object) -> None:
    whole = stdlib.dumps({"a": value, "b": [value, 1]}).encode()
    assert json.plain(whole) == {"a": value, "b": [value, 1]}
    beside = whole[:-1] + b', "n": 1e400, "half": "\\ud83d!" }'
    assert json.plain(beside) == {"a": value, "b": [value, 1], "n": sys.float_info.max, "half": "\ufffd!"}


@pytest.mark.parametrize(
    "raw, value",
    [
        (b"1e400", sys.float_info.max),
        (b"-1e400", -sys.float_info.max),
        (b"9" * 4_000, int("9" * 4_000)),
        (b"9" * 5_000, sys.float_info.max),
        (b"-" + b"9" * 5_000, -sys.float_info.max),
        (b'"\\ud800"', "\ufffd"),
        (b'{"\\udc00": [true, null, "a]"]}', {"\ufffd": [True, None, "a]"]}),
        (b'{"a": {}, "b": [], "c": 1e999}', {"a": {}, "b": [], "c": sys.float_info.max}),
        (b'"\xff\\ud800"', "\ufffd\ufffd"),
    ],
)
def test_what_nothing_can_hold_comes_as_what_is_nearest(raw: bytes, value: object) -> None:
    plain = json.plain(raw)
    assert plain == value
    assert stdlib.loads(stdlib.dumps(plain)) == value if len(raw) < 100 else True


def test_json_of_any_depth_comes_back() -> None:
    depth, value = 0, json.plain(b"[" * 50_000 + b"]" * 50_000)
    while isinstance(value, list):
        depth, value = depth + 1, next(iter(cast("list[object]", value)), None)
    assert depth == 50_000


@given(TEXTS)
def test_any_text_is_taken_and_comes_back_with_half_surrogates_replaced(text: str) -> None:
    given_in = {"role": "user", "content": text or "x", "metadata": {"k": text}}
    message = from_mapping(given_in, dialect="openai_chat")
    check_raw(message)
    (back,) = plain_messages([message], dialect="openai_chat")
    usable = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert back == {"role": "user", "content": usable or "x", "metadata": {"k": usable}}


@pytest.mark.parametrize(
    "message, said",
    [
        (None, "a NoneType is no message and was not stored: give e.g."),
        ("Hello.", "a str is no message"),
        ([("role", "user")], "a list is no message"),
        (
            {},
            "message.role: the message has no role and was not stored: choose the role system, user, assistant or tool",
        ),
        ({"content": "Hello."}, "message.role: the message has no role"),
        ({"role": None, "content": "Hello."}, "message.role: the message has no role"),
        (
            {"role": "robot", "content": "Hello."},
            "message.role: the message has the role 'robot' and was not stored",
        ),
        ({"role": 5, "content": "Hello."}, "message.role: Expected `str`, got `int`"),
        ({"role": "user"}, "message.content: the message has no content and was not stored: give e.g."),
        ({"role": "system", "content": None}, "message.content: the message has no content"),
        ({"role": "user", "content": 5}, "message.content: expected a string or a list of blocks"),
        (
            {"role": "user", "content": "x", "o": object()},
            "the message cannot be written as JSON and was not stored",
        ),
        ({"role": "user", "content": "\ud800", "o": object()}, "the message cannot be written as JSON"),
    ],
)
def test_what_is_no_message_is_refused_and_the_sentence_says_what_one_is(message: Any, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        from_mapping(message, dialect="openai_chat")
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize("content", ["x", "\ud800"])
def test_what_is_nested_too_deep_is_refused(content: str) -> None:
    with pytest.raises(
        InvalidInput, match=r"the message cannot be written as JSON and was not stored: .*recursion"
    ):
        from_mapping({"role": "user", "content": content, "o": nested(50_000)}, dialect="openai_chat")


@pytest.mark.parametrize("dialect", ["anthropic", "openai_responses"])
def test_each_api_names_its_own_roles(dialect: Dialect) -> None:
    with pytest.raises(
        InvalidRequest, match=r"the role 'tool' .*: choose the role system, user or assistant \("
    ):
        from_mapping({"role": "tool", "content": "12"}, dialect=dialect)
    with pytest.raises(InvalidRequest, match="the message has no role"):
        from_mapping({"content": "12"}, dialect=dialect)


def test_items_without_a_role_and_replies_without_words_are_messages_too() -> None:
    item = {"type": "function_call_output", "call_id": "c1", "output": "12"}
    assert from_mapping(item, dialect="openai_responses").results[0].call_id == "c1"
    assert from_mapping({"role": "assistant", "content": None}, dialect="openai_chat").parts == ()


@pytest.mark.parametrize("content", ["x", "\ud800"])
def test_what_json_does_not_have_is_null(content: str) -> None:
    message = from_mapping(
        {"role": "user", "content": content, "o": [math.nan, math.inf]}, dialect="openai_chat"
    )
    assert plain_messages([message], dialect="openai_chat")[0]["o"] == [None, None]


def test_a_dialect_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="dialect is 'cohere': choose one of 'openai_chat'"):
        from_mapping({"role": "user", "content": "x"}, dialect="cohere")  # pyright: ignore[reportArgumentType] - that is what this test is about


def sent_as(raw: bytes) -> Message:
    return Message(seq=1, role="user", parts=(), raw=raw, dialect="openai_chat")


@pytest.mark.parametrize(
    "raw",
    [
        b'{"role":"user","content":"x","n":NaN}',
        b'{"role":"user","content":"x","n":"\xff"}',
        b'{"role":"user","content":"x"',
        b'{"role":"user","content":5}',
        b'{"role":"user","content":"x","n":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        b"",
    ],
)
def test_bytes_that_an_api_would_not_take_are_refused_with_their_place(raw: bytes) -> None:
    with pytest.raises(InvalidRequest, match=r"^message"):
        check_raw(sent_as(raw))
    assert not is_intact(sent_as(raw))


def test_bytes_that_an_api_takes_pass_whatever_their_numbers() -> None:
    check_raw(sent_as(b'{"role":"user","content":"\\ud800","n":1e400,"m":' + b"9" * 5_000 + b"}"))
    check_raw(text_message(1, "user", "no bytes at all"))
    assert is_intact(Message(seq=1, role="user", parts=(), raw=b"anything", dialect=None))
