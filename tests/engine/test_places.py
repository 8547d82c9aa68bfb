"""Conversations whose tool calls share an id, or have none: in a real store, as a library's user meets them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autocompact.compaction.modes import DEFAULT
from autocompact.compaction.repair import problems
from autocompact.core.messages import Message, Text
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor, Conversation
from autocompact.errors import InvalidInput
from autocompact.stores.sqlite import SqliteStore

pytestmark = pytest.mark.anyio
WINDOW = 16_000
NO_BACKGROUND = replace(DEFAULT, background=False)


def page(number: int, *, lines: int = 40) -> str:
    return "\n".join(f"file {number}, line {n}: rounded the total of item {n} to cents" for n in range(lines))


async def turn(conversation: Conversation, number: int, *, id: str, lines: int = 40) -> None:
    """A call of a server that gives every call the same id, and its result."""
    function = {"name": "read", "arguments": f'{{"file_path":"src/f{number}.py"}}'}
    calls: list[Any] = [{"id": id, "type": "function", "function": function}]
    await conversation.add({"role": "assistant", "content": None, "tool_calls": calls})
    await conversation.add({"role": "tool", "tool_call_id": id, "content": page(number, lines=lines)})


def opened(path: Path) -> Compactor:
    return Compactor(SqliteStore(path), window=WINDOW, reserve=1_000, counter=Estimator(), mode=NO_BACKGROUND)


@pytest.mark.requirement("A7")
@pytest.mark.parametrize("id", ["call_0", ""])
async def test_masks_and_pins_take_effect_however_often_an_id_is_used(tmp_path: Path, id: str) -> None:
    async with opened(tmp_path / "chats.db") as compactor:
        conversation = await compactor.open("task")
        await conversation.say("You are careful.", role="system")
        await conversation.say("Please go through all files.")
        for number in range(40):
            await turn(conversation, number, id=id)
            context = await conversation.ready()
            assert context.cost.tokens <= WINDOW - 1_000
            assert problems(list(context.messages)) == []
            assert context.messages[-1].results[0].text == page(number)
            sent: list[Any] = conversation.messages()
            assert {call["id"] for each in sent for call in each.get("tool_calls") or ()} == {id}
        assert any(record.masks for record in await conversation.records.all())

        before = conversation.context().cost.tokens
        await conversation.records.pin(8)
        pinned = conversation.context()
        assert page(2) in [result.text for message in pinned.messages for result in message.results]
        assert pinned.cost.tokens - before < 1_500
        assert (await conversation.compact()).success
        shown = conversation.context()
        assert page(2) in [result.text for message in shown.messages for result in message.results]
        assert shown.cost.tokens < pinned.cost.tokens
    async with opened(tmp_path / "chats.db") as compactor:
        again = await compactor.open("task")
        assert tuple(again.context().messages) == tuple(shown.messages)


async def test_a_pin_counts_with_all_that_it_ties(tmp_path: Path) -> None:
    async with opened(tmp_path / "chats.db") as compactor:
        conversation = await compactor.open("task")
        await conversation.say("Please look.")
        await turn(conversation, 0, id="call_0", lines=300)
        await conversation.say("Looks good.", role="assistant")
        with pytest.raises(InvalidInput, match="the pins would take"):
            await conversation.records.pin(2)


@pytest.mark.requirement("E2")
@pytest.mark.requirement("A7")
async def test_pins_stay_in_the_context_after_undo_and_restore(tmp_path: Path) -> None:
    async with opened(tmp_path / "chats.db") as compactor:
        conversation = await compactor.open("task")
        await conversation.say("Never push without my approval.")
        for number in range(8):
            await turn(conversation, number, id=f"call_{number}")
        await conversation.say("And now?")
        assert (await conversation.compact()).success
        for number in range(8, 16):
            await turn(conversation, number, id=f"call_{number}")
        await conversation.say("And then?")
        assert (await conversation.compact()).success
        await conversation.records.pin(1)
        await conversation.records.pin(5)

        def pinned() -> list[str]:
            messages = conversation.context().messages
            shown = [message.text for message in messages if message.seq == 1]
            return [
                *shown,
                *(each.text for message in messages if message.seq == 5 for each in message.results),
            ]

        assert pinned() == ["Never push without my approval.", page(1)]
        active = conversation.internals.replica.active_id
        undone = await conversation.records.undo()
        assert undone is not None
        assert pinned() == ["Never push without my approval.", page(1)]
        await conversation.records.restore(active)
        assert pinned() == ["Never push without my approval.", page(1)]
        preview = await conversation.records.preview()
        assert preview is None or {1, 4, 5} <= set(preview.keep)
    async with opened(tmp_path / "chats.db") as compactor:
        conversation = await compactor.open("task")
        assert pinned() == ["Never push without my approval.", page(1)]
        await conversation.records.restore(undone.id)
        assert pinned() == ["Never push without my approval.", page(1)]


@pytest.mark.requirement("E2")
async def test_pinned_texts_stay_in_the_context_after_undo_and_restore(tmp_path: Path) -> None:
    async with opened(tmp_path / "chats.db") as compactor:
        conversation = await compactor.open("task")
        for number in range(16):
            if number in (7, 11, 15):
                await conversation.say(f"Up to {number}?")
                assert (await conversation.compact()).success
            if number in (8, 12):
                await conversation.records.note(f"The code is {number}.")
            await turn(conversation, number, id=f"call_{number}")

        def pinned() -> list[int]:
            summary = conversation.context().messages[0].text
            assert summary.count("## Pinned") <= 1
            return [number for number in (8, 12) if summary.count(f"- The code is {number}.\n") == 1]

        assert pinned() == [8, 12]
        for _ in range(2):
            assert await conversation.records.undo() is not None
            assert pinned() == [8, 12]
        await conversation.records.restore("c2")
        assert pinned() == [8, 12]
        await conversation.records.restore("c3")
        assert pinned() == [8, 12]
        await conversation.records.restore("c1")
    async with opened(tmp_path / "chats.db") as compactor:
        conversation = await compactor.open("task")
        assert pinned() == [8, 12]


class Words:
    """Counts words, so many tokens each."""

    def __init__(self, name: str, *, tokens: int) -> None:
        self.name, self._tokens = name, tokens

    def count(self, text: str) -> int:
        return self._tokens * len(text.split())


async def test_a_conversation_is_counted_with_the_vocabulary_that_it_was_opened_with(tmp_path: Path) -> None:
    """The gateway gives a conversation the compactor of each request's model: its weights must add up all the same."""
    store = SqliteStore(tmp_path / "chats.db")
    async with Compactor(store, window=WINDOW, counter=Words("one", tokens=1)) as first:
        second = Compactor(store, window=WINDOW, counter=Words("nine", tokens=9))
        conversation = await first.open("task")
        replica = conversation.internals.replica
        await conversation.say("a b c d e f g h i j")
        before = conversation.context().cost.tokens
        replica.shared = second
        await conversation.append(
            Message(seq=0, role="assistant", parts=(Text(text="a b c d e f g h i j"),), usage=None)
        )
        assert conversation.context().cost.tokens == 2 * before
        assert replica.state.meter.gauge.calibration.counter == "one"
        again = await second.open("task")
        assert again.context().cost.tokens > 3 * before
        assert again.internals.replica.state.meter.gauge.calibration.counter == "nine"
