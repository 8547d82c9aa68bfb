"""What a short answer answers: "yes" and "do 2" say nothing to who has not read the question."""

from __future__ import annotations

import re

from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import EMPTY, cut, edited
from autocompact.core.redaction import Redacted

SHORT = 60
"""Characters of a request, at most, that is taken for an answer."""

DECIDED = 160
"""The same of one that begins with yes or no."""

END = 1_200
"""Characters at the end of a reply in which its question stands."""

_VAGUE = 60
"""Characters of a question up to which the sentence before it is told, too: "Shall I do that?"."""

_TOLD = 200
"""Characters of a question or an option, at most, that are told."""

_DECISION = LazyPattern(
    r"(?:y|yes|yeah|yep|yup|ok|okay|sure|agreed|no|nope|ja|gern|gerne|nein|oui|non|s[íi]|sim|n[ãa]o|d'accord|да|нет|はい|いいえ|是的?|好的?|不用?)"
    r"(?![\w-])",
    re.IGNORECASE,
)
_FILLERS = (
    "yes yeah yep ok okay sure please let's let’s lets i i'd i’d we like prefer want think it to the a go with do take use try choose pick"
    " ja bitte nimm mach lieber oui prends plutôt option options variant variante approach number nummer nr no"
).split()
_PICK = LazyPattern(
    rf"(?:(?i:{'|'.join(map(re.escape, _FILLERS))})[ ,.:#]+){{0,8}}\(?#?(?P<pick>[1-9]|[A-D]|[b-d])\)?"
    r"(?![.,;: ]*(?:(?:and|or|und|oder|et|ou|&|\+)[ ]*)?#?(?:\d|[A-Da-d]\b))(?=[.!]?$|[,;!]|[ ](?:for now|first|please|then|and|but|bitte|erst|und|aber|et|mais)\b)"
)
"""The beginning of an answer that picks one option: not of one that picks several, or that is a list itself ("1. …")."""
_OPTION = r"(?im)^[ \t>*#|-]{{0,8}}(?:option |variante? )?{}(?:\*\*)?[.):|](?P<text>[^\n]{{3,400}})"
_SENTENCE = LazyPattern(r"[^\n]+?(?:[.!?:;](?=[\s*_)\"”]|$)|[。？！]|(?=\n)|$)")
_MARKS = LazyPattern(r"\*\*|__|`|^\s*(?:[-*>•#]+|\d[.)])\s+|^[\s*_)\"”]+")


def question_of(reply: Redacted, answer: str) -> Redacted:
    """What of the words before it a short answer answers: the option that it picks, else the last question.

    Args:
        reply: what the model closed its turn with.
        answer: the request that came next.

    Returns:
        One line; "" where the request is no short answer, or nothing was asked.
    """
    said = answer.strip()
    picked = _PICK.match(said)
    if picked is not None and (option := _option(reply, picked["pick"])):
        return option
    if not _is_answer(said):
        return EMPTY
    return edited(cut(reply, max(0, len(reply) - END)), _last_question)


def _is_answer(said: str) -> bool:
    longest = DECIDED if _DECISION.match(said) else SHORT
    return 0 < len(said) <= longest and not said.endswith(("?", "？")) and not said.startswith("/")


def _option(reply: Redacted, pick: str) -> Redacted:
    """The last line that begins with the number or letter ``pick``; "" if none does."""
    found = [*re.finditer(_OPTION.format(pick), reply)]
    return edited(cut(reply, found[-1].start("text"), end=found[-1].end("text")), _told) if found else EMPTY


def _last_question(end: str) -> str:
    """The last question, with the sentence before it where it says too little alone."""
    sentences = [found[0] for found in _SENTENCE.finditer(end)]
    asked = next((n for n in range(len(sentences) - 1, -1, -1) if sentences[n].endswith(("?", "？"))), None)
    if asked is None:
        return ""
    begin = asked - 1 if asked and len(sentences[asked]) <= _VAGUE else asked
    return _told(" ".join(map(_plain, sentences[begin : asked + 1])))


def _plain(sentence: str) -> str:
    return _MARKS.sub("", sentence)


def _told(text: str) -> str:
    """``text`` as one line; of a long one the end, where the question is."""
    said = " ".join(_plain(text).split()).strip(" |")
    return said if len(said) <= _TOLD else f"…{said[-_TOLD:].partition(' ')[2]}"
