"""Rules that all stores share: which messages are accepted, titles of conversations, who may commit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from autocompact.compaction.transcript import content_bytes
from autocompact.core.messages import Message, Role, Text
from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction import redact_parts
from autocompact.core.validity import check_message
from autocompact.errors import Conflict, InvalidInput
from autocompact.ports import Key

TITLE_CHARS = 80
"""Longest title, in characters."""

_LOOKED_AT = 20_000
"""Characters of a first request that a title is found in: enough for a private key before its first words."""

_FENCE = LazyPattern(r"^[ \t]*(?:`{3,}|~{3,})[^`\n]*$", re.MULTILINE)
"""Line that begins or ends a block of Markdown set apart: what was pasted, or piped into `autocompact chat`."""


def check_numbers(messages: Sequence[Message], *, after: int) -> None:
    """Check that the messages are usable, follow message ``after``, and replace only earlier ones.

    Raises:
        InvalidInput: they do not.
    """
    for seq, message in enumerate(messages, start=after + 1):
        check_message(message)
        if message.seq != seq:
            raise InvalidInput(f"the message at place {seq} of the log has seq {message.seq}")
        if message.replaces is not None and not 1 <= message.replaces < seq:
            raise InvalidInput(f"message {seq} cannot replace {message.replaces}: choose 1..{seq - 1}")


def check_end(key: Key, *, last_seq: int, after: int) -> None:
    """Check that the log ends where the caller thinks.

    Raises:
        Conflict: it does not.
    """
    if last_seq != after:
        raise Conflict(
            f"conversation {key.conversation!r} ends at message {last_seq}, not at {after}: "
            "somebody else appended; load it again"
        )


def not_there(key: Key, messages: Sequence[Message], *, there: Sequence[Message]) -> Sequence[Message]:
    """The messages that a log lacks which goes on with ``there``.

    Raises:
        Conflict: those are not the first of the messages.
    """
    if any(content_bytes(one) != content_bytes(other) for one, other in zip(messages, there, strict=False)):
        raise Conflict(
            f"conversation {key.conversation!r} has other messages after {there[0].seq - 1}: "
            "somebody else appended; load it again"
        )
    return messages[len(there) :]


def check_commit(key: Key, *, active: str | None, expected: str | None, newest: int, fence: int) -> None:
    """Check that what a commit was decided on has not changed since.

    Args:
        key: the conversation.
        active: id of the active compaction.
        expected: the id of the one that the caller saw active.
        newest: the fence of the newest lease given, 0 if none was.
        fence: the caller's; 0 where no lease is needed.

    Raises:
        Conflict: another compaction is active, a newer lease was given, or the lease went with the conversation.
    """
    if active != expected:
        raise Conflict(
            f"conversation {key.conversation!r} has {active!r} as its active compaction, not {expected!r}: "
            "load it again and decide anew"
        )
    if fence not in (0, newest):
        instead = f"the newest one is {newest}" if newest else "the conversation was deleted"
        raise Conflict(
            f"the lease {fence} on conversation {key.conversation!r} was lost, {instead}: "
            "load it again and decide anew"
        )


def unknown_record(key: Key, active: str) -> Conflict:
    """The error for a compaction that is to be activated, but is not there (any more)."""
    return Conflict(f"conversation {key.conversation!r} has no compaction {active!r} to activate")


def title_of(messages: Iterable[Message]) -> str:
    """The first words of the first request, without secrets; "" if there is none with words."""
    for message in messages:
        if message.is_request and (words := _first_words(message)):
            title = words if len(words) <= TITLE_CHARS else f"{words[: TITLE_CHARS - 1].rstrip()}…"
            # half of a surrogate pair, as JSON may bring it, could not be stored
            return title.encode(errors="replace").decode()
    return ""


def _first_words(message: Message) -> str:
    """The beginning of the message's text, without secrets, also those that go over several of its parts.

    Words before a block that is set apart say what it is about; the block is only told where nothing stands around it.
    """
    texts: list[str] = []
    left = _LOOKED_AT
    for part in message.parts:
        if isinstance(part, Text) and left > 0:
            texts.append(part.text[:left])
            left -= len(part.text)
    said = "\n".join(redact_parts(texts)).replace("\0", " ")
    if left < 0:
        # what was cut in two there may be half a secret
        said = "".join(said.rstrip().rsplit(maxsplit=1)[:-1])
    return next((" ".join(words) for block in _FENCE.split(said) if (words := block.split())), "")


def prompt_seqs(
    through_seq: int, edits: Sequence[tuple[int, int]], *, role_of: Callable[[int], Role]
) -> Iterator[int]:
    """The system messages that the log through ``through_seq`` begins with, as far as it was not replaced.

    Args:
        through_seq: where to stop.
        edits: ``(seq, replaces)`` of every message up to there that replaces others, in order.
        role_of: role of message ``seq``; asked for one message more than there are in the prompt.
    """
    seq = 1
    while seq <= through_seq:
        end = max((by for by, first in edits if first <= seq < by), default=0)
        if end:
            seq = end
        elif role_of(seq) == "system":
            yield seq
            seq += 1
        else:
            return
