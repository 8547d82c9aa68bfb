"""The one line that explains an identifier: the last line it stood in, cut to what is near the name."""

from __future__ import annotations

import heapq

from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import EMPTY, cut, edited, filled, own
from autocompact.core.redaction import Redacted
from autocompact.ledger.entries import Entry
from autocompact.ledger.sightings import Piece, Sighting, Sightings
from autocompact.ledger.weights import LEARNED, Weights, need

LONGEST = 200
FEWEST, CHARACTERS_PER_NAME = 700, 400
LEAST = 0.01
_TRIES = 1_000
_SPACE = LazyPattern(r"\s+")
_WORD = LazyPattern(r"[^\W\d_]{3,}|[\u3040-\u9fff\uac00-\ud7af]{2}")
LOOK_BACK = 60
_PROSE = LazyPattern(
    # each word is read once: from its first letter, and without giving letters back
    r"(?<![^\W\d_])(?:[^\W\d_]{2,}+(?:['’-][^\W\d_]*+)?[,;:]? ){3,}[^\W\d_]{2}|[\u3040-\u9fff\uac00-\ud7af]{8}"
)
_NUMBERED = LazyPattern(r"\s*\d+\s*[:|→]")
_CODE = LazyPattern(
    r"[{};]\s*$|^\s*(?:[<{}()\[\]|*/#]|//|\+|-{2,}|import |from |return |if |for |const |let |var |func |def |class |type )"
    r"|^The file \S+ has been|^File (?:created|updated|written)|=>|:=|\)\s*\{|\"\s*:\s*|</?\w+[ >]|\\n|\w\([^ ]{0,400}\);?$|\x1b"
    r"|&&|\|\||\$\(|2>&1|^\s*(?:[-+*]\s+)?(?://|#!)|[\"']\s*,\s*$|^Successfully (?:replaced|wrote|overwrote|created|updated)"
    r"|^[\s\W]*[A-Za-z_][\w.]*\((?:[\"'`\w]|$)|\.\w+\([\"'`]|^\s*[A-Za-z_]\w* (?:\*?[a-z]\w*|\[\]\w+|[A-Z]\w+)\s*(?://|=)|^\S+:\d+:"
)


def find_identifiers(sightings: Sightings, *, through: int, weights: Weights = LEARNED) -> list[Entry]:
    """The names most likely needed, each with its line, the most needed first.

    Their number grows with the text, so that a generous budget can be filled as well. A name that stands in a message after ``through`` is not among them: it stays in the context.
    """
    length = sightings.length
    pieces = sightings.pieces
    ranked = [
        (need(sighting, length=length, weights=weights), sighting.name)
        for sighting in sightings.by_name.values()
        if pieces[sighting.last].seq <= through
    ]
    most = max(FEWEST, length // CHARACTERS_PER_NAME)
    best = heapq.nlargest(most, (pair for pair in ranked if pair[0] > LEAST))
    entries: list[Entry] = []
    for probability, name in best:
        piece, line = explaining_line(sightings, sightings.by_name[name])
        entries.append(
            Entry(
                kind="identifier",
                text=line,
                seq=piece.seq,
                key=name,
                need=round(probability, 4),
                where=piece.where if piece.source in ("result", "edit", "call") else EMPTY,
            )
        )
    return entries


def explaining_line(sightings: Sightings, sighting: Sighting) -> tuple[Piece, Redacted]:
    """The last line ``sighting`` stood in that says more than the name itself, and its piece.

    A search pattern among the arguments of a call explains nothing, so the pieces before it are asked, as far back as
    `LOOK_BACK`; where none says more the bare line it is, and also for a path, which says itself what it is.
    """
    piece, line = _line(sightings.pieces[sighting.last], sighting.name)
    # looking back reads old pieces, which is dear: only for names that do not say themselves what they are
    if sighting.shape in ("path", "file", "url") or not _is_bare(line, sighting.name):
        return piece, line
    for index in range(sighting.last - 1, max(-1, sighting.last - LOOK_BACK), -1):
        earlier = sightings.pieces[index]
        if sighting.name in earlier.text:
            told = _line(earlier, sighting.name)[1]
            if not _is_bare(told, sighting.name):
                return earlier, told
    return piece, line


def _is_bare(line: str, name: str) -> bool:
    return len(line) < len(name) + 24 and _WORD.search(line.replace(name, "")) is None


def _line(piece: Piece, name: str) -> tuple[Piece, Redacted]:
    text = piece.text
    at = last_place(text, name)
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = cut(text, start, end=end if end >= 0 else len(text))
    return piece, around(line, at=at - start, length=len(name))


def last_place(text: str, name: str) -> int:
    """Where ``name`` stands last in ``text`` as a name of its own, else where it stands last at all.

    Of the places where it is a part of another name the last `_TRIES` are looked at.
    """
    at = last = text.rfind(name)
    for _ in range(_TRIES):
        if at < 0:
            break
        end = at + len(name)
        if not _in_word(text[at - 1 : at]) and not _in_word(text[end : end + 1]):
            return at
        # one character less, so that places which overlap are found as well
        at = text.rfind(name, 0, end - 1)
    return max(last, 0)


def _in_word(character: str) -> bool:
    return character == "_" or (character.isascii() and character.isalnum())


def around(line: Redacted, *, at: int, length: int) -> Redacted:
    """``line`` without needless white space, at most `LONGEST` characters around the name at ``at``."""
    if len(line) > LONGEST:
        start = max(0, min(at - (LONGEST - length) // 2, len(line) - LONGEST))
        end = start + max(LONGEST, length + at - start)
        before, after = own("…" if start else ""), own("…" if end < len(line) else "")
        line = filled("{}{}{}", before, cut(line, start, end=end), after)
    return edited(line, _plain)


def _plain(line: str) -> str:
    return _SPACE.sub(" ", line).strip()


def is_code(line: str) -> bool:
    """True if ``line`` is code, markup or numbered output."""
    return _CODE.search(line) is not None or _NUMBERED.match(line) is not None


def is_sentence(line: str) -> bool:
    """True if ``line`` explains something to a reader; a line of code or markup does not, whatever it names."""
    return _PROSE.found_in(line) and not is_code(line)
