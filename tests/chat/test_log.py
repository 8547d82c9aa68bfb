"""The log as a session sees it: pages, replaced messages, and what other programs add."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from autocompact.chat import ChatConfig, ChatService, ChatSession, opened
from autocompact.chat import events as chat
from autocompact.chat.engine import Engines
from autocompact.chat.offline import LABEL
from autocompact.chat.turn_journal import TurnJournal, Worker
from autocompact.core.messages import Message, text_message
from autocompact.ports import Key, Lease
from autocompact.stores.companions import turn_key
from autocompact.stores.memory import MemoryStore
from autocompact.stores.memory_index import MemoryIndex
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeClock
from tests.chat.chatting import Heard, asked

pytestmark = pytest.mark.anyio

OFFLINE = ChatConfig(model="offline", watch_seconds=0.01)


class Counted(MemoryStore):
    """A store that counts the messages that are read, but for those of a context."""

    count = 0

    async def read(
        self, key: Key, *, from_seq: int = 1, through_seq: int | None = None
    ) -> tuple[Message, ...]:
        messages = await super().read(key, from_seq=from_seq, through_seq=through_seq)
        self.count += len(messages)
        return messages


def service(store: MemoryStore, config: ChatConfig = OFFLINE) -> ChatService:
    return ChatService(store, MemoryIndex(), config=config, environ={}, clock=FakeClock())


async def filled(store: MemoryStore, log: Sequence[Message], *, compact_after: int) -> None:
    engines = Engines(store, config=OFFLINE, environ={}, clock=FakeClock(), emit=lambda _: None)
    conversation = await engines.get("offline").open("talk")
    await conversation.extend(log[:compact_after])
    await conversation.compact()
    await conversation.extend(log[compact_after:])
    await engines.aclose()


def said(number: int) -> Message:
    role = "user" if number % 2 else "assistant"
    return text_message(0, role, f"{number}: " + "so many words " * 20)


async def test_opening_reads_the_context_and_a_page_reads_a_page() -> None:
    store = Counted()
    await filled(store, [said(number) for number in range(1, 601)], compact_after=560)
    async with service(store) as reading:
        store.count = 0
        session = await reading.open("talk")
        opening, store.count = store.count, 0
        page = await session.history(limit=50)
        first, store.count = store.count, 0
        assert page.earlier is not None
        await session.history(before_seq=page.earlier, limit=50)
        second = store.count

    assert session.conversation.records.active is not None
    assert opening == 0
    assert max(first, second) <= 100
    assert [entry.seq for entry in page.entries] == list(range(551, 601))


@given(
    edits=st.lists(st.none() | st.integers(1, 8), min_size=1, max_size=30),
    compact_after=st.integers(0, 30),
    places=st.lists(st.integers(2, 32), max_size=5),
    limit=st.integers(1, 7),
)
def test_pages_in_any_order_show_what_was_not_replaced(
    edits: list[int | None], compact_after: int, places: list[int], limit: int
) -> None:
    log: list[Message] = []
    gone: set[int] = set()
    for seq, back in enumerate(edits, 1):
        replaces = max(1, seq - back) if back is not None and seq > 1 else None
        log.append(structs.replace(said(2 * seq + 1), replaces=replaces))
        gone |= set(range(replaces, seq)) if replaces is not None else set()

    async def pages() -> None:
        store = MemoryStore()
        await filled(store, log, compact_after=compact_after)
        async with service(store) as reading:
            session = await reading.open("talk")
            for place in places:
                shown = await session.history(before_seq=place, limit=limit)
                wanted = [seq for seq in range(1, min(place - 1, len(log)) + 1) if seq not in gone]
                assert [entry.seq for entry in shown.entries] == wanted[-limit:]
                everything = await session.history(before_seq=place, limit=limit, replaced=True)
                for entry in everything.entries:
                    assert (entry.visibility == "replaced") == (entry.seq in gone)

    asyncio.run(pages())


async def heard_until(session: ChatSession, text: str) -> Heard:
    """What is heard until a message that begins with ``text``."""
    heard, there = Heard(session), asyncio.Event()

    def look(event: chat.ChatEvent) -> None:
        if isinstance(event, chat.MessageAdded) and event.entry.message.text.startswith(text):
            there.set()

    session.listen(look)
    await there.wait()
    return heard


async def test_what_another_program_says_is_heard_where_the_conversation_is_open(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    async with (
        opened(path, config=OFFLINE, environ={}, clock=FakeClock()) as one,
        opened(path, config=OFFLINE, environ={}, clock=FakeClock()) as two,
    ):
        mine = await one.create()
        await asked(mine, "The berth is B7.")
        theirs = await two.open(mine.id)
        hearing = asyncio.create_task(heard_until(mine, LABEL))
        await asyncio.sleep(0)
        await theirs.edit(1, "The berth is B9.")
        await theirs.wait()
        heard = await hearing
        shown = [entry.message.text for entry in (await mine.history()).entries]
        sent = [message.text for message in mine.conversation.context().messages]

    added = [event.entry.seq for event in heard.of(chat.MessageAdded)]
    assert added == [3, 4]
    assert heard.of(chat.MessagesReplaced) == [
        chat.MessagesReplaced(conversation_id=mine.id, from_seq=1, through_seq=2)
    ]
    assert shown == sent
    assert shown[0] == "The berth is B9."


async def test_messages_of_another_program_are_told_before_ones_own_that_follow_them(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    seldom = replace(OFFLINE, watch_seconds=3_600)
    async with (
        opened(path, config=seldom, environ={}, clock=FakeClock()) as one,
        opened(path, config=seldom, environ={}, clock=FakeClock()) as two,
    ):
        mine = await one.create()
        await asked(mine, "First.")
        theirs = await two.open(mine.id)
        await asked(theirs, "Second.")
        heard = Heard(mine)
        await asked(mine, "Third.")

    requests = [
        event.entry.message for event in heard.of(chat.MessageAdded) if event.entry.message.is_request
    ]
    assert [(message.seq, message.text) for message in requests] == [(3, "Second."), (5, "Third.")]


async def left_half(store: SqliteStore, key: Key, clock: FakeClock) -> Lease:
    """What a program leaves that is killed in the midst of an answer, elsewhere: nobody can tell that it is gone."""
    lease = await store.acquire(turn_key(key), holder="elsewhere", seconds=15)
    assert lease is not None
    journal = TurnJournal(store, key, clock=clock)
    await journal.begin(lease)
    journal.answer(after=3)
    journal.add("text", "one two three")
    await journal.flush()
    return lease


async def test_half_an_answer_of_a_program_elsewhere_is_taken_over_when_its_lease_has_run_out(
    tmp_path: Path,
) -> None:
    path, clock = tmp_path / "chats.db", FakeClock()
    async with opened(path, config=OFFLINE, environ={}, clock=clock) as one:
        session = await one.create()
        await asked(session, "Good day.")
        await session.conversation.append(text_message(0, "user", "Count to ten."))
    async with SqliteStore(path, clock=clock) as store:
        await left_half(store, session.key, clock)
    async with opened(path, config=OFFLINE, environ={}, clock=clock) as one:
        session = await one.open(session.id)
        before = len(session.conversation)
        hearing = asyncio.create_task(heard_until(session, "one two three"))
        await asyncio.sleep(0)
        clock.advance(16)
        heard = await hearing

    assert before == 3
    assert [(event.entry.seq, event.entry.cut) for event in heard.of(chat.MessageAdded)] == [
        (4, "interrupted")
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc tells when a process began")
def test_a_process_that_has_the_number_of_a_dead_one_is_not_taken_for_it() -> None:
    lease = Lease(key=Key(conversation="any"), holder="any", fence=1)
    here = Worker.here(lease)

    assert here.began
    assert not here.is_dead
    assert msgspec.structs.replace(here, began="an earlier boot/1").is_dead
    assert not msgspec.structs.replace(here, host="another container").is_dead
