"""Strides: the pieces in which a long text is counted, so that no single call of a tokenizer takes long.

A tokenizer cuts a text into words before it merges bytes to tokens, and never merges across two words. So the counts of
two pieces add up exactly where the cut is one that it makes itself:

- after a line break, where the next line begins with neither white space nor ``/`` (which goes on with a rule of signs);
- between a letter or digit and a blank or sign that a letter follows: the blank or sign belongs to the next word.

Where there is no such place near the end of a stride (base64, a run of one letter or of blanks) it is cut at its very
end, which can add a token or two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

STRIDE = 65_536
"""Characters. tiktoken panics on some 500,000 blanks in a row, and takes up to 0.6 µs a character on long words."""

LINE = 16_384
"""Characters of a line that is read as one. A single search of an expression, during which no other thread runs, takes
milliseconds on so many whatever they are, and a second on a line of megabytes that is nothing but brackets."""

_REACH = 4_096
_SPACE = re.compile(r"\s(?=\S)")
_CUT = re.compile(r"\n(?=[^\s/])|(?<=[^\W_])(?=[ -&(-/:-@\[-^`{-~、。，][^\W\d_])")


def strides(text: str, *, most: int = STRIDE) -> Iterator[str]:
    """Pieces of at most ``most`` characters that make up ``text``."""
    start = 0
    while len(text) - start > most:
        end = start + most
        # a cut looks one character ahead, so the last place to look at is the one before the end
        window = text[max(start, end - _REACH) : end + 1]
        cuts = [match.end() for match in _CUT.finditer(window) if 0 < match.end() < len(window)]
        if cuts:
            end = max(start, end - _REACH) + cuts[-1]
        yield text[start:end]
        start = end
    yield text[start:]


def worded(text: str, *, most: int = STRIDE) -> Iterator[str]:
    """Pieces of at most ``most`` characters that make up ``text``, cut behind white space where there is any: no name is parted."""
    start = 0
    while len(text) - start > most:
        end = start + most
        window = text[max(start, end - _REACH) : end + 1]
        spaces = [match.end() for match in _SPACE.finditer(window)]
        if spaces:
            end = max(start, end - _REACH) + spaces[-1]
        yield text[start:end]
        start = end
    yield text[start:]


def in_lines(text: str, *, most: int = LINE) -> str:
    """``text`` with a line break wherever a line would be longer than ``most`` characters."""
    if len(text) <= most:
        return text
    return "\n".join(piece for line in text.split("\n") for piece in worded(line, most=most))
