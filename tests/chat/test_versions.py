"""Versions of requests and answers: an earlier one can be looked at, and gone on from."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.chat import ChatConfig, ChatService, ChatSession
from autocompact.chat.edits import Edits
from autocompact.chat.views import HistoryPage, Version, Versions
from autocompact.errors import InvalidInput
from autocompact.stores.memory import MemoryStore
from autocompact.stores.memory_index import MemoryIndex
from autocompact.testing import Answer, FakeClock, FakeProvider
from tests.chat.chatting import CHAT, Held, asked, call, calling, chatting

pytestmark = pytest.mark.anyio

CONFIG = ChatConfig(model=CHAT)


def texts(page: HistoryPage) -> list[str]:
    return [entry.message.text for entry in page.entries]


def flips(page: HistoryPage) -> list[str]:
    """Of each message with versions: its text, which of them it is, and of how many."""
    return [
        f"{entry.message.text} {entry.versions.number}/{entry.versions.count}"
        for entry in page.entries
        if entry.versions
    ]


async def edited(session: ChatSession, seq: int, text: str) -> None:
    await session.edit(seq, text)
    await session.wait()


async def again(session: ChatSession) -> None:
    await session.retry()
    await session.wait()


async def shown(session: ChatSession, version: Version | None) -> HistoryPage:
    assert version is not None
    return await session.history(through=version.through)


@pytest.mark.requirement("A14")
async def test_answers_asked_for_again_and_edited_requests_are_versions_of_their_own_place(
    tmp_path: Path,
) -> None:
    async with (
        FakeProvider(["Blue.", "Green.", "Red.", "Orange."]) as provider,
        chatting(tmp_path, provider, config=CONFIG) as service,
    ):
        session = await service.create()
        await asked(session, "A colour?")
        assert flips(await session.history()) == []
        await again(session)
        assert flips(await session.history()) == ["Green. 2/2"]
        await edited(session, 3, "A warm colour?")
        await again(session)
        now = await session.history()
        assert flips(now) == ["A warm colour? 2/2", "Orange. 2/2"]
        of_request, of_answer = (entry.versions for entry in now.entries)
        assert of_request is not None
        assert of_answer is not None
        assert of_answer.after is None
        assert texts(await shown(session, of_answer.before)) == ["A warm colour?", "Red."]
        first = await shown(session, of_request.before)
        assert texts(first) == ["A colour?", "Green."]
        assert flips(first) == ["A colour? 1/2", "Green. 2/2"]
        assert [entry.visibility for entry in first.entries] == ["replaced", "replaced"]
        assert isinstance(first.entries[0].versions, Versions)
        back = first.entries[0].versions.after
        assert back == Version(seq=7, through=0)
        assert await session.version_with(2) == Version(seq=2, through=2)
        assert await session.version_with(7) == Version(seq=7, through=0)


async def test_a_conversation_goes_on_from_an_earlier_version_and_the_other_one_stays(tmp_path: Path) -> None:
    (tmp_path / "tides.txt").write_text("Bergen 06:12\n")
    replies = [
        calling(call("read_file", path="tides.txt")),
        Answer(text="At 06:12.", reasoning="The file says it."),
        "At six.",
        "Because of the file.",
        "Green.",
    ]
    config = ChatConfig(model=CHAT, workspace=tmp_path)
    async with (
        FakeProvider(replies) as provider,
        chatting(tmp_path, provider, config=config) as service,
    ):
        session = await service.create()
        await asked(session, "High water?")
        await again(session)
        before = await session.history(through=4)
        assert texts(before)[-1] == "At 06:12."
        await session.resume(0)
        assert len(session.conversation) == 6
        await session.resume(4)
        now = await session.history()
        await asked(session, "Why?")
        sent = provider.requests[-1].messages
        after = await session.history()
        with pytest.raises(InvalidInput, match="replaced by a later one"):
            await session.edit(1, "Else?")

    assert [entry.message.parts for entry in now.entries] == [entry.message.parts for entry in before.entries]
    assert [entry.seconds for entry in now.entries] == [entry.seconds for entry in before.entries]
    assert now.entries[-1].seconds is not None
    assert flips(now) == ["At 06:12. 1/2"]
    assert [message["role"] for message in sent] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert flips(after) == ["At 06:12. 1/2"]
    assert texts(after)[-2:] == ["Why?", "Because of the file."]


async def test_half_an_answer_is_still_known_as_one_when_its_version_is_taken_up_again(
    tmp_path: Path,
) -> None:
    async with FakeProvider(["one two three four", "Whole."]) as provider:
        provider.fail("cut")
        async with chatting(tmp_path, provider, config=CONFIG) as service:
            session = await service.create()
            await asked(session, "Count.")
            await edited(session, 1, "Count once more.")
            await session.resume(2)
            now = await session.history()

    assert [entry.cut for entry in now.entries] == ["", "failed"]


async def test_nothing_is_taken_up_again_while_a_turn_runs(tmp_path: Path) -> None:
    held = Held()
    async with FakeProvider(held) as provider, chatting(tmp_path, provider, config=CONFIG) as service:
        session = await service.create()
        await session.send("First.")
        (await held.asked()).set()
        await session.wait()
        await session.edit(1, "Else.")
        go = await held.asked()
        with pytest.raises(InvalidInput, match="before you go on from an earlier version"):
            await session.resume(2)
        go.set()
        await session.wait()


@given(
    st.lists(st.tuples(st.sampled_from(["say", "edit", "again", "resume"]), st.integers(0, 5)), max_size=12)
)
def test_each_version_shows_the_conversation_as_it_was_and_every_one_can_be_reached(
    steps: list[tuple[str, int]],
) -> None:
    async def talk() -> None:
        config = ChatConfig(model="offline")
        async with ChatService(
            MemoryStore(), MemoryIndex(), config=config, environ={}, clock=FakeClock()
        ) as service:
            session = await service.create()
            await asked(session, "first")
            seen: dict[int, list[str]] = {}
            for n, (act, pick) in enumerate(steps):
                page = await session.history()
                seen[len(session.conversation)] = texts(page)
                requests = [entry.seq for entry in page.entries if entry.message.is_request]
                match act:
                    case "say":
                        await asked(session, f"say {n}")
                    case "edit":
                        await edited(session, requests[pick % len(requests)], f"edit {n}")
                    case "again":
                        await again(session)
                    case _:
                        log = await session.conversation.history()
                        if ends := [
                            end for end in seen if any(each.replaces and each.seq == end + 1 for each in log)
                        ]:
                            old = ends[pick % len(ends)]
                            await session.resume(old)
                            assert texts(await session.history()) == seen[old]
                for through, said in seen.items():
                    assert texts(await session.history(through=through)) == said
            await _check_flips(session)

    asyncio.run(talk())


async def _check_flips(session: ChatSession) -> None:
    """Each version leads to the one beside it, and that one back."""
    for entry in (await session.history()).entries:
        if entry.versions and entry.versions.before:
            page = await session.history(through=entry.versions.before.through)
            others = [each.versions for each in page.entries if each.versions]
            assert any(each.number == entry.versions.number - 1 and each.after for each in others)


async def test_versions_of_a_conversation_that_was_deleted_meanwhile_are_those_that_are_known(
    tmp_path: Path,
) -> None:
    async with (
        FakeProvider(["Blue.", "Green."]) as provider,
        chatting(tmp_path, provider, config=CONFIG) as service,
    ):
        session = await service.create()
        await asked(session, "A colour?")
        await again(session)
        edits = Edits(session.conversation)
        first, second = (each for each in await session.conversation.history() if each.is_request)
        await service.store.delete(session.key)

        assert await asyncio.wait_for(edits.chain(second), 5) == (second,)
        assert await asyncio.wait_for(edits.chain(first), 5) == (first,)
