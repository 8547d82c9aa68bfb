"""Finds the summary in a model's reply whose tags are not what was asked for.

Models quote the tags in the text, talk about them before or after it, forget one, nest or repeat them. A tag that is
quoted (in backticks or quotation marks) or stands in the midst of a sentence is words. Of what is left the outermost
block counts; of several blocks the last one, unless it is much shorter than another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from autocompact.core.patterns import LazyPattern

SHORTER: Final = 4
"""A block of less than a quarter of the longest one is taken for an example, not for the summary."""

_NEAR = 1_000
"""Characters of a line that are looked at on either side of a tag."""

_QUOTES = {
    '"': '"',
    "'": "'",
    "“": "”",
    "„": "“",
    "‘": "’",
    "«": "»",
    "‹": "›",
    "「": "」",
    "『": "』",
    "(": ")",
}
_TAG_ONLY = LazyPattern(r"(?:\s|</?summary[^<>]{0,200}>)*", re.IGNORECASE)


class SummaryTag(Struct, frozen=True):
    """A summary tag of a reply, from character ``start`` to ``end``."""

    start: int
    end: int
    closes: bool


class Block(Struct, frozen=True, kw_only=True):
    """A candidate for the summary.

    Attributes:
        text: without the tags that structure it; tags that are words stay.
        complete: the closing tag is there.
    """

    text: str
    complete: bool = True


def blocks_of(text: str, tags: Sequence[SummaryTag]) -> tuple[list[Block], bool]:
    """The blocks that ``tags`` make in ``text``, in order, and whether the tags were odd."""
    unquoted = [tag for tag in tags if not _is_quoted(text, tag)] or list(tags)
    structure = [tag for tag, later in zip(unquoted, _later_closes(unquoted), strict=True) if not _is_prose(text, tag, later=later)]  # fmt: skip
    if any(not tag.closes for tag in unquoted) and all(tag.closes for tag in structure):
        structure = unquoted
    reader = _Reader(text)
    for tag in structure:
        reader.take(tag)
    return reader.end(), reader.odd or len(structure) < len(unquoted)


def chosen(blocks: Sequence[Block]) -> Block:
    """The last block that says something and is not much shorter than the longest one; there must be one."""
    longest = max(len(block.text) for block in blocks)
    plausible = [block for block in blocks if block.text and SHORTER * len(block.text) >= longest]
    return plausible[-1] if plausible else blocks[-1]


class _Reader:
    """Puts blocks together, tag by tag."""

    def __init__(self, text: str) -> None:
        self.odd = False
        self._text = text
        self._blocks: list[list[str]] = []
        self._pieces: list[str] = []
        self._closed: list[str] | None = None
        self._position = self._depth = 0

    def take(self, tag: SummaryTag) -> None:
        """The next tag."""
        self._pieces.append(self._text[self._position : tag.start])
        self._position = tag.end
        if tag.closes:
            self._close(tag)
        elif self._depth:
            self.odd = True
            self._depth += 1
        else:
            self._pieces, self._closed, self._depth = [], None, 1

    def _close(self, tag: SummaryTag) -> None:
        if self._depth > 1:
            self._depth -= 1
            self._closed = list(self._pieces)
        elif self._depth == 1 or not self._blocks:  # with no tag before it, it began with the reply
            self._blocks.append(self._pieces)
            self._pieces, self._depth, self._closed = [], 0, None
        elif _ends_line(self._text, tag):  # the one before it was words of the summary
            self.odd = True
            self._blocks[-1] += self._pieces
            self._pieces = []

    def end(self) -> list[Block]:
        """End the text and return all blocks; one that was not closed is the last."""
        found = [Block(text="".join(pieces).strip()) for pieces in self._blocks]
        if not self._depth:
            return found
        self.odd = True
        if self._closed is not None:  # an opening tag too many
            return [*found, Block(text="".join(self._closed).strip())]
        rest = "".join((*self._pieces, self._text[self._position :])).strip()
        return [*found, Block(text=rest, complete=False)]


def _later_closes(tags: Sequence[SummaryTag]) -> Iterator[bool]:
    """For each tag whether a closing one comes after it."""
    last = max((index for index, tag in enumerate(tags) if tag.closes), default=-1)
    return (index < last for index in range(len(tags)))


def _is_quoted(text: str, tag: SummaryTag) -> bool:
    before, after = text[max(0, tag.start - 1) : tag.start], text[tag.end : tag.end + 1]
    if before and _QUOTES.get(before) == after:
        return True
    return _line_before(text, tag).count("`") % 2 == 1 and "`" in _line_after(text, tag)


def _is_prose(text: str, tag: SummaryTag, *, later: bool) -> bool:
    """True for a tag in the midst of a sentence that begins and ends no block on its line."""
    before, after = _line_before(text, tag), _line_after(text, tag)
    if not later or _TAG_ONLY.fullmatch(before) or _TAG_ONLY.fullmatch(after):
        return False
    partner = re.compile(r"<summary" if tag.closes else r"</summary", re.IGNORECASE)
    return partner.search(before if tag.closes else after) is None


def _ends_line(text: str, tag: SummaryTag) -> bool:
    return _TAG_ONLY.fullmatch(_line_after(text, tag)) is not None


def _line_before(text: str, tag: SummaryTag) -> str:
    return text[max(0, tag.start - _NEAR) : tag.start].rpartition("\n")[2]


def _line_after(text: str, tag: SummaryTag) -> str:
    return text[tag.end : tag.end + _NEAR].partition("\n")[0]
