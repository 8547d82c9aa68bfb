"""Deleting a conversation deletes it everywhere, whoever else has it open, and wherever it breaks off."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from autocompact.chat import ChatConfig, ChatService, ChatSession, opened
from autocompact.chat import events as chat
from autocompact.engine import Compactor
from autocompact.engine.deletion import delete_conversation, find_traces
from autocompact.errors import Conflict, InvalidInput, StoreUnavailable
from autocompact.ports import Key
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeClock, FakeProvider
from autocompact.testing.provider import Received
from tests.chat.chatting import CHAT, Heard, asked, chatting, environment

pytestmark = pytest.mark.anyio

SECRET = "zanzibarite"
"""A word of the conversation that is deleted."""


def _config(memory: Path) -> ChatConfig:
    return ChatConfig(model="offline", memory_folder=memory, watch_seconds=0.02)


def _archive(memory: Path) -> Path:
    return memory / "CONTEXT_ARCHIVE.md"


async def _told(service: ChatService, words: str) -> ChatSession:
    """A conversation about ``words``, with a title, that was compacted."""
    session = await service.create(f"About {words}")
    for number in range(8):
        await asked(session, f"Crate {number} of {words} goes to the harbour, {'with much cargo ' * 20}")
    result = await session.compact()
    assert result.success, result.message
    return session


def _files_with(folder: Path, word: str) -> list[str]:
    """Files in which a word stands, whatever they are."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    return [path.name for path in paths if word.encode() in path.read_bytes().lower()]


