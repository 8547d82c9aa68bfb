"""Markdown of models and tools as HTML that can do nothing: for the page and the notebook.

What is rendered was written by a model, a tool or whoever wrote what a tool read. So there is no way through it to a
script, a request or another place: HTML is shown as text, an image as a link, and a link only leads to ``http``,
``https`` or ``mailto``, in a new window that learns nothing of this one. A reference such as ``[m12]`` becomes a link
that the page handles (``data-seq``). The attributes of the result are all written here, none comes from the text.

Headings are a level lower than they are written: the first level is the title of the whole page. Each block that stands
in no other one finds its own direction (``dir="auto"``). Formulas are drawn by whoever shows the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise
from typing import TypeAlias
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

Highlight: TypeAlias = Callable[[str, str], str]
"""Code and the name of its language to HTML, escaped and coloured; "" where the language is not known."""
Formula: TypeAlias = Callable[[str, bool], str]
"""LaTeX, and whether it stands on lines of its own, to HTML."""

_SCHEMES = ("http", "https", "mailto")
_BRACKETED = re.compile(r"\[(?P<name>m[1-9][0-9]{0,17})\]", re.ASCII)
_BARE = re.compile(r"(?P<open>\[)?\b(?P<name>m[1-9][0-9]{0,17})\b(?(open)\])", re.ASCII)
_PATH = re.compile(r"[(\[{\"'“„‘*_]*(?:[A-Za-z]:\\|\\\\\w[\w.$-]*\\|\.{1,2}\\)")
"""How a path of Windows begins: with a drive, a server, or a dot."""
_NUMBER = re.compile(
    r"[~≈<>≤≥(]*[+−–-]?[€$£¥]?\s?\d(?:[\d.,:/’'+−–\s-]|(?<=\d)T(?=\d))*\s?(?:[%‰°€$£¥]|[^\W\d]{1,3}(?:/[^\W\d]{1,3})?)?[)]?"
)
"""What is a figure, a date or an amount with its unit: never broken into lines."""
_LONGEST_NUMBER = 32
_DIAGRAMS = {name: f"{name}: source of a diagram" for name in ("mermaid", "plantuml", "dot")}
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}", re.ASCII)
_LOWERED = {f"h{level}": f"h{min(level + 1, 6)}" for level in range(1, 7)}
_CONTAINERS = frozenset(("ul", "ol", "blockquote"))
_CELLS = frozenset(("th", "td"))
_DIRECTED = _CONTAINERS | _CELLS | {"p", "h1", "h2", "h3", "h4", "h5", "h6"}
"""Blocks whose direction is that of their own words, unless they stand within a list or a quote: a browser finds the side of
its signs by the words that are not in an element with a direction of its own."""
_INTERRUPTED = ["paragraph", "reference", "blockquote", "list"]
MOST = 4_000
"""Characters of a formula that is drawn; a longer one is shown as it was written."""
_LONGEST_FORMULA = 4 * MOST
"""Characters after which no closing mark is looked for."""
_ENDS_LINE = re.compile(r"[ \t]*(?:\n|$)")
_CLOSINGS = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}
_ENVIRONMENT = re.compile(
    r"\\begin\{((?:equation|align|alignat|flalign|gather|multline|eqnarray|[pbBvV]?matrix)\*?|displaymath|CD|aligned|alignedat|"
    r"gathered|split|d?cases|smallmatrix)\}"
)
"""Beginning of an environment of LaTeX that is a formula without any marks around it."""
_NESTING = 20
"""Quotes and lists within each other: deeper ones are shown as text."""


def _source(latex: str, _: bool) -> str:
    """A formula as it was written, for a page that draws it by its class."""
    return f'<code class="math">{escape(latex)}</code>'


def safe_html(
    text: str,
    *,
    references: int = 0,
    bare: bool = False,
    highlight: Highlight | None = None,
    copy: bool = True,
    formula: Formula = _source,
    growing: bool = False,
) -> str:
    """``text`` as HTML without script, image, foreign attribute or dangerous link.

    Args:
        text: Markdown (CommonMark with tables, strikethrough, task lists, footnotes, formulas, and addresses as links).
        references: number of the last message: references up to it become links. 0 makes none.
        bare: references need no brackets, line breaks stay, and nothing is a formula, as the summary and its ledger are
            written.
        highlight: colours code blocks.
        copy: code blocks have a button that the page handles.
        formula: writes formulas of up to `MOST` characters.
        growing: more of the text will come. A formula on lines of its own that is not closed yet is shown as it is written.
    """
    writing = _Writing(references=references, bare=bare, highlight=highlight, copy=copy, formula=formula)
    return writing.blocks((_plain_parser() if bare else _parser()).parse(text, {"growing": growing}))


def safe_link(url: str) -> bool:
    """True if ``url`` may become a link."""
    if min(url, default=" ") <= " ":
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in _SCHEMES and bool(parts.netloc or parts.scheme == "mailto")


def reference_link(name: str) -> str:
    """A reference such as ``m12`` as a link to that message."""
    seq = name[1:]
    return f'<a class="reference" href="#m{seq}" data-action="jump" data-seq="{seq}">{name}</a>'


def _paths(parser: MarkdownIt) -> None:
    """Keep the backslashes of Windows' paths, which Markdown would take for signs that say what comes next is no markup."""
    parser.inline.ruler.before("text", "windows_path", _in_path)


