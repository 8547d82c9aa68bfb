"""When two observations say the same.

A wrong merge loses what somebody noticed, a missed one only leaves two lines; so the measure is strict. Two texts say
the same if all of this holds:

- the same figures and versions, the same number of negations, the same limits ("only", "unless", "can" and "may");
- every name of the one (file, flag, identifier, product) stands in the other;
- no opposites ("before" here, "after" there); behind "before", "from", "not", "only" stands the same, and the same does not
  stand behind another of them;
- no two words have changed places around a third: "a in b", "a calls b" and "2 of a, 3 of b" are not the same the other way
  round. Whole phrases may stand elsewhere: "in CI the tests fail", "the tests fail in CI";
- in another language than English (`languages`), the words stand in the same order;
- without endings, synonyms and words that carry nothing, the words of one are among those of the other. A word that
  each has alone is a sign of two facts ("flaky on linux", "flaky on windows"). At most one word in six may be more.

Two rules contradict each other if they speak of the same and differ in a negation, an opposite or a figure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from itertools import combinations
from typing import Generic, Literal, NamedTuple, TypeAlias, TypeVar

from autocompact.core.terms import stem, terms
from autocompact.memory.languages import ELISION, OF, Tongue, fold, tongue
from autocompact.memory.words import (
    COMPOUNDS,
    FIGURES,
    LIGHT,
    LIMITS,
    NEGATIONS,
    OPPOSITES,
    POSSIBLE,
    PREPOSITIONS,
    RELATIONS,
    SAME,
)

Kind: TypeAlias = Literal["figure", "name", "negation", "limit", "word", "light"]
Key: TypeAlias = tuple[object, ...]
T = TypeVar("T")

_EXTRA = 6
"""So many words in common allow one that only one side has."""
_TOKEN = re.compile(r"--?[^\W\d_][\w-]*|\w[\w./\\=:@#%+'’&-]*|[,.;:!?](?=\s|\Z)")
_EDGES = ".,;:'’-/\\=+&@#"
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}")
_INNER = re.compile(r"[\w)][_./\\=:@#+][\w(]|^--?\w")
_UNIT = re.compile(r"(\d[\d.,]*)(ms|s|sec|secs|m|min|mins|h|d|k|kb|mb|gb|%)\Z", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d)[,_'](?=\d{3}\b)")
_COMPOUND = re.compile(rf"\b(?a:{'|'.join(COMPOUNDS)})\b", re.IGNORECASE)
_MAY_BE_COMPOUND = re.compile("|".join(COMPOUNDS))
_MARKS = re.compile(r"[*`\"“”„()\[\]{}<>]+|(?<!\w)_+|_+(?!\w)")
_MAY_BE_MARKED = re.compile(r"[*`\"“”„()\[\]{}<>_,']")
_ENDS = frozenset(",.;:!?")
_NEGATIONS = NEGATIONS.union(*(known.negations for known in OF.values()))
_LIMITS = LIMITS.union(*(known.limits for known in OF.values()))
# "ne … pas" is one negation; "ne" alone is half of "ne … que" and "ne … plus".
_NE = "ne"
_POSSIBLE = "may"
_FRENCH: Mapping[str, tuple[tuple[Kind, str], ...]] = {
    "n": (("light", _NE),),
    "jusqu": (("limit", "jusque"),),
}
# Shared, as most texts have neither figures nor limits.
_NONE = frozenset[str]()


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a text says, so far as it can be compared.

    Attributes:
        words: all that carries something: words, names.
        names: those of them that name something.
        figures: figures and versions.
        negations: how often it says no.
        limits: words such as "only".
        sides: what stands behind words such as "before", and right behind "not" and "only".
        axes: the words that have an opposite, as the pair and which of it.
        order: all that carries something, as it stands in the text.
        sequence: the same with the prepositions, of English.
        is_free: it is English, where the order of words may differ.
    """

    words: frozenset[str]
    names: frozenset[str]
    figures: frozenset[str]
    negations: int
    limits: frozenset[str]
    sides: frozenset[tuple[str, frozenset[str]]]
    axes: frozenset[tuple[str, int]]
    order: tuple[str, ...]
    sequence: tuple[str, ...]
    is_free: bool

    @property
    def key(self) -> Key:
        """Equal for texts that are the same but for order, endings, synonyms and words that carry nothing."""
        order = () if self.is_free else self.order
        return (self.words, self.figures, self.negations, self.limits, self.sides, order)

    @property
    def stance(self) -> Key:
        """What must be equal in two texts that say the same."""
        return (self.figures, self.negations, self.limits)

    @property
    def subject(self) -> frozenset[str]:
        """What it speaks of, without what it says about it."""
        return frozenset(word for word in self.words if word not in OPPOSITES)


