"""Requests of one conversation, one after the other, under a summary."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autocompact.core.messages import Dialect, Message, text_message
from autocompact.wire import Renderer, Request, parse_request, render_request
from tests.wire.test_request import DIALECTS, LIST


def asked(dialect: Dialect, *roles: str) -> Request:
    listed: list[dict[str, Any]] = [
        {"role": role, "content": f"{number}, {role}"} for number, role in enumerate(roles)
    ]
    return parse_request(json.dumps({"model": "m", LIST[dialect]: listed}).encode(), dialect=dialect)


def folded(request: Request, through: int) -> list[Message]:
    return [text_message(0, "user", "a summary", synthetic=True), *request.messages[through:]]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_request_of_a_conversation_is_rendered_as_if_it_was_the_first(dialect: Dialect) -> None:
    roles = ["user", "assistant", "user", "assistant", "assistant", "user", "assistant", "user"] * 3
    renderer = Renderer(dialect)
    for through, length in ((1, 6), (1, 8), (1, 12), (10, 12), (10, 17), (4, 18), (4, 18), (4, 24)):
        request = asked(dialect, *roles[:length])
        messages = folded(request, through)

        rendered = renderer.render(request, messages, standing=length - through)

        assert rendered == render_request(request, messages)


def test_a_list_that_would_begin_with_the_model_is_opened_by_a_user() -> None:
    request = asked("anthropic", "user", "assistant", "user", "assistant")
    messages = [text_message(0, "system", "a summary"), *request.messages[1:]]

    rendered = Renderer("anthropic").render(request, messages, standing=3)

    assert rendered == render_request(request, messages)
    body = json.loads(rendered)
    assert (body["system"], [message["role"] for message in body["messages"]]) == (
        "a summary",
        ["user", "assistant", "user", "assistant"],
    )
