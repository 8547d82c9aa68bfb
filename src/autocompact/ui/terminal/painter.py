"""Markdown as styled text of a terminal, as it comes: nothing waits for the end of a paragraph.

What is shown cannot be taken back, so a mark takes effect where it begins, and ends with its line at the latest. What
needs to be seen whole before it can be shown is held until then: the beginning of a line that may be a heading or an
item, a link, a line of code, a table. Models write a small part of Markdown, and that part is understood; all other text
is shown as it is written.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence

from autocompact.ui.terminal.tables import table_lines

RESET = "\x1b[0m"
_CODES = {"bold": "1", "dim": "2", "italic": "3", "underline": "4", "struck": "9", "code": "36"}
_INDENT = "    "
_LONGEST_TABLE = 200
"""Lines of a table that are held for the sake of its columns."""

_UNSURE = re.compile(r"[ \t]*[-*+_#>`~ ]*")
"""A line's beginning of which nobody can tell yet what it is."""
_FENCE = re.compile(r"[ \t]*(?P<mark>`{3,}|~{3,})(?P<language>[^`]*)")
_RULE = re.compile(r"[ ]{0,3}(?:(?:-[ ]*){3,}|(?:\*[ ]*){3,}|(?:_[ ]*){3,})")
_HEADING = re.compile(r"[ ]{0,3}(?P<level>#{1,6})[ \t]+")
_ITEM = re.compile(r"(?P<indent>[ \t]*)[-*+][ \t]+")
_QUOTE = re.compile(r"[ ]{0,3}>[ ]?")
_TABLE_RULE = re.compile(r"[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)+(?:[ \t]*:?-+:?[ \t]*)?\|?[ \t]*")
_CELL = re.compile(r"(?<!\\)\|")
_TOKEN = re.compile(r"\n|\\|`+|\*+|~+|!?\[|!|[^\n\\`*~!\[]+")
_LINK = re.compile(
    r"(?P<image>!?)\[(?P<text>[^\[\]\n]{0,300})\]"
    r"\([ ]*(?P<url><[^<>\n]{0,2000}>|(?:[^()\s]|\([^()\s]*\)){0,2000})(?:[ ]+\"[^\"\n]{0,300}\")?[ ]*\)"
)
_LINK_BEGUN = re.compile(r"!?\[[^\[\]\n]{0,300}(?:\](?:\([^\n]{0,2000})?)?")
_MARKS = "*_`~#>+-.$"
"""What a backslash takes its meaning from. Before other signs it stays: formulas are shown as they are written."""
_STARS = {1: ("italic",), 2: ("bold",), 3: ("bold", "italic")}


def painted(markdown: str) -> str:
    """A whole text at once."""
    painter = Painter()
    return painter.feed(markdown) + painter.end()


