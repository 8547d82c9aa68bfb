from __future__ import annotations

import pytest

from autocompact.gateway.relay import first_word

CREATED = b'event: response.created\ndata: {"type":"response.created","response":{"error":null}}\n\n'
FAILED = b'event: response.failed\ndata: {"type":"response.failed","response":{"error":{"code":"x"}}}\n\n'
WORDS = b'data: {"choices":[{"delta":{"content":"error"}}]}\n\n'


@pytest.mark.parametrize(
    "text", [b"data: {", CREATED, CREATED[:-1], CREATED + FAILED[:40], b"event: error\n", b"retry: 10\n"]
)
def test_a_stream_that_has_said_nothing_may_still_be_anything(text: bytes) -> None:
    assert first_word(text) is None


@pytest.mark.parametrize(
    "text, word",
    [
        (CREATED + FAILED, b'{"type":"response.failed","response":{"error":{"code":"x"}}}'),
        (WORDS + FAILED, WORDS[6:-2]),
        (b": ping\n\n" + WORDS, WORDS[6:-2]),
        (b"data: [DONE]\n\n", b"[DONE]"),
        (b"data: \xff\n\n", b"\xff"),
    ],
)
def test_the_first_event_that_says_something_decides(text: bytes, word: bytes) -> None:
    assert first_word(text) == word


def test_comments_are_not_held_back() -> None:
    assert first_word(b": OPENROUTER PROCESSING\n\n") == b""


def test_what_is_no_stream_is_taken_as_it_is() -> None:
    assert first_word(b'{"error":{"message":"too long"}}') == b'{"error":{"message":"too long"}}'
    assert first_word(b"") == b""
