from __future__ import annotations

import json as stdlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.errors import InvalidRequest
from autocompact.wire import json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
STYLES: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}]
)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=5), STYLES, st.booleans())
def test_each_member_is_found_where_it_stands(
    value: dict[str, Any], style: dict[str, Any], known: bool
) -> None:
    body = b" \n" + stdlib.dumps(value, **style).encode(errors="surrogatepass") + b" "
    raws = json.members(body, path="") if known else {}

    found = {key: body[start:end] for key, (start, end) in json.spans(body, raws).items()}

    assert {key: stdlib.loads(raw) for key, raw in found.items()} == value
    assert all(raw == bytes(raws[key]) for key, raw in found.items() if known)


@given(st.lists(VALUES, max_size=5), STYLES, st.booleans())
def test_each_item_is_found_where_it_stands(values: list[Any], style: dict[str, Any], is_cut: bool) -> None:
    """Also in a list with half a surrogate pair, which no decoder takes."""
    values = [*values, {"a": "\ud83d"}, []] if is_cut else values
    body = stdlib.dumps(values, **style).encode(errors="surrogatepass")

    assert [stdlib.loads(raw) for raw in json.raw_items(memoryview(body))] == values


def test_of_a_repeated_key_the_last_value_counts() -> None:
    body = b'{"a": [1, "]"], "b": 2, "a": {"x": "}"}}'

    spans = json.spans(body, json.members(body, path=""))

    assert {key: body[start:end] for key, (start, end) in spans.items()} == {"a": b'{"x": "}"}', "b": b"2"}


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (rb'"cut \ud83d"', "cut �"),
        (rb'"\ude00 cut"', "� cut"),
        (rb'"\ud83d\ude00 whole"', "😀 whole"),
        (rb'"\ud83d\ud83d\ude00"', "�😀"),
        (rb'"\ud83d \\ud83d \n"', "� \\ud83d \n"),
    ],
)
def test_half_a_surrogate_pair_is_read_as_the_replacement_character(raw: bytes, text: str) -> None:
    assert json.string(raw) == text
    assert len(json.mend(raw)) == len(raw)


@pytest.mark.parametrize("raw", [b"", b"{", b'{"a": 1} x', b'{"a": "\xff"}', b"[" * 100_000, b'{"a": NaN}'])
def test_what_is_not_json_is_refused_with_its_path(raw: bytes) -> None:
    with pytest.raises(InvalidRequest, match=r"^messages\[3\]"):
        json.any_value(raw, path="messages[3]")


def test_text_that_is_not_valid_unicode_is_written_as_valid_json() -> None:
    assert json.encode({"a": "\ud800x", "b": 1}) == '{"a":"�x","b":1}'.encode()


def test_a_content_is_a_string_a_list_or_nothing() -> None:
    assert json.contents(b"null", path="content") == json.contents(b'""', path="content") == []
    assert [bytes(raw) for raw in json.contents(b'"a"', path="content")] == [b'"a"']
    with pytest.raises(InvalidRequest, match=r"^content: expected a string or a list"):
        json.contents(b"3", path="content")


def test_the_whole_body_is_named_when_the_path_is_empty() -> None:
    with pytest.raises(InvalidRequest, match=r"^the body: Expected `object`, got `array`"):
        json.members(b"[]", path="")
