"""What the first compaction kept the later ones keep, with a model that condenses and forgets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pytest

from autocompact import Compactor, MemoryStore
from autocompact.core.messages import Message, Text, ToolCall, ToolResult
from autocompact.core.tokens import Estimator
from autocompact.engine.conversation import Conversation
from autocompact.ledger.verification import verify
from autocompact.ports import ModelReply
from tests.engine.support import TalkingModel, step

pytestmark = pytest.mark.anyio

RULES = (
    "Never push to main without my explicit approval.",
    "Every commit message has to start with the ticket number.",
    "Always answer in English from now on.",
)
PLAN = ("Read the import of the ledger", "Mend the sums of the import", "Write the release notes")
CAUSE = "The root cause: parse_row() reads the tax column as the net column, because the header has a byte order mark."


def condenses(messages: Sequence[Message]) -> ModelReply:
    """The last words of the conversation and nothing else: no rule, no plan, no cause."""
    words = [message.text for message in messages[:-1] if message.role == "assistant" and message.text]
    said = " ".join(words[-3:])[:600]
    return ModelReply(text=f"<summary>## Summary\nThe work went on. {said}</summary>", stop_reason="stop")


async def _plan(conversation: Conversation, done: int) -> None:
    todos = [
        {"content": text, "status": "completed" if at < done else "pending", "activeForm": text}
        for at, text in enumerate(PLAN)
    ]
    call = ToolCall(id=f"plan{done}", name="TodoWrite", arguments=json.dumps({"todos": todos}))
    await conversation.append(Message(seq=0, role="assistant", parts=(Text(text="The plan."), call)))
    await conversation.append(
        Message(seq=0, role="tool", parts=(ToolResult(call_id=call.id, text="Todos have been modified"),))
    )


async def _round(conversation: Conversation, number: int) -> None:
    await conversation.say(f"Now look at part {number} of the import, please.")
    for turn in range(6):
        await step(conversation, number * 10 + turn)
    await conversation.say(f"Part {number} is read.", role="assistant")


@pytest.mark.requirement("E1", "F5")
async def test_rules_plan_and_causes_survive_five_compactions_by_a_model_that_forgets_them() -> None:
    model = TalkingModel(reply=condenses)
    async with Compactor(
        MemoryStore(), model=model, window=8_000, reserve=800, counter=Estimator()
    ) as compactor:
        conversation = await compactor.open("import")
        await conversation.say("Mend the import of the ledger. " + " ".join(RULES))
        await conversation.say(CAUSE, role="assistant")
        for number in range(5):
            await _plan(conversation, min(number, 2))
            await _round(conversation, number)
            result = await conversation.compact()
            assert result.success
            assert result.record is not None
            assert result.record.receipt.model == "talking-model"
            context = "\n".join(_texts(conversation))
            assert [rule for rule in RULES if rule not in context] == []
            assert CAUSE in context
            assert f"[ ] {PLAN[2]}" in context
            assert f"[x] {PLAN[0]}" in context or number == 0
            _is_true(result.record.receipt.stated, context, conversation)
            asked = model.requests[-1][-1].text
            assert all(rule in asked for rule in RULES)


def _texts(conversation: Conversation) -> Iterator[str]:
    for message in conversation.context().messages:
        for part in message.parts:
            if isinstance(part, Text | ToolResult):
                yield part.text
            elif isinstance(part, ToolCall):
                yield part.arguments


def _is_true(stated: int, context: str, conversation: Conversation) -> None:
    """The receipt counts what stands there, and all rules are among it."""
    active = conversation.records.active
    assert active is not None
    checked = verify(context, active.ledger)
    assert len(checked.stated) == stated
    rules = [entry for entry in active.ledger.entries if entry.kind == "rule"]
    assert len(rules) == len(RULES)
    assert all(rule in checked.stated for rule in rules)
