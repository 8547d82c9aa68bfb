"""The history with its compactions, as a terminal and a notebook show it."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from autocompact.chat import ChatConfig
from autocompact.compaction.modes import DATABASE_CHAT
from autocompact.ui.notebook import history_html
from autocompact.ui.terminal.words import history_lines
from tests.chat.chatting import asked, chatting

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_compaction_that_was_undone_and_done_again_is_shown_twice(tmp_path: Path) -> None:
    config = ChatConfig(model="offline", mode=DATABASE_CHAT)
    async with chatting(tmp_path, config=config) as service:
        session = await service.create()
        for number in range(12):
            await asked(session, f"The berth of boat {number} is B{number * 7}, " + "far out " * 30)
        await session.compact()
        await session.undo()
        await session.compact()
        page = await session.history(limit=100)

    assert len({divider.after_seq for divider in page.dividers}) == 1
    lines = [line for line in map(click.unstyle, history_lines(page)) if line.startswith("──")]
    assert ["compaction undone" in line for line in lines] == [True, False]
    assert history_html(page).count("tokens became") == 2
