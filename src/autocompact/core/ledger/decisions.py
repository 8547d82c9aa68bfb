"""Decisions with their reasons: sentences of the user or the model that settle something."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autocompact.core.ledger.entries import Entry
from autocompact.core.ledger.scan import Call, Said
from autocompact.core.redacted import cut, filled, pieces
from autocompact.core.redaction import Redacted

_DECIDES = re.compile(
    r"\b(?:decided|decision|let's (?:use|go with|keep)|we(?:'ll| will) (?:use|keep|go with)|i(?:'ll| will) (?:use|keep|go with)"
    r"|chose|chosen|opted|root cause|the (?:real )?(?:issue|problem|bug|cause|reason) (?:is|was)|turns out|instead of .{3,80} because"
    r"|by design|intentional(?:ly)?|must (?:not|always|never)|always use|never use|entschieden|entscheidung|wir nehmen|ursache"
    r"|décidé|décision|la cause|decidido|decisión|la causa|decidimos|deciso|решили|решение|причина)\b"
    r"|决定|原因是|采用|決定|原因は|ことにし|결정|원인",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|so that|due to|to avoid|otherwise|therefore|weil|damit|denn|car|parce que|porque|perché|потому)\b|因为|ため|때문",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^\n.!?。！？]+(?:[.!?](?!\s|$)[^\n.!?。！？]*)*[.!?。！？]?")
_ANSWERED = re.compile(r"\"([^\"\n]{3,300})\"=\"([^\"\n]{1,200})\"")
SHORTEST, LONGEST = 25, 320
MOST = 60


def find_decisions(said: Sequence[Said], calls: Sequence[Call]) -> list[Entry]:
    """What was settled, newest last: sentences with a decision, and the answers a user gave to a question."""
    entries: dict[Redacted, Entry] = {}
    for words in said:
        if words.by == "program":
            continue
        for text in pieces(words.text, decisions_in):
            entries.pop(text, None)
            entries[text] = _entry(text, words.seq, need=0.35 if _REASON.search(text) else 0.25)
    for call in calls:
        for question, answer in (
            _ANSWERED.findall(call.output[:4_000]) if "answered your question" in call.output else ()
        ):
            text = filled("{} → {}", Redacted(question), Redacted(answer))
            entries[text] = _entry(text, call.answered, need=0.5)
    return sorted(entries.values(), key=lambda entry: entry.seq)[-MOST:]


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


def _entry(text: Redacted, seq: int, *, need: float) -> Entry:
    return Entry(kind="decision", text=text, seq=seq, key=filled("decision {}", cut(text, 0, 80)), need=need)
