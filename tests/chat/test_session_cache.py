"""A service that runs for months has in memory what is in use, and of the rest what was used last."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from dataclasses import replace
from pathlib import Path
from weakref import ref

import pytest

from autocompact.chat import ChatConfig, ChatService, ChatSession
from autocompact.chat.events import MessageAdded
from autocompact.chat.notes import Queued, Tasked, TaskItem
from autocompact.chat.views import HistoryPage, SessionView
from autocompact.core.messages import Message, text_message
from autocompact.errors import InvalidInput, StoreError
from autocompact.ports import Key, Snapshot
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.sqlite_index import SqliteIndex
from autocompact.testing import FakeProvider
from tests.chat.chatting import CHAT, Heard, Held, asked, chatting, environment

pytestmark = pytest.mark.anyio

OFFLINE = ChatConfig(model="offline", watch_seconds=3_600)
FORGETFUL = replace(OFFLINE, idle_sessions=0)


async def shown(session: ChatSession) -> tuple[SessionView, HistoryPage]:
    return session.view(), await session.history()


async def noted(service: ChatService, session: ChatSession) -> None:
    """Something of everything that is kept beside the log."""
    await session.pin(1)
    await session.notes.add(Tasked(tasks=(TaskItem(text="count on", state="doing"),)))
    await session.notes.add(Queued(id="waiting", text="And the next one?"))
    await service.rename(session.id, title="Numbers")


async def test_of_many_conversations_few_stay_in_memory_and_each_comes_back_as_it_was(
    tmp_path: Path,
) -> None:
    names = [f"conversation-{number}" for number in range(4 * OFFLINE.idle_sessions)]
    async with chatting(tmp_path, config=OFFLINE) as service:
        for name in names:
            said = text_message(1, "user", f"What is {name}?")
            await service.store.append(Key(conversation=name), [said], after=0)
        before: dict[str, SessionView] = {}
        noted_ones: dict[str, HistoryPage] = {}
        known: list[ref[ChatSession]] = []
        session = None
        for number, name in enumerate(names):
            session = await service.open(name)
            if number % 50 == 0:
                await noted(service, session)
                noted_ones[name] = await session.history()
            before[name] = session.view()
            known.append(ref(session))
            assert len(service.sessions.kept) <= OFFLINE.idle_sessions
        session = None
        gc.collect()
        assert sum(each() is not None for each in known) == OFFLINE.idle_sessions
        assert [session.id for session in service.sessions.kept] == names[-OFFLINE.idle_sessions :]

        for name in names:
            session = await service.open(name)
            assert session.view() == before[name]
            if name in noted_ones:
                assert await session.history() == noted_ones[name]


class Counting(SqliteStore):
    """Counts how often each conversation's log is read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.reads: Counter[str] = Counter()
        self.read_all = asyncio.Event()
        self.until: frozenset[str] = frozenset()

    async def rounds(self, ids: frozenset[str]) -> None:
        """Wait until several rounds have read these."""
        self.reads.clear()
        self.read_all.clear()
        self.until = ids
        await self.read_all.wait()

    async def read(
        self, key: Key, *, from_seq: int = 1, through_seq: int | None = None
    ) -> tuple[Message, ...]:
        self.reads[key.conversation] += 1
        if all(self.reads[id] > 20 for id in self.until):
            self.read_all.set()
        return await super().read(key, from_seq=from_seq, through_seq=through_seq)


async def test_the_watch_reads_only_the_conversations_that_are_held(tmp_path: Path) -> None:
    config = ChatConfig(model="offline", watch_seconds=0.01, idle_sessions=3)
    async with (
        Counting(tmp_path / "chats.db") as store,
        ChatService(store, SqliteIndex(store), config=config, environ={}) as service,
    ):
        looked_at = await service.create()
        stop = looked_at.listen(lambda _: None)
        for _ in range(10):
            await service.create()
        held = frozenset(session.id for session in service.sessions.kept)
        assert len(held) == 4
        assert looked_at.id in held
        await store.rounds(held)  # one that had begun before has ended then
        await store.rounds(held)
        stop()

    assert set(store.reads) <= held


async def test_who_has_a_session_that_was_let_go_has_the_one_that_others_open(tmp_path: Path) -> None:
    """As a tab between opening a conversation and listening to it."""
    async with chatting(tmp_path, config=FORGETFUL) as service:
        session = await service.create()
        await asked(session, "hello")
        await service.create()
        assert session not in service.sessions.kept

        assert await service.open(session.id) is session
        heard = Heard(session)
        await asked(await service.open(session.id), "hello again")

    assert heard.of(MessageAdded)[0].entry.message.text == "hello again"


