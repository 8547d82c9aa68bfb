"""What a client writes beside the results of tools is not what its user asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before
from tests.gateway.test_compaction import words
from tests.gateway.test_passing import post

pytestmark = pytest.mark.anyio

WINDOW = 8_000
VERSION = {"anthropic-version": "2023-06-01"}
REQUEST = "Go through all modules.\n" + "\n".join(
    f"In module {n}, look at the rounding of item {n}." for n in range(9)
)
NOTE = "<system-reminder>\nThe list of tasks is empty: use the tool that writes it, or do not.\n</system-reminder>"


def step(number: int) -> list[Any]:
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"n": number}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": words(number)}
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result, {"type": "text", "text": NOTE}]},
    ]


@pytest.mark.requirement("D4")
@pytest.mark.parametrize("beside", [True, False], ids=["beside a result", "a message of its own"])
async def test_a_note_of_the_client_is_not_the_last_request(beside: bool) -> None:
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    messages: list[Any] = [{"role": "user", "content": REQUEST}]
    actions: list[str] = []
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
    ):
        for number in range(40):
            messages += step(number)
            if not beside:
                result, note = messages[-1]["content"]
                messages[-1:] = [
                    {"role": "user", "content": [result]},
                    {"role": "assistant", "content": "Read."},
                    {"role": "user", "content": [note]},
                ]
            body = {"model": "m", "max_tokens": 100, "tools": tools, "messages": messages}
            status, headers, told = await post(f"{url}/v1/messages", json.dumps(body).encode(), **VERSION)
            assert status == 200, told
            actions.append(headers["x-autocompact-action"])
    assert actions[-1] == "compacted"
    first = actions.index("compacted")
    for request in provider.requests[first:]:
        said = [message for message in request.messages if message["role"] == "user"]
        assert json.dumps(REQUEST)[1:-1] in json.dumps(said)
