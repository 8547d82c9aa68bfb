"""Reads the usage that the replies in a log reported again, as after a restart or from a recorded session."""

from __future__ import annotations

from dataclasses import replace

from autocompact.compaction.transcript import Transcript
from autocompact.core.usage import Gauge, Load


def replayed(gauge: Gauge, log: Transcript, *, since: int, load: Load, window: int) -> Gauge:
    """The gauge with what the replies after message ``since`` reported.

    Args:
        gauge: what is known besides.
        log: the messages.
        since: ``seq`` of the last message before the active compaction took effect; 0 if there is none.
        load: the next request; what each earlier one weighed is worked out from it.
        window: tokens of the model's window; 0 if unknown.
    """
    held = tuple(log.live(max(since, log.first - 1) + 1))
    # the context grew by one message after the other, so the first of these requests was smaller by all of them
    tokens = load.tokens - sum(log.cost(message.seq).tokens for message in held)
    for message in held:
        reply = log.cost(message.seq).tokens
        # only replies report usage; the figures of other roles are copies
        if message.usage is not None and message.role == "assistant":
            sent = replace(load, tokens=max(0, tokens))
            gauge = gauge.report(message.usage, sent=sent, reply=reply, window=window)
        tokens += reply
    return gauge
