"""Passages: prose cut into pieces that a reader understands alone.

A passage is a sentence or two, a list item, or a row of a table, with the heading or lead-in that says what it is about.
Code blocks, rules and empty markup give none. Every function here is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from autocompact.core.patterns import LazyPattern
from autocompact.core.strides import worded

LONGEST = 360
"""Characters of a passage; a longer paragraph is cut between sentences."""

LONGEST_ABOUT = 120
"""Characters of what a passage is about, from which on it is left out of an account."""

CELL = " — "
"""Between the cells of a row."""

_SHOWN = 120
"""Characters of a line of code that is told with the sentence before it."""

_SENTENCE = 8_192
"""Characters of a sentence. What has no end mark for longer is none, and each expression that looks at it takes its time."""

_FENCE = LazyPattern(r"[ \t]*(`{3,}|~{3,})")
_GLUED = LazyPattern(r"(?<=[^\s`])[ \t]*+(```[a-z+]{0,12})$", re.MULTILINE)
"""A fence that opens where a line ends: thoughts of Claude Code's sessions have lost line ends here and there."""

_HEADING = LazyPattern(
    r"[ \t]{0,3}#{1,6}[ \t]+(?P<hash>\S.*)|[ \t]{0,3}\*\*(?P<bold>[^*\n]{2,80})\*\*[ \t]*[::]?[ \t]*$"
)
_ITEM = LazyPattern(r"(?P<indent>[ \t]*)(?:[-*+•]|\d{1,3}[.)]|[✅❌☑✔✗])[ \t]+(?P<text>\S.*)")
_ROW = LazyPattern(r"[ \t]*\|(?P<cells>[^|]*\|.*\|)[ \t]*$")
_RULE = LazyPattern(r"[ \t|:+=*_—-]*$")
_DRAWING = LazyPattern(r"[│├└┌┐┘┤┬┴┼─▼▲→]{2}|^[ \t]*[│├└┌]")
_EMPHASIS = LazyPattern(r"\*\*(?=\S)|(?<=\S)\*\*")
_END = LazyPattern(r"[.!?。！？](?:(?<=[。！？])|[\"')\]]?[ \t]+(?=[A-ZÀ-ÖØ-Þ\"'`(\[*\d¿¡]))")
"""The mark that ends a sentence, with what is between it and the next one."""

_ABBREVIATED = LazyPattern(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|Dr|Mr|Mrs|No|Nr|z\.B|d\.h|bzw|ca)\.|\b[A-Z]\.)[\"')\]]?$"
)


_DAY = LazyPattern(r"\b\d{1,2}\.$")
_MONTH = LazyPattern(
    r"(?:Jan(?:uar)?|Jänner|Feb(?:ruar)?|März?|Apr(?:il)?|Mai|Juni?|Juli?|Aug(?:ust)?|Sept?(?:ember)?|Okt(?:ober)?|Nov(?:ember)?|Dez(?:ember)?)\b"
)


class Passage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One piece of prose.

    Attributes:
        text: the words on one line, emphasis marks removed.
        about: the heading or lead-in above it, at most `LONGEST` characters; "" if there is none.
        items: how many items of a list it is made of; 0 for prose.
    """

    text: str
    about: str = ""
    items: int = 0

    @property
    def is_question(self) -> bool:
        """True if it ends as a question."""
        return self.text.rstrip("\"')` ").endswith(("?", "？"))

    @property
    def told(self) -> str:
        """The passage with what it is about before it."""
        return f"{self.about}: {self.text}" if self.about else self.text


def passages(text: str) -> Iterator[Passage]:
    """The passages of a Markdown or plain text, in order; short items of one list together."""
    heading = lead = columns = ""
    items: list[str] = []
    for kind, block in (*_blocks(text, with_code=True), ("end", "")):
        if items and (kind != "item" or sum(map(len, items)) + len(block) > LONGEST):
            yield from _cut("; ".join(items), about=_headed(lead or heading, columns), items=len(items))
            items = []
        columns = block if kind == "columns" else columns if kind == "item" else ""
        if kind == "columns":
            continue
        if kind == "heading":
            heading, lead = block[:LONGEST].rstrip(":：. "), ""
        elif kind == "item":
            # An empty one would not count towards the length of the list.
            items += filter(None, (block.rstrip(";"),))
        elif block.endswith((":", "：")) and len(block) <= LONGEST:
            lead = block.rstrip(":： ")
        elif block:
            lead = ""
            yield from _cut(block, about=heading)


def _headed(about: str, columns: str) -> str:
    """What rows are about; with the names of three columns or more, which numbers alone do not tell."""
    if columns.count(CELL) < 2:
        return about
    both = f"{about} ({columns})" if about else columns
    return next((told for told in (both, columns) if len(told) < LONGEST_ABOUT), about)


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph; text without an end mark is one."""
    if len(text) <= _SENTENCE and _END.search(text) is None:
        return [text] if text else []
    found: list[list[str]] = []
    for piece in _pieces(text):
        # joined again afterwards: behind an abbreviation or the number of a day a mark looks like any other
        if found and (_ABBREVIATED.search(found[-1][-1]) or _is_date(found[-1][-1], piece)):
            found[-1].append(piece)
        else:
            found.append([piece])
    return [" ".join(parts) for parts in found]


