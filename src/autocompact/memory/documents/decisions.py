"""Decisions: sentences that settle something, in the notes of a task."""

from __future__ import annotations

import re

from autocompact.core.patterns import LazyPattern

_DECIDES = LazyPattern(
    r"\b(?:decided|decision|let's (?:use|go with|keep)|we(?:'ll| will) (?:use|keep|go with)|i(?:'ll| will) (?:use|keep|go with)"
    r"|chose|chosen|opted|root cause|the (?:real )?(?:issue|problem|bug|cause|reason) (?:is|was)|turns out|instead of .{3,80} because"
    r"|by design|intentional(?:ly)?|must (?:not|always|never)|always use|never use|entschieden|entscheidung|wir nehmen|ursache"
    r"|décidé|décision|la cause|decidido|decisión|la causa|decidimos|deciso|решили|решение|причина)\b"
    r"|决定|原因是|采用|決定|原因は|ことにし|결정|원인",
    re.IGNORECASE,
)
_SENTENCE = LazyPattern(r"[^\n.!?。！？]+(?:[.!?](?!\s|$)[^\n.!?。！？]*)*[.!?。！？]?")
SHORTEST, LONGEST = 25, 320
MOST = 60


def decisions_in(text: str) -> list[str]:
    """The sentences of ``text`` that settle something, each where it stands last; at most `MOST`, the last ones."""
    found = [
        sentence
        for line in text.split("\n")
        if _DECIDES.search(line)
        for sentence in (each.strip(" -*#>\t|") for each in _SENTENCE.findall(line[:2_000]))
        if _is_decision(sentence)
    ]
    return list(dict.fromkeys(reversed(found)))[:MOST][::-1]


def _is_decision(sentence: str) -> bool:
    shortest = SHORTEST if sentence.isascii() else 8
    return (
        shortest <= len(sentence) <= LONGEST
        and not sentence.endswith(("?", "？", ":", "："))
        and " | " not in sentence
        and _DECIDES.search(sentence) is not None
    )