class _Heard(NamedTuple):
    """A word of a text, and what it does there.

    Attributes:
        kind: which job it has.
        word: the word.
        stands: what stands for it in the sequence of the text, None if nothing does.
        axis: the pair of opposites that it is one of, and which.
        opens: the relation of which a side begins behind it.
        limits: what the next word alone stands behind: a negation, a limit.
        is_content: it can stand on a side.
    """

    kind: Kind
    word: str
    stands: str | None
    axis: tuple[str, int] | None
    opens: str | None
    limits: str | None
    is_content: bool


@dataclass(slots=True)
class _Listener:
    """What was read of a text so far."""

    kinds: defaultdict[Kind, list[str]] = field(default_factory=lambda: defaultdict(list))
    sides: dict[str, set[str]] = field(default_factory=dict)
    axes: set[tuple[str, int]] = field(default_factory=set)
    order: list[str] = field(default_factory=list)
    sequence: list[str] = field(default_factory=list)
    side: set[str] | None = None
    scope: set[str] | None = None

    def take(self, heard: _Heard) -> None:
        """The next word. It opens a side, or comes on those that are open: one word behind "not", all behind "before"."""
        kind, word, stands, axis, opens, limits, is_content = heard
        self.kinds[kind].append(word)
        if stands is not None:
            self.sequence.append(stands)
            if kind != "light":
                self.order.append(stands)
        if axis:
            self.axes.add(axis)
        if is_content and self.scope is not None:
            self.scope.add(word)
            self.scope = None
        if opens is not None:
            self.side = self.sides.setdefault(opens, set())
        elif limits is not None:
            self.scope = self.sides.setdefault(limits, set())
        elif is_content and self.side is not None:
            self.side.add(word)

    def pause(self) -> None:
        """A comma or a full stop ends what stands behind "before"."""
        self.side = None


@lru_cache(maxsize=1 << 14)
def meaning(text: str) -> Meaning:
    """What ``text`` says."""
    told = _Listener()
    is_first = True
    tokens = _TOKEN.findall(_unmarked(text))
    language = tongue(tokens)
    for token in tokens:
        if token in _ENDS:
            told.pause()
            is_first = token in ".!?"
            continue
        for heard in _heard(_uncapped(token) if is_first else token, language):
            told.take(heard)
        is_first = False
    kinds = told.kinds
    return Meaning(
        words=frozenset(kinds["word"] + kinds["name"]),
        names=frozenset(kinds["name"]) or _NONE,
        figures=frozenset(kinds["figure"]) or _NONE,
        negations=len(kinds["negation"]),
        limits=frozenset(_limits(kinds)) or _NONE,
        sides=frozenset((word, frozenset(behind)) for word, behind in told.sides.items() if behind),
        axes=frozenset(told.axes),
        order=tuple(told.order),
        sequence=tuple(told.sequence),
        is_free=language == "english",
    )


def _unmarked(text: str) -> str:
    """``text`` with compounds as one word, figures without separators, no marks. Most texts have none: a look is quick."""
    if _MAY_BE_COMPOUND.search(text.lower()):
        text = _COMPOUND.sub(lambda match: COMPOUNDS[match[0].lower()], text)
    if _MAY_BE_MARKED.search(text):
        text = _MARKS.sub(" ", _THOUSANDS.sub("", text))
    return text


def _limits(kinds: Mapping[Kind, Sequence[str]]) -> Sequence[str]:
    return [*kinds["limit"], _NE] if _NE in kinds["light"] and not kinds["negation"] else kinds["limit"]


def _uncapped(token: str) -> str:
    """The first word of a sentence without the capital that it has from where it stands."""
    bare = token.rstrip(_EDGES)
    return bare.lower() if bare[:1].isupper() and (bare[1:].islower() or bare in ("A", "I")) else bare


@lru_cache(maxsize=1 << 15)
def _heard(token: str, language: Tongue) -> tuple[_Heard, ...]:
    """The words of a token."""
    return tuple(_judged(kind, word) for kind, word in _kinds(token, language))


