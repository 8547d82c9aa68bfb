"""Design B: a notebook chat driven by what the provider reports; the history becomes one summary message."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.compaction.last_request import LAST_REQUEST
from autocompact.compaction.modes import USAGE_DRIVEN, Mode
from autocompact.core.messages import Usage
from autocompact.core.reply import strip_summary_tags
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor, Conversation
from autocompact.engine.conversation import load_conversation
from autocompact.models.openai_compatible import OpenAICompatible
from autocompact.ports import ModelReply
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import Answer, FakeProvider, Received
from autocompact.testing.provider_script import Reply
from tests.models.support import AT_ONCE

pytestmark = pytest.mark.anyio

TICKETS = [
    "Ticket 1: the printer on floor 2 prints blank pages. Toner was replaced yesterday.",
    "Ticket 2: Ada cannot log in since the password change on Monday.",
    "Ticket 3: the invoice export stops at 10,000 rows.",
    "Ticket 4: the meeting room screen flickers when the blinds move.",
    "Ticket 5: the backup of host db-7 takes nine hours instead of two.",
]
SUMMARY = "<summary>Tickets so far are classified: hardware, access, software.</summary>"


def at(tokens: int) -> Mode:
    return replace(USAGE_DRIVEN, policy=replace(USAGE_DRIVEN.policy, tokens=tokens))


def answer(asked: Received) -> str:
    if "<summary>" in asked.last_text:
        return SUMMARY
    return (
        "Classified. It goes to the team in charge, with priority normal and the usual template as the reply."
    )


@asynccontextmanager
async def chat(
    mode: Mode, **options: str
) -> AsyncGenerator[tuple[Conversation, FakeProvider, OpenAICompatible]]:
    async with FakeProvider(answer) as provider:
        model = OpenAICompatible("main", base_url=provider.url, retries=AT_ONCE)
        cheap = OpenAICompatible(options.get("summary", "main"), base_url=provider.url, retries=AT_ONCE)
        async with Compactor(
            MemoryStore(),
            model=model,
            summary_model=cheap if options else None,
            mode=mode,
            window=100_000,
            counter=Estimator(),
        ) as shared:
            conversation = await shared.open("tickets")
            await conversation.say("You triage tickets.", role="system")
            yield conversation, provider, model


async def ask(conversation: Conversation, model: OpenAICompatible, text: str) -> ModelReply:
    """One turn: the provider's figures go into the log with its reply."""
    await conversation.say(text)
    reply = await model.complete((await conversation.ready()).messages)
    await conversation.say(reply.text, role="assistant", usage=reply.usage)
    return reply


@pytest.mark.requirement("B1", "B4", "B7", "B6")
async def test_tickets_with_a_threshold_of_200_tokens_compact_early_and_end_right() -> None:
    async with chat(at(200)) as (conversation, provider, model):
        for number in range(4):
            for ticket in TICKETS:
                reply = await ask(conversation, model, f"Round {number}. {ticket}")
                assert reply.text.startswith("Classified.")
        records = await conversation.records.all()
        assert 1 <= len(records) < 4 * len(TICKETS)  # each needs real growth: no loop
        assert records[0].through_seq <= 2 * len(TICKETS)
        assert len(await conversation.history()) == 1 + 2 * 4 * len(TICKETS)
        # system and one message that holds summary and last request; later turns build on it
        system, first, *_ = conversation.context().messages
        assert system.text == "You triage tickets."
        assert first.synthetic
        assert "Tickets so far are classified" in first.text
        sent = [request for request in provider.requests if "<summary>" not in request.last_text]
        assert "Tickets so far are classified" in str(sent[-1].messages[1])
        # kept for audit, each with its receipt
        assert all(record.summary and record.receipt.tokens_before for record in records)


@pytest.mark.requirement("B7")
async def test_with_a_very_high_threshold_it_never_compacts() -> None:
    async with chat(at(90_000)) as (conversation, provider, model):
        for ticket in TICKETS * 4:
            await ask(conversation, model, ticket)
        assert await conversation.records.all() == ()
        assert len(conversation.context().messages) == 1 + 2 * 4 * len(TICKETS)
        assert len(provider.requests) == 4 * len(TICKETS)


@pytest.mark.requirement("B1")
async def test_should_compact_follows_the_reported_tokens_and_is_reset_by_a_compaction() -> None:
    async with chat(at(1_000)) as (conversation, _, _):
        toggles: list[bool] = []
        for reported in (300, 600, 950, 1_400):
            await conversation.say("One more ticket. " * 20)
            await conversation.say("Done.", role="assistant", usage=Usage(prompt=reported, completion=10))
            toggles.append(conversation.should_compact())
        assert toggles == [False, False, False, True]
        assert conversation.usage().reported == 1_410
        assert (await conversation.compact()).success
        assert not conversation.should_compact()


