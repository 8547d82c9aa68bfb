"""Tags that a person gives to conversations, and titles that the model gives them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from autocompact.chat import ChatConfig, ChatService
from autocompact.chat.labels import Tags, tags_in
from autocompact.chat.naming import title_in
from autocompact.core.messages import Message
from autocompact.errors import InvalidInput
from autocompact.ports import Key
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from autocompact.testing.provider import Received
from tests.chat.chatting import CHAT, Held, asked, chatting

pytestmark = pytest.mark.anyio

OFFLINE = ChatConfig(model="offline")
NAMED = ChatConfig(model=CHAT, titles=True)


async def test_tags_are_kept_with_their_conversation_and_go_with_it(tmp_path: Path) -> None:
    async with chatting(tmp_path, config=OFFLINE) as service:
        session = await service.create()
        with pytest.raises(InvalidInput, match="after its first message"):
            await service.tag(session.id, "work")
        await asked(session, "Good day.")
        await service.tag(session.id, "Work, #taxes  2026, work,")
        await service.tag(session.id, "work, taxes 2026")
        for wrong in ("x" * 41, ",".join(map(str, range(11)))):
            with pytest.raises(InvalidInput, match="at most 10 tags of 40 characters"):
                await service.tag(session.id, wrong)
        (line,) = await service.conversations()
        assert line.tags == ("work", "taxes 2026")
    async with chatting(tmp_path, config=OFFLINE) as service:
        (line,) = await service.conversations()
        assert line.tags == ("work", "taxes 2026")
        await service.tag(line.id, "")
        (line,) = await service.conversations()
        assert line.tags == ()
        await service.tag(line.id, "home")
        await service.delete(line.id)
        assert await service.conversations() == ()
        assert await service.store.conversations("default#tags") == ()


def test_tags_are_separated_by_commas_and_each_is_kept_once() -> None:
    assert tags_in("#Work, taxes  2026 ,,work, # ") == ("work", "taxes 2026")
    assert tags_in("") == ()


@pytest.mark.parametrize(
    "said, title",
    [
        ("“Weekend trip to Oslo.”", "Weekend trip to Oslo"),
        ("\n**Title: Tides in Bergen**\nmore", "Tides in Bergen"),
        ('Titel: "Steuern 2026"', "Steuern 2026"),
        ("x" * 61, ""),
        (" \n", ""),
    ],
)
def test_a_title_is_the_first_line_of_what_the_model_says_without_decoration(said: str, title: str) -> None:
    assert title_in(said) == title


async def titled(service: ChatService, title: str) -> None:
    """Wait until the list shows a title."""
    changed = asyncio.Event()
    stop = service.listen(lambda _: changed.set())
    while (await service.conversations())[0].title != title:
        await changed.wait()
        changed.clear()
    stop()


async def test_the_model_names_a_conversation_once_after_its_first_answer(tmp_path: Path) -> None:
    async with (
        FakeProvider(["Start with Holmenkollen.", "Weekend in Oslo", "On Sunday."]) as provider,
        chatting(tmp_path, provider, config=NAMED) as service,
    ):
        session = await service.create()
        await asked(session, "Plan a weekend in Norway's capital.")
        await titled(service, "Weekend in Oslo")
        await asked(session, "And then?")
        naming = provider.requests[1]

    assert len(provider.requests) == 3
    assert "Plan a weekend in Norway's capital." in naming.last_text
    assert "Holmenkollen" in naming.last_text
    assert "tools" not in naming.body
    async with chatting(tmp_path, config=OFFLINE) as service:
        assert [line.title for line in await service.conversations()] == ["Weekend in Oslo"]


async def test_a_title_of_the_person_is_not_replaced_by_the_models(tmp_path: Path) -> None:
    held = Held()
    async with FakeProvider(held) as provider, chatting(tmp_path, provider, config=NAMED) as service:
        session = await service.create()
        await session.send("Good day.")
        (await held.asked()).set()
        await session.wait()
        naming = await held.asked()
        await service.rename(session.id, title="Mine")
        naming.set()
        await session.send("Once more.")
        (await held.asked()).set()
        await session.wait()
        assert [line.title for line in await service.conversations()] == ["Mine"]


@pytest.mark.parametrize(
    "said", ["A sentence that goes on and on and is no title at all, however one reads it.", ""]
)
async def test_a_model_that_gives_no_title_leaves_the_first_words(tmp_path: Path, said: str) -> None:
    named = asyncio.Event()

    def reply(request: Received) -> str:
        if "Its title:" not in request.last_text:
            return "Good day to you."
        named.set()
        return said

    async with FakeProvider(reply) as provider, chatting(tmp_path, provider, config=NAMED) as service:
        session = await service.create()
        await asked(session, "Good day.")
        await named.wait()
        await asked(session, "Good night.")
        assert session.title == "Good day."
        assert len(provider.requests) == 3


class Slow(SqliteStore):
    """Reads of the log ``held`` wait until ``go``."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.held = ""
        self.go, self.asked = asyncio.Event(), asyncio.Event()

    async def read(
        self, key: Key, *, from_seq: int = 1, through_seq: int | None = None
    ) -> tuple[Message, ...]:
        if key.conversation == self.held:
            self.asked.set()
            await self.go.wait()
        return await super().read(key, from_seq=from_seq, through_seq=through_seq)


async def test_a_conversation_that_is_deleted_while_tags_are_read_does_not_break_the_list(
    tmp_path: Path,
) -> None:
    async with Slow(tmp_path / "chats.db") as store:
        for id in ("kept", "deleted"):  # the one that was tagged last is read first
            await Tags(store, "default").put(id, tuple(f"{id} tag number {n}" for n in range(9)))
        tags, store.held = Tags(store, "default"), "kept"
        reading = asyncio.create_task(tags.catch_up())
        await store.asked.wait()
        tags.drop("deleted")
        store.go.set()
        await reading

        assert len(tags.of("kept")) == 9
        assert tags.of("deleted") == ()
