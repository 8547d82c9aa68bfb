from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from autocompact.chat import ChatConfig, CommandRules
from autocompact.chat import events as chat
from autocompact.core.messages import Reasoning
from autocompact.errors import InvalidInput
from autocompact.testing import Answer, FakeProvider
from autocompact.testing.provider import Received
from tests.chat.chatting import APIS, CHAT, Heard, asked, call, calling, chatting

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("model", APIS)
async def test_an_answer_streams_with_reasoning_and_parallel_tools_through_each_api(
    tmp_path: Path, model: str
) -> None:
    (tmp_path / "tides.txt").write_text("Bergen 06:12\n")
    replies = [
        Answer(
            text="Let me look.",
            reasoning="The file says it.",
            calls=(call("read_file", path="tides.txt"), call("tasks", "call_2")),
        ),
        Answer(text="At 06:12.", reasoning="Found."),
        Answer(text="Nothing more."),
    ]
    config = ChatConfig(model=model, workspace=tmp_path)
    async with FakeProvider(replies) as provider, chatting(tmp_path, provider, config=config) as service:
        session = await service.create()
        heard = Heard(session)
        await asked(session, "When is high water in Bergen?")
        log = await asked(session, "And else?")
        requests = provider.requests

    assert [message.role for message in log[:5]] == ["user", "assistant", "tool", "tool", "assistant"]
    assert "".join(each.text for each in heard.of(chat.TextDelta)) == "Let me look.At 06:12.Nothing more."
    assert "The file says it." in "".join(each.text for each in heard.of(chat.ReasoningDelta))
    assert {each.call_id: each.is_error for each in heard.of(chat.ToolFinished)} == {
        "call_1": False,
        "call_2": False,
    }
    assert log[1].usage is not None
    assert log[1].usage.prompt == requests[0].tokens
    assert any(isinstance(part, Reasoning) for part in log[1].parts)
    assert all(request.tokens for request in requests), "the provider refused a request"