def _in_path(state: StateInline, silent: bool) -> bool:
    text, at = state.src, state.pos
    if text[at] != "\\":
        return False
    start = max(text.rfind(end, 0, at) for end in " \n\t|") + 1
    if not _PATH.match(text, start):
        return False
    if not silent:
        state.pending += "\\"
    state.pos += 1
    return True


def _formulas(parser: MarkdownIt) -> None:
    r"""Formulas between ``\(`` and ``\)``, ``\[`` and ``\]``, ``$`` and ``$``, ``$$`` and ``$$``, as models write them.

    So are environments such as ``\begin{align}``, which need no marks. One that is to be displayed stands on lines of its own, with or without an empty line before, or among words.
    """
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    # "$5 and $6" is money
    parser.use(
        dollarmath_plugin, allow_labels=False, allow_space=False, allow_digits=False, double_inline=True
    )
    parser.disable("math_block")  # it begins only after an empty line
    parser.inline.ruler.before("escape", "bracketed_formula", _bracketed_formula)
    parser.block.ruler.before("fence", "formula", _formula_block, {"alt": _INTERRUPTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opening:
    """How a formula begins, and what closes it; an environment's own words are part of the formula."""

    mark: str
    closing: str
    environment: bool = False

    def content(self, whole: str) -> str:
        """The formula in its text with both marks, or with the first alone where the other is still to come."""
        return whole if self.environment else whole[len(self.mark) :].removesuffix(self.closing)


def _opening(text: str, at: int) -> _Opening | None:
    mark = text[at : at + 2]
    if mark in _CLOSINGS:
        return _Opening(mark=mark, closing=_CLOSINGS[mark])
    if mark == "\\b" and (found := _ENVIRONMENT.match(text, at)):
        return _Opening(mark=found[0], closing=f"\\end{{{found[1]}}}", environment=True)
    return None


def _closed_at(text: str, opening: _Opening, *, begin: int) -> int:
    """Index of the mark that closes a formula, -1 if there is none. Environments of one name may stand within each other."""
    depth, at = 1, begin + len(opening.mark)
    while 0 < depth <= _NESTING:
        closed = text.find(opening.closing, at, begin + _LONGEST_FORMULA)
        if closed < 0:
            return -1
        depth += text.count(opening.mark, at, closed) - 1 if opening.environment else -1
        at = closed + len(opening.closing)
    return -1 if depth else at - len(opening.closing)


def _bracketed_formula(state: StateInline, silent: bool) -> bool:
    opening = _opening(state.src, state.pos) if state.src[state.pos] == "\\" else None
    if opening is None:
        return False
    closed = _closed_at(state.src, opening, begin=state.pos)
    if closed < 0 or not state.src[state.pos + len(opening.mark) : closed].strip():
        return False
    end = closed + len(opening.closing)
    if not silent:
        token = state.push("math_inline" if opening.mark == "\\(" else "math_inline_double", "math", 0)
        token.content = opening.content(state.src[state.pos : end])
        token.meta["environment"] = opening.environment
    state.pos = end
    return True


def _formula_block(state: StateBlock, first: int, *rest: int) -> bool:
    """Lines from one that begins with an opening mark through one that ends with the closing one.

    Args:
        state: of the parser.
        first: line.
        rest: the line after the last one, and whether it is only asked if there is a formula.
    """
    end, silent = rest
    begin = state.bMarks[first] + state.tShift[first]
    opening = _opening(state.src, begin)
    if opening is None or opening.mark == "\\(" or state.is_code_block(first):
        return False
    closed = _closed_at(state.src, opening, begin=begin)
    if closed < 0 and state.env.get("growing"):
        if not silent:
            _open_formula(state, first, end)
        return True
    ends = _ENDS_LINE.match(state.src, closed + len(opening.closing))
    if not ends or not state.src[begin + len(opening.mark) : max(closed, 0)].strip():
        return False  # where words follow, they and it are a paragraph
    last = _line_of(state, closed, first=first, end=end)
    if last is None:
        return False
    if not silent:
        token = state.push("math_block", "math", 0)
        token.content = opening.content(state.getLines(first, last + 1, state.sCount[first], False).strip())
        token.meta["environment"] = opening.environment
        token.map = [first, last + 1]
        state.line = last + 1
    return True


def _line_of(state: StateBlock, place: int, *, first: int, end: int) -> int | None:
    """Line with the character at ``place``; None if the list or quote of the line ``first`` ends before."""
    for line in range(first, end):
        if line > first and state.sCount[line] < state.blkIndent:
            return None
        if state.eMarks[line] >= place:
            return line
    return None


def _open_formula(state: StateBlock, *lines: int) -> None:
    """The lines of a formula so far, as code: drawn, it would come and go with each sign that is added."""
    first, end = lines
    last = first + 1
    while last < end and not state.isEmpty(last) and state.sCount[last] >= state.blkIndent:
        last += 1
    token = state.push("open_formula", "", 0)
    so_far = state.getLines(first, last, state.sCount[first], False).strip()
    opening = _opening(so_far, 0)
    token.content = opening.content(so_far) if opening else so_far
    state.line = last


@cache
def _plain_parser() -> MarkdownIt:
    from mdit_py_plugins.tasklists import tasklists_plugin

    return (
        MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING})
        .enable(["table", "strikethrough"])
        .use(tasklists_plugin)
        .use(_paths)
    )


