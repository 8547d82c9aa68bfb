"""The rules of a conversation, what the meter says of its threshold, and what it showed around a compaction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.chat import ChatConfig
from autocompact.chat.metering import threshold_words
from autocompact.chat.rules import rules_of
from autocompact.compaction.modes import DEFAULT
from autocompact.core.budget import Budget, Policy
from autocompact.core.messages import text_message
from autocompact.errors import InvalidInput
from autocompact.testing import FakeClock, FakeProvider
from tests.chat.chatting import CHAT, asked, chatting

pytestmark = pytest.mark.anyio

OFFLINE = ChatConfig(model="offline")
LONG = "The tide in Bergen is a matter of the moon, the sun and the shape of the fjord. " * 60


async def test_rules_are_those_that_were_written_pinned_and_found_and_written_ones_hold_at_once(
    tmp_path: Path,
) -> None:
    async with (
        FakeProvider("Understood.") as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        session = await service.create()
        await asked(session, "Never push without my approval.")
        await session.pin(2)
        await session.pin("Call me\nAda.")
        await asked(session, "Go on.")
        rules = await session.rules()
        system = provider.requests[-1].messages[0]["content"]
        await session.unpin("Call me\nAda.")
        await asked(session, "Go on.")
        after = provider.requests[-1].messages[0]["content"]
        await session.edit(1, "Push whenever you like.")
        await session.wait()
        left = await session.rules()
        with pytest.raises(InvalidInput, match="empty"):
            await session.pin("  ")

    assert [(rule.kind, rule.text, rule.seq) for rule in rules] == [
        ("own", "Call me\nAda.", 0),
        ("pinned", "Understood.", 2),
        ("found", "Never push without my approval.", 1),
    ]
    assert isinstance(system, str)
    assert system.endswith("They hold until the person changes them.\n\n- Call me Ada.")
    assert "Rules of this conversation" not in str(after)
    assert "Never push" not in str([rule.text for rule in left])


def test_of_a_pinned_message_its_beginning_is_shown_and_a_found_rule_only_where_it_is_not_pinned() -> None:
    said = [text_message(1, "user", "Never push without my approval."), text_message(2, "user", "x" * 400)]
    assert [rule.kind for rule in rules_of(said, pinned=said, notes=())] == ["pinned", "pinned"]
    assert rules_of((), pinned=said, notes=())[1].text == "x" * 300 + "…"
    noted = rules_of(said, pinned=(), notes=("Never push without my approval.",))
    assert [rule.kind for rule in noted] == ["own"]


@pytest.mark.parametrize(
    "policy, fixed, words",
    [
        (Policy(), 0, "80% of the window are 80,000 tokens, less 12,000 reserved for the reply"),
        (Policy(tokens=50_000), 0, "as the settings say"),
        (Policy(tokens=99_000), 0, "the settings say 99,000 tokens, but the window has no room for them"),
        (Policy(tokens=30_000), 40_000, "system prompt and tools take most of them"),
        (
            Policy(enough=40_000),
            8_000,
            "40,000 tokens for the conversation beside system prompt and tools (8,000)",
        ),
        (
            Policy(),
            50_000,
            "half of what system prompt and tools (50,000) and the reserve for the reply (12,000) leave",
        ),
    ],
)
def test_the_threshold_is_explained(policy: Policy, fixed: int, words: str) -> None:
    assert words in threshold_words(policy, Budget(window=100_000, reserve=12_000), fixed=fixed)
    assert threshold_words(Policy(), Budget(window=100_000), fixed=0) == "80% of the window"


async def test_a_divider_shows_what_the_meter_showed_before_and_after_the_compaction(tmp_path: Path) -> None:
    config = ChatConfig(model=CHAT, summary_model="offline", window=16_000)
    async with (
        FakeProvider(LONG) as provider,
        chatting(tmp_path, provider, config=config) as service,
    ):
        session = await service.create()
        for n in range(3):
            await asked(session, f"About tides {n}: {LONG}")
        before = session.view().meter.used
        await session.compact()
        (divider,) = (await session.history()).dividers
        assert divider.metered == (before, session.meter().used)
        id = session.id
    async with chatting(tmp_path, config=OFFLINE) as service:
        (again,) = (await (await service.open(id)).history()).dividers
        assert again.tokens == divider.tokens
        receipt = again.record.receipt
        counted = (receipt.tokens_before, receipt.tokens_after)
        assert replace(again, metered=None).tokens == counted
        # a provider that leaves something out: the meter rises where nothing is reported yet
        assert replace(again, metered=(1_000, 2_000)).tokens == counted


async def test_a_compaction_is_recommended_once_the_providers_cache_has_dropped_the_conversation(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    mode = replace(DEFAULT, background=False)
    config = ChatConfig(model="anthropic:claude-haiku-4-5", window=16_000, mode=mode)
    async with (
        FakeProvider(LONG) as provider,
        chatting(tmp_path, provider, config=config, clock=clock) as service,
    ):
        session = await service.create()
        await asked(session, "Good day.")
        for n in range(3):
            await asked(session, f"About tides {n}: {LONG}")
        assert session.meter().used > session.meter().threshold // 2
        warm = session.meter().cheap
        clock.advance(3_600)
        cold = session.meter().cheap

    assert warm == ""
    assert "cache has surely dropped this conversation" in cold