async def test_a_deleted_conversation_is_in_no_file_and_in_no_answer_of_another_one(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    async with chatting(tmp_path, config=_config(memory)) as service:
        stays, gone = await _told(service, "feldspar"), await _told(service, SECRET)
        backup = memory / "backups" / "2026-01-01T00-00-00" / "CONTEXT_ARCHIVE.md"
        backup.parent.mkdir(parents=True)
        backup.write_bytes(_archive(memory).read_bytes())
        before = await stays.recall.call("memory_search", {"query": SECRET, "scope": "all"})
        traces = await service.traces(gone.id)
        await service.delete(gone.id)
        after = await stays.recall.call("memory_search", {"query": SECRET, "scope": "all"})
        again = await service.create()
        asked_again = (await asked(again, "recall feldspar crates"))[-1].text

    assert SECRET in before.replace(f"'{SECRET}'", "")
    assert any("2 entries" in line or "1 entry" in line for line in traces.goes)
    assert after.startswith("Nothing found")
    assert "feldspar" in asked_again
    assert "feldspar" in _archive(memory).read_text()
    assert "feldspar" in backup.read_text()
    assert _files_with(tmp_path, SECRET) == []


@pytest.mark.parametrize("how", ["read-only", "malformed", "binary"])
async def test_where_an_archive_cannot_be_edited_nothing_is_deleted_and_it_is_said_what_to_do(
    tmp_path: Path, how: str
) -> None:
    memory = tmp_path / "memory"
    async with chatting(tmp_path, config=_config(memory)) as service:
        session = await _told(service, SECRET)
        archive = _archive(memory)
        whole = archive.read_bytes()
        if how == "read-only":
            archive.chmod(0o444)
        elif how == "malformed":
            archive.write_bytes(whole.replace(b"## 20", b"### about 20"))
        else:
            archive.write_bytes(whole + b"\0")
        with pytest.raises(
            (InvalidInput, StoreUnavailable), match=r"then delete again\. Nothing was deleted"
        ) as told:
            await service.delete(session.id)
        log = await asked(session, "Is it still there?")
        archive.chmod(0o644)
        archive.write_bytes(whole)
        await service.delete(session.id)
        left = await service.conversations()

    assert "CONTEXT_ARCHIVE.md" in str(told.value)
    assert len(log) == 18
    assert left == ()
    assert SECRET not in archive.read_text()


class Died(BaseException):
    """The process ends."""


@pytest.mark.parametrize("step", ["looked", "archive", "companions", "log"])
async def test_a_deletion_that_dies_leaves_what_can_be_deleted_again_or_nothing(
    tmp_path: Path, step: str
) -> None:
    memory = tmp_path / "memory"
    async with chatting(tmp_path, config=_config(memory)) as service:
        session = await _told(service, SECRET)

        def die(done: str) -> None:
            if done == step:
                raise Died

        with pytest.raises(Died):
            await delete_conversation(service.store, session.key, folders=[memory], failpoint=die)
    async with chatting(tmp_path, config=_config(memory)) as service:
        listed = [line.id for line in await service.conversations()]
        if listed:
            await service.delete(session.id)
        found = await find_traces(service.store, session.key, folders=[memory])
        await service.store.purge()

    assert listed == ([] if step == "log" else [session.id])
    assert not found.exists
    assert _files_with(tmp_path, SECRET) == []


async def test_a_conversation_that_was_archived_in_another_project_is_taken_out_there_too(
    tmp_path: Path,
) -> None:
    async with chatting(tmp_path, config=_config(tmp_path / "one")) as service:
        session = await _told(service, SECRET)
    async with chatting(tmp_path, config=_config(tmp_path / "two")) as service:
        await service.delete(session.id)

    assert _archive(tmp_path / "one").exists()
    assert _files_with(tmp_path, SECRET) == []


async def test_a_program_that_has_it_open_lets_go_of_it_and_brings_nothing_back(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    path = tmp_path / "chats.db"
    async with (
        opened(path, config=_config(memory), environ={}, clock=FakeClock()) as one,
        opened(path, config=_config(memory), environ={}, clock=FakeClock()) as two,
    ):
        session = await _told(one, SECRET)
        theirs = await two.open(session.id)
        heard, gone = Heard(theirs), asyncio.Event()
        two.listen(lambda event: gone.set() if event.deleted else None)
        await one.delete(session.id)
        with pytest.raises(InvalidInput, match="was deleted"):
            await theirs.send(f"More of {SECRET}")
        await gone.wait()
        with pytest.raises(InvalidInput, match="was deleted"):
            await two.open(session.id)
        lists = await one.conversations(), await two.conversations()

    assert heard.of(chat.ConversationChanged)[-1].deleted
    assert lists == ((), ())
    assert _files_with(tmp_path, SECRET) == []


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
async def test_a_message_that_was_on_its_way_is_told_of_the_deletion(tmp_path: Path, steps: int) -> None:
    async with chatting(tmp_path, config=_config(tmp_path / "memory")) as service:
        session = await _told(service, SECRET)
        sending = asyncio.create_task(session.send(f"More of {SECRET}"))
        for _ in range(1_000):
            if session.running:
                break
            await asyncio.sleep(0)
        for _ in range(steps):  # it has not reached the log yet, or not even begun
            await asyncio.sleep(0)
        await session.aclose()
        with pytest.raises(InvalidInput, match="was deleted"):
            await asyncio.wait_for(sending, 20)
        assert not session.running
        await service.delete(session.id)

    assert _files_with(tmp_path, SECRET) == []


async def test_a_compaction_that_ends_after_the_deletion_leaves_no_entry(tmp_path: Path) -> None:
    go, summarising = asyncio.Event(), asyncio.Event()
    memory = tmp_path / "memory"

    async def answer(request: Received) -> str:
        if "<summary>" not in request.last_text:
            return "Noted. " + "word " * 300
        summarising.set()
        await go.wait()
        return f"<summary>Crates of {SECRET}.</summary>"

    async with FakeProvider(answer) as provider:
        config = ChatConfig(model=CHAT, memory_folder=memory)
        path, environ = tmp_path / "chats.db", environment(provider)
        async with (
            opened(path, config=config, environ=environ, clock=FakeClock()) as one,
            opened(path, config=config, environ=environ, clock=FakeClock()) as two,
        ):
            session = await one.create()
            for number in range(6):
                await asked(session, f"Fact {number} of {SECRET}.")
            compacting = asyncio.create_task(session.compact())
            await summarising.wait()
            await two.delete(session.id)
            go.set()
            result = await compacting

    assert not result.success
    assert _files_with(tmp_path, SECRET) == []


async def test_titles_of_older_versions_are_taken_over_and_go_with_their_conversation(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "chats.db") as store:
        from autocompact.core.messages import text_message

        for id in ("a", "b"):
            await store.append(Key(conversation=id), [text_message(1, "user", "Hello.")], after=0)
        old = Key(conversation="titles", namespace="default#chat")
        for number, (id, title) in enumerate([("a", "One"), ("b", f"Of {SECRET}"), ("a", "Boats")], start=1):
            note = f'{{"note": "title", "conversation": "{id}", "title": "{title}"}}'
            await store.append(old, [text_message(number, "system", note, synthetic=True)], after=number - 1)
    async with chatting(tmp_path, config=ChatConfig(model="offline")) as service:
        before = {line.id: line.title for line in await service.conversations()}
        await service.delete("b")
        await service.rename("a", title="Ships " + "and ships " * 12)
    async with chatting(tmp_path, config=ChatConfig(model="offline")) as service:
        after = {line.id: line.title for line in await service.conversations()}
        example = await service.seed_example()

    assert before == {"a": "Boats", "b": f"Of {SECRET}"}
    assert after == {"a": ("Ships " + "and ships " * 12).strip()}
    assert example is None
    assert _files_with(tmp_path, SECRET) == []


async def test_the_library_deletes_everywhere_too_and_a_stale_conversation_brings_nothing_back(
    tmp_path: Path,
) -> None:
    memory = tmp_path / "memory"
    async with (
        Compactor(SqliteStore(tmp_path / "a.db"), memory_folder=memory) as compactor,
        Compactor(SqliteStore(tmp_path / "a.db"), memory_folder=memory) as other,
    ):
        conversation = await compactor.open("crates")
        for number in range(8):
            await conversation.say(f"Crate {number} of {SECRET}. " + "with much cargo " * 40)
            await conversation.say("Noted. " * 40, role="assistant")
        assert (await conversation.compact()).success
        stale = await other.open("crates")
        existed = await compactor.delete("crates")
        with pytest.raises(Conflict, match="was deleted"):
            await stale.say(f"More of {SECRET}")
        again = await compactor.delete("crates")

    assert (existed, again) == (True, False)
    assert _archive(memory).exists()
    assert _files_with(tmp_path, SECRET) == []