def _judged(kind: Kind, word: str) -> _Heard:
    stands = None if kind == "light" and word not in PREPOSITIONS else kind if kind == "negation" else word
    return _Heard(
        kind=kind,
        word=word,
        stands=stands,
        axis=OPPOSITES.get(word) if kind in ("word", "light") else None,
        opens=RELATIONS.get(word) if kind != "name" else None,
        limits=stands if kind in ("negation", "limit") else None,
        is_content=kind in ("word", "name", "figure"),
    )


def _kinds(token: str, language: Tongue) -> tuple[tuple[Kind, str], ...]:
    """The words of a token, each with its kind."""
    token = token.rstrip(_EDGES)
    lower = token.lower().replace("’", "'").removesuffix("'s")
    if language == "french" and (match := ELISION.match(lower)):
        return *_FRENCH.get(match[1], ()), *_kinds(token[match.end() :], language)
    if told := _of_list(lower, language):
        return (told,)
    if any(char.isdigit() for char in lower):
        return tuple(_with_digits(lower))
    # One capital is a variable or a person.
    if _INNER.search(token) or _HUMP.search(token) or (len(token) == 1 and token.isupper() and token != "I"):
        return (("name", lower),)
    if language not in OF and not lower.isascii():
        return tuple(("word", term) for term in terms(lower)) or (("word", lower),)
    pieces = lower.split("-") if "-" in lower.strip("-") else [lower]
    kind: Kind = "name" if token[:1].isupper() else "word"
    return tuple(_word(piece, kind=kind, language=language) for piece in pieces if piece)


def _of_list(lower: str, language: Tongue) -> tuple[Kind, str] | None:
    word, known = fold(lower), OF.get(language)
    if language == "french" and word == _NE:
        return "light", word
    if lower.endswith("n't") or word in _NEGATIONS:
        return "negation", word
    if word in _LIMITS:
        return "limit", word
    if known is None and word in POSSIBLE:
        return "limit", _POSSIBLE
    figures = known.figures if known else FIGURES
    return ("figure", figures[word]) if word in figures else None


def _with_digits(lower: str) -> Iterator[tuple[Kind, str]]:
    if match := _UNIT.match(lower):
        yield "figure", match[1].rstrip(".,")
        yield "word", SAME.get(stem(match[2]), match[2])
    elif _INNER.search(lower) and any(char.isalpha() for char in lower.lstrip("v")):
        yield "name", lower
        # A name with a figure in it is another name with another figure.
        yield "figure", lower
    else:
        yield "figure", lower.removeprefix("v") if lower[1:2].isdigit() else lower


def _word(piece: str, *, kind: Kind, language: Tongue) -> tuple[Kind, str]:
    if known := OF.get(language):
        word = fold(piece)
        bare = stem(word)
        return ("light", word) if word in known.light else (kind, known.forms.get(bare, bare))
    bare = stem(piece)
    bare = SAME.get(bare, bare)
    return ("light", bare) if bare in LIGHT else (kind, bare)


def same(one: Meaning, other: Meaning) -> bool:
    """Whether two texts say the same, by the measure above."""
    if one.stance != other.stance or not one.words or not other.words:
        return False
    if not (one.names <= other.words and other.names <= one.words):
        return False
    if not (one.is_free and other.is_free):
        return one.order == other.order
    common = one.words & other.words
    extra = len(one.words | other.words) - len(common)
    is_within = one.words <= other.words or other.words <= one.words
    return (
        is_within
        and extra <= len(common) // _EXTRA
        and not opposed(one, other)
        and not _exchanged(one, other)
        and not _swapped(one, other)
    )


def opposed(one: Meaning, other: Meaning) -> bool:
    """One has a word whose opposite the other has."""
    sides = dict(one.axes - other.axes)
    return any(axis in sides for axis, _ in other.axes - one.axes)


def _exchanged(one: Meaning, other: Meaning) -> bool:
    """Behind a relation stands something else, or the same stands behind another one."""
    sides, behinds = dict(one.sides), {behind for _, behind in one.sides}
    return any(
        sides[word].isdisjoint(behind) if word in sides else behind in behinds for word, behind in other.sides
    )


