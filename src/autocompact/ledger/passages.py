"""Passages: prose cut into pieces that a reader understands alone.

A passage is a sentence or two, a list item, or a row of a table, with the heading or lead-in that says what it is about.
Code blocks, rules and empty markup give none. Every function here is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from autocompact.core.strides import worded

LONGEST = 360
"""Characters of a passage; a longer paragraph is cut between sentences."""

_SENTENCE = 8_192
"""Characters of a sentence. What has no end mark for longer is none, and each expression that looks at it takes its time."""

_FENCE = re.compile(r"[ \t]*(```|~~~)")
_HEADING = re.compile(
    r"[ \t]{0,3}#{1,6}[ \t]+(?P<hash>\S.*)|[ \t]{0,3}\*\*(?P<bold>[^*\n]{2,80})\*\*[ \t]*[::]?[ \t]*$"
)
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*+•]|\d{1,3}[.)]|[✅❌☑✔✗])[ \t]+(?P<text>\S.*)")
_ROW = re.compile(r"[ \t]*\|(?P<cells>[^|]*\|.*\|)[ \t]*$")
_RULE = re.compile(r"[ \t|:+=*_—-]*$")
_DRAWING = re.compile(r"[│├└┌┐┘┤┬┴┼─▼▲→]{2}|^[ \t]*[│├└┌]")
_EMPHASIS = re.compile(r"\*\*(?=\S)|(?<=\S)\*\*")
_END = re.compile(r"[.!?。！？](?:(?<=[。！？])|[\"')\]]?[ \t]+(?=[A-ZÀ-ÖØ-Þ\"'`(\[*\d¿¡]))")
"""The mark that ends a sentence, with what is between it and the next one."""

_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|Dr|Mr|Mrs|No|Nr|z\.B|d\.h|bzw|ca)\.|\b[A-Z]\.)[\"')\]]?$"
)


_DAY = re.compile(r"\b\d{1,2}\.$")
_MONTH = re.compile(
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
    heading = lead = ""
    items: list[str] = []
    for kind, block in (*_blocks(text), ("end", "")):
        if items and (kind != "item" or sum(map(len, items)) + len(block) > LONGEST):
            yield from _cut("; ".join(items), about=lead or heading, items=len(items))
            items = []
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


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph; text without an end mark is one."""
    found: list[list[str]] = []
    for piece in _pieces(text):
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


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Headings, paragraphs, list items and rows of tables, each on one line."""
    paragraph: list[str] = []
    kind = "text"
    for line in (*_outside_of_code(text), ""):
        starts, words = _line(line)
        if starts != "text" and paragraph:
            # The row above a rule is the head of a table: column names say nothing alone.
            if not (starts == "rule" and kind == "row" and line.strip()):
                yield "item" if kind == "row" else kind, _plain(" ".join(paragraph))
            paragraph = []
        if starts == "heading":
            yield starts, _plain(words)
        elif starts in ("item", "row"):
            kind, paragraph = starts, [words]
        elif starts == "text":
            kind = kind if paragraph else "text"
            paragraph.append(words)


def _outside_of_code(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        elif not fence:
            yield line


def _line(line: str) -> tuple[str, str]:
    """What a line begins ("text" goes on), and its words."""
    if _RULE.fullmatch(line) is not None or (not line.isascii() and _DRAWING.search(line) is not None):
        return "rule", ""
    if item := _ITEM.match(line):
        return "item", item["text"]
    if heading := _HEADING.match(line):
        return "heading", (heading["hash"] or heading["bold"]).rstrip(" \t#")
    if row := _ROW.match(line):
        return "row", " — ".join(filter(None, (cell.strip() for cell in row["cells"].split("|"))))
    return "text", line.strip()


def _plain(text: str) -> str:
    return _EMPHASIS.sub("", " ".join(text.replace("’", "'").split())).strip()


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
