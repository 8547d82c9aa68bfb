"""Exports of chat services: all conversations of a person in one list, of which one is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from autocompact.sessions.session import Skipped

T = TypeVar("T")
Used = TypeVar("Used", tuple[bool, float], tuple[bool, str])

_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def last_used(
    lines: Iterable[bytes],
    decode: Callable[[msgspec.Raw | bytes], T],
    *,
    used: Callable[[T], Used],
    title: Callable[[T], str],
) -> tuple[T, list[Skipped]]:
    """The conversation that was used last, and a note on the others; a document that is no list is one conversation.

    Args:
        lines: of the document.
        decode: reads a conversation.
        used: whether anything was said in it, and when it was used last: the greatest one is taken.
        title: what it is called.

    Raises:
        msgspec.DecodeError: there is no conversation in it.
    """
    document = b"".join(lines)
    if not document.lstrip().startswith(b"["):
        return decode(document), []
    chats: list[T] = []
    skipped: list[Skipped] = []
    problem: msgspec.DecodeError | None = None
    for index, raw in enumerate(_items(document)):
        try:
            chats.append(decode(raw))
        except msgspec.DecodeError as error:
            problem = error
            skipped.append(Skipped(line=0, reason=f"conversation {index} has unexpected content: {error}"))
    if not chats:
        raise problem or msgspec.DecodeError("an empty list")
    chosen = max(chats, key=used)
    if len(chats) > 1:
        reason = (
            f"holds {len(chats)} conversations: the one used last, {title(chosen)!r}, is the session; "
            "to take another, save its object as a file of its own"
        )
        skipped.append(Skipped(line=0, reason=reason))
    return chosen, skipped
