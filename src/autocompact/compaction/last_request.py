"""The last request: how it stands inside the summary message, and what is left of one that is larger than its room.

Of a request that is too large its beginning and end stay, and the way to all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from msgspec import Struct

from autocompact.compaction.record import Mask
from autocompact.compaction.transcript import masked
from autocompact.core.lookup import CUT, OPENS_ALL
from autocompact.core.messages import Message, Text
from autocompact.core.redacted import (
    EMPTY,
    RedactedMessage,
    RedactedText,
    cut,
    filled,
    joined,
    own,
    redacted,
)
from autocompact.core.redaction import Redacted
from autocompact.core.tokens import Counter, ends, message_cost
from autocompact.ledger.entries import FOLLOWS, Entry, Ledger
from autocompact.ledger.summary import frame

_MARKER: Final = "\n[… {:,} " + CUT + OPENS_ALL + "\n"

LAST_REQUEST: Final = "Last request from user was: "
"""Goes before the request that stands inside the summary message (requirement D4)."""

LEAST_REQUEST = 64
"""Tokens to which a request is cut at least: less says nothing."""


class CutRequest(Struct, frozen=True, kw_only=True):
    """A request with the middle of its text left out.

    Attributes:
        message: as it is shown.
        masks: what makes the log's message that one; empty if it is shown whole.
        note: a sentence for the receipt, "" if it is shown whole.
    """

    message: Message
    masks: tuple[Mask, ...] = ()
    note: Redacted = EMPTY


def cut_request(
    message: Message,
    tokens: int,
    *,
    counter: Counter,
    redactor: Callable[[Message], RedactedMessage] = redacted,
) -> CutRequest:
    """The request in about ``tokens``, by head and tail of its longest text; whole if it fits, or is no text.

    Args:
        message: the log's message.
        tokens: what it may take; 0: whatever it takes.
        counter: measures it.
        redactor: gives a message without secrets: half a secret has no shape.
    """
    whole = message_cost(message, counter).tokens
    texts = [(len(part.text), index) for index, part in enumerate(message.parts) if isinstance(part, Text)]
    if not tokens or whole <= tokens or not texts:
        return CutRequest(message=message)
    _, longest = max(texts)
    clean = redactor(message).parts[longest]
    assert isinstance(clean, RedactedText), "a text stays a text"
    room = max(LEAST_REQUEST, tokens - (whole - counter.count(clean.text)))
    mask = Mask(
        seq=message.seq, part=longest, stub=_shortened(clean.text, room, seq=message.seq, counter=counter)
    )
    shown = masked(message, [mask])
    after = message_cost(shown, counter).tokens
    if after >= whole:
        return CutRequest(message=message)
    note = filled("the last request (m{}) was cut from {:,} to {:,} tokens", message.seq, whole, after)
    return CutRequest(message=shown, masks=(mask,), note=note)


def quoted_request(
    message: Message,
    tokens: int,
    *,
    counter: Counter,
    redactor: Callable[[Message], RedactedMessage] = redacted,
) -> tuple[Redacted, Redacted]:
    """The line that says the last request inside a summary, and a sentence for the receipt if it was cut, else "".

    Args:
        message: the request as it is shown.
        tokens: what the line may take at most, as far as a cut can reach that; 0: whatever it takes.
        counter: measures it.
        redactor: gives a message without secrets.
    """
    room = max(LEAST_REQUEST, tokens - counter.count(LAST_REQUEST)) if tokens else 0
    cut = cut_request(message, room, counter=counter, redactor=redactor)
    return filled("{}{}", own(LAST_REQUEST), redactor(cut.message).text), cut.note


def _shortened(text: Redacted, tokens: int, *, seq: int, counter: Counter) -> Redacted:
    """Head and tail of ``text``, and between them how much is left out and what shows it."""
    room = max(0, tokens - counter.count(filled(_MARKER, len(text), seq)))
    head, tail = ends(text, room, counter=counter)
    marker = filled(_MARKER, len(text) - len(head) - len(tail), seq)
    return joined("", (cut(text, end=len(head)), marker, cut(text, len(text) - len(tail))))


def beside_request(ledger: Ledger, last: Message | None, *, said: Redacted) -> Ledger:
    """``ledger`` without the rules, which stand before a summary, and without what the last request says.

    That stands after the summary or in it: a reference to it stays.

    Args:
        ledger: what a summary is to state.
        last: the last request, None if there is none.
        said: its words where they stand.
    """
    entries: list[Entry] = []
    for entry in ledger.entries:
        if entry.kind == "rule":
            continue
        if last is None or entry.seq != last.seq:
            entries.append(entry)
        elif entry.kind == "request":
            entries.append(replace(entry, text=FOLLOWS))
        elif entry.kind not in ("identifier", "fact", "wish") or entry.text not in said:
            entries.append(entry)
    return Ledger(entries=tuple(entries))


def can_be_quoted(message: Message) -> bool:
    """True if the message is text only and survives `frame` unchanged."""
    # framing may neutralise words that look like our marks: then the request would not be verbatim
    quoted = f"{LAST_REQUEST}{message.text.strip()}"
    return all(isinstance(part, Text) for part in message.parts) and quoted in frame(quoted, placement="user")


def without_request(summary: str) -> str:
    """``summary`` without the last request that stands at its end."""
    return summary.split(f"\n\n{LAST_REQUEST}", 1)[0]
