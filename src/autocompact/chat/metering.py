"""Meter readings, from the engine's figures."""

from __future__ import annotations

from autocompact.chat.views import MeterReading
from autocompact.core.budget import Compact, fixed_note
from autocompact.core.messages import Message, Role
from autocompact.core.tokens import message_cost
from autocompact.engine import Conversation

_NAMES: dict[Role, str] = {
    "system": "system prompt",
    "user": "your messages",
    "assistant": "answers",
    "tool": "tool results",
}


def read_meter(conversation: Conversation, *, system: str) -> MeterReading:
    """Measure the size of the context.

    Args:
        conversation: the conversation.
        system: the system prompt that its requests carry.
    """
    shared, reading = conversation.internals.replica.shared, conversation.usage()
    policy, budget, fixed = shared.mode.policy, shared.budget, conversation.internals.replica.fixed
    automatic = policy.automatic
    return MeterReading(
        used=reading.used,
        window=budget.window,
        reserve=budget.reserve,
        threshold=policy.threshold(budget, fixed=fixed) if automatic else 0,
        prepare=policy.prepare_tokens(budget, fixed=fixed) if automatic and shared.mode.background else 0,
        breakdown=_breakdown(conversation, system=system),
        prepared=conversation.records.prepared is not None,
        preparing=conversation.internals.background.running,
        reported=reading.reported,
        note=_note(conversation),
    )


def _breakdown(conversation: Conversation, *, system: str) -> dict[str, int]:
    """Tokens by part. The log measured each message once, so this only adds up."""
    prompt = conversation.internals.replica.shared.counter.count(system)
    parts = {
        "system prompt": prompt,
        "tools": max(0, conversation.internals.replica.state.meter.overhead.tokens - prompt),
    }
    for message in conversation.context().messages:
        made = message.seq == 0 and message.synthetic
        name = "summary" if made else _NAMES[message.role]
        parts[name] = parts.get(name, 0) + _tokens(conversation, message)
    return {name: tokens for name, tokens in parts.items() if tokens}


def _tokens(conversation: Conversation, message: Message) -> int:
    log = conversation.internals.replica.transcript
    if message.seq >= log.first and log[message.seq] is message:
        return log.cost(message.seq).tokens
    return message_cost(message, conversation.internals.replica.shared.counter).tokens


def _note(conversation: Conversation) -> str:
    """Note that says why nothing is compacted at the threshold, or why it differs from the configured one."""
    shared = conversation.internals.replica.shared
    if said := fixed_note(
        shared.budget, policy=shared.mode.policy, fixed=conversation.internals.replica.fixed
    ):
        return said
    decision = conversation.internals.decisions.decide()
    reached = decision.pressure.used >= decision.pressure.threshold
    return decision.reason if reached and not isinstance(decision, Compact) else ""
