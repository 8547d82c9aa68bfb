"""Facts of a chat: what people say about themselves and others, things, events, plans and wishes.

In a chat without tools what counts is what was said in passing: a name, a number, a place, a date, a preference. A
statement is cut into clauses, each becomes a note, and a note is worth what it names that no other one does, for the tokens
it takes. Questions, thanks and pleasantries state nothing; a short answer stands with its question.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter as Counted
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from msgspec import Struct

from autocompact.core.language import detect
from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import cut, filled, own
from autocompact.core.redaction import Redacted
from autocompact.core.terms import terms
from autocompact.ledger.clipping import clipped
from autocompact.ledger.common_words import COMMON, NUMBER_WORDS, THINGS
from autocompact.ledger.entries import Entry
from autocompact.ledger.lines import is_code
from autocompact.ledger.notes import note
from autocompact.ledger.passages import passages, sentences
from autocompact.ledger.scan import Said
from autocompact.ledger.when import dated

_CLAUSE = LazyPattern(
    r"(?<=[,;:])\s+(?=(?:and|but|so|which|because|since|where|who|although|though|while|plus|especially|then|or|after|before|when|if"
    r"|i|we|he|she|they|it|my|our|there|not|including|like|und|aber|weil|denn|wobei|et|mais|parce|y|pero|porque)\b)"
    r"|\s+[—–-]+\s+|(?<=\w)—(?=\w)|(?<=[;])\s+|(?<=[，、；])|\s*\((?=[^)]{40,400}\))"
    r"|\s+(?=(?:because|although|though|whereas|so that|which|and (?:i|we|he|she|they|it|my|our)|but (?:i|we|he|she|they|it)|weil|parce que|porque)\b)",
    re.IGNORECASE,
)
WHOLE, _SHORTEST, LONGEST = 80, 24, 240
"""Characters of a sentence that stays whole, of a clause that does not stand alone, and of a note, beyond which it is cut."""

AGAIN, KNOWN = 0.88, 0.2
"""What each further note of one message counts, its topic being known; and a term, each time that it was told."""

FREQUENT, NAMED = 0.6, 0.0
"""By which power of how often a term is said it counts less: what comes again and again is the topic, a name a person."""

COMMON_TERM, NAME, FIGURE, ITEM = 0.08, 2.0, 1.5, 6
"""Worth of an everyday word, a name and a number, where any other word has 1; and tokens that each note costs besides its own."""

QUALITY = 0.35
"""Worth of a word with the ending of an adverb, adjective or abstract noun."""

WIDE = 0.6
"""Worth of two characters of a script without spaces: of a word there are about as many pairs as characters."""

LEAST, LITTLE = 1.3, 0.4
"""Worth of all the words that a note has at least; and that a part of it, up to a comma, needs to stay."""

_QUALITY = tuple("ly ful ous able ible ness ity ment tion sion ism ive less ance ence ing ed".split())
_WORD = LazyPattern(r"(?<![\w@.$€£%/:'-])[\w@.$€£%/:'-]*\w")
"""Looked for only where none of these signs is before it: at each dot of a dotted line it would be tried to its end."""
_SUPPOSES = LazyPattern(
    r"\b(?:if|would|could|might|i'd|would've|wish|whether|in case|suppose|wenn|würde|könnte|falls|si|pourrait|podría|quisiera)\b",
    re.IGNORECASE,
)
_ASKS = LazyPattern(
    r"(?:and |but |so |or |also,? |then |as for [^,]+, |in that case,? )*(?:what|which|who|whom|whose|where|when|why|how|is|are|was|were|do|does|did|can|could|will|would|should|shall|may|might|have|has|had|any|isn't|aren't|don't|doesn't|won't"
    r"|was|welche\w*|wer|wo|wann|warum|wie|ist|sind|kann|könn\w+|haben|hast|que|quel\w*|qui|où|quand|pourquoi|comment|est|peu\w+|qué|cuál\w*|quién|dónde|cuándo|cómo|puede\w*|hay)\b",
    re.IGNORECASE,
)
_FIGURE = LazyPattern(r"[$€£¥]?\d[\d,.:/-]*%?")
_NUMBER_TERMS = frozenset(terms(" ".join(NUMBER_WORDS)))
_NAME = LazyPattern(r"(?<=[\w,;:–—\"'“-] )(?!I\b|I')[A-Z][\w'’&.-]*\w")
_STATES = LazyPattern(
    r"\b(?:i(?:'m| am|'ve| have| had| was| live| work| study| moved| bought| ordered| got| started| prefer| like| love| hate| need| want| plan| decided| chose| use| own| paid| sold| lost| found| met| went| visited| joined| left| learned| adopted| named)"
    r"|my \w+|our \w+|we(?:'re| are|'ve| have| had| went| bought| live| plan)|(?:he|she|they|it) (?:is|was|has|had|said|told|works|lives|costs?|arrived|broke)|called|named"
    r"|ich (?:bin|habe|wohne|arbeite|mag)|mein\w*|je (?:suis|vis|travaille|préfère)|j'ai|ma|mon|mes|soy|tengo|vivo|trabajo|mi|mis)\b|我|私|僕",
    re.IGNORECASE,
)
_EMPTY = LazyPattern(
    r"\b(?:thanks?|thank you|appreciate|hope (?:you|this|that|all)|hi|hello|hey|sorry|looking forward|let me know|love to (?:know|hear)|wondering|curious|could you|can you|would you|do you|please|danke|merci|gracias)\b",
    re.IGNORECASE,
)
_HAPPENED = LazyPattern(
    r"\b(?:(?:i|we) (?:\w+ed|have|had|was|were|got|went|made|took|met|saw|bought|said|told|found)|(?:i|we)'ve"
    r"|(?:ich|wir) (?:habe\w*|bin|sind|war\w*|hatte\w*)|(?:j'|nous )(?:ai|avons|étais|étions)|je suis|(?:he|hemos|fui|fuimos|tuve|tuvimos) \w+)\b|了[。,，]|ました",
    re.IGNORECASE,
)
_NAMES_IT = LazyPattern(r"\b(?:called|named|namely|known as|titled|heißt|namens|genannt|s'appelle|appelée?|se llama|llamad[oa])\b|叫|という", re.IGNORECASE)  # fmt: skip
_IS = LazyPattern(r"\b(?:is|are|was|were|ist|sind|war|waren|est|sont|était|étaient|es|son|era|eran|fue)\b|是|です|でした", re.IGNORECASE)  # fmt: skip
_WHEN = LazyPattern(
    r"\b(?:(?:last|next|recently|this) (?:\w+ )?(?:week|month|year|semester|summer|winter|spring|autumn|fall|quarter|night|time)|ago|(?:19|20)\d\d"
    r"|(?:letzte|nächste|diese)\w* \w+|vor \w+ \w+|dernière?|prochaine?|il y a|pasad[oa]|próxim[oa]|hace \w+)\b|去年|上个?月|上周|明年|先週|来週|先月|来月|昨年|来年",
    re.IGNORECASE,
)
_ADDRESSED = LazyPattern(r"\b(?:you(?:r|'re|'ve|'d|'ll)?|du|dir|dich|dein\w*|tu|toi|tes|vous|votre|vos|usted|tus?)\b|[你您]|あなた", re.IGNORECASE)  # fmt: skip
_POINTS_BACK = LazyPattern(r"\A(?:it|that|this|there|they|which|das|dies|es|ça|cela|c'est|eso|esto|这|那|それ|これ)\b", re.IGNORECASE)  # fmt: skip
_THINKS = LazyPattern(
    r"\b(?:think|feel|guess|wonder|imagine|believe|know|reali[sz]e|denke|glaube|finde|pense|crois|trouve|pienso|creo)\w*\b|觉得|认为|と思",
    re.IGNORECASE,
)
_DENIES = LazyPattern(r"n't\b|\b(?:not|no|never|nicht|kein\w*|nie|pas|jamais|aucune?|nunca|jamás)\b|[不没]|ない|ません", re.IGNORECASE)  # fmt: skip
_OF_MANY = LazyPattern(
    r"\b(?:we|our|us|you|your|people|one|everyone|wir|unser\w*|uns|man|nous|notre|nos|nosotros|nuestr\w+|la gente)\b|我们|大家|人们|みんな|私たち",
    re.IGNORECASE,
)
"""A clause of a group, of people in general or of whom it is said to, about which less is asked than about the speaker alone."""

OPENING = 1.3
"""What the first note of a message counts: people begin with what they have to say."""

OUTDATED, SAME, _LATEST = 0.25, 0.5, 20
"""What a state counts that a later one replaces; the share of words by which it is the same matter; clauses looked at for a word."""

_STATE = LazyPattern(
    r"\b(?P<home>live[sd]? in|living in|moved (?:to|into)|moving to|based in|relocated to|wohne[nt]? in|(?:um)?gezogen nach|habit\w+ (?:à|en)|vivo en|me mudé a|mudado a)\b|(?P<home_east>住在|搬到|搬去|に住んで|に引っ越)"
    r"|\b(?P<work>work(?:s|ed|ing)? (?:at|for|as)|started (?:working |a job )?(?:at|as)|arbeite[nt]? (?:bei|als)|travaill\w+ (?:chez|comme)|trabaj\w+ (?:en|como))\b|(?P<work_east>在\S{1,12}工作|で働い)"
    r"|\b(?P<age>\d{1,3} years old|\d{1,3} jahre alt|\d{1,3} ans|\d{1,3} años)\b"
    r"|\b(?:favou?rite|current|new|lieblings|préférée?|favorit[ao]) (?P<thing>\w+)(?: now)? (?:is|are|was|ist|sind|est|es)\b",
    re.IGNORECASE,
)
_CHANGES = LazyPattern(
    r"\b(?:now|no longer|not any ?more|anymore|instead|changed|rescheduled|postponed|cancell?ed|switched|moved (?:to|from|up|back)|turns out|correction|updated"
    r"|jetzt|nun|nicht mehr|stattdessen|verschoben|abgesagt|geändert|maintenant|ne \w+ plus|finalement|reporté\w*|annulé\w*|ahora|ya no|en vez|cambi[óa]\w*|aplazad\w*)\b"
    r"|现在|改(?:成|到|为)|不再|取消|推迟|今は|もう|変更|延期|キャンセル",
    re.IGNORECASE,
)
_SPEAKS = LazyPattern(r"\**([^\W\d_][\w.'’-]{0,20}(?: [^\W\d_][\w.'’-]{0,20})?)\**[:：]\**\s+")
_LINES_OF_ONE = 3
_SHORT_ANSWER, _LONGEST_QUESTION = 60, 110


class _Clause(Struct, kw_only=True):
    text: str
    seq: int
    by: Redacted
    order: int
    terms: dict[str, float]
    weight: float
    matters: tuple[str, ...]
    changes: bool


_FORMS: Sequence[tuple[LazyPattern, float]] = (
    (_STATES, 1.15), (_HAPPENED, 1.2), (_NAMES_IT, 1.3), (_IS, 1.15), (_WHEN, 1.3),
    (_EMPTY, 0.4), (_SUPPOSES, 0.6), (_ADDRESSED, 0.7), (_POINTS_BACK, 0.75), (_THINKS, 0.8), (_DENIES, 0.8),
    (_OF_MANY, 0.7),
)  # fmt: skip
"""What a clause counts by its form, measured on three chats: how much oftener it answers what is asked than others do."""


def find_facts(statements: Sequence[Said], *, most: int = 600) -> list[Entry]:
    """The notes that state most, ``need`` as their worth for their size; a later one says less if it repeats.

    Args:
        statements: of the people, and of the model that talks with them.
        most: notes at most.
    """
    clauses = _latest(_clauses(statements))
    seen = Counted(term for clause in clauses for term in clause.terms)
    told: Counted[str] = Counted()
    taken: Counted[int] = Counted()

    def worth(index: int) -> float:
        clause = clauses[index]
        # how often a word is said counts against it, since what comes again and again is the topic; not against a
        # name
        new = sum(
            value * KNOWN ** told[term] / seen[term] ** (NAMED if value == NAME else FREQUENT)
            for term, value in clause.terms.items()
        )
        return clause.weight * new / (ITEM + _size(clause.text)) * AGAIN ** taken[clause.seq]

    heap = [(-worth(index), -index) for index in range(len(clauses))]
    heapq.heapify(heap)
    chosen: list[Entry] = []
    while heap and len(chosen) < most:
        _, negative = heapq.heappop(heap)
        now = worth(-negative)
        # worth only falls as more is told: who is still the best with today's worth is the best of all, and the
        # others need no new look. The margin is for sums that differ in their last bit
        if heap and now < -heap[0][0] - 1e-9:
            heapq.heappush(heap, (-now, negative))
            continue
        clause = clauses[-negative]
        told.update(clause.terms.keys())
        taken[clause.seq] += 1
        chosen.append(_entry(clause, now))
    return chosen


def _size(text: str) -> float:
    """About the tokens of ``text``, without a counter: the worth of a note does not depend on the model."""
    wide = 0 if text.isascii() else sum(character >= "\u3000" for character in text)
    return wide + (len(text) - wide) / 4.5


def _entry(clause: _Clause, worth: float) -> Entry:
    return Entry(
        kind="fact",
        text=Redacted(clause.text),  # a piece of redacted words
        seq=clause.seq,
        key=filled("fact {}", Redacted(clause.text[:80])),
        state_seq=clause.order,
        need=round(min(1.0, worth), 4),
        where=clause.by,
    )


def _latest(clauses: Iterable[_Clause]) -> list[_Clause]:
    """The clauses; of those that tell one state of one speaker an earlier one counts little, as it no longer holds."""
    found: list[_Clause] = []
    latest: dict[tuple[Redacted, str], _Clause] = {}
    of_term: dict[str, list[_Clause]] = defaultdict(list)
    for clause in clauses:
        for matter in clause.matters:
            if earlier := latest.get((clause.by, matter)):
                earlier.weight *= OUTDATED
            latest[clause.by, matter] = clause
        if clause.changes:
            for earlier in _same(clause, of_term):
                earlier.weight *= OUTDATED
        for term in clause.terms:
            of_term[term].append(clause)
        found.append(clause)
    return found


def _matters(text: str) -> Iterator[str]:
    for match in _STATE.compiled.finditer(text):
        yield (match["thing"] or match.lastgroup or "").lower()


def _same(clause: _Clause, of_term: Mapping[str, Sequence[_Clause]]) -> list[_Clause]:
    """The earlier clauses of the same speaker of which ``clause`` says most words again."""
    said = {term for term, value in clause.terms.items() if value > QUALITY}
    # the last few clauses with a word: in a long chat an everyday word has thousands
    shared = Counted(id(other) for term in said for other in of_term.get(term, ())[-_LATEST:])
    others = {id(other): other for term in said for other in of_term.get(term, ())[-_LATEST:]}
    return [
        other
        for at, other in others.items()
        if other.by == clause.by
        and shared[at] >= 2
        and shared[at] >= SAME * sum(value > QUALITY for value in other.terms.values())
    ]


def _clauses(statements: Sequence[Said]) -> Iterator[_Clause]:
    language = detect(words.text for words in statements)
    order = opened = 0
    for seq, by, time, text in _lines(statements):
        for clause in (clause for sentence in _sentences(text) for clause in _split(sentence)):
            if is_code(clause):
                continue
            told = note(dated(clause, time=time), language=language)
            found = _valued(told)
            if sum(found.values()) >= LEAST and (len(found) > 1 or not told.isascii()):
                order += 1
                opening, opened = OPENING if seq != opened else 1.0, seq
                yield _Clause(
                    text=clipped(told, LONGEST),
                    seq=seq,
                    by=by,
                    order=order,
                    terms=found,
                    weight=opening * _weight(clause),
                    matters=tuple(_matters(clause)),
                    changes=_CHANGES.found_in(clause),
                )


def _weight(clause: str) -> float:
    """How much its form says that a clause states something."""
    return prod(factor for pattern, factor in _FORMS if pattern.found_in(clause))


def _valued(told: str) -> dict[str, float]:
    """The terms of a note, each with its worth: names and numbers most, qualities and everyday words least."""
    found: dict[str, float] = {}
    names = {at for match in _NAME.finditer(told) for at in range(match.start(), match.end())}
    for match in _WORD.finditer(told):
        word = match[0]
        # once for all its terms: a path of a hundred thousand characters is one word
        is_quality = _is_quality(word)
        for term in terms(word):
            if _FIGURE.match(term) or term in _NUMBER_TERMS:
                value = FIGURE
            elif match.start() in names:
                value = NAME
            elif term in COMMON:
                value = COMMON_TERM
            else:
                value = QUALITY if is_quality else WIDE if term[0] >= "\u3000" else 1.0
            found[term] = max(value, found.get(term, 0.0))
    return found


def _is_quality(word: str) -> bool:
    return word.lower() not in THINGS and word.endswith(_QUALITY)


def _lines(statements: Iterable[Said]) -> Iterator[tuple[int, Redacted, str, str]]:
    """Message, speaker, time and words; where a text begins with the name of who speaks, that is the speaker."""
    statements = list(statements)
    named = Counted(found[1] for words in statements if (found := _SPEAKS.match(words.text)))
    question, asker = "", ""
    for words in statements:
        by, text = own("assistant") if words.by == "assistant" else own("user"), str(words.text)
        spoken = _SPEAKS.match(text)
        # "Note:" and "PS:" look like a speaker once; a speaker comes again
        if spoken is not None and named[spoken[1]] >= _LINES_OF_ONE:
            by, text = cut(words.text, spoken.start(1), end=spoken.end(1)), text[spoken.end() :]
        if question and by != asker:
            text = _answered(question, text)
        yield words.seq, by, words.time, text
        last = (sentences(text.strip()) or [""])[-1]
        question, asker = (
            (last, by) if last.endswith(("?", "？")) and len(last) <= _LONGEST_QUESTION else ("", "")
        )


def _answered(question: str, text: str) -> str:
    """``text`` with the question before it, if it begins with a short answer."""
    first, rest = (sentences(text.strip()) or [""])[0], ""
    if len(first) > _SHORT_ANSWER or first.endswith(("?", "？")):
        return text
    rest = text.strip()[len(first) :]
    return f"{question.rstrip('?？ ')} → {first}{rest}"


def _sentences(text: str) -> Iterator[str]:
    for passage in passages(text):
        yield from sentences(passage.text)


def _split(sentence: str) -> list[str]:
    """The clauses that state something; one too short to do so goes with the one before.

    Of a question the asking itself is left out, not what it is asked about: "since I only have 38 square feet, does it fit?"
    """
    found: list[str] = []
    asks = sentence.rstrip("\"')` ").endswith(("?", "？"))
    pieces = _CLAUSE.split(sentence) if asks or len(sentence) > WHOLE else [sentence]
    for piece in filter(None, (piece.strip(" ,;—–-") for piece in pieces)):
        short = found and min(len(piece), len(found[-1])) < _SHORTEST
        if short and not (asks and _ASKS.begins(piece)):
            found[-1] = f"{found[-1]}, {piece}"
        else:
            found.append(piece)
    if asks:
        return [clause for clause in found[:-1] if not _ASKS.begins(clause)]
    return [clause for clause in map(_informative, found) if clause]


def _informative(clause: str) -> str:
    """``clause`` without what stands at its beginning or end, up to a comma, and says nothing."""
    pieces = clause.split(", ")
    while pieces and sum(_valued(pieces[0]).values()) < LITTLE:
        del pieces[0]
    while pieces and sum(_valued(pieces[-1]).values()) < LITTLE:
        del pieces[-1]
    return ", ".join(pieces)
