"""Cutting a text that is too long: whole lines or sentences go, the least needed first.

A passage is worth what it says of the ledger, which is the need of every name in it, and more if it gives a cause, a decision,
a failure or a result. Headings stay as long as something under
them does, code blocks go or stay whole, and the order is kept. Requests keep their beginning and their end.
"""

from __future__ import annotations

import re
from collections import Counter as Counted
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

from msgspec import Struct

from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import EMPTY, cut, edited, filled
from autocompact.core.redaction import Redacted
from autocompact.core.tokens import Counter, truncated
from autocompact.ledger.entries import FOLLOWS, POINTER, Entry, Ledger
from autocompact.ledger.findings import cues
from autocompact.ledger.rendering import render

_HEADING = LazyPattern(r"#{1,6} |\*\*[^*\n]+\*\*:?\s*$|(?:\d+\. )?[^\n.!?]{3,60}:\s*$")
_FENCE = LazyPattern(r"[ \t]*(`{3,}|~{3,})")
_SENTENCE_END = LazyPattern(r"(?<=[.!?])\s+(?=[^\s])|(?<=[。！？])")
_NAME = LazyPattern(r"[A-Za-z0-9_]{3,}")
_LONG = 240
_WORD_VALUE, _CUE_VALUE, _OVERHEAD = 0.002, 0.05, 12
"""What a word and a kind of cue are worth, and tokens that a passage costs a reader besides its own: a name alone tells little."""


_CAPS = (
    (100_000, 100_000, 100_000), (1200, 400, 100_000), (800, 240, 100), (500, 160, 60), (500, 120, 40), (400, 120, 24),
    (300, 120, 16), (300, 120, 10), (200, 100, 8), (160, 80, 4), (120, 60, 2), (120, 0, 0), (40, 0, 0), (0, 0, 0),
)  # fmt: skip
"""How requests shrink: characters of the last one, of the ones before it, and how many of these keep any: a few that can be
understood tell more than many stumps."""


_END, _BOTH = 0.4, 120
"""Share of a cut request that its end has, and characters from which it keeps one: people say what they want, and how it is to
be checked, before or after what they paste."""

_ROLE = LazyPattern(
    r"\s*[\"'“«„]?(?:[^\W\d_][\w.-]{1,30},?\s+)?"
    r"(?:act as|you(?: are|'re|’re) (?:an?|the|my|now)|imagine (?:that )?you(?: are|'re|’re)|pretend (?:to be|you)"
    r"|(?:du bist|sie sind) (?:ein|der|die|mein)\w*|agiere als|handle als|agis(?:sez)? (?:en tant qu|comme)"
    r"|(?:tu es|vous êtes) (?:une?\b|l['’]|le\b|la\b|mon\b)|actúa como|eres (?:una?|el|la|mi)|aja como|você é (?:uma?|o|a|meu)"
    r"|agisci come|sei (?:un[ao]?\b|un['’]|il\b|lo\b|la\b|l['’])|sen (?:[^.!?\n]{3,160}?s[ıiuü]n|bir)|ты\s{0,3}[—–-]\s{0,3}|действуй как"
    r"|你是(?!怎|不是|否|说|在|如何|谁|什么|想|要)|请?扮演|あなたは)(?:\b|(?<=[是演は]))"
    r"(?:[^.!?。！？\n]|[.!?](?=(?-i:[a-z\d]))){0,300}[.!。！\n]\s*",
    re.IGNORECASE,
)
"""A first sentence that gives the model a role: what is to be done stands behind it. A mark within a name ("Next.js") ends none."""

_TASK = 40
"""Characters that must stand behind a role."""


class Shortened(Struct, frozen=True, kw_only=True):
    """What is left of a text, and how many of its passages went."""

    text: Redacted
    left_out: int = 0
    passages: int = 0


class Passage(Struct, frozen=True):
    """A line, a sentence of a long line, or a block of code; headings open a section."""

    text: str
    section: int
    heading: bool = False
    goes_on: bool = False
    """It follows the passage before it on the same line."""


def shortened_text(text: Redacted, budget: int, *, counter: Counter, ledger: Ledger) -> Shortened:
    """``text`` in at most ``budget`` tokens; as it is if it fits.

    Args:
        text: Markdown or plain.
        budget: tokens, headings included.
        counter: measures it.
        ledger: what makes a passage worth keeping.
    """
    if counter.count(text) <= budget:
        return Shortened(text=text)
    passages = passages_of(text)
    ranked = _ranked(passages, names=_needs(ledger), counter=counter)
    low, high = 0, len(ranked)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(joined_passages(passages, ranked[:middle])) <= budget:
            low = middle
        else:
            high = middle - 1
    shorter = Redacted(joined_passages(passages, ranked[:low]))  # passages of the text
    return Shortened(text=shorter, left_out=len(ranked) - low, passages=len(ranked))


def fitted(text: Redacted, budget: int, *, counter: Counter) -> Redacted:
    """``text`` in at most ``budget`` tokens, whatever it takes: the last resort."""
    if counter.count(text) <= budget:
        return text
    shorter = edited(text, partial(truncated, tokens=budget, counter=counter))
    return shorter if counter.count(shorter) <= budget else EMPTY


