"""Where each identifier was seen: one pass over the text, a few numbers per name.

Positions are characters from the beginning, so that "how long ago" is measured in text, not in messages: a message
can be one word or a whole file.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct, field

from autocompact.core.redacted import EMPTY, pieces
from autocompact.core.redaction import Redacted
from autocompact.ledger.identifiers import Shape, distinct_chunks, names

Source: TypeAlias = Literal["result", "reasoning", "assistant", "call", "edit", "user", "summary"]
SOURCES: tuple[Source, ...] = ("result", "reasoning", "assistant", "call", "edit", "user", "summary")


class Piece(Struct, frozen=True, kw_only=True):
    """A stretch of text of one message from one source; ``where`` is the file or command it shows."""

    seq: int
    source: Source
    text: Redacted
    where: Redacted = EMPTY


Voice: TypeAlias = Literal["closing", "assistant", "reasoning", "report", "ticket", "closed"]
"""Where words stand: an answer that closes a turn, words on the way, thoughts, a sub-agent's report; a ticket that the agent
reads, and one that is closed or was read again."""


class Spoken(Struct, kw_only=True):
    """A text of the agent.

    Attributes:
        seq: its message.
        voice: where it stands.
        text: the words.
        turn: number of requests before it.
        of: what its passages are about, as a reader must be told; "" where the words are the agent's.
    """

    seq: int
    voice: Voice
    text: Redacted
    turn: int
    of: Redacted = EMPTY

    @property
    def is_own(self) -> bool:
        """True if the agent says it itself."""
        return self.voice in ("closing", "assistant", "reasoning")


class Sighting(Struct):
    """What is known of one name.

    Attributes:
        name: the name.
        shape: what kind of identifier it is.
        counts: the number of pieces it stood in, by source.
        last: index of the last piece it stood in.
        seen: where that piece ends (characters).
        used: where the last tool call it stood in ends, -1 if none.
        said: where the last words or thoughts it stood in end, -1 if none.
    """

    name: Redacted
    shape: Shape
    counts: list[int] = field(default_factory=lambda: [0] * len(SOURCES))
    last: int = -1
    seen: int = 0
    used: int = -1
    said: int = -1


class Sightings:
    """All names seen so far."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.by_name: dict[Redacted, Sighting] = {}
        self.length = 0
        self._names: dict[Redacted, list[Sighting]] = {}

    def add(self, piece: Piece) -> None:
        """Take in one more piece of text."""
        index = len(self.pieces)
        self.pieces.append(piece)
        self.length += len(piece.text)
        end, source = self.length, SOURCES.index(piece.source)
        known = self._names
        for chunk in pieces(piece.text, distinct_chunks):
            seen = known.get(chunk)
            if seen is None:
                seen = known[chunk] = self._new(chunk)
            for sighting in seen:
                # once a piece, however often it has the name: a listing must not outvote the conversation
                if sighting.last == index:
                    continue
                sighting.last = index
                sighting.seen = end
                sighting.counts[source] += 1
                # 3 and 4 are call and edit, 0 is result: what the agent did with a name, what was said of it, and
                # what only came by
                if source in (3, 4):
                    sighting.used = end
                elif source:
                    sighting.said = end

    def _new(self, chunk: Redacted) -> list[Sighting]:
        found: list[Sighting] = []
        for part, shape in names(chunk):
            name = Redacted(part)  # a part of the chunk
            sighting = self.by_name.get(name)
            if sighting is None:
                sighting = self.by_name[name] = Sighting(name, shape)
            found.append(sighting)
        return found


class NoSightings(Sightings):
    """Takes in nothing: for text whose names will have faded before anybody asks for them."""

    def add(self, piece: Piece) -> None:
        """Leave it."""
