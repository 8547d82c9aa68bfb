"""What is said while an answer runs waits for its end; why a turn failed stays with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from autocompact.chat import ChatConfig, ChatSession
from autocompact.chat import events as chat
from autocompact.errors import InvalidInput
from autocompact.testing import FakeProvider
from tests.chat.chatting import CHAT, Heard, Held, asked, chatting

pytestmark = pytest.mark.anyio

CONFIG = ChatConfig(model=CHAT)


async def heard(session: ChatSession, when: Callable[[object], bool]) -> None:
    """Wait for an event."""
    there = asyncio.Event()
    stop = session.listen(lambda event: there.set() if when(event) else None)
    await there.wait()
    stop()


def is_end(event: object) -> bool:
    return isinstance(event, chat.TurnEnded)


async def texts(session: ChatSession) -> list[str]:
    return [entry.message.text for entry in (await session.history(limit=100)).entries]


async def test_requests_made_during_a_turn_wait_for_its_end_and_are_answered_in_order(tmp_path: Path) -> None:
    held = Held()
    async with FakeProvider(held) as provider, chatting(tmp_path, provider, config=CONFIG) as service:
        session = await service.create()
        events = Heard(session)
        at_once = await session.send_later("One")
        first = await held.asked()
        two, three = await session.send_later("Two"), await session.send_later("Three")
        shown = [each.text for each in session.view().pending]
        before = await texts(session)
        for go in (first, None, None):
            ended = asyncio.create_task(heard(session, is_end))
            (go or await held.asked()).set()
            await ended
        log = await texts(session)

    assert at_once is None
    assert two is not None
    assert three is not None
    assert shown == ["Two", "Three"]
    assert before == ["One"]
    assert log == ["One", "Answer to 'One'.", "Two", "Answer to 'Two'.", "Three", "Answer to 'Three'."]
    assert [len(event.pending) for event in events.of(chat.PendingChanged)] == [1, 2, 1, 0]


async def test_a_withdrawn_request_is_never_sent(tmp_path: Path) -> None:
    held = Held()
    async with FakeProvider(held) as provider, chatting(tmp_path, provider, config=CONFIG) as service:
        session = await service.create()
        await session.send("One")
        first = await held.asked()
        two = await session.send_later("Two")
        assert two is not None
        given_back = await session.withdraw(two.id)
        with pytest.raises(InvalidInput, match="is not waiting any more"):
            await session.withdraw(two.id)
        first.set()
        await session.wait()
        log, running = await texts(session), session.running

    assert given_back == "Two"
    assert log == ["One", "Answer to 'One'."]
    assert not running


async def test_after_a_cancellation_what_waits_is_sent_when_the_person_says_so(tmp_path: Path) -> None:
    held = Held()
    async with FakeProvider(held) as provider, chatting(tmp_path, provider, config=CONFIG) as service:
        session = await service.create()
        await session.send("One")
        await held.asked()
        await session.send_later("Two")
        await session.cancel()
        waiting, running = session.view().pending, session.running
        await session.send_pending()
        (await held.asked()).set()
        await session.wait()
        log = await texts(session)

    assert [each.text for each in waiting] == ["Two"]
    assert not running
    assert log == ["One", "Two", "Answer to 'Two'."]
    assert not session.view().pending


async def test_what_waits_outlives_the_program(tmp_path: Path) -> None:
    held = Held()
    async with FakeProvider(held) as provider:
        async with chatting(tmp_path, provider, config=CONFIG) as service:
            session = await service.create()
            await session.send("One")
            await held.asked()
            await session.send_later("Two")
        async with chatting(tmp_path, provider, config=CONFIG) as service:
            again = await service.open(session.id)
            waiting, running = again.view().pending, again.running
            await again.send_pending()
            (await held.asked()).set()
            await again.wait()
            log = await texts(again)

    assert [each.text for each in waiting] == ["Two"]
    assert not running
    assert log == ["One", "Two", "Answer to 'Two'."]


async def test_nothing_empty_waits(tmp_path: Path) -> None:
    async with chatting(tmp_path, config=ChatConfig(model="offline")) as service:
        session = await service.create()
        with pytest.raises(InvalidInput, match="empty message cannot be sent"):
            await session.send_later(" \n")
        await session.send_pending()
        assert not session.running


async def test_why_a_turn_failed_is_told_after_a_restart_until_it_is_asked_again(tmp_path: Path) -> None:
    async with FakeProvider("Here I am.") as provider:
        async with chatting(tmp_path, provider, config=CONFIG) as service:
            session = await service.create()
            provider.fail("empty")
            await session.send("Are you there?")
            failed = await session.wait()
            assert failed is not None
            live = [entry.failure for entry in (await session.history()).entries]
        async with chatting(tmp_path, provider, config=CONFIG) as service:
            again = await service.open(session.id)
            kept = [entry.failure for entry in (await again.history()).entries]
            await again.retry()
            await again.wait()
            mended = [(entry.message.text, entry.failure) for entry in (await again.history()).entries]
            sent = provider.requests[-1].messages

    assert "gave no answer: try again" in failed.message
    assert live == kept == [failed.message]
    assert mended == [("Are you there?", ""), ("Here I am.", "")]
    assert failed.message not in str(sent)


async def test_a_failure_in_mid_answer_stays_with_the_half_answer(tmp_path: Path) -> None:
    async with (
        FakeProvider(["one two three four"]) as provider,
        chatting(tmp_path, provider, config=CONFIG) as service,
    ):
        session = await service.create()
        provider.fail("cut")
        await asked(session, "Count.")
        request, half = (await session.history()).entries

    assert request.failure == ""
    assert half.cut == "failed"
    assert half.failure
