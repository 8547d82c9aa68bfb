"""Finds what may be a count of confirmations and is not read as one: figures and marks in brackets, in fields, at the end.

A count that nobody can read is not 0. The entry stays where it is, and a run names the words. What is certainly something else
(``30 s``, ``port 80``, ``#12``, ``v3``) is no doubt, or every run would name it again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from autocompact.core.patterns import LazyPattern
from autocompact.memory.documents.counts import counts_in, doubtful_count, number_in
from autocompact.memory.documents.dates import without_dates

TICKS = "✓✔✅☑"
VARIANT = "\ufe0f"
"""Follows a mark that is to be drawn in colour."""
_FAR = 80
"""Characters at the end of a text that are looked at."""
_END = r"[.*_\s]*\Z"
_BRACKETS = LazyPattern(r"[(（\[{【]([^()（）\[\]{}【】]*)[)）\]}】]" + _END)
# Signs of the language, of Markdown and of code repeat for other reasons: "...", "**", "--".
_MARK = r"[^\w\s.,;:!?…\-–—_*'\"`’”»()\[\]{}<>/\\#=~&%$@^。、，；：！？（）【】]"
_MARKS = rf"({_MARK}){VARIANT}?(?:\s?\1{VARIANT}?)+"
_COUNTING = "★⭐❤♥🔥👍●" + TICKS
_SIGNED = rf"(?:[{_COUNTING}]{VARIANT}?\s?)+[x×+:=]?\s?\d{{1,3}}"
_LOOSE = LazyPattern(
    rf"(?<!UTC)(?<!GMT)\s((?:[x×]\s?|\+)\d{{1,3}}|\d{{1,3}}\s?[x×]|\d{{1,3}}/\d{{1,3}}|{_SIGNED}"
    r"|(?:counts?|n|votes?|hits?|conf\w*|stimmen|voix|votos)\s?[:=]\s?\d{1,3}"
    r"|\d{1,3}\s(?:votes?|upvotes|likes|hits|occurrences|sightings|stimmen|voix|votos)|\d{1,3}\s?票"
    r"|(?<=[,;–—-] )\d{1,3}\s(?:times|mal|fois|veces|volte|raz|conf\w*)"
    rf"|{_MARKS.replace('1', '2')})" + _END,
    re.IGNORECASE,
)
_ROMAN = LazyPattern(r"[IVX]{2,}|[Il|]{2,}")
_TOKEN = LazyPattern(r"[^\s,;，；、]+")
_ALPHABET = r"a-zßà-öø-ɏ"
_FIGURE = LazyPattern(
    r"[~≈<>≥≤+×x=]*\d{1,3}(?:[+×x]|-?(?:fold|fach|mal|times|fois|veces))?|\d{1,3}/\d{1,3}|\w{1,12}[=:：]\d{1,3}"
    rf"|[^\W\d_{_ALPHABET}]*\d{{1,3}}[^\W\d_{_ALPHABET}]+|[^\W\d_{_ALPHABET}]+\d{{1,3}}",
    re.IGNORECASE,
)
_NUMBERED = frozenset(
    "port ports page pages line lines section chapter step phase level layer part sprint week day version v python node java"
    " django go pr issue issues ticket bug rule task table figure item rfc http error code status exit iso § no. nr. nr"
    " seite zeile kapitel schritt woche fehler étape ligne semaine página línea paso semana".split()
)
"""Words before a figure that is a name: ``port 80``."""
_UNITS = frozenset(
    "s ms sec secs second seconds min mins minute minutes h hour hours d day days week weeks month months year years"
    " b kb mb gb tb kib mib gib px pt em rem % °c °f € $ eur usd hz mhz ghz bytes tokens"
    " sekunden minuten stunden tage wochen monate jahre secondes heures jours semaines mois ans segundos minutos horas días"
    " semanas meses años".split()
)
_TIMES = frozenset(
    "times mal fois veces vezes volte раз seen observed gesehen beobachtet vu vue observé visto vista occasions reprises gelegenheiten ocasiones".split()
)
"""Words beside a number that make a count of it."""
_MOST_WORDS = 4
_IN_SESSIONS = LazyPattern(
    r"\s*(?:[-*+]\s+)?(?:\*\*)?(?:(?:seen |noted )?in )?\d{1,3} (?:\w+ )?sess\w+", re.IGNORECASE
)
_BY = LazyPattern(
    r"\s*(?:[-*+]\s+)?(?:\*\*)?(?:re)?(?:confirmed|bestätigt|confirmée?|confirmado|confirmato|подтверждено|已?确认|確認)(?!\w*ly\b)",
    re.IGNORECASE,
)
_NAMED = LazyPattern(
    r"\s*(?:[-*+]\s+)?(?:\*\*|__)?([^\W\d_][\w -]{0,24}?)(?:\*\*|__)?\s*(?::|：|=\s)(?:\*\*|__)?\s*(\S.*)"
)


def doubtful_end(text: str) -> str:
    """The figure or marks in brackets or alone at the end of ``text`` that may be its confirmations, "" if there are none."""
    end = text[-_FAR:]
    if match := _BRACKETS.search(end):
        # a number in words is one behind a text, and may be the text itself
        is_number = number_in(match[1].strip()) > 1 and len(match[0].strip()) < len(text.strip())
        if is_number or may_count(match[1]):
            return match[0].strip()
    if match := _LOOSE.search(end):
        return match[0].strip()
    return doubtful_count(text)


def may_count(words: str) -> bool:
    """True if the words in brackets, or the value of a field, may be a count: a figure with a word that says nothing, marks."""
    words = without_dates(words).strip()
    if _ROMAN.fullmatch(words) or re.search(_MARKS, words) or re.fullmatch(_SIGNED, words):
        return True
    tokens = _TOKEN.findall(words)
    return _is_word_count(tokens) or any(_may_count_at(tokens, place) for place in range(len(tokens)))


def _is_word_count(tokens: Sequence[str]) -> bool:
    """True of a number above one as a word, with what it counts: ``eight votes``, ``seen eight times``."""
    place = next((at for at, token in enumerate(tokens) if number_in(token) > 1), None)
    if place is None or len(tokens) > _MOST_WORDS:
        return False
    after = tokens[place + 1].lower() if place + 1 < len(tokens) else ""
    is_alone = place == 0 and len(tokens) == 2
    return after not in _UNITS and (is_alone or not _TIMES.isdisjoint(token.lower() for token in tokens))


def _may_count_at(tokens: Sequence[str], place: int) -> bool:
    before = tokens[place - 1].lower().strip(":") if place else ""
    after = tokens[place + 1].lower().strip(".") if place + 1 < len(tokens) else ""
    return _FIGURE.fullmatch(tokens[place]) is not None and before not in _NUMBERED and after not in _UNITS


def doubtful_line(line: str) -> str:
    """The words of a line below an observation that may say how often or by whom it was confirmed, "" if there are none."""
    if (match := _NAMED.match(line)) and match[1].lower().strip() not in _NUMBERED:
        value = match[2].strip(" .*_")
        # A sentence with a figure in it is a sentence.
        if number_in(value) > 1 or (len(_TOKEN.findall(value)) <= 3 and may_count(value)):
            return line.strip()
    return line.strip() if counts_in(line) or _IN_SESSIONS.match(line) or _BY.match(line) else ""
