from __future__ import annotations

from pathlib import Path

import pytest

from autocompact.chat import ChatConfig
from tests.chat.chatting import asked, chatting

pytestmark = pytest.mark.anyio


async def test_the_first_start_shows_a_conversation_with_tools_and_a_compaction(tmp_path: Path) -> None:
    async with chatting(tmp_path, config=ChatConfig(model="offline")) as service:
        session = await service.seed_example()
        assert session is not None
        page = await session.history()
        log = await asked(session, "recall summer time in Bergen")

    assert page.dividers[0].in_force
    assert page.dividers[0].record.receipt.tokens_after < page.dividers[0].record.receipt.tokens_before
    calls = {call.name for entry in page.entries for call in entry.message.calls}
    assert {"read_file", "edit_file", "run_command", "memory_search", "tasks"} <= calls
    assert "[m8] the assistant" in log[-1].text


async def test_the_example_is_not_shown_again_once_it_was_deleted(tmp_path: Path) -> None:
    async with chatting(tmp_path, config=ChatConfig(model="offline")) as service:
        session = await service.seed_example()
        assert session is not None
        await service.delete(session.id)
    async with chatting(tmp_path, config=ChatConfig(model="offline")) as service:
        assert await service.seed_example() is None
        assert await service.conversations() == ()
