"""Meter readings, from the engine's figures."""

from __future__ import annotations

from autocompact.chat.views import MeterReading
from autocompact.core.budget import Budget, Compact, Policy, fixed_note
from autocompact.core.messages import Message, Role
from autocompact.core.stamps import instant_of
from autocompact.core.tokens import message_cost
from autocompact.engine import Conversation

_CHEAP_FROM = 0.5
"""Share of the threshold from which a compaction is worth a word."""

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
        why=threshold_words(policy, budget, fixed=fixed) if automatic else "",
        cheap=_cheap(conversation, used=reading.used),
    )


def threshold_words(policy: Policy, budget: Budget, *, fixed: int) -> str:
    """How the threshold comes about, for a person who named a share of the window and sees another figure."""
    threshold = policy.threshold(budget, fixed=fixed)
    if policy.tokens:
        if threshold == policy.tokens:
            return "as the settings say"
        less = threshold < policy.tokens
        why = "the window has no room for them" if less else "system prompt and tools take most of them"
        return f"the settings say {policy.tokens:,} tokens, but {why}"
    share = int(policy.threshold_ratio * budget.window)
    if threshold == share - budget.reserve:
        return (
            f"{policy.threshold_ratio:.0%} of the window are {share:,} tokens, less {budget.reserve:,} reserved for the reply"
            if budget.reserve
            else f"{policy.threshold_ratio:.0%} of the window"
        )
    if policy.enough and threshold == fixed + policy.enough:
        return f"{policy.enough:,} tokens for the conversation beside system prompt and tools ({fixed:,})"
    return f"half of what system prompt and tools ({fixed:,}) and the reserve for the reply ({budget.reserve:,}) leave"


def _cheap(conversation: Conversation, *, used: int) -> str:
    """Why a compaction would cost little now; "" if it would not, or there is little to gain.

    A provider keeps a conversation in its cache for minutes or hours. Once it has dropped it, the next request pays for the
    whole context: then the smaller one that a compaction makes costs less from the first request on.
    """
    shared, log = conversation.internals.replica.shared, conversation.internals.replica.transcript
    fixed = conversation.internals.replica.fixed
    line = shared.mode.policy.threshold(shared.budget, fixed=fixed)
    if used < _CHEAP_FROM * line or used <= 2 * fixed or len(log) < log.first:
        return ""
    if conversation.records.prepared is not None:
        return "A compaction is prepared: it takes effect at once and costs nothing more."
    idle = _seconds_between(log[len(log)].time, shared.clock.now())
    if shared.rates is None or idle <= shared.rates.seconds:
        return ""
    return (
        f"The provider's cache has surely dropped this conversation, so that the next request pays for all {used:,} tokens. "
        "Compacted first, it pays for fewer."
    )


def _seconds_between(first: str, second: str) -> float:
    """Seconds between two ISO 8601 stamps; 0 if one is none."""
    begun, ended = instant_of(first), instant_of(second)
    return (ended - begun).total_seconds() if begun and ended else 0.0


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