async def test_the_meter_shows_what_the_provider_reported(tmp_path: Path) -> None:
    async with (
        FakeProvider(["Good day."]) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        session = await service.create()
        heard = Heard(session)
        log = await asked(session, "Good day!")
        meter = heard.of(chat.MeterChanged)[-1].meter

    usage = log[-1].usage
    assert usage is not None
    assert meter.used == meter.reported == usage.prompt + usage.completion
    assert meter.used <= meter.threshold < meter.window
    assert {"system prompt", "tools", "your messages", "answers"} == set(meter.breakdown)


class Held:
    """A provider's answer that comes when the test says so."""

    def __init__(self, *answers: str | Answer) -> None:
        self.asked = asyncio.Event()
        self.go = asyncio.Event()
        self._answers = list(answers)

    async def __call__(self, _: Received) -> str | Answer:
        self.asked.set()
        await self.go.wait()
        return self._answers.pop(0)


async def test_a_cancelled_turn_ends_and_the_conversation_goes_on(tmp_path: Path) -> None:
    held = Held("Never said.", "Said.")
    async with (
        FakeProvider(held) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        session = await service.create()
        await session.send("Tell me.")
        await held.asked.wait()
        await session.cancel()
        ended = await session.wait()
        held.go.set()
        await session.retry()
        again = await session.wait()
        log = await session.conversation.history()

    assert ended == chat.TurnEnded(conversation_id=session.id, outcome="cancelled")
    assert again == chat.TurnEnded(conversation_id=session.id, outcome="finished")
    assert [message.role for message in log] == ["user", "assistant"]


async def test_cancelling_in_the_midst_of_an_answer_keeps_its_half_and_says_so(tmp_path: Path) -> None:
    words = "one two three four five six seven eight"
    async with (
        FakeProvider([words, "never"]) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        session = await service.create()
        said = asyncio.Event()
        session.listen(lambda event: said.set() if isinstance(event, chat.TextDelta) else None)
        provider.fail("stalled")
        await session.send("Count.")
        await said.wait()
        half = session.view().turn
        await session.cancel()
        page = await session.history()
        log = await asked(session, "Go on.")

    assert half is not None
    entry = page.entries[-1]
    assert entry.cut == "cancelled"
    assert entry.message.text == half.text
    assert words.startswith(half.text.strip())
    assert log[-1].text == words


async def test_half_an_answer_says_how_long_the_model_thought(tmp_path: Path) -> None:
    answer = Answer(reasoning="Hm.", text="one two three four five six seven eight")
    async with (
        FakeProvider([answer]) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        session = await service.create()
        said = asyncio.Event()
        session.listen(lambda event: said.set() if isinstance(event, chat.TextDelta) else None)
        provider.fail("stalled")
        await session.send("Count.")
        await said.wait()
        await session.cancel()
        entry = (await session.history()).entries[-1]

    assert entry.cut == "cancelled"
    assert entry.message.text.startswith("one")
    assert entry.seconds is not None


async def test_a_tool_that_was_running_at_a_cancellation_is_answered(tmp_path: Path) -> None:
    rules = ChatConfig(model=CHAT, workspace=tmp_path, commands=_commands())
    async with (
        FakeProvider([calling(call("run_command", command="true")), "ok"]) as provider,
        chatting(tmp_path, provider, config=rules) as service,
    ):
        session = await service.create()
        question = asyncio.Event()
        session.listen(lambda event: question.set() if isinstance(event, chat.QuestionAsked) else None)
        await session.send("Run it.")
        await question.wait()
        await session.cancel()
        log = await session.conversation.history()
        after = await asked(session, "Never mind.")

    (result,) = log[-1].results
    assert result.is_error
    assert "ended before this tool did" in result.text
    assert after[-1].text == "ok"


def _commands() -> CommandRules:
    return CommandRules(enabled=True)


async def test_a_refusal_of_the_provider_is_told_without_the_key(tmp_path: Path) -> None:
    async with (
        FakeProvider(["never"], api_key="another one") as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        session = await service.create()
        await session.send("Are you there?")
        failed = await session.wait()

    assert failed is not None
    assert failed.outcome == "failed"
    assert "Check the API key" in failed.message
    assert "sk-of-the-tests" not in failed.message


async def test_an_answer_that_breaks_off_is_kept_marked_and_replaced_by_a_retry(tmp_path: Path) -> None:
    async with (
        FakeProvider(["one two three four"]) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        session = await service.create()
        provider.fail("cut")
        await session.send("Count.")
        failed = await session.wait()
        broken = (await session.history()).entries
        await session.retry()
        await session.wait()
        mended = (await session.history()).entries

    assert failed is not None
    assert failed.outcome == "failed"
    assert [(entry.message.role, entry.cut) for entry in broken] == [("user", ""), ("assistant", "failed")]
    assert "one two three four".startswith(broken[-1].message.text.strip())
    assert broken[-1].message.model == mended[-1].message.model == "any"
    assert [(entry.message.text, entry.cut) for entry in mended] == [
        ("Count.", ""),
        ("one two three four", ""),
    ]


@pytest.mark.requirement("A14")
async def test_an_edited_request_takes_the_place_of_all_that_came_after_it(tmp_path: Path) -> None:
    async with (
        FakeProvider(["Oslo.", "Rome.", "Rome again."]) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        session = await service.create()
        await asked(session, "Capital of Norway?")
        await session.edit(1, "Capital of Italy?")
        await session.wait()
        await session.retry()
        await session.wait()
        shown = await session.history()
        everything = await session.history(replaced=True)
        sent = [request.messages for request in provider.requests]
        with pytest.raises(InvalidInput, match="was replaced"):
            await session.edit(1, "Again?")
        with pytest.raises(InvalidInput, match="not one of your requests"):
            await session.edit(2, "Again?")

    assert [entry.message.text for entry in shown.entries] == ["Capital of Italy?", "Rome again."]
    assert [entry.visibility for entry in everything.entries] == ["replaced"] * 4 + ["sent"] * 2
    assert [message["content"] for message in sent[2] if message["role"] == "user"] == ["Capital of Italy?"]


async def test_a_second_message_during_a_turn_is_refused(tmp_path: Path) -> None:
    held = Held("Done.")
    async with (
        FakeProvider(held) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        session = await service.create()
        await session.send("First.")
        with pytest.raises(InvalidInput, match="a turn is running"):
            await session.send("Second.")
        held.go.set()
        await session.wait()

        assert len(await session.conversation.history()) == 2


async def test_a_turn_of_endless_tool_calls_is_stopped(tmp_path: Path) -> None:
    config = ChatConfig(model=CHAT, steps=3)

    def again(_: Received) -> Answer:
        return calling(call("tasks"))

    async with FakeProvider(again) as provider, chatting(tmp_path, provider, config=config) as service:
        session = await service.create()
        await session.send("Go.")
        ended = await session.wait()

        assert len(provider.requests) == 3
    assert ended is not None
    assert "stopped after 3 model calls" in ended.message