def passages_of(text: str) -> list[Passage]:
    """The passages of ``text`` in order."""
    found: list[Passage] = []
    section = 0
    for block in _lines(text):
        if _HEADING.match(block):
            section += 1
            found.append(Passage(block, section, heading=True))
        elif len(block) <= _LONG or "\n" in block:
            found.append(Passage(block, section))
        else:
            parts = filter(None, _SENTENCE_END.split(block))
            found += (Passage(part, section, goes_on=at > 0) for at, part in enumerate(parts))
    return found


def _lines(text: str) -> list[str]:
    """Lines that say something; the lines of a code block as one."""
    blocks: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            blocks[-1] += f"\n{line}"
            fence = "" if mark is not None and mark[1].startswith(fence) else fence
        elif line.strip():
            blocks.append(line)
            fence = mark[1] if mark is not None else ""
    return blocks


def _needs(ledger: Ledger) -> Mapping[str, float]:
    """The need of each word of a key: what tells that a passage is about it."""
    needs: dict[str, float] = {}
    for entry in ledger.entries:
        if entry.kind in ("identifier", "file", "change", "todo", "error", "running"):
            words = _NAME.findall(entry.key)
            for word in words:
                needs[word] = max(needs.get(word, 0.0), entry.need / len(words))
    return needs


def _ranked(passages: Sequence[Passage], *, names: Mapping[str, float], counter: Counter) -> list[int]:
    """Indices of the passages that are no headings, the most needed for their size first."""

    def density(index: int) -> float:
        words = _NAME.findall(passages[index].text)
        value = sum(names.get(word, 0.0) for word in set(words)) + _WORD_VALUE * len(words)
        value += _CUE_VALUE * cues(passages[index].text)
        return value / (counter.count(passages[index].text) + _OVERHEAD)

    texts = [index for index, passage in enumerate(passages) if not passage.heading]
    return sorted(texts, key=lambda index: (-density(index), -index))


def joined_passages(passages: Sequence[Passage], indices: Sequence[int]) -> str:
    """The chosen passages in order, with their headings; sentences of one line side by side."""
    chosen = set(indices)
    sections = {passages[index].section for index in indices}
    shown = [
        index
        for index, passage in enumerate(passages)
        if index in chosen or (passage.heading and passage.section in sections)
    ]
    pieces: list[str] = []
    for before, index in pairwise([-1, *shown]):
        passage = passages[index]
        goes_on = passage.goes_on and before == index - 1
        starts = passage.heading and before >= 0 and not passages[before].heading
        pieces.append(" " if goes_on else "\n\n" if starts else "\n" if before >= 0 else "")
        # a sentence whose line began with another one
        pieces.append(f"… {passage.text}" if passage.goes_on and not goes_on else passage.text)
    return "".join(pieces)


def shortened_requests(requests: Sequence[Entry], budget: int, *, counter: Counter) -> list[Entry]:
    """The requests, cut until they take at most ``budget`` tokens: the last one least, the older ones to a pointer.

    One that was made several times in the same words stands once, where it was made last, with how often.
    """
    requests = _once(requests)
    kept: list[Entry] = requests
    said = [at for at, entry in enumerate(requests) if entry.text != POINTER]
    last = said[-1] if said else 0
    # what is open and the first one, which often says what all is about, then the latest
    ranked = sorted(said[:-1], key=lambda at: (requests[at].state != "open", at != said[0], -at))
    for newest, others, texts in _CAPS:
        told = {*ranked[:texts]}
        kept = [
            _cut(entry, newest if at == last else others if at in told else 0)
            for at, entry in enumerate(requests)
        ]
        if counter.count(render(kept)) <= budget:
            break
    return kept


def _once(requests: Sequence[Entry]) -> list[Entry]:
    """The requests, of those in the same words the last one with how often, the others as pointers."""
    words = [(" ".join(entry.text.split()), entry.where) for entry in requests]
    times = Counted(words)
    last = {said: at for at, said in enumerate(words)}
    once: list[Entry] = []
    for at, (entry, said) in enumerate(zip(requests, words, strict=True)):
        if times[said] == 1 or entry.text in (POINTER, FOLLOWS):
            once.append(entry)
        elif last[said] == at:
            once.append(replace(entry, text=filled("{}× {}", times[said], entry.text)))
        else:
            once.append(replace(entry, text=POINTER))
    return once


def _cut(entry: Entry, limit: int) -> Entry:
    """The request in ``limit`` characters: its beginning and, where there is room for both, its end."""
    if len(entry.text) <= limit or entry.text == POINTER:
        return entry
    if not limit:
        return replace(entry, text=POINTER)
    text = edited(entry.text, _without_role)
    if len(text) <= limit:
        return replace(entry, text=text)
    of_end = int(limit * _END) if limit >= _BOTH else 0
    head = filled("{}…", edited(cut(text, end=limit - of_end), _to_a_word))
    if not of_end:
        return replace(entry, text=head)
    end = edited(cut(text, start=len(text) - of_end), _from_a_word)
    return replace(entry, text=filled("{} {}", head, end))


def _without_role(text: str) -> str:
    role = _ROLE.match(text)
    return f"…{text[role.end() :]}" if role and len(text) - role.end() >= _TASK else text


def _to_a_word(text: str) -> str:
    return text.rsplit(None, 1)[0] if text else ""


def _from_a_word(text: str) -> str:
    return text.split(None, 1)[-1].rstrip() if text else ""
