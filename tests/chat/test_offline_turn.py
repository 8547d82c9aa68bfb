"""The simplest conversation: nothing but this computer."""

from pathlib import Path

import pytest

from autocompact.chat import opened, run_command
from autocompact.chat.commands import is_command
from autocompact.chat.events import MessageAdded, TextDelta, TurnEnded, TurnStarted
from autocompact.chat.offline import LABEL
from autocompact.testing import FakeClock

pytestmark = pytest.mark.anyio


async def test_without_a_model_a_question_is_answered_with_what_was_said(tmp_path: Path) -> None:
    async with opened(tmp_path / "chats.db", environ={}, clock=FakeClock()) as service:
        session = await service.create()
        await session.send("The harbour master's number is 4711.")
        await session.wait()
        await session.send("Which number has the harbour master?")
        ended = await session.wait()

        page = await session.history()

    assert ended == TurnEnded(conversation_id=session.id, outcome="finished")
    answer = page.entries[-1].message
    assert answer.model == "offline"
    assert answer.text.startswith(LABEL)
    assert "> The harbour master's number is 4711.\n>\n> [m1] the user" in answer.text


async def test_listeners_hear_a_turn_in_order_and_the_deltas_make_up_the_answer(tmp_path: Path) -> None:
    heard: list[object] = []
    async with opened(tmp_path / "chats.db", environ={}, clock=FakeClock()) as service:
        session = await service.create()
        session.listen(heard.append)
        await session.send("hello")
        await session.wait()

    wanted = (MessageAdded, TurnStarted, TextDelta, TurnEnded)
    order = [type(event) for event in heard if isinstance(event, wanted)]
    assert order[:3] == [MessageAdded, TurnStarted, TextDelta]
    assert order[-2:] == [MessageAdded, TurnEnded]
    added = [event for event in heard if isinstance(event, MessageAdded)]
    said = "".join(event.text for event in heard if isinstance(event, TextDelta))
    assert added[-1].entry.message.text == said


async def test_conversations_are_titled_by_their_first_words_until_somebody_names_them(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path / "chats.db", environ={}, clock=FakeClock()) as service:
        session = await service.create()
        await session.send("Plan the trip to Oslo")
        await session.wait()
        (before,) = await service.conversations()
        await service.rename(session.id, title="Oslo")
        (after,) = await service.conversations()

    assert (before.title, after.title, session.title) == ("Plan the trip to Oslo", "Oslo", "Oslo")


@pytest.mark.parametrize("blank", [" ", "\t", "\u3000"])
async def test_any_blank_ends_the_word_of_an_order_and_the_name_of_a_command(
    tmp_path: Path, blank: str
) -> None:
    async with opened(tmp_path / "chats.db", environ={}, clock=FakeClock()) as service:
        session = await service.create()
        await session.send("潮位表を確認してください。")
        await session.wait()
        line = f"/search{blank}潮位表"
        found = await run_command(line, session=session, service=service)
        await session.send(f"recall{blank}潮位表")
        await session.wait()
        log = await session.conversation.history()

    assert is_command(line)
    assert (found.kind, "[m1]" in found.text) == ("found", True)
    assert [call.name for message in log for call in message.calls] == ["memory_search"]
