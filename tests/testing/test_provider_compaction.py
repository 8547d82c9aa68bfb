"""The provider compacts by itself, and knows its blocks again."""

from __future__ import annotations

from typing import Any

import pytest

from autocompact.testing import FakeProvider
from tests.testing.asking import HI, ask, refused

pytestmark = pytest.mark.anyio

LONG = {"role": "user", "content": "word " * 400}
LATE = {"edits": [{"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 100}}]}


def anthropic(*messages: Any, **members: Any) -> dict[str, Any]:
    return {**HI["anthropic"], "messages": [LONG, *messages], **members}


async def test_anthropic_compacts_from_the_trigger_on_and_goes_on_with_its_words() -> None:
    async with FakeProvider("Fine.", summary=lambda asked: f"{len(asked.messages)} said") as provider:
        short = await ask(provider, "/messages", {**HI["anthropic"], "context_management": LATE})
        long = await ask(provider, "/messages", anthropic(context_management=LATE))
        default = await ask(
            provider, "/messages", anthropic(context_management={"edits": [{"type": "compact_20260112"}]})
        )
    assert [block["type"] for block in short.json["content"]] == ["text"]
    block, text = long.json["content"]
    assert (block["type"], block["content"], text["text"]) == ("compaction", "1 said", "Fine.")
    assert [block["type"] for block in default.json["content"]] == ["text"]


async def test_it_answers_with_the_block_alone_where_it_is_asked_to() -> None:
    pausing = {"edits": [LATE["edits"][0] | {"pause_after_compaction": True}]}
    async with FakeProvider("Nothing to say.") as provider:
        told = [
            await ask(provider, "/messages", anthropic(**member))
            for member in ({"context_management": pausing}, {"compaction": {"type": "summarize"}})
        ]
    for each in told:
        assert [block["type"] for block in each.json["content"]] == ["compaction"]
        assert each.json["stop_reason"] == "compaction"


async def test_what_stands_before_the_block_is_neither_counted_nor_looked_at() -> None:
    async with FakeProvider("Fine.") as provider:
        (block,) = (await ask(provider, "/messages", anthropic(compaction={"type": "summarize"}))).json[
            "content"
        ]
        said = {"role": "assistant", "content": [block]}
        odd: dict[str, Any] = {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}],
        }
        rest = [said, HI["anthropic"]["messages"][0]]
        whole = await ask(provider, "/messages", anthropic(odd, *rest))
        alone = await ask(provider, "/messages", {**HI["anthropic"], "messages": rest})
    assert (whole.status, alone.status) == (200, 200)
    assert provider.requests[-1].tokens == provider.requests[-2].tokens < 100


async def test_a_block_that_was_changed_or_is_not_the_first_is_refused() -> None:
    async with FakeProvider() as provider:
        (block,) = (await ask(provider, "/messages", anthropic(compaction={"type": "summarize"}))).json[
            "content"
        ]
    user = HI["anthropic"]["messages"][0]
    changed = {"role": "assistant", "content": [block | {"content": "Something else."}]}
    assert "compaction_content_mismatch" in await refused("/messages", anthropic(changed, user))
    later = {"role": "assistant", "content": [{"type": "text", "text": "So:"}, block]}
    assert "compaction_block_misplaced" in await refused("/messages", anthropic(later, user))


async def test_openai_seals_its_compaction_and_refuses_another() -> None:
    said: list[Any] = [
        LONG,
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": ""},
        {"type": "function_call_output", "call_id": "c", "output": "ok"},
    ]
    management = [{"type": "compaction", "compact_threshold": 100}]
    async with FakeProvider("Fine.", summary="The secret of it.") as provider:
        told = await ask(
            provider, "/responses", {"model": "m", "input": said, "context_management": management}
        )
        compacted = await ask(provider, "/responses/compact", {"model": "m", "input": said})
        item, message = told.json["output"]
        further = await ask(provider, "/responses", {"model": "m", "input": [*said, item, message, LONG]})
    assert (item["type"], message["type"]) == ("compaction", "message")
    assert b"secret" not in told.body
    assert [item.get("type", item.get("role")) for item in compacted.json["output"]] == ["user", "compaction"]
    assert further.status == 200
    sealed = {**item, "encrypted_content": item["encrypted_content"][:-1]}
    assert "could not be verified" in await refused("/responses", {"model": "m", "input": [sealed, LONG]})
