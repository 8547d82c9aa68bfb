"""What a summary says of the state of a thing: done, still open, or nothing.

It is said in the line itself (a mark such as ``[x]``, "done", "still failing") or by the heading above it ("Pending
tasks"). A line that says both, or neither, claims nothing.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import Literal, TypeAlias

from autocompact.core.language import WORDS
from autocompact.core.patterns import LazyPattern
from autocompact.ledger.statements import Statements

Claim: TypeAlias = Literal["done", "open", ""]


def _ours(*names: str) -> str:
    return "|".join(re.escape(words[name]) for words in WORDS.values() for name in names)


_PARTICIPLES = (
    "added|implemented|updated|created|written|rewritten|replaced|refactored|removed|verified|renamed|moved|committed"
    "|pushed|deployed|installed|built|sent|mended"
)
_ENDS = r"(?=[\s*_`\"')\]]*(?:$|[.,;:!|(\[—–]))"
"""Behind the last word of a clause: "is created" says that it is there, "is created lazily" says how it comes about."""

_DONE = LazyPattern(
    r"\[x\]|✅|☑|✔"
    rf"|\[(?:{_ours('done')})"
    r"|\b(?:done|completed?|finished|resolved|implemented|fixed|closed|merged|shipped|(?:has|have|was|were) been \w+ed)\b"
    rf"|\b(?:is|are|was|were) (?:(?:now|all|both|already) (?:{_PARTICIPLES})\b|(?:{_PARTICIPLES})\b(?: (?:now|already)\b|{_ENDS}))"
    r"|^(?:[-*•] |\d{1,2}[.)] |\(?[a-z0-9]\) )*\**(?:I |we )?(?:added|implemented|updated|created|wrote|ran|replaced|refactored|removed|verified|changed|renamed|moved|merged|committed|pushed|deployed|installed|tested)\b"
    r"|\b(?:erledigt|abgeschlossen|fertig|behoben|terminé\w*|résolu\w*|hecho|terminad[oa]|completad[oa]|resuelt[oa])\b"
    r"|已完成|已修复|完了|완료|готово|сделано",
    re.IGNORECASE,
)
_OPEN = LazyPattern(
    r"\[ \]|☐|⏳|🔄"
    rf"|\[(?:{_ours('open')})\]"
    r"|\b(?:pending|to-?do|remaining|unresolved|outstanding|in progress|not (?:yet|been)|not done|incomplete|still|next step|yet to|need(?:s|ed)? to"
    r"|haven't|hasn't|must be|to be (?:done|fixed)|was about to|unfinished|partially)\b"
    r"|\b(?:offen|ausstehend|noch|nächste\w*|en cours|restant\w*|à faire|pendiente\w*|por hacer|falta\w*)\b"
    r"|待办|未完成|进行中|未完了|残り|미완료|남음|открыто|осталось",
    re.IGNORECASE,
)
_DONE_HEADING = LazyPattern(
    r"\b(?:done|completed|finished|accomplished|erledigt|fertig|terminé|hecho)\b|已完成|完了|완료|готово",
    re.IGNORECASE,
)
_OPEN_HEADING = LazyPattern(
    r"\b(?:pending|open|to-?do|remaining|unresolved|outstanding|next steps?|in progress|current (?:work|state|task)|active work|offen\w*|ausstehend\w*|restant\w*|pendiente\w*)\b"
    r"|待办|未完成|残り|남음|осталось",
    re.IGNORECASE,
)
_OVER = LazyPattern(
    rf"\b(?:{_ours('superseded', 'withdrawn', 'corrected')}|withdr[ae]w\w*|cancel\w*|dropped|abandoned|interrupted|overruled|no longer|not any ?more|instead"
    r"|changed (?:his|her|their) mind|nicht mehr|doch nicht|stattdessen|ne plus|plutôt|annulé\w*|ya no|en lugar|больше не|вместо)\b"
    r"|取消|不再|而不是|取り消|代わり|취소|대신",
    re.IGNORECASE,
)
_HEADING = LazyPattern(
    r"#{1,6} (?P<hash>.+)|(?:\d{1,2}[.)] )?(?:[-*] )?\*\*(?P<bold>[^*]{2,80})\*\*:?$|(?:\d{1,2}[.)] )?(?P<lead>[^.!?:]{3,60}):$"
)
_SENTENCE = LazyPattern(r"[.;:!?](?=\s)|[—–|]")
_CLAUSE = LazyPattern(r"[.,;:!?](?=\s)|[—–|]")
_AUXILIARY = LazyPattern(
    r"\b(?:is|are|was|were|has|have|been)(?: \w+)?\Z|(?:is|are|was|were|has|have) ", re.IGNORECASE
)
_IF = LazyPattern(
    r"\b(?:if|when|whenever|whether|until|unless|once|so that|make sure|ensures?|(?:check|verify|confirm) that)\b",
    re.IGNORECASE,
)
_NOTHING = LazyPattern(r"\b(?:nothing|none|nobody|neither|no(?=\s))\b", re.IGNORECASE)
_FAR = 300
"""Characters before what sounds done in which a condition is looked for."""

_FARTHEST = 60
"""Lines above one in which its heading is looked for."""


def claims(statements: Statements, places: Iterator[int], *, of: str = "") -> Iterator[Claim]:
    """What the lines at ``places`` (characters of the text) say of the state of what stands there.

    Args:
        statements: the text.
        places: characters of it.
        of: what stands there; words such as "done" or "need to" that are its own say nothing of its state.
    """
    own = (
        {found[0].lower() for pattern in (_DONE, _OPEN) for found in pattern.compiled.finditer(of)}
        if of
        else ()
    )
    for at in places:
        yield _claim(statements.lines, statements.line_of(at), own=own)


def claim(sentence: str) -> Claim:
    """What ``sentence`` says of a state by itself."""
    return _claim([" ".join(sentence.split())], 0)


def called_off(statements: Statements, places: Iterable[int], *, of: str) -> bool:
    """True if a line at ``places``, or the heading above it, says that ``of`` holds no more, or what took its place."""
    lines, own = statements.lines, " ".join(of.split())
    return any(
        _OVER.search(words)
        for line in map(statements.line_of, places)
        for words in (lines[line].replace(own, ""), heading(lines, line))
    )


def opens(heading: str) -> bool:
    """True if ``heading`` says that what stands below it is still to do, or is being done."""
    return _OPEN_HEADING.search(heading) is not None


def _claim(lines: list[str], index: int, *, own: Container[str] = ()) -> Claim:
    done, unfinished = (_says(pattern, lines[index], own=own) for pattern in (_DONE, _OPEN))
    # a line that says both ("fixed the first, the second is still open") claims nothing of either
    if done != unfinished:
        return "done" if done else "open"
    if done:
        return ""
    above = heading(lines, index)
    if opens(above):
        return "open"
    return "done" if _DONE_HEADING.search(above) else ""


def _says(pattern: LazyPattern, line: str, *, own: Container[str]) -> bool:
    if not pattern.found_in(line):
        return False
    found = (each for each in pattern.compiled.finditer(line) if each[0].lower() not in own)
    return any(pattern is _OPEN or not _is_refused(line, each) for each in found)


def _is_refused(line: str, found: re.Match[str]) -> bool:
    """True if the words before what sounds done say that it is nothing, or that it only may be."""
    if not found[0][0].isalpha():
        return False  # a mark
    before = line[max(0, found.start() - _FAR) : found.start()]
    # in the same clause only: "no errors, all done" is done
    if _NOTHING.search(_CLAUSE.split(before)[-1]):
        return True
    # "if the tests are fixed" tells no state; "if in doubt ask, fixed the tests" has no verb that the condition could
    # rule
    verb = _AUXILIARY.match(found[0]) or _AUXILIARY.search(before.rstrip())
    return verb is not None and _IF.search(_SENTENCE.split(before)[-1]) is not None


def heading(lines: list[str], index: int) -> str:
    """The nearest heading above line ``index``; "" if there is none."""
    for above in range(index - 1, max(-1, index - _FARTHEST), -1):
        if found := heading_in(lines[above]):
            return found
    return ""


def heading_in(line: str) -> str:
    """The words of a line that is a heading; "" if it is none."""
    found = _HEADING.match(line)
    return "" if found is None else found["hash"] or found["bold"] or found["lead"]
