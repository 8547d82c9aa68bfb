"""Rules of the user stand in the context after any number of compactions, in every mode."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autocompact import MODES, Compactor, MemoryStore, Mode
from autocompact.engine.conversation import Conversation
from autocompact.ledger.entries import Entry

pytestmark = pytest.mark.anyio

RULES = (
    "Never push to main without my explicit approval.",
    "Always answer in German from now on.",
    "Don't touch the files under vendor/.",
    "Every commit message has to start with the ticket number.",
    "Ask me before you add a dependency.",
    "Use tabs instead of spaces in all Go files.",
    "Please call me Ana.",
    "The release has to be ready by Friday.",
)
WISHES = (
    "I want British spelling throughout the book.",
    "tables over bullet points when you compare things",
    "talk to me like a senior collegue, not like customer suport",
)
"""Meant to last, in no form of a rule."""

WITHDRAWN = "You may push to main now."


async def _talk(conversation: Conversation, *, turns: int, at: int) -> None:
    for turn in range(turns):
        text = f"Have a look at part {turn} of the import, it sums the wrong column of the table."
        await conversation.say(f"{text} {RULES[turn]}" if at == 0 and turn < len(RULES) else text)
        await conversation.ready()
        words = (
            f"Part {turn} summed column {turn % 7} because of an off-by-one in load_{turn}; it is mended. "
        )
        await conversation.say(words + "The tests of this part pass. " * 6, role="assistant")


def _stated(conversation: Conversation) -> list[str]:
    context = "\n".join(message.text for message in conversation.context().messages)
    return [rule for rule in RULES if rule in context]


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("threshold", [8_000, 12_000])
@pytest.mark.parametrize("mode", MODES.values(), ids=lambda mode: mode.name)
async def test_every_rule_stands_after_five_compactions(mode: Mode, threshold: int) -> None:
    small = replace(mode, policy=replace(mode.policy, tokens=threshold))
    async with Compactor(MemoryStore(), mode=small, window=32_000) as compactor:
        conversation = await compactor.open("rules")
        made = at = 0
        while made < 5:
            await _talk(conversation, turns=10, at=at)
            at += 1
            if (count := len(await conversation.records.all())) > made:
                made = count
                assert _stated(conversation) == list(RULES)
        active = conversation.records.active
        assert active is not None
        rules = [entry for entry in active.ledger.entries if entry.kind == "rule"]
        assert _in_order(rules) == list(RULES)


def _in_order(entries: list[Entry]) -> list[str]:
    return [str(entry.text) for entry in sorted(entries, key=lambda entry: entry.seq)]


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("mode", MODES.values(), ids=lambda mode: mode.name)
async def test_what_the_user_wants_for_good_stands_after_five_compactions_without_the_form_of_a_rule(
    mode: Mode,
) -> None:
    small = replace(mode, policy=replace(mode.policy, tokens=12_000))
    async with Compactor(MemoryStore(), mode=small, window=32_000) as compactor:
        conversation = await compactor.open("wishes")
        for wish in WISHES:
            await conversation.say(f"Thanks. {wish}")
            await conversation.say("I will keep that in mind.", role="assistant")
        at = 1
        while len(await conversation.records.all()) < 5:
            await _talk(conversation, turns=10, at=at)
            at += 1
        context = "\n".join(message.text for message in conversation.context().messages)
        assert [wish for wish in WISHES if wish not in context] == []
        assert "Rules in force" not in context


@pytest.mark.requirement("F5")
async def test_a_rule_that_was_lifted_after_a_compaction_does_not_come_back() -> None:
    async with Compactor(MemoryStore(), window=32_000) as compactor:
        conversation = await compactor.open("rules")
        await _talk(conversation, turns=12, at=0)
        assert (await conversation.compact()).success
        assert _stated(conversation) == list(RULES)
        await conversation.say(WITHDRAWN)
        await conversation.say("Thank you, I will.", role="assistant")
        for at in (1, 2):
            await _talk(conversation, turns=12, at=at)
            assert (await conversation.compact()).success
        context = "\n".join(message.text for message in conversation.context().messages)
        section = context.split("## Rules in force\n")[1].split("\n\n")[0]
        assert RULES[0] not in section
        assert WITHDRAWN in section
        assert all(rule in section for rule in RULES[1:])