def _swapped(one: Meaning, other: Meaning) -> bool:
    """Two words have changed places around a third. A phrase that stands elsewhere as a whole has no such word."""
    if not one.is_free or one.sequence == other.sequence:
        return False
    first, second = _places(one.sequence), _places(other.sequence)
    words = sorted(first.keys() & second.keys() - PREPOSITIONS, key=lambda word: first[word])
    return any(
        second[right] < second[left]
        and not set(one.sequence[first[left] + 1 : first[right]]).isdisjoint(
            other.sequence[second[right] + 1 : second[left]]
        )
        for left, right in combinations(words, 2)
    )


def _places(sequence: Sequence[str]) -> dict[str, int]:
    """Where the words are that stand there once."""
    return {word: place for place, word in enumerate(sequence) if sequence.count(word) == 1}


class Alike(Generic[T]):
    """Values by texts, each found under any text that is alike. They are iterated over in the order of their coming."""

    def __init__(self) -> None:
        self._by_key: dict[Key, list[tuple[Meaning, T]]] = {}
        self._values: list[T] = []

    def __iter__(self) -> Iterator[T]:
        """The values."""
        return iter(self._values)

    def get(self, text: str) -> T | None:
        """The value of the first text that is alike, None if there is none."""
        told = meaning(text)
        return self._first(self._by_key.get(_key(told, text), ()), told)

    def setdefault(self, text: str, value: T) -> T:
        """The value of the first text that is alike; ``value`` if there was none, which is then found."""
        told = meaning(text)
        known = self._by_key.setdefault(_key(told, text), [])
        found = self._first(known, told)
        if found is None:
            known.append((told, value))
            self._values.append(value)
        return value if found is None else found

    def _first(self, known: Iterable[tuple[Meaning, T]], told: Meaning) -> T | None:
        return next((value for other, value in known if not _swapped(told, other)), None)


def key_of(text: str) -> Key:
    """Equal for texts that are alike; of a text without words, the text itself."""
    return _key(meaning(text), text)


def _key(told: Meaning, text: str) -> Key:
    return told.key if told.words else (text,)


class Meanings:
    """Finds among many texts those that say the same as one, without comparing it with each."""

    def __init__(self) -> None:
        self._known: list[tuple[int, Meaning]] = []
        self._by_stance: defaultdict[Key, dict[str, list[int]]] = defaultdict(dict)

    def add(self, text: str, number: int) -> None:
        """Make ``text`` findable; ``number`` is what `find` answers."""
        told = meaning(text)
        by_word = self._by_stance[told.stance]
        for word in told.words:
            by_word.setdefault(word, []).append(len(self._known))
        self._known.append((number, told))

    def find(self, text: str) -> int | None:
        """The least number of a text that says the same, None if there is none."""
        told = meaning(text)
        # The words of one are among those of the other but for `extra`: one of the rarest `extra` + 1 is in both.
        extra = len(told.words) // _EXTRA
        by_word = self._by_stance[told.stance]
        rarest = sorted((by_word.get(word, []) for word in told.words), key=len)
        places = {place for found in rarest[: extra + 1] for place in found}
        return min(
            (number for number, known in (self._known[place] for place in places) if same(told, known)),
            default=None,
        )


Clash: TypeAlias = Literal["negation", "opposite", "figure"]


def clash(one: Meaning, other: Meaning) -> Clash | None:
    """In what two texts that speak of the same contradict each other."""
    if opposed(one, other):
        return "opposite"
    if (one.negations - other.negations) % 2:
        return "negation"
    same_words = one.words == other.words and one.negations == other.negations
    return "figure" if same_words and bool(one.figures) and one.figures != other.figures else None


def clashes(texts: Iterable[str]) -> Iterator[tuple[int, int, Clash]]:
    """The pairs among ``texts`` that contradict each other, by position, each once."""
    meanings = [meaning(text) for text in texts]
    subjects = [told.subject for told in meanings]
    # The positions of the texts with a word are the bits of a number: one operation looks at 64 of them.
    by_word: defaultdict[str, int] = defaultdict(int)
    for index, subject in enumerate(subjects):
        for word in subject:
            by_word[word] |= 1 << index
    for index, subject in enumerate(subjects):
        with_all = reduce(int.__and__, (by_word[word] for word in subject)) if subject else 0
        for other in _bits(with_all):
            is_longer = len(subject) < len(subjects[other]) <= 2 * len(subject)
            if is_longer or (subject == subjects[other] and index < other):
                found = clash(meanings[index], meanings[other])
                if found:
                    yield min(index, other), max(index, other), found


def _bits(number: int) -> Iterator[int]:
    """The positions of the ones in ``number``, from the lowest."""
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
