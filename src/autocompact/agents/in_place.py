"""Our account of a conversation, in place of the summary that an agent would ask its model for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from autocompact.core.lookup import Lookup
from autocompact.core.redacted import EMPTY, Redactor, edited, filled, joined
from autocompact.core.redaction import Redacted
from autocompact.core.tokens import Counter, message_cost
from autocompact.errors import IncompressibleContext
from autocompact.history.recorded import Compacted, Options, compact_session
from autocompact.ledger.summary import frame
from autocompact.ledger.verification import Verification, verify
from autocompact.ports import Clock
from autocompact.sessions import Session

MOST, LEAST, PART = 8_000, 1_000, 20
"""Tokens of an account: a 20th of the context, within these bounds, as for a recorded session."""

OF_WINDOW = 8
"""It takes this part of the window at most, so that the next compaction is not near."""

OF_REPLACED = 0.7
"""An account above this share of what it stands for is not worth its place: the agent does as it would without us."""

_REQUEST: Final = "## The last request before this point\nm{}, word for word:\n\n{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What stands for a part of a conversation.

    Attributes:
        text: as the model sees it, with its frame.
        tokens: of it.
        verification: which entries of the ledger it states.
        seconds: that it took.
    """

    text: Redacted
    tokens: int
    verification: Verification
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an account is to be like.

    Attributes:
        through: the last message that it stands for.
        context: tokens of the whole context, as the agent measures it.
        window: tokens of the model's window; 0 if it is not known.
        lookup: how the model opens references.
        focus: what to concentrate on.
        pins: texts that always stand there.
    """

    through: int
    context: int
    window: int
    lookup: Lookup
    focus: str = ""
    pins: Sequence[str] = ()

    @property
    def tokens(self) -> int:
        """Tokens of the account, its frame and the last request not counted."""
        size = min(MOST, max(LEAST, self.context // PART))
        return min(size, max(1, self.window // OF_WINDOW)) if self.window else size


def account_of(session: Session, wanted: Wanted, *, counter: Counter, clock: Clock) -> Account | None:
    """The account of a session's beginning; None where it would not be much smaller than what it stands for.

    Args:
        session: with the originals of what earlier compactions stand for.
        wanted: what the account is to be like.
        counter: measures it.
        clock: for the time that it took.
    """
    begun = clock.monotonic()
    left = session.messages[: wanted.through]
    options = Options(
        window=wanted.window or None,
        summary_tokens=wanted.tokens,
        tail_tokens=0,
        through=wanted.through,
        focus=wanted.focus,
        pins=tuple(wanted.pins),
    )
    # then the agent goes on with its own way to compact
    with suppress(IncompressibleContext):
        made = compact_session(session, options, counter=counter, clock=clock)
        if made.record is None:
            return None
        parts = (made.summary, _last_request(made))
        body = joined("\n\n", (part for part in parts if part))
        text = edited(body, partial(frame, placement="user", lookup=wanted.lookup))
        tokens = counter.count(text)
        if tokens <= OF_REPLACED * sum(message_cost(message, counter).tokens for message in left):
            checked = verify(text, made.ledger)
            return Account(text=text, tokens=tokens, verification=checked, seconds=clock.monotonic() - begun)
    return None


def _last_request(made: Compacted) -> Redacted:
    """The last request of what leaves the context: the summary points to it, and does not repeat what it says."""
    asked = [message for message in made.after.messages if message.is_request]
    return filled(_REQUEST, asked[-1].seq, Redactor(made.log.secrets)(asked[-1]).text) if asked else EMPTY
