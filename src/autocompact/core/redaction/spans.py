"""Where a secret is, and the text as the rules read it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

import msgspec

from autocompact.core.redaction.anchors import Anchors, Places, is_searched


class Span(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One secret: ``text[start:end]``, and what it is ("GitHub token")."""

    start: int
    end: int
    kind: str


class Source(msgspec.Struct, frozen=True, gc=False):
    """A text, and the same text with one lower-case byte for each character, in which literals are found fast.

    What Latin-1 cannot write is "?" in ``lower``: a position in one is the same position in the other. ``places`` says
    where the anchors of the rules begin, whatever case the text writes them in.
    """

    text: str
    lower: bytes
    places: Places

    @classmethod
    def of(cls, text: str, anchors: Anchors) -> Source:
        """The text as the rules read it, whose anchors these are."""
        lower = text.encode("latin-1", "replace").lower()
        return cls(text, lower, anchors.places(lower))

    @property
    def has_no_anchor(self) -> bool:
        """True if the text holds no anchor; one that is not Latin-1 has two letters or more that Latin-1 cannot write."""
        return not self.places and b"??" not in self.lower

    def held(self, anchors: Container[str]) -> list[str]:
        """Those of ``anchors`` that the text holds and Latin-1 can write: seldom one, so a text's own are gone through."""
        return [anchor for anchor in self.places if anchor in anchors]

    def all_positions(self, anchors: Container[str]) -> Sequence[int]:
        """Where any of ``anchors``, which Latin-1 can write, begins, in order."""
        held = self.held(anchors)
        return sorted(at for anchor in held for at in self.places[anchor]) if held else ()

    def positions(self, anchor: str) -> Iterable[int]:
        """Where ``anchor`` begins; one that Latin-1 cannot write is not in ``places``, and is written as it is or not at all."""
        if anchor.isascii() or is_searched(anchor):  # nearly all are ASCII, which is known at once
            return self.places.get(anchor, ())
        return self._found(anchor)

    def _found(self, anchor: str) -> Iterator[int]:
        at = self.text.find(anchor)
        while at >= 0:
            yield at
            at = self.text.find(anchor, at + len(anchor))


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The spans in order, those that overlap as one: the first names it, the longest ends it."""
    result: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not result or span.start >= result[-1].end:
            result.append(span)
        elif span.end > result[-1].end:
            result[-1] = Span(start=result[-1].start, end=span.end, kind=result[-1].kind)
    return tuple(result)
