"""The rules of a conversation as a person sees them: what they pinned, and what the engine found in their words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autocompact.chat.views import ConversationRule
from autocompact.core.messages import Message
from autocompact.core.references import reference
from autocompact.ledger.extraction import extract

_SHOWN = 300
"""Characters of a pinned message that are shown."""
_OVER = frozenset(("done", "superseded", "withdrawn"))


def rules_of(
    requests: Iterable[Message], *, pinned: Iterable[Message], notes: Sequence[str]
) -> tuple[ConversationRule, ...]:
    """The rules: those that the person wrote, messages that they pinned, and standing instructions in their words.

    Slow for thousands of requests.

    Args:
        requests: what the person said and did not replace, in order.
        pinned: messages that are pinned.
        notes: texts that are pinned.
    """
    own = [ConversationRule(kind="own", text=note) for note in notes]
    kept = [ConversationRule(kind="pinned", text=_words(message), seq=message.seq) for message in pinned]
    known = {rule.text for rule in own} | {rule.seq for rule in kept}
    found = [
        ConversationRule(kind="found", text=str(entry.text), seq=entry.seq)
        for entry in extract(requests).entries
        if entry.kind == "rule" and entry.state not in _OVER
    ]
    rest = [rule for rule in found if not {rule.text, rule.seq} & known]
    return (*own, *kept, *sorted(rest, key=lambda rule: rule.seq))


def _words(message: Message) -> str:
    words = " ".join(message.text.split()) or f"a message without words ({reference(message.seq)})"
    return words if len(words) <= _SHOWN else f"{words[:_SHOWN]}…"


def rules_prompt(notes: Sequence[str]) -> str:
    """What the system prompt says of the rules that the person wrote; "" without any."""
    if not notes:
        return ""
    listed = "\n".join(f"- {' '.join(note.split())}" for note in notes)
    return f"# Rules of this conversation\n\nThe person wrote them down. They hold until the person changes them.\n\n{listed}"
