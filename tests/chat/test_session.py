from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from autocompact.chat import ChatConfig, opened, run_command
from autocompact.chat import events as chat
from autocompact.compaction.modes import DATABASE_CHAT
from autocompact.core.messages import Message
from autocompact.errors import InvalidInput
from autocompact.events import CompactionCompleted, CompactionStarted
from autocompact.ports import SystemClock
from autocompact.testing import FakeClock, FakeProvider
from autocompact.testing.provider import Received
from tests.chat.chatting import (
    ANTHROPIC,
    APIS,
    CHAT,
    Heard,
    Held,
    asked,
    call,
    calling,
    chatting,
    environment,
)
from tests.lengths import some, turns

pytestmark = pytest.mark.anyio

PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from autocompact.chat import ChatConfig, opened
from autocompact.chat.events import TextDelta

async def main(path, id):
    async with opened(Path(path), config=ChatConfig(model="compatible:any")) as service:
        session = await service.open(id)
        session.listen(lambda event: print("said", event.text, flush=True) if isinstance(event, TextDelta) else None)
        await session.send("Count to ten.")
        await session.wait()

asyncio.run(main(*sys.argv[1:]))
"""


@asynccontextmanager
async def another_program(
    path: Path, id: str, *, provider: FakeProvider
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A program of its own that asks in conversation ``id``, once the first words of the answer have come."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", PROGRAM, str(path), id),
        env={"PYTHONPATH": "src", **environment(provider)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        assert (await process.stdout.readline()).startswith(b"said")
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_half_an_answer_outlives_the_program_that_was_killed_and_is_marked(tmp_path: Path) -> None:
    async with FakeProvider("one two three four five six seven eight nine ten") as provider:
        async with chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service:
            session = await service.create()
            await asked(session, "Good day.")
        provider.fail("stalled")
        async with another_program(tmp_path / "chats.db", session.id, provider=provider) as process:
            process.kill()
            await process.wait()
        async with chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service:
            session = await service.open(session.id)
            *_, request, half = (await session.history()).entries
            await session.retry()
            ended = await session.wait()
            *_, last = (await session.history()).entries

    assert request.message.text == "Count to ten."
    assert half.cut == "interrupted"
    assert "one two three four five six seven eight nine ten".startswith(half.message.text.strip())
    assert half.message.text
    assert ended is not None
    assert ended.outcome == "finished"
    assert (last.message.text, last.cut) == ("one two three four five six seven eight nine ten", "")


async def test_a_conversation_in_which_another_program_answers_is_left_alone(tmp_path: Path) -> None:
    async with FakeProvider("one two three four five six seven eight nine ten") as provider:
        async with chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service:
            session = await service.create()
            await asked(session, "Good day.")
        provider.fail("stalled")
        async with (
            another_program(tmp_path / "chats.db", session.id, provider=provider),
            # the programs share a clock: a lease of another time would be void
            chatting(tmp_path, provider, config=ChatConfig(model=CHAT), clock=SystemClock()) as service,
        ):
            session = await service.open(session.id)
            entries = (await session.history()).entries
            with pytest.raises(InvalidInput, match="another program is answering"):
                await session.send("And me?")

    assert entries[-1].message.text == "Count to ten."


async def test_closing_the_service_in_mid_turn_marks_the_half_answer(tmp_path: Path) -> None:
    async with FakeProvider("one two three four") as provider:
        async with chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service:
            session = await service.create()
            said = asyncio.Event()
            session.listen(lambda event: said.set() if isinstance(event, chat.TextDelta) else None)
            provider.fail("stalled")
            await session.send("Count.")
            await said.wait()
        async with chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service:
            page = await (await service.open(session.id)).history()

    assert [entry.cut for entry in page.entries] == ["", "interrupted"]


async def test_a_late_listener_sees_what_is_running_and_hears_the_rest(tmp_path: Path) -> None:
    words = "one two three four five six seven eight"
    async with (
        FakeProvider(words) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        session = await service.create()
        provider.fail("slow")
        first, late = Heard(session), None
        said = asyncio.Event()
        session.listen(lambda event: said.set() if isinstance(event, chat.TextDelta) else None)
        await session.send("Count.")
        await said.wait()
        late, view = Heard(session), (await service.open(session.id)).view()
        await session.wait()

    assert view.turn is not None
    assert view.last_seq == 1
    rest = "".join(each.text for each in late.of(chat.TextDelta))
    assert view.turn.text + rest == "".join(each.text for each in first.of(chat.TextDelta)) == words
    assert late.of(chat.TurnEnded) == first.of(chat.TurnEnded)


async def test_the_model_of_a_conversation_is_switched_and_kept(tmp_path: Path) -> None:
    async with FakeProvider("I am another one.") as provider:
        async with chatting(tmp_path, provider, config=ChatConfig(model="offline")) as service:
            session = await service.create()
            await asked(session, "The code is 4711.")
            reply = await run_command(f"/model {ANTHROPIC}", session=session, service=service)
            log = await asked(session, "Who are you?")
            with pytest.raises(InvalidInput, match="names no model"):
                await session.choose_model("nobody")
        async with chatting(tmp_path, provider, config=ChatConfig(model="offline")) as service:
            kept = (await service.open(session.id)).model
            other = (await service.create()).model
        async with chatting(tmp_path, config=ChatConfig(model="offline")) as service:
            without_key = (await service.open(session.id)).model

    assert reply.text == "The model is anthropic:claude-haiku-4-5 now."
    assert log[-1].text == "I am another one."
    assert (kept, other, without_key) == ("anthropic:claude-haiku-4-5", "offline", "offline")


@pytest.mark.requirement("D1", "D10")
@pytest.mark.parametrize("model", some(APIS, gate=2))
async def test_many_turns_with_tools_stay_within_a_window_of_16k(tmp_path: Path, model: str) -> None:
    last = turns(50, long=400)
    (tmp_path / "log.txt").write_text("".join(f"line {number} of the log\n" for number in range(120)))

    def answer(request: Received):
        last = request.messages[-1]
        if (
            "Turn" in str(last.get("content"))
            and last.get("role") == "user"
            and "tool_result" not in str(last)
        ):
            return calling(call("read_file", f"call_{len(provider.requests)}", path="log.txt"))
        return "Read, nothing new in it."

    config = ChatConfig(model=model, workspace=tmp_path, window=16_000, summary_model="offline", steps=5)
    async with (
        FakeProvider(answer, window=16_000) as provider,
        chatting(tmp_path, provider, config=config) as service,
    ):
        session = await service.create()
        for number in range(1, last + 1):
            await session.send(f"Turn {number}: what is new in the log?")
            ended = await session.wait()
            assert ended is not None
            assert ended.outcome == "finished", ended.message
        log = await session.conversation.history()
        found = await session.search("Turn 3: what is new", k=3)
        records = await session.compactions()
        used = session.meter().used

    assert [message.text for message in log if message.is_request] == [
        f"Turn {number}: what is new in the log?" for number in range(1, last + 1)
    ]
    assert sum(bool(message.calls) for message in log) == last
    assert max(request.tokens for request in provider.requests) <= 16_000
    assert used < 16_000
    assert records
    assert len(records) < last // 2
    assert found


@pytest.mark.requirement("A2", "A4", "A10")
async def test_compact_undo_and_the_dividers_of_the_history(tmp_path: Path) -> None:
    config = ChatConfig(model="offline", mode=DATABASE_CHAT)
    async with chatting(tmp_path, config=config) as service:
        session = await service.create()
        heard = Heard(session)
        for number in range(12):
            await asked(
                session, f"Fact {number}: the berth of boat {number} is B{number * 7}, " + "far out " * 30
            )
        before = session.meter().used
        result = await run_command("/compact the berths", session=session, service=service)
        after = session.meter()
        page = await session.history(limit=6)
        first = await session.history(before_seq=page.earlier, limit=100)
        undone = await run_command("/undo", session=session, service=service)

    started, completed = heard.of(CompactionStarted), heard.of(CompactionCompleted)
    assert len(started) == len(completed) == 1
    assert completed[0].success
    assert result.kind == "text", result.text
    assert after.used < before
    assert after.breakdown["summary"]
    dividers = (*first.dividers, *page.dividers)
    assert len(dividers) == 1
    assert dividers[0].active
    assert dividers[0].left == (1, dividers[0].after_seq)
    shown = (*first.entries, *page.entries)
    assert [entry.seq for entry in shown] == list(range(1, 25))
    assert shown[0].visibility == "summarised"
    assert undone.text == "Undone: the model is sent the whole log again."
    assert session.meter().used >= before


async def test_a_model_that_is_chosen_while_a_turn_begins_is_refused_and_the_turn_goes_on(
    tmp_path: Path,
) -> None:
    async with (
        FakeProvider("Good day.") as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        session = await service.create()
        chosen, sent = await asyncio.gather(
            session.choose_model("offline"), session.send("Hello."), return_exceptions=True
        )
        ended = await session.wait()
        log = await session.conversation.history()

    assert isinstance(chosen, InvalidInput)
    assert isinstance(sent, Message)
    assert ended is not None
    assert (session.model, ended.outcome) == (CHAT, "finished")
    assert [message.text for message in log] == ["Hello.", "Good day."]


async def test_two_who_delete_a_conversation_at_once_both_find_it_gone(tmp_path: Path) -> None:
    held = Held()
    async with (
        FakeProvider(held) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        session = await service.create("Boats")
        await session.send("What is the ketch called?")
        await held.asked()
        await asyncio.gather(service.delete(session.id), service.delete(session.id))

        assert await service.conversations() == ()


async def test_the_list_is_told_of_turns_that_begin_and_end_in_any_conversation(tmp_path: Path) -> None:
    held = Held()
    async with (
        FakeProvider(held) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        session = await service.create()
        told: list[tuple[str, bool]] = []
        service.listen(lambda event: told.append((event.conversation_id, session.running)))
        await session.send("Wait for it.")
        go = await held.asked()
        heard, running = told.copy(), [line.running for line in await service.conversations()]
        go.set()
        await session.wait()
        afterwards = [line.running for line in await service.conversations()]

    assert ((session.id, True) in heard, running) == (True, [True])
    assert (told[-1], afterwards) == ((session.id, False), [False])


@pytest.mark.requirement("A13")
async def test_a_second_compaction_while_one_runs_is_refused(tmp_path: Path) -> None:
    go, summarising = asyncio.Event(), asyncio.Event()

    async def answer(request: Received) -> str:
        if "<summary>" not in request.last_text:
            return "Noted. " + "word " * 300
        summarising.set()
        await go.wait()
        return "<summary>Facts were told and noted.</summary>"

    async with (
        FakeProvider(answer) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        session = await service.create()
        for number in range(6):
            await asked(session, f"Fact {number}.")
        first = asyncio.create_task(session.compact())
        await summarising.wait()
        compacting = session.view().compacting
        second = await session.compact()
        go.set()
        result = await first

    assert compacting
    assert not second.success
    assert "already" in second.message
    assert result.success, result.message
    assert not session.view().compacting


@pytest.mark.requirement("D9")
async def test_memory_files_are_in_the_prompt_and_are_found_before_and_after_a_compaction(
    tmp_path: Path,
) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "MEMORY.md").write_text("# Memory\n\nThe harbour office opens at seven.\n")
    (memory / "HARBOUR.md").write_text("# Cranes\n\nThe blue crane lifts forty tonnes.\n")
    config = ChatConfig(model="offline", memory_folder=memory)
    async with chatting(tmp_path, config=config) as service:
        session = await service.create()
        prompt = session.system
        before = await session.recall.call("memory_search", {"query": "blue crane tonnes"})
        await asked(session, "remember the red crane is out of order")
        for number in range(8):
            await asked(session, f"Ship {number} comes in at noon, {'with much cargo ' * 20}")
        same = session.system
        await session.compact()
        after = await session.recall.call("memory_search", {"query": "blue crane tonnes"})
        noted = await session.recall.call("memory_search", {"query": "red crane out of order"})
        (memory / "ACTIVE_RULES.md").write_text("# Rules\n\n1. Never lift over people.\n")
        await asked(session, "Which rules are there?")
        changed = session.system

    assert "The harbour office opens at seven." in prompt
    assert prompt == same
    assert "Never lift over people." in changed
    assert "HARBOUR.md#1" in before
    assert "HARBOUR.md#1" in after
    assert "the red crane is out of order" in noted


async def test_tasks_stay_with_the_conversation_through_a_restart(tmp_path: Path) -> None:
    listed = [{"text": "Paint the hull", "state": "doing"}, {"text": "Mend the sail"}]
    async with FakeProvider([calling(call("tasks", tasks=listed)), "Noted."]) as provider:
        async with chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service:
            session = await service.create()
            heard = Heard(session)
            await asked(session, "What is to be done?")
        async with chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service:
            again = await service.open(session.id)
            shown = await run_command("/tasks", session=again, service=service)

    assert heard.of(chat.TasksChanged)[0].tasks == again.tasks
    assert shown.text == "- [~] Paint the hull\n- [ ] Mend the sail"


async def test_a_conversation_is_exported_deleted_and_gone(tmp_path: Path) -> None:
    async with chatting(tmp_path, config=ChatConfig(model="offline")) as service:
        session, other = await service.create("Boats"), await service.create()
        await asked(session, "The ketch is called Ines.")
        await asked(other, "The sloop is called Mira.")
        exported = await service.export(session.id)
        everywhere = await service.search("sloop Mira")
        await service.delete(session.id)
        left = await service.conversations()
        with pytest.raises(InvalidInput, match="was deleted"):
            await service.open(session.id)

    assert b"The ketch is called Ines." in exported
    assert everywhere[0].reference == f"{other.id}:m1"
    assert [line.id for line in left] == [other.id]


async def test_a_deleted_conversation_does_not_come_back_where_it_still_is_open(tmp_path: Path) -> None:
    async with chatting(tmp_path, config=ChatConfig(model="offline")) as service:
        session = await service.create()
        await asked(session, "The ketch is called Ines.")
        await service.delete(session.id)
        with pytest.raises(InvalidInput, match="was deleted"):
            await session.send("And the sloop?")
        with pytest.raises(InvalidInput, match="was deleted"):
            await session.send_later("And the sloop?")

        assert await service.conversations() == ()


async def test_two_services_on_one_file_see_titles_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    async with (
        opened(path, config=ChatConfig(model="offline"), environ={}, clock=FakeClock()) as one,
        opened(path, config=ChatConfig(model="offline"), environ={}, clock=FakeClock()) as two,
    ):
        session = await one.create()
        await asked(session, "hello")
        await two.rename(session.id, title="Ours")

        assert [line.title for line in await one.conversations()] == ["Ours"]