class Painter:
    """Paints one text after the other: `feed` it what comes, and `end` it."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._held, self._at = "", 0
        self._at_start = True
        self._before = "\n"
        self._fence = ""
        self._table: list[str] = []
        self._on: list[str] = []
        self._code = ""

    def feed(self, text: str) -> str:
        """Take more text and return what can be shown now."""
        self._held, self._at = self._held[self._at :] + text, 0
        return "".join(self._pieces(last=False))

    def end(self) -> str:
        """Return the text that was held back; the next text begins anew."""
        shown = "".join((*self._pieces(last=True), self._end_table(), self._plainly()))
        self._begin()
        return shown

    def _pieces(self, *, last: bool) -> Iterator[str]:
        while self._at < len(self._held):
            piece = self._begin_line(last=last) if self._at_start else self._inside(last=last)
            if piece is None:
                return
            yield piece

    def _take(self, count: int) -> str:
        taken = self._held[self._at : self._at + count]
        self._at += count
        self._before = taken[-1:] or self._before
        return taken

    # Styles

    def _styled(self, *also: str) -> str:
        codes = [_CODES[name] for name in (*self._on, *also)]
        return f"\x1b[0;{';'.join(codes)}m" if codes else RESET

    def _plainly(self) -> str:
        """The end of all styles, if there are any."""
        any_on, self._on, self._code = bool(self._on), [], ""
        return RESET if any_on else ""

    # The beginning of a line

    def _begin_line(self, *, last: bool) -> str | None:
        """A line's beginning, or the whole line; None as long as nobody can say what it is."""
        end = self._held.find("\n", self._at) + 1
        line = self._held[self._at : end or len(self._held)]
        whole = bool(end) or last
        if self._fence or line.lstrip().startswith("|"):
            return self._whole_line(line) if whole else None
        if self._table:
            return self._end_table()
        if not whole and (_UNSURE.fullmatch(line) or _FENCE.match(line)):
            return None
        if _FENCE.fullmatch(line.rstrip("\n")) or _RULE.fullmatch(line.rstrip("\n")):
            return self._whole_line(line)
        return self._prefix(line)

    def _whole_line(self, line: str) -> str:
        """A line of code, of a table, or a rule."""
        self._take(len(line))
        text, end = line.removesuffix("\n"), "\n" if line.endswith("\n") else ""
        fence = _FENCE.fullmatch(text)
        if self._fence:
            if fence and fence["mark"].startswith(self._fence) and not fence["language"].strip():
                self._fence = ""
                return ""
            return f"{_INDENT}{self._styled('code')}{text}{RESET}{end}"
        if fence:
            self._fence = fence["mark"]
            language = fence["language"].strip()
            return f"{_INDENT}{self._styled('dim')}{language}{RESET}{end}" if language else ""
        if _RULE.fullmatch(text):
            return f"{self._styled('dim')}{'─' * 20}{RESET}{end}"
        self._table.append(text)
        return self._end_table() if len(self._table) > _LONGEST_TABLE else ""

    def _prefix(self, line: str) -> str:
        """The mark that a line begins with; the rest of it is text."""
        if quote := _QUOTE.match(line):
            self._take(quote.end())
            return f"{self._styled('dim')}│ {RESET}"  # what is quoted may be a heading or an item
        self._at_start = False
        if heading := _HEADING.match(line):
            self._take(heading.end())
            self._on = ["bold", "underline"] if len(heading["level"]) < 3 else ["bold"]
            return self._styled()
        if item := _ITEM.match(line):
            self._take(item.end())
            return f"{item['indent']}• "
        return ""

    # Tables

    def _end_table(self) -> str:
        lines, self._table = self._table, []
        if len(lines) < 2 or not _TABLE_RULE.fullmatch(lines[1]):
            return "".join(f"{line}\n" for line in lines)
        rows = [_cells(line) for line in (lines[0], *lines[2:])]
        right = [cell.endswith(":") and not cell.startswith(":") for cell in _cells(lines[1])]
        columns = shutil.get_terminal_size().columns
        return "".join(
            f"{self._styled('bold')}{line}{RESET}\n" if head else f"{line}\n"
            for line, head in table_lines(rows, right=right, columns=columns)
        )

    # Within a line

    def _inside(self, *, last: bool) -> str | None:
        """The next piece of a line; None as long as nobody can say what it is."""
        found = _TOKEN.match(self._held, self._at)
        token = found[0] if found else self._held[self._at]
        if token == "\n":
            self._at_start = True
            return self._plainly() + self._take(1)
        if token[0] not in "\\`*~![":
            return self._take(len(token))
        if self._at + len(token) == len(self._held) and not last:
            return None  # what comes next decides
        if token[0] == "`":
            return self._backticks(token)
        if self._code:
            return self._take(len(token))
        if token.endswith("["):
            return self._link(token, last=last)
        return self._mark(token)

    def _mark(self, token: str) -> str:
        end = self._at + len(token)
        after = self._held[end : end + 1] or " "
        if token == "\\" and after in _MARKS:
            self._take(1)
            return self._take(1)
        names = ("struck",) if token == "~~" else _STARS.get(len(token), ()) if token[0] == "*" else ()
        if names and not self._before.isspace() and all(name in self._on for name in names):
            self._take(len(token))
            for name in names:
                self._on.remove(name)
            return self._styled()
        within = token == "*" and self._before.isalnum()  # 2*3
        if names and not after.isspace() and not within:
            self._take(len(token))
            self._on += names
            return self._styled()
        return self._take(len(token))

    def _backticks(self, token: str) -> str:
        if not self._code:
            self._code = token
            self._on.append("code")
        elif self._code == token:
            self._code = ""
            self._on.remove("code")
        else:
            return self._take(len(token))
        self._take(len(token))
        return self._styled()

    def _link(self, token: str, *, last: bool) -> str | None:
        link = _LINK.match(self._held, self._at)
        if link is None:
            begun = _LINK_BEGUN.fullmatch(self._held, self._at)
            return None if begun and not last else self._take(len(token))
        self._take(len(link[0]))
        text, url = re.sub(r"[`*]", "", link["text"]), link["url"].strip("<>")
        words = f"[image: {text}]" if link["image"] else text
        if words in (url, ""):
            return f"{self._styled('underline')}{url}{self._styled()}"
        return f"{self._styled('underline')}{words}{self._styled('dim')} ({url}){self._styled()}"


def _cells(line: str) -> Sequence[str]:
    cells = _CELL.split(line.strip().removeprefix("|").removesuffix("|"))
    return [re.sub(r"[`*]", "", cell).replace("\\|", "|").strip() for cell in cells]
