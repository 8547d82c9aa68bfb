"""Wraps what goes to a terminal between words, as it comes.

A terminal breaks a long line wherever it ends, in the midst of a word. Here the last word is held until it is whole, and
goes to the next line if it does not fit. Characters of double width count twice; a text in a script without spaces is
broken between any two of its characters, but never before a closing mark. Escape sequences take no room. Lines of code
are left to the terminal, so that they can be copied as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from wcwidth import wcwidth

_TOKEN = re.compile(r"\x1b\[[0-9;]*m|\x1b.?|.", re.DOTALL)
_LEAD = re.compile(r" *(?:[•*+-] |\d{1,3}[.)] |│ )?")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_CODE = re.compile(r" {4}|\t")
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_CLOSING = frozenset("、。，．：；？！）」』】〉》〕］｝”’…・ーっゃゅょッャュョ々,.;:!?)]}%")
_MOST_INDENT = 12
_LEAST = 20
"""Columns below which nothing is wrapped."""
_TAB = 8
_BOUNDLESS = 1 << 30


def wrapped(text: str, columns: int) -> str:
    """A whole text at once."""
    wrapper = Wrapper(lambda: columns)
    return wrapper.feed(text) + wrapper.end()


class Wrapper:
    """Wraps one text after the other: `feed` it what comes, and `end` it.

    Args:
        columns: how wide the terminal is now, 0 where it has no width; it is asked again at each line.
    """

    def __init__(self, columns: Callable[[], int]) -> None:
        self._columns = columns
        self._rest = ""
        self._is_fenced = False
        self._begin_line()

    def _begin_line(self) -> None:
        self._line = (
            ""  # what the line said so far, without styles, as far as it decides how the line is wrapped
        )
        self._column = self._spaces = self._width = 0
        self._word = ""
        self._is_wide = False
        self._most = 0  # asked for when the line begins: the terminal may change its size before

    def feed(self, text: str) -> str:
        """Take more text and return what can be shown now."""
        text, self._rest = self._rest + text, ""
        cut = text.rfind("\x1b")
        if cut >= 0 and not _STYLE.match(text, cut):
            text, self._rest = text[:cut], text[cut:]
        return "".join(piece for token in _TOKEN.findall(text) for piece in self._take(token))

    def end(self) -> str:
        """Return the text that was held back; the next text begins a line."""
        shown = "".join((*self._flush(), " " * self._spaces, self._rest))
        self._rest, self._is_fenced = "", False
        self._begin_line()
        return shown

    def _take(self, token: str) -> Iterator[str]:
        self._most = self._most or self._columns() or _BOUNDLESS
        if token == "\n":
            yield from self._flush()
            yield " " * self._spaces + "\n"
            self._is_fenced ^= bool(_FENCE.match(self._line))
            self._begin_line()
        elif token.startswith("\x1b"):
            self._word += token
        elif token in " \t":
            yield from self._flush()
            self._spaces += 1 if token == " " else _TAB - (self._column + self._spaces) % _TAB
            self._lead(token)
        else:
            yield from self._character(token)

    def _lead(self, token: str) -> None:
        if len(self._line) < 2 * _MOST_INDENT:
            self._line += token

    def _character(self, char: str) -> Iterator[str]:
        self._lead(char)
        width = max(0, wcwidth(char))
        if self._word and (width == 2 or self._is_wide) and width and char not in _CLOSING:
            yield from self._flush()
        self._word += char
        self._width += width
        self._is_wide = width == 2 or (self._is_wide and char in _CLOSING)

    def _flush(self) -> Iterator[str]:
        """The word that was held, on this line or the next one."""
        if not self._word:
            return
        indent = self._indent
        fits = self._column + self._spaces + self._width <= self._most
        if fits or indent is None or self._column <= indent:
            yield " " * self._spaces
            self._column += self._spaces
        else:
            yield "\n" + " " * indent
            self._column = indent
        yield self._word
        # a word that is longer than the line is broken by the terminal
        self._column = (self._column + self._width - 1) % self._most + 1 if self._width else self._column
        self._word, self._spaces, self._width, self._is_wide = "", 0, 0, False

    @property
    def _indent(self) -> int | None:
        """Indent of a continued line; None if this one is left as it is."""
        if self._most < _LEAST or self._is_fenced or _CODE.match(self._line) or _FENCE.match(self._line):
            return None
        lead = _LEAD.match(self._line)
        return min(len(lead[0]), _MOST_INDENT) if lead else 0
