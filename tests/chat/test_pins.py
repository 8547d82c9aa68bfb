"""Conversations that stay at the beginning of the list."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocompact.chat import ChatConfig
from autocompact.errors import InvalidInput
from autocompact.stores.companions import pins_key
from tests.chat.chatting import chatting

pytestmark = pytest.mark.anyio

OFFLINE = ChatConfig(model="offline")


async def test_a_pin_is_kept_turned_over_and_deleted_with_its_conversation(tmp_path: Path) -> None:
    async with chatting(tmp_path, config=OFFLINE) as service:
        ids: list[str] = []
        for text in ("one", "two"):
            session = await service.create()
            await session.send(text)
            await session.wait()
            ids.append(session.id)
        await service.pin(ids[0])
        await service.pin(ids[0])
        assert [(line.id, line.pinned) for line in await service.conversations()] == [
            (ids[0], True),
            (ids[1], False),
        ]
    async with chatting(tmp_path, config=OFFLINE) as service:
        first, *_ = await service.conversations()
        assert (first.id, first.pinned) == (ids[0], True)
        await service.pin(ids[0], on=False)
        assert not any(line.pinned for line in await service.conversations())
        await service.pin(ids[0])
        key = (await service.open(ids[0])).key
        await service.delete(ids[0])
        assert not await service.store.read(pins_key(key))


async def test_what_is_not_there_cannot_be_pinned(tmp_path: Path) -> None:
    async with chatting(tmp_path, config=OFFLINE) as service:
        with pytest.raises(InvalidInput, match="there is no conversation"):
            await service.pin("none")
        session = await service.create()
        with pytest.raises(InvalidInput, match="nothing was said"):
            await service.pin(session.id)
