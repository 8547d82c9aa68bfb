"""The outline of a Markdown document: its headings and the list items under them, as ranges of lines.

markdown-it-py says where blocks begin and end, so that what only looks like a heading or an item (inside a fence, a
quotation, a comment) is none. It takes seconds for a large file, so the document is cut before each heading at the
left margin: there every block is closed, and the parts are independent. A part of plain lines and simple lists is
read by `_Reader` in a tenth of the time; a test holds both ways together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from autocompact.core.patterns import LazyPattern

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_FRONT_MATTER = "---"
_HEADING = LazyPattern(r"(#{1,6})(?:[ \t]+(.*))?\Z")
_CLOSING = LazyPattern(r"(?:\A|[ \t]+)#+[ \t]*\Z")
_FENCE = LazyPattern(r"(`{3,})[^`]*\Z|(~{3,})")
# A bullet before nothing but marks may be a rule.
_ITEM = LazyPattern(r"(?:[-*+](?![-*_=+ \t]*\Z)|(\d{1,9})[.)]) {1,4}(?=\S)")
_COMMENT = LazyPattern(r"<!--(?!-?>).*-->\s*\Z")
# What only a parser should judge: rules and underlines, empty items, items after a tab or many blanks, HTML.
_UNUSUAL = LazyPattern(r"(?:[-*_=+][ \t]*)+\Z|(?:[-*+]|\d{1,9}[.)])(?:\s|\Z)|<|\\t")
_INDENTED = LazyPattern(r"[-*+#<>`~=_]|\d{1,9}[.)]")


@dataclass(slots=True, kw_only=True)
class Section:
    """A heading and what stands under it, up to the next heading of its level or above.

    Attributes:
        level: 1 to 6; 0 is the document itself.
        start: line of the heading.
        body: first line after the heading.
        end: after its last line, without blank ones.
        title: the heading's text.
        items: the lines of each list item at the top level before the first heading within, without blank ones after it.
        sections: the headings within.
    """

    level: int
    start: int
    body: int
    end: int
    title: str
    items: list[range] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The root section, and the line at which new text at the end of the document goes.

    That is its end, or where a fence or a comment begins that nobody closed: text after it would be inside.
    """

    root: Section
    end: int


def outline(texts: Sequence[str]) -> Outline:
    """The outline of a document, given as lines without their ends."""
    lines = _without_front_matter(texts)
    root = Section(level=0, start=0, body=0, end=len(lines), title="")
    stack = [root]
    end = len(lines)
    for start, after, items in _parts(lines):
        if items is None:
            end = _parse(stack, lines[start:after], at=start)
            continue
        if start < after and (match := _HEADING.match(lines[start])):
            title = match[2] or ""
            title = _CLOSING.sub("", title) if "#" in title else title
            _enter(stack, level=len(match[1]), start=start, body=start + 1, title=title)
        stack[-1].items += items
        end = len(lines)
    _close(root, lines, end=len(lines))
    return Outline(root=root, end=end)


def _without_front_matter(texts: Sequence[str]) -> Sequence[str]:
    """The lines, those of a YAML front matter blank: its last would make a heading of the one before."""
    if texts and texts[0].rstrip() == _FRONT_MATTER:
        for index, line in enumerate(texts[1:], start=1):
            if line.rstrip() in (_FRONT_MATTER, "..."):
                return [""] * (index + 1) + list(texts[index + 1 :])
    return texts


# Parts


def _parts(lines: Sequence[str]) -> Iterator[tuple[int, int, list[range] | None]]:
    """The parts between the headings at the left margin, as far as it is sure that they are headings.

    Each with its list items, None where it has anything that is not plain.
    """
    start = 0
    while start < len(lines):
        end, items = _simple_part(lines, start)
        end = _end_of_part(lines, start) if items is None else end
        yield start, end, items
        start = end


def _simple_part(lines: Sequence[str], start: int) -> tuple[int, list[range] | None]:
    """The end of a part, and its list items; None and the line where reading stopped if it is not plain."""
    reader = _Reader()
    end = start + bool(_HEADING.match(lines[start]))
    while end < len(lines):
        line = lines[end]
        if not line or not line.strip(" \t"):
            reader.is_blank = True
        elif line[0] == "#" and not reader.fence and _HEADING.match(line):
            break
        elif not reader.read(line, end):
            return end, None
        else:
            reader.is_blank = False
        end += 1
    reader.close()
    return end, None if reader.fence else reader.items


def _end_of_part(lines: Sequence[str], start: int) -> int:
    """The end of a part that is not plain: before the next line that is certainly a heading."""
    margin = _Margin()
    for index in range(start, len(lines)):
        line = lines[index]
        if index > start and not margin.fence and line.startswith("#") and _HEADING.match(line):
            return index
        if line and not margin.passes(line):
            break
    return len(lines)