def _is_date(before: str, after: str) -> bool:
    """True where a mark is that of a day's number: "am 15. März"."""
    return _DAY.search(before) is not None and _MONTH.match(after) is not None


def prose(text: str) -> Iterator[str]:
    """The sentences of a Markdown or plain text without its headings and code; a list goes with what leads to it ("X:")."""
    led: list[str] = []
    for kind, block in (*_blocks(text), ("end", "")):
        if led and kind == "item" and sum(map(len, led)) + len(block) <= LONGEST:
            led.append(block.rstrip("."))
            continue
        if led:
            yield f"{led[0]} {'; '.join(led[1:])}".rstrip()
            led = []
        found = sentences(block) if kind in ("text", "item") else []
        if found and kind == "text" and found[-1].endswith(":"):
            led = [found.pop()]
        yield from found


def _pieces(text: str) -> Iterator[str]:
    """``text`` cut behind each mark that may end a sentence, and within what is too long for one."""
    start = 0
    for end in _END.finditer(text):
        yield from worded(text[start : end.start() + 1], most=_SENTENCE)
        start = end.end()
    if start < len(text):
        yield from worded(text[start:], most=_SENTENCE)


def _blocks(text: str, *, with_code: bool = False) -> Iterator[tuple[str, str]]:
    """Headings, paragraphs, list items, and names of columns and rows of tables, each on one line.

    Args:
        with_code: a line of code alone in its block that a sentence leads to is an item below it.
    """
    paragraph: list[str] = []
    kind = "text"
    for line in (*_outside_of_code(text, with_code=with_code), ""):
        starts, words = _line(line)
        if starts != "text" and paragraph:
            # the row above a rule names the columns; a rule of mere blanks is an empty line
            head = starts == "rule" and kind == "row" and line.strip()
            yield "columns" if head else "item" if kind == "row" else kind, _plain(" ".join(paragraph))
            paragraph = []
        if starts == "heading":
            yield starts, _plain(words)
        elif starts in ("item", "row"):
            kind, paragraph = starts, [words]
        elif starts == "text":
            kind = kind if paragraph else "text"
            paragraph.append(words)


def _outside_of_code(text: str, *, with_code: bool) -> Iterator[str]:
    """The lines outside of code, and ``with_code`` a formula or command below what leads to it ("Run it with:")."""
    if "```" not in text and "~~~" not in text:
        yield from text.split("\n")
        return
    fence = lead = ""
    code: list[str] = []
    for line in _GLUED.sub(r"\n\1", text).split("\n"):
        mark = _FENCE.match(line)
        # a fence ends with the mark that began it, or a longer one: ``` within ~~~ or ```` is text
        if mark and (not fence or mark[1].startswith(fence)):
            if with_code and fence and lead.endswith((":", "：")) and (shown := _shown(code)):
                yield from (f"- `{shown}`", "")
            fence, code = "" if fence else mark[1], []
        elif fence:
            code.append(line)
        else:
            lead = line.rstrip() or lead
            yield line


def _shown(code: list[str]) -> str:
    """The one line of a block of code; "" if it has several, is long or has a mark of code in it."""
    lines = [line.strip() for line in code if line.strip()]
    return lines[0] if len(lines) == 1 and len(lines[0]) <= _SHOWN and "`" not in lines[0] else ""


def _line(line: str) -> tuple[str, str]:
    """What a line begins ("text" goes on), and its words."""
    if line.isascii() and line[:1].isalpha():
        return "text", line.strip()  # nearly every line: what marks another kind begins otherwise
    if _RULE.fullmatch(line) is not None or (not line.isascii() and _DRAWING.search(line) is not None):
        return "rule", ""
    if item := _ITEM.match(line):
        return "item", item["text"]
    if heading := _HEADING.match(line):
        return "heading", (heading["hash"] or heading["bold"]).rstrip(" \t#")
    if row := _ROW.match(line):
        return "row", CELL.join(filter(None, (cell.strip() for cell in row["cells"].split("|"))))
    return "text", line.strip()


def _plain(text: str) -> str:
    words = " ".join(text.replace("’", "'").split())
    return _EMPHASIS.sub("", words).strip() if "**" in words else words


def _cut(block: str, *, about: str, items: int = 0) -> Iterator[Passage]:
    """The block, cut between sentences where it is long."""
    if len(block) <= LONGEST:
        yield Passage(text=block, about=about, items=items)
        return
    piece = ""
    for sentence in sentences(block):
        if piece and len(piece) + len(sentence) >= LONGEST:
            yield Passage(text=piece, about=about, items=items)
            piece = ""
        piece = f"{piece} {sentence}".strip()
    yield Passage(text=piece, about=about, items=items)
