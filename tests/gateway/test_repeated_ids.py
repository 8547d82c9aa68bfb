"""Clients whose server numbers tool calls from zero in every turn: masks work, ids go out as they came."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from autocompact.core.tokens import Estimator
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before
from tests.gateway.test_compaction import send

pytestmark = pytest.mark.anyio
WINDOW = 16_000


def page(number: int) -> str:
    return "\n".join(f"file {number}, line {n}: rounded the total of item {n} to cents" for n in range(60))


def used(number: int) -> list[Any]:
    arguments = msgspec.json.encode({"file_path": f"src/f{number}.py"}).decode()
    call = {"id": "call_0", "type": "function", "function": {"name": "read", "arguments": arguments}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_0", "content": page(number)},
    ]


@pytest.mark.requirement("A7")
async def test_a_client_that_uses_one_id_for_every_call_is_kept_within_its_window(tmp_path: Path) -> None:
    messages: list[Any] = [{"role": "user", "content": "Please go through all files."}]
    tools = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=SqliteStore(tmp_path / "gw.db")) as url,
    ):
        for number in range(24):
            messages += used(number)
            await send(url, messages, tools=tools)
            sent = provider.requests[-1]
            assert Estimator().count(sent.raw.decode()) < WINDOW
            assert sent.messages[-2:] == messages[-2:]
            ids = {call["id"] for each in sent.messages for call in each.get("tool_calls") or ()}
            assert (
                ids
                == {each["tool_call_id"] for each in sent.messages if each["role"] == "tool"}
                == {"call_0"}
            )
    stubs = [
        each["content"]
        for request in provider.requests
        for each in request.messages
        if each["role"] == "tool" and each["content"].startswith("[left the context: read")
    ]
    assert stubs
    assert len(provider.requests[-1].raw) < len(msgspec.json.encode(messages)) * 3 / 4