@dataclass(slots=True)
class _Margin:
    """The open block at the left margin: a fence, or an item whose text begins at ``offset``."""

    fence: str = ""
    offset: int = 0

    def passes(self, line: str) -> bool:
        """Take a line; False if it may open a block that runs over headings."""
        if self.fence:
            self.fence = "" if _closes(line, self.fence) else self.fence
        elif match := _FENCE.match(line):
            self.fence, self.offset = match[1] or match[2], 0
        elif not line.startswith(" "):
            match = _ITEM.match(line)
            # After a line of text only a bullet or the number 1 begins an item.
            self.offset = match.end() if match and match[1] in (None, "1") else 0
            return not line.startswith("<") or _COMMENT.match(line) is not None
        elif _indent(line) < self.offset or not self.offset:
            self.offset = 0
            return not _opens(line)
        return True


def _closes(line: str, fence: str) -> bool:
    if fence not in line:
        return False
    bare = line.strip(" \t")
    return _indent(line) < 4 and len(bare) >= len(fence) and not bare.strip(fence[0])


def _opens(line: str) -> bool:
    """An indented line outside of an item that may open a block which runs over headings: a fence or HTML."""
    return _indent(line) < 4 and line.lstrip(" ").startswith(("```", "~~~", "<"))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


@dataclass(slots=True)
class _Reader:
    """Reads the lines of a part one by one, as long as they are simple."""

    items: list[range] = field(default_factory=list)
    fence: str = ""
    is_blank: bool = True
    is_plain: bool = False
    start: int = -1
    last: int = 0
    offset: int = 0

    def read(self, line: str, index: int) -> bool:
        """Take a line that is not blank; False if only a parser knows what it is."""
        if self.fence:
            self.fence = "" if _closes(line, self.fence) else self.fence
            return True
        if line[0].isalpha():
            return self._text()
        if line[0] in " \t":
            return self._indented(line, index)
        if match := _ITEM.match(line):
            return self._item(match, index)
        if _UNUSUAL.match(line) and not _COMMENT.match(line):
            return False
        if match := _FENCE.match(line):
            self.close()
            self.fence, self.is_plain = match[1] or match[2], False
            return True
        return self._text(is_plain=not line.startswith("<"), joins=not line.startswith(("<", ">")))

    def _text(self, *, is_plain: bool = True, joins: bool = True) -> bool:
        # Text right after an item may belong to it, or not.
        if joins and self.start >= 0 and not self.is_blank:
            return False
        if self.start >= 0:
            self.close()
        self.is_plain = is_plain
        return True

    def _indented(self, line: str, index: int) -> bool:
        bare = line.lstrip(" ")
        indent = len(line) - len(bare)
        if bare.startswith("\t"):
            return False
        if self.start >= 0:
            self.last = index
            return indent >= self.offset
        self.is_plain = self.is_plain or indent < 4
        return indent >= 4 or not _INDENTED.match(bare)

    def _item(self, match: re.Match[str], index: int) -> bool:
        if match[1] and self.start < 0 and self.is_plain and not self.is_blank:
            return False
        if self.start >= 0:
            self.close()
        self.start, self.last, self.offset, self.is_plain = index, index, match.end(), False
        return True

    def close(self) -> None:
        """The item that is open ends here."""
        if self.start >= 0:
            self.items.append(range(self.start, self.last + 1))
            self.start = -1


# Any Markdown


def _parse(stack: list[Section], lines: Sequence[str], *, at: int) -> int:
    """Add what markdown-it-py finds in ``lines``, which begin at line ``at``; the line where new text can follow."""
    tokens = _parser().parse("\n".join(lines))
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0:
            start, body = _range(token)
            title = tokens[index + 1].content
            _enter(stack, level=int(token.tag[1:]), start=at + start, body=at + body, title=title)
        elif token.type == "list_item_open" and token.level == 1:
            start, end = _range(token)
            stack[-1].items.append(range(at + start, at + _trimmed(lines, start, end=end)))
    return at + _open_end(tokens, lines)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Only blocks are of interest. A definition of a link is a paragraph like any other here.
    return MarkdownIt("commonmark").disable(["inline", "text_join", "reference"])


def _enter(stack: list[Section], *, level: int, start: int, body: int, title: str) -> None:
    while stack[-1].level >= level:
        stack.pop()
    section = Section(level=level, start=start, body=body, end=body, title=" ".join(title.split()))
    stack[-1].sections.append(section)
    stack.append(section)


def _close(section: Section, lines: Sequence[str], *, end: int) -> None:
    section.end = _trimmed(lines, section.body, end=end)
    for index, inner in enumerate(section.sections):
        following = section.sections[index + 1 : index + 2]
        _close(inner, lines, end=following[0].start if following else end)


def _trimmed(lines: Sequence[str], start: int, *, end: int) -> int:
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end


def _open_end(tokens: Sequence[Token], lines: Sequence[str]) -> int:
    last = next((token for token in reversed(tokens) if token.level == 0 and token.map), None)
    if last is not None and last.type in ("fence", "html_block"):
        start, end = _range(last)
        text = "\n".join(lines[start:end]).rstrip()
        if last.type == "fence":
            is_open = end - start < 2 or not _closes(text.rpartition("\n")[2], last.markup)
        else:
            is_open = text.lstrip().startswith("<!--") and "-->" not in text
        if is_open:
            return start
    return len(lines)


def _range(token: Token) -> tuple[int, int]:
    lines: Any = token.map
    return lines[0], lines[1]
