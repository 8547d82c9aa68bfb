"""Details: the names that nothing else of an account states, each with the sentence that explains it."""

from __future__ import annotations

import re
from collections import Counter as Counted
from collections.abc import Iterable, Iterator, Mapping, Set

from autocompact.core.patterns import LazyPattern
from autocompact.core.references import reference
from autocompact.core.tokens import Counter
from autocompact.ledger.entries import Entry
from autocompact.ledger.lines import is_sentence
from autocompact.ledger.repetition import LEAST, form

PER_LINE = 5
"""Tokens that a reference and an item's mark take."""

_FULL = 20
"""Tokens of room below which no further one is looked for."""

_ALIKE = 2
"""Lines of one message that may begin with the same two words: a program that says one thing of many says no more by more."""

_SAME = 60
"""Characters of a line by which it is known again."""

_WHOLE = LazyPattern(
    r"(?:[-*•›>]\s+|\d+[.)]\s+)*(?:[\"'`(“‘*_]*[A-ZÀ-ÖØ-Þ0-9`\"]|[^\W\d_a-zA-Z]|[a-z][\w.-]{0,60}[_A-Z/.(]).*[.!?:)。！？”\"'`*]$",
    re.DOTALL,
)
"""A sentence from its beginning, which may be a name in code, to its end: half a wrapped line explains nothing."""

_LEADS = 8
"""Words below which a line that ends in a colon only leads to what follows it: "From the second review (a02cdeb):"."""

NAME = LazyPattern(r"\w[\w./-]*\w")
OF_A_PROGRAM = LazyPattern(r"[A-Za-z$]+(?:_\w+|[a-z\d][A-Z]\w*)")
_SPACES = LazyPattern(r"\s+")
_HIT = LazyPattern(r"(?P<path>[\w./@+-]+\.\w{1,5})[:-]\d+[:-]\s*(?P<text>\S.*)")
"""A line of a search's result: the file that it stands in, and the line."""

_COMMENT = LazyPattern(r"\s*(?://+|#+(?!\[)|/?\*+|--|\"{3}|;;)\s*(?P<text>\S.*?)\s*(?:\*/|\"{3})?$")
_ASKS = LazyPattern(r"[?？][\"'`)*]*$")
_OF_A_MOMENT = LazyPattern(
    r"(?:On branch|Your branch (?:is|and)|HEAD (?:is now|detached)|Switched to|Last commit\b|Current branch\b|agentId: |Already (?:on|up to date)|nothing to commit)\b"
    r"|[^\n]*\s['\"`]?(?:[\w./-]+ )*(?:--help|-h)\b"
)
"""What git says of the checkout, which is so for a moment, and where a program tells of its own use."""

_LINK = LazyPattern(r"\](?:\([^()\s]{1,300}\))")
"""A link's target, which may be told shortened above."""

_MARK = LazyPattern(r"\A(?:[-*•›>]\s+|\d+[.)]\s+)+")


def details(entries: Iterable[Entry], budget: int, *, counter: Counter, told: str, often: Set[str]) -> str:
    """Names that nothing above states, each with a sentence that explains it, beside the file that it stands in.

    Args:
        entries: names with their sentences.
        budget: tokens.
        counter: measures it.
        told: what stands above.
        often: forms of sentences that one above stands for.
    """
    known = set(NAME.findall(told))
    said = _LINK.sub("]", _SPACES.sub(" ", told.replace("’", "'")))
    places: set[str] = set()
    lines: dict[str, tuple[int, str]] = {}
    begun: Counted[str] = Counted()
    forms: Counted[str] = Counted(dict.fromkeys(often, LEAST))
    for entry in sorted(entries, key=lambda entry: (-entry.need, -entry.seq, entry.key)):
        if entry.key in known:
            continue
        place, text = _explanation(entry)
        if not text or text in lines or _LINK.sub("]", text.replace("’", "'"))[:_SAME] in said:
            continue
        begins = f"{entry.seq} {' '.join(text.split(maxsplit=2)[:2])}"
        if begun[begins] == _ALIKE or ((like := form(text)) and forms[like] >= LEAST):
            continue
        size = counter.count(text) + PER_LINE
        # a path is told once, above all of its lines
        if place and place not in places:
            size += counter.count(place) + PER_LINE
        if size <= budget:
            budget -= size
            known.update(NAME.findall(text))
            places.add(place)
            lines[text] = entry.seq, place
            begun[begins] += 1
            forms[like] += 1
        elif budget < _FULL:
            break
    return "\n".join(_beside(lines))


def _explanation(entry: Entry) -> tuple[str, str]:
    """The file that the entry's line belongs to, and what the line says of the name; "" where it explains nothing.

    Of a line of code that is its comment, which says something only beside the file.
    """
    place, text = entry.where, entry.text
    if hit := _HIT.match(text):
        place, text = hit["path"], hit["text"]
    if place and (comment := _COMMENT.match(text)):
        text = comment["text"].strip()
    about = text == entry.text or entry.key in text
    leads = text.endswith((":", "：")) and len(text.split()) < _LEADS
    whole = about and not leads and _WHOLE.match(text) is not None and not _ASKS.search(text)
    if (
        not (whole and is_sentence(text))
        or _OF_A_MOMENT.match(text)
        or 2 * len(OF_A_PROGRAM.findall(text)) > len(NAME.findall(text))
    ):
        return "", ""
    return place, _MARK.sub("", text)


def _beside(lines: Mapping[str, tuple[int, str]]) -> Iterator[str]:
    """The lines, each with its message and file, in order; those of one file together below its path."""
    of: dict[str, list[tuple[int, str]]] = {}
    for text, (seq, place) in sorted(lines.items(), key=lambda pair: pair[1][0]):
        of.setdefault(place or f" {text}", []).append((seq, text))
    for place, group in of.items():
        if place.startswith(" "):
            yield f"- {reference(group[0][0])} {group[0][1]}"
            continue
        yield f"- {reference(group[-1][0])} {place}:"
        yield from (f"  · {text}" for _, text in group)
