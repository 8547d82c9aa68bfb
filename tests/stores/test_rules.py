"""Titles of conversations in every store: the first words of the first request."""

from __future__ import annotations

import pytest

from autocompact.core.messages import text_message
from autocompact.stores.rules import title_of


@pytest.mark.parametrize(
    ("request_", "title"),
    [
        ("summarise this\n\n```\ncommit 1a2b\n```", "summarise this"),
        ("Why?\n````text\nE ```\n````\nIt worked before.", "Why?"),
        ("```python\nx = 1\n```\nWhat is it?", "x = 1"),
        ("~~~\n\n~~~\nWhat is it?", "What is it?"),
        ("```\n```", ""),
        ("Use `a` and ```b``` here", "Use `a` and ```b``` here"),
        ("summarise this\n\n```\n" + "word " * 9_000 + "\n```", "summarise this"),
        ("word " * 9_000, "word " * 15 + "word…"),
    ],
)
def test_a_title_is_what_the_request_says_and_not_the_marks_around_what_it_brings(
    request_: str, title: str
) -> None:
    assert title_of([text_message(1, "user", request_)]) == title