@cache
def _parser() -> MarkdownIt:
    from mdit_py_plugins.footnote import footnote_plugin
    from mdit_py_plugins.tasklists import tasklists_plugin

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING, "linkify": True})
    parser.enable(["table", "strikethrough", "linkify"]).use(tasklists_plugin)
    parser.use(footnote_plugin, inline=False).use(_formulas).use(_paths)
    assert parser.linkify is not None, "linkify-it-py is among the requirements"
    # a link needs its scheme: "main.py" is a file, and no place in Paraguay
    parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})  # pyright: ignore[reportUnknownMemberType] - its options are untyped
    return parser


class _Writing:
    """Tokens to HTML; what is not known is left out, its text is kept."""

    def __init__(
        self, *, references: int, bare: bool, highlight: Highlight | None, copy: bool, formula: Formula
    ) -> None:
        self._references = references
        self._pattern = _BARE if bare else _BRACKETED
        self._break = "<br>" if bare else "\n"
        self._highlight = highlight
        self._draw = formula
        self._copy = (
            '<button type="button" class="copy" data-action="copy-code">Copy</button>' if copy else ""
        )
        self._links: list[bool] = []
        self._within = 0  # lists, quotes and footnotes around what is written

    def blocks(self, tokens: Sequence[Token]) -> str:
        for cell, content in pairwise(tokens):
            if cell.type == "td_open" and _is_number(content.content):
                cell.meta["number"] = True
        return "".join(self._block(token) for token in tokens)

    def _block(self, token: Token) -> str:
        match token.type:
            case "inline":
                return self._inline(token.children or ())
            case "fence" | "code_block":
                return self._code(token)
            case "paragraph_open" | "paragraph_close" if token.hidden:
                return "\n"
            case "math_block" | "open_formula":
                return f'<div class="{_formula_class(token)}" tabindex="0">{self._formula(token)}</div>\n'
            case "footnote_open":
                self._within += 1
                return f'<li value="{int(token.meta["id"]) + 1}" dir="auto">'
            case "footnote_close":
                self._within -= 1
                return "</li>"
            case _ if token.tag:
                return self._tag(token)
            case _:
                return _FOOTNOTES.get(token.type) or escape(token.content)

    def _tag(self, token: Token) -> str:
        if token.tag not in _CONTAINERS:
            return _tag(token, directed=not self._within)
        if token.nesting < 0:
            self._within -= 1
        tag = _tag(token, directed=not self._within)
        if token.nesting > 0:
            self._within += 1
        return tag

    def _code(self, token: Token) -> str:
        language = token.info.strip().split(" ")[0]
        known = language if _LANGUAGE.fullmatch(language) else ""
        body = self._highlight(token.content, known) if self._highlight and known else ""
        name = _DIAGRAMS.get(known.lower(), known)
        label = f'<span class="language">{escape(name)}</span>' if known else ""
        code = f'<pre tabindex="0"><code>{body or escape(token.content)}</code></pre>'
        drawn = ' data-diagram="mermaid"' if known.lower() == "mermaid" else ""
        return f'<div class="code"{drawn}><div class="code-head">{label}{self._copy}</div>{code}</div>\n'

    def _inline(self, tokens: Sequence[Token]) -> str:
        return "".join(self._math(token) if token.tag == "math" else self._piece(token) for token in tokens)

    def _piece(self, token: Token) -> str:
        match token.type:
            case "text":
                return self._text(token.content)
            case "softbreak":
                return self._break
            case "link_open":
                return self._link_open(str(token.attrGet("href") or ""))
            case "link_close":
                return "</a>" if self._links and self._links.pop() else ""
            case "image":
                return self._image(token)
            case _ if token.type in _PIECES:
                return _PIECES[token.type](token)
            case _ if token.tag:
                return _tag(token, directed=False)
            case _:
                return escape(token.content)

    def _math(self, token: Token) -> str:
        """A formula among words."""
        html = self._formula(token)
        if token.type == "math_inline":
            return html
        return f'<span class="{_formula_class(token)}" tabindex="0">{html}</span>'

    def _formula(self, token: Token) -> str:
        latex = token.content.strip()
        if token.type == "open_formula" or len(latex) > MOST:
            return f"<code>{escape(latex)}</code>"
        return self._draw(latex, token.type != "math_inline")

    def _text(self, text: str) -> str:
        if not self._references or any(self._links):
            return escape(text)
        pieces: list[str] = []
        end = 0
        for found in self._pattern.finditer(text):
            if int(found["name"][1:]) <= self._references:
                pieces += escape(text[end : found.start()]), reference_link(found["name"])
                end = found.end()
        return "".join([*pieces, escape(text[end:])])

    def _link_open(self, url: str) -> str:
        shown = safe_link(url) and not any(self._links)
        self._links.append(shown)
        return _anchor(url) if shown else ""

    def _image(self, token: Token) -> str:
        url, words = str(token.attrGet("src") or ""), token.content.strip()
        label = f"[image: {words}]" if words else "[image]"
        if any(self._links) or not safe_link(url):
            return escape(label)
        return f"{_anchor(url)}{escape(label)}</a>"