@pytest.mark.requirement("B1")
async def test_after_a_restart_the_reported_tokens_still_count() -> None:
    async with chat(at(1_000)) as (conversation, _, _):
        await conversation.say("One more ticket.")
        await conversation.say("It goes to the team in charge. " * 200, role="assistant")
        await conversation.say("Another ticket.")
        await conversation.say("Done.", role="assistant", usage=Usage(prompt=2_000, completion=10))
        again = await load_conversation(
            conversation.internals.replica.shared, conversation.internals.replica.key
        )
        assert again.usage() == conversation.usage()
        assert again.should_compact()
        again.internals.replica.use_tools(b'[{"name":"look_up"}]')
        assert again.usage().used == 2_010
        assert (await again.compact()).success
        later = await load_conversation(
            conversation.internals.replica.shared, conversation.internals.replica.key
        )
        later.internals.replica.use_tools(b'[{"name":"look_up"}]')
        assert later.usage() == again.usage()
        assert not later.should_compact()


@pytest.mark.requirement("B2")
async def test_a_prompt_of_ones_own_a_cheaper_model_and_a_cap_of_512_tokens(tmp_path: Path) -> None:
    prompt = tmp_path / "tickets.md"
    prompt.write_text(
        "---\nname: tickets\ndescription: Sums up tickets.\n---\nList each ticket with its team.\n",
        encoding="utf-8",
    )
    async with chat(replace(at(5_000), skill=str(prompt)), summary="cheap") as (
        conversation,
        provider,
        model,
    ):
        for ticket in TICKETS:
            await ask(conversation, model, ticket)
        assert (await conversation.compact("priority")).success
        asked = provider.requests[-1]
        assert asked.model == "cheap"
        assert "List each ticket with its team." in asked.last_text
        assert "priority" in asked.last_text
        assert "Use at most 512 tokens." in asked.last_text
        assert asked.max_output == 512
        assert conversation.records.active is not None
        assert conversation.records.active.receipt.model == "cheap"


@pytest.mark.requirement("B2")
async def test_what_a_model_writes_beyond_the_cap_is_not_stored(tmp_path: Path) -> None:
    long = " ".join(f"Ticket {n} went to the team that looks after part {n}." for n in range(150))
    async with FakeProvider(lambda asked: f"<summary>{long}</summary>" if "<summary>" in asked.last_text else "ok") as provider:  # fmt: skip
        model = OpenAICompatible("main", base_url=provider.url, retries=AT_ONCE)
        store = SqliteStore(tmp_path / "chats.db")
        async with Compactor(store, model=model, mode=at(5_000), counter=Estimator()) as shared:
            conversation = await shared.open("tickets")
            for ticket in TICKETS * 4:
                await ask(conversation, model, ticket)
            assert (await conversation.compact()).success
            (*_, record) = await store.compactions(conversation.internals.replica.key)
    assert LAST_REQUEST in record.summary
    assert Estimator().count(record.summary) <= 512
    assert record.summary.startswith(("Ticket ", "… Ticket "))
    assert record.receipt.notes[0] == "the reply was cut off at 512 tokens: its unfinished end is left out"
    caps = [asked.max_output for asked in provider.requests if "<summary>" in asked.last_text]
    assert set(caps) == {512}


@pytest.mark.requirement("B3")
@pytest.mark.parametrize(
    "reply, works",
    [
        ("<summary>All classified.</summary>", True),
        ("All classified.", True),
        ("<think>hm</think> <summary>All classified.</summary>", True),
        ("", False),
        ("<summary></summary>", False),
        (Answer(text="<summary>All classi", stop="length"), False),
    ],
)
async def test_tags_are_parsed_and_a_reply_of_no_use_changes_nothing(reply: Reply, works: bool) -> None:
    async with FakeProvider(lambda asked: reply if "<summary>" in asked.last_text else "ok") as provider:
        model = OpenAICompatible("main", base_url=provider.url, retries=AT_ONCE)
        async with Compactor(MemoryStore(), model=model, mode=at(5_000), counter=Estimator()) as shared:
            conversation = await shared.open("tickets")
            for ticket in TICKETS * 3:
                await ask(conversation, model, ticket)
            before = conversation.context()
            result = await conversation.compact()
            assert result.success == works
            if works:
                assert "All classified." in result.summary
                assert "<summary>" not in result.summary
                assert strip_summary_tags(str(reply)) == "All classified."
            else:
                assert conversation.context() == before
                assert "of no use" in result.message