async def test_a_turn_goes_on_whose_session_nobody_holds(tmp_path: Path) -> None:
    held = Held()
    config = replace(FORGETFUL, model=CHAT)
    async with FakeProvider(held) as provider, chatting(tmp_path, provider, config=config) as service:
        session = await service.create()
        id, weak = session.id, ref(session)
        await session.send("Are you there?")
        answer = await held.asked()
        del session
        await service.create()
        gc.collect()
        assert [line.id for line in await service.conversations() if line.running] == [id]

        answer.set()
        session = await service.open(id)
        assert session is weak()
        await session.wait()
        del session
        service.sessions.evict()
        gc.collect()
        assert weak() is None
        history = await (await service.open(id)).history()

    assert [entry.message.text for entry in history.entries] == [
        "Are you there?",
        "Answer to 'Are you there?'.",
    ]


async def test_who_listens_hears_what_other_programs_say_until_the_end_of_listening(tmp_path: Path) -> None:
    config = replace(FORGETFUL, watch_seconds=0.01)
    said = asyncio.Event()
    async with chatting(tmp_path, config=config) as service, chatting(tmp_path, config=OFFLINE) as other:
        session = await service.create()
        await asked(session, "hello")
        id, weak = session.id, ref(session)
        stop = session.listen(lambda event: said.set() if isinstance(event, MessageAdded) else None)
        del session
        await service.create()
        gc.collect()
        await (await other.open(id)).conversation.append(text_message(0, "user", "from elsewhere"))
        await said.wait()

        stop()
        del stop
        assert service.sessions.kept == ()
        while weak() is not None:  # a round of the watch may be reading it
            await asyncio.sleep(0)
            gc.collect()
        assert (await service.open(id)).view().last_seq == 3


async def test_a_new_conversation_without_a_message_comes_back_too(tmp_path: Path) -> None:
    async with chatting(tmp_path, config=FORGETFUL) as service:
        first = (await service.create("Plans")).id
        second = (await service.create()).id
        gc.collect()
        lines = await service.conversations()
        assert [(line.id, line.title) for line in lines] == [(second, "New conversation"), (first, "Plans")]

        session = await service.open(first)
        assert session.title == "Plans"
        await asked(session, "hello")
        assert [line.id for line in await service.conversations()] == [second, first]
        await service.delete(second)
        with pytest.raises(InvalidInput, match="there is no conversation"):
            await service.open(second)


async def test_a_deleted_conversation_does_not_come_back_when_its_last_listener_goes(tmp_path: Path) -> None:
    async with chatting(tmp_path, config=OFFLINE) as service:
        session = await service.create()
        await asked(session, "hello")
        stop = session.listen(lambda _: None)
        await service.delete(session.id)
        stop()

        assert service.sessions.kept == ()
        with pytest.raises(InvalidInput, match="there is no conversation"):
            await service.open(session.id)


def test_fewer_than_no_idle_sessions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="idle_sessions is -1"):
        ChatConfig(idle_sessions=-1)


async def test_a_session_that_is_no_longer_kept_follows_the_settings_when_it_is_used_again(
    tmp_path: Path,
) -> None:
    async with (
        FakeProvider(["Hello."]) as provider,
        chatting(tmp_path, provider, config=FORGETFUL) as service,
    ):
        session = await service.create()
        assert service.sessions.kept == ()
        await service.reconfigure(replace(FORGETFUL, model=CHAT))

        assert (await service.open(session.id)) is session
        assert session.model == CHAT


async def test_a_service_that_is_closed_while_a_conversation_is_opened_leaves_nothing_running(
    tmp_path: Path,
) -> None:
    before = asyncio.all_tasks()
    async with chatting(tmp_path, config=OFFLINE) as service:
        opening = asyncio.create_task(service.create())
        await asyncio.sleep(0)  # the loading has begun, and waits for the store
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert asyncio.all_tasks() == before


class Unreadable(SqliteStore):
    """Cannot be read while ``broken``."""

    broken = False

    async def load(self, key: Key, *, after: int = 0) -> Snapshot:
        if self.broken:
            raise StoreError("the disk is gone")
        return await super().load(key, after=after)


async def test_settings_that_a_conversation_could_not_take_over_hold_from_its_next_turn(
    tmp_path: Path,
) -> None:
    async with (
        FakeProvider(["Hello."]) as provider,
        Unreadable(tmp_path / "chats.db") as store,
        ChatService(store, SqliteIndex(store), config=OFFLINE, environ=environment(provider)) as service,
    ):
        session = await service.create()
        await asked(session, "Good day.")
        store.broken = True
        with pytest.raises(StoreError):
            await service.reconfigure(replace(OFFLINE, model=CHAT))
        store.broken = False
        log = await asked(session, "And now?")

    assert log[-1].text == "Hello."
