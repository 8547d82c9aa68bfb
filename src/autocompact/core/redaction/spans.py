"""Where a secret is, and the text as the rules read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One secret: ``text[start:end]``, and what it is ("GitHub token")."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Source:
    """A text, and the same text with one lower-case byte for each character, in which literals are found fast.

    What Latin-1 cannot write is "?" in ``lower``: a position in one is the same position in the other.
    """

    text: str
    lower: bytes

    @classmethod
    def of(cls, text: str) -> Source:
        """The text as the rules read it."""
        return cls(text, text.encode("latin-1", "replace").lower())

    def has(self, literal: str) -> bool:
        """Whether ``literal`` (ASCII, in lower case) stands in the text at all."""
        return literal.encode() in self.lower

    def positions(self, literal: str) -> Iterator[int]:
        """Where ``literal`` (in lower case) begins, whatever case the text writes it in."""
        if literal.isascii():
            wanted = literal.encode()
            at = self.lower.find(wanted)
            while at >= 0:
                yield at
                at = self.lower.find(wanted, at + len(wanted))
        elif not self.text.isascii():
            at = self.text.find(literal)
            while at >= 0:
                yield at
                at = self.text.find(literal, at + len(literal))


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The spans in order, those that overlap as one: the first names it, the longest ends it."""
    result: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not result or span.start >= result[-1].end:
            result.append(span)
        elif span.end > result[-1].end:
            result[-1] = Span(start=result[-1].start, end=span.end, kind=result[-1].kind)
    return tuple(result)