def _formula_class(token: Token) -> str:
    """Class of what is around a displayed formula: what is copied of an environment has no marks around it."""
    return "formula environment" if token.meta.get("environment") else "formula"


def _is_number(text: str) -> bool:
    return len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text) is not None


def _code_piece(token: Token) -> str:
    return f"<code>{escape(token.content)}</code>"


def _footnote(token: Token) -> str:
    return f'<sup class="footnote">{int(token.meta["id"]) + 1}</sup>'


def _box(token: Token) -> str:
    """The box of a task, the only HTML that the parser makes."""
    done = "checked=" in token.content
    return f'<input type="checkbox" disabled{" checked" if done else ""} aria-label="{"done" if done else "to do"}">'


_PIECES: Mapping[str, Callable[[Token], str]] = {
    "code_inline": _code_piece,
    "footnote_ref": _footnote,
    "html_inline": _box,
}
_FOOTNOTES = {
    "footnote_block_open": '<ol class="footnotes">',
    "footnote_block_close": "</ol>",
}


def _anchor(url: str) -> str:
    return (
        f'<a href="{escape(url, quote=True)}" target="_blank" rel="noopener noreferrer nofollow" '
        'referrerpolicy="no-referrer">'
    )


def _tag(token: Token, *, directed: bool) -> str:
    """An opening or closing tag: its name is the parser's, its attributes ours.

    Args:
        token: what is opened or closed.
        directed: nothing around it has a direction of its own.
    """
    name = _LOWERED.get(token.tag, token.tag)
    if token.nesting < 0:
        return f"</{name}>{'</div>' if name == 'table' else ''}"
    extra = ""
    if token.tag in ("th", "td"):
        right = ["right"] if "right" in str(token.attrGet("style") or "") else []
        names = [*right, "number"] if "number" in token.meta else right
        extra = f' class="{" ".join(names)}"' if names else ""
    elif token.tag == "ol" and isinstance(start := token.attrGet("start"), int):
        extra = f' start="{start}"'
    elif token.tag == "li" and token.attrGet("class"):
        extra = ' class="task"'
    if token.tag in _CELLS or (directed and token.tag in _DIRECTED):
        extra += ' dir="auto"'
    before = '<div class="table" tabindex="0">' if token.tag == "table" else ""
    return f"{before}<{name}{extra}>"
