"""Answers that are cut, refused, too large or never come: the conversation goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from autocompact.chat import ChatConfig, ChatSession
from autocompact.chat import events as chat
from autocompact.core.messages import ToolCall
from autocompact.events import CompactionCompleted
from autocompact.testing import Answer, FakeProvider
from autocompact.testing.provider import FaultKind, Received
from tests.chat.chatting import ANTHROPIC, APIS, CHAT, RESPONSES, Heard, asked, call, calling, chatting

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("model", APIS)
async def test_an_answer_that_the_token_limit_cut_is_marked(tmp_path: Path, model: str) -> None:
    replies = [Answer(text="one two three", stop="length"), "four"]
    async with (
        FakeProvider(replies) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=model)) as service,
    ):
        session = await service.create()
        heard = Heard(session)
        await asked(session, "Count.")
        await asked(session, "Go on.")
        entries = (await session.history()).entries

    assert [(entry.message.text, entry.cut) for entry in entries] == [
        *(("Count.", ""), ("one two three", "length")),
        *(("Go on.", ""), ("four", "")),
    ]
    assert [event.entry.cut for event in heard.of(chat.MessageAdded)] == ["", "length", "", ""]


@pytest.mark.parametrize("model", APIS)
async def test_a_model_that_says_nothing_is_given_up_after_the_time_that_is_set_and_not_asked_again(
    tmp_path: Path, model: str
) -> None:
    async def never(_: Received) -> str:
        return await asyncio.Future[str]()

    config = ChatConfig(model=model, silence=0.2)
    async with FakeProvider(never) as provider, chatting(tmp_path, provider, config=config) as service:
        session = await service.create()
        await session.send("Are you there?")
        ended = await session.wait()
        asked_for_it = len(provider.requests)

    assert ended is not None
    assert (ended.outcome, asked_for_it) == ("failed", 1)
    assert "said nothing for 0.2 seconds" in ended.message
    assert "models.silentSeconds" in ended.message


async def test_an_answer_that_stops_in_the_midst_is_given_up_too_and_its_half_is_kept(tmp_path: Path) -> None:
    config = ChatConfig(model=CHAT, silence=2)
    async with (
        FakeProvider(["one two three four five six", "never"]) as provider,
        chatting(tmp_path, provider, config=config) as service,
    ):
        session = await service.create()
        provider.fail("stalled")
        await session.send("Count.")
        ended = await session.wait()
        entry = (await session.history()).entries[-1]

    assert ended is not None
    assert (ended.outcome, entry.cut) == ("failed", "failed")
    assert "said nothing for 2 seconds" in ended.message
    assert entry.message.text.startswith("one")


@pytest.mark.parametrize("model", [CHAT, RESPONSES])
async def test_a_call_that_was_cut_off_is_answered_and_goes_back_to_every_api(
    tmp_path: Path, model: str
) -> None:
    half = ToolCall(id="call_1", name="read_file", arguments='{"path": "no')
    replies = [Answer(calls=(half,), stop="length"), "I try again.", "Done."]
    config = ChatConfig(model=model, workspace=tmp_path)
    async with FakeProvider(replies) as provider, chatting(tmp_path, provider, config=config) as service:
        session = await service.create()
        await session.send("Read it.")
        ended = await session.wait()
        await session.choose_model(ANTHROPIC)
        again = await asked(session, "And now?")
        log = await session.conversation.history()
        requests = provider.requests

    assert ended is not None
    assert ended.outcome == "finished", ended.message
    assert [message.role for message in log[:4]] == ["user", "assistant", "tool", "assistant"]
    assert again[-1].text == "Done."
    assert log[2].results[0].is_error
    assert all(request.tokens for request in requests), "the provider refused a request"


@pytest.mark.parametrize("model", APIS)
@pytest.mark.parametrize("fault", ["cut", "empty", "garbage"])
async def test_after_a_failed_turn_the_next_request_is_valid(
    tmp_path: Path, model: str, fault: FaultKind
) -> None:
    async with (
        FakeProvider(["Never said.", "Said."] * 20) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=model)) as service,
    ):
        session = await service.create()
        provider.fail(fault)
        await session.send("First.")
        first = await session.wait()
        await session.send("Second.")
        second = await session.wait()
        last = (await session.history()).entries[-1]

    assert first is not None
    assert first.outcome == "failed"
    assert first.message
    assert second is not None
    assert second.outcome == "finished", second.message
    assert (last.message.role, last.cut) == ("assistant", "")


async def test_a_request_that_is_too_large_is_compacted_and_sent_once_more(tmp_path: Path) -> None:
    """The window is smaller than anybody said."""

    def answer(_: Received) -> str:
        return "Noted. " + "word " * 100

    config = ChatConfig(model=CHAT, window=64_000, reserve=1_000, summary_model="offline")
    async with (
        FakeProvider(answer, window=5_000) as provider,
        chatting(tmp_path, provider, config=config) as service,
    ):
        session = await service.create()
        heard = Heard(session)
        outcomes = [await _said(session, f"Fact {number}: " + "far out " * 100) for number in range(16)]
        refused = [request for request in provider.requests if not request.tokens or request.tokens > 4_000]
        records = await session.compactions()
        requests = [
            entry.message.text for entry in (await session.history()).entries if entry.message.is_request
        ]

    assert set(outcomes) == {"finished"}
    assert refused
    assert any(record.receipt.trigger == "overflow" for record in records)
    assert all(event.success for event in heard.of(CompactionCompleted))
    assert len(requests) == 16


async def _said(session: ChatSession, text: str) -> str:
    await session.send(text)
    ended = await session.wait()
    assert ended is not None
    return f"{ended.outcome}{ended.message}"


async def test_a_request_that_cannot_be_made_small_enough_ends_the_turn_after_one_more_try(
    tmp_path: Path,
) -> None:
    config = ChatConfig(model=CHAT, window=64_000, reserve=1_000, summary_model="offline")
    async with (
        FakeProvider("Yes.", window=1_200) as provider,
        chatting(tmp_path, provider, config=config) as service,
    ):
        session = await service.create()
        await session.send("Hello, " + "a long way from home " * 300)
        ended = await session.wait()
        log = await session.conversation.history()
        tries = len(provider.requests)

    assert ended is not None
    assert ended.outcome == "failed"
    assert tries <= 2
    assert [message.role for message in log] == ["user"]


@pytest.mark.requirement("E2")
async def test_a_preview_changes_nothing_is_edited_put_in_force_compared_undone_and_restored(
    tmp_path: Path,
) -> None:
    async with (
        FakeProvider(lambda _: "Noted. " + "word " * 100) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT, summary_model="offline")) as service,
    ):
        session = await service.create()
        for number in range(6):
            await asked(session, f"Fact {number}: the berth of boat {number} is B{number * 7}.")
        before = session.meter().used
        first = await session.preview("the berths")
        assert first is not None
        untouched = (session.conversation.records.active, session.meter().used)
        applied = await session.apply(first, summary="The berths of six boats were told.")
        active, after = session.conversation.internals.replica.active_id, session.meter().used
        for number in range(6, 12):
            await asked(session, f"Fact {number}: the berth of boat {number} is B{number * 7}.")
        second = await session.compact()
        assert second.record is not None
        compared = await session.compare(applied.id, second.record.id)
        back = await session.undo()
        whole = await session.undo()
        restored = await session.restore(applied.id)
        page = await session.history(limit=100)

    assert untouched == (None, before)
    assert active == applied.id
    assert after < before
    assert "The berths of six boats were told." in compared.summaries
    assert back is not None
    assert back.id == applied.id
    assert whole is None
    assert restored.id == applied.id
    assert [divider.active for divider in page.dividers if divider.record.id == applied.id] == [True]
    assert len(page.entries) == 24


async def test_calls_of_unknown_tools_are_answered_in_the_log(tmp_path: Path) -> None:
    async with (
        FakeProvider([calling(call("format_disk")), "I cannot."]) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        log = await asked(await service.create(), "Format it.")

    assert "there is no tool 'format_disk'" in log[2].results[0].text
    assert log[-1].text == "I cannot."


TRANSIENT: tuple[FaultKind, ...] = (
    "rate_limit",
    "server_error",
    "bad_gateway",
    "unavailable",
    "overloaded",
    "reset",
)


@pytest.mark.parametrize(
    "model, fault",
    [*((CHAT, fault) for fault in TRANSIENT), (RESPONSES, "rate_limit"), (ANTHROPIC, "overloaded")],
)
async def test_what_passes_by_itself_is_tried_again_and_not_told(
    tmp_path: Path, model: str, fault: FaultKind
) -> None:
    async with (
        FakeProvider("Here I am.") as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=model)) as service,
    ):
        session = await service.create()
        provider.fail(fault, retry_after="0.01")
        await session.send("Are you there?")
        ended = await session.wait()
        entries = (await session.history()).entries
        tries = len(provider.requests)

    assert ended is not None
    assert ended.outcome == "finished", ended.message
    assert [entry.message.text for entry in entries] == ["Are you there?", "Here I am."]
    assert not any(entry.failure for entry in entries)
    assert tries == 2


@pytest.mark.parametrize(
    "model, fault, tries, told",
    [
        (CHAT, "rate_limit", 3, "rate limit"),
        (RESPONSES, "server_error", 3, "server error"),
        (ANTHROPIC, "overloaded", 3, "overloaded"),
        (CHAT, "quota", 1, "quota"),
    ],
)
async def test_what_does_not_pass_is_told_kept_and_can_be_tried_again(
    tmp_path: Path, model: str, fault: FaultKind, tries: int, told: str
) -> None:
    async with (
        FakeProvider("Here I am.") as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=model)) as service,
    ):
        session = await service.create()
        provider.fail(fault, times=tries, retry_after="0.01")
        await session.send("Are you there?")
        ended = await session.wait()
        (request,) = (await session.history()).entries
        await session.retry()
        again = await session.wait()
        entries = (await session.history()).entries

    assert ended is not None
    assert ended.outcome == "failed"
    assert told in ended.message.lower()
    assert request.failure == ended.message
    assert again is not None
    assert again.outcome == "finished", again.message
    assert [(entry.message.text, entry.failure) for entry in entries] == [
        ("Are you there?", ""),
        ("Here I am.", ""),
    ]
