from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.chat import ChatConfig
from autocompact.core.messages import text_message
from autocompact.memory.documents.context_archive import ARCHIVE_HEADING, ArchiveEntry
from autocompact.ports import Key
from autocompact.testing.records import compaction
from tests.chat.chatting import asked, chatting

pytestmark = pytest.mark.anyio


async def test_the_first_start_shows_a_conversation_with_tools_and_a_compaction(tmp_path: Path) -> None:
    async with chatting(tmp_path, config=ChatConfig(model="offline")) as service:
        session = await service.seed_example()
        assert session is not None
        page = await session.history()
        log = await asked(session, "recall summer time in Bergen")

    assert page.dividers[0].active
    assert page.dividers[0].record.receipt.tokens_after < page.dividers[0].record.receipt.tokens_before
    calls = {call.name for entry in page.entries for call in entry.message.calls}
    assert {"read_file", "edit_file", "run_command", "memory_search", "tasks"} <= calls
    assert "[m8] the assistant" in log[-1].text


def _archive(*, of: str, says: str) -> str:
    entry = ArchiveEntry(
        conversation=of,
        record=replace(compaction("c1", 4), summary=says),
        peak_tokens=1,
        transcript=f"`autocompact show {of}`",
    )
    return entry.render()


async def test_the_example_writes_nothing_outside_itself(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    config = ChatConfig(model="offline", memory_folder=memory)
    async with chatting(tmp_path, config=config) as service:
        session = await service.seed_example()
        assert session is not None
        await asked(session, "remember that the gauge writes UTC")
        for number in range(6):
            await asked(session, f"recall summer time {number}")
        again = await session.compact()
        tools = [tool.name for tool in session.toolbox.tools]
    async with chatting(tmp_path, config=config) as service:
        reopened = await service.open(session.id)
        for number in range(6):
            await asked(reopened, f"recall winter time {number}")
        later = await reopened.compact()

    assert (again.success, later.success) == (True, True), (again, later)
    assert "remember" not in tools
    assert not memory.exists()


async def test_what_older_versions_archived_of_the_example_is_taken_out(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    example = _archive(of="example", says="The offset in `tide_table.py` was wrong.")
    mine = _archive(of="example", says="My own conversation of that name.")
    (memory / "CONTEXT_ARCHIVE.md").write_text(ARCHIVE_HEADING + example + mine)
    config = ChatConfig(model="offline", memory_folder=memory)
    async with chatting(tmp_path, config=config) as service:
        await service.seed_example()

    assert (memory / "CONTEXT_ARCHIVE.md").read_text() == ARCHIVE_HEADING + mine


async def test_a_conversation_of_ones_own_that_is_called_example_is_archived(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    async with chatting(tmp_path, config=ChatConfig(model="offline", memory_folder=memory)) as service:
        await service.store.append(Key(conversation="example"), [text_message(1, "user", "Mine.")], after=0)
        session = await service.open("example")
        for number in range(8):
            await asked(session, f"Crate {number} goes to the harbour, {'with much cargo ' * 20}")
        await session.compact()

    assert "`example`" in (memory / "CONTEXT_ARCHIVE.md").read_text()


async def test_the_example_is_not_shown_again_once_it_was_deleted(tmp_path: Path) -> None:
    async with chatting(tmp_path, config=ChatConfig(model="offline")) as service:
        session = await service.seed_example()
        assert session is not None
        await service.delete(session.id)
    async with chatting(tmp_path, config=ChatConfig(model="offline")) as service:
        assert await service.seed_example() is None
        assert await service.conversations() == ()
