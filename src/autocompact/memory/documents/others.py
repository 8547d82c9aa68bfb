"""What other programs keep in mind: topic files, memory banks, rules and instructions. Only read, in their own form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autocompact.core.patterns import LazyPattern
from autocompact.errors import InvalidInput
from autocompact.memory.documents.document import read_document

_FENCE = "---"
_DESCRIPTION = LazyPattern(r"description[ \t]*:[ \t]*(\S.*)")
_BLOCK = LazyPattern(r"[>|][+-]?\d?\s*\Z")
_HEADING = LazyPattern(r"#{1,6}[ \t]+(\S.*?)[ \t#]*\Z")
_LINK = LazyPattern(r"\]\(\s*<?(?:\./)?([^)<>\s]+)|\[\[([^\]|#]+)|`([^`\n]+\.mdc?)`")
_PIPES = str.maketrans({"|": "\\|", "\n": " "})
LONGEST_DESCRIPTION = 120
"""Characters."""
MOST_TOLD = 20
"""Files that the background of a summary has."""


def text_of(content: bytes, *, name: str) -> str:
    """The file as text, "" if it is none."""
    try:
        return "\n".join(read_document(content, name=name).texts)
    except InvalidInput:
        return ""


def description_of(text: str) -> str:
    """What a file says that it holds: the ``description`` of its front matter, else its first heading, else ""."""
    lines = text.splitlines()
    matter, body = _front_matter(lines)
    for place, line in enumerate(matter):
        if match := _DESCRIPTION.match(line):
            value = match[1]
            if _BLOCK.match(value):
                value = " ".join(each.strip() for each in _indented(matter[place + 1 :]))
            return _short(value.strip().strip("\"'"))
    title = next(filter(None, map(_HEADING.match, body)), None)
    return _short(title[1]) if title else ""


def _front_matter(lines: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    if lines and lines[0].rstrip() == _FENCE:
        for end, line in enumerate(lines[1:], 1):
            if line.rstrip() == _FENCE:
                return lines[1:end], lines[end + 1 :]
    return (), lines


def _indented(lines: Sequence[str]) -> Sequence[str]:
    end = next((at for at, line in enumerate(lines) if line.strip() and line[0] not in " \t"), len(lines))
    return lines[:end]


def _short(text: str) -> str:
    text = text.translate(_PIPES)
    return text if len(text) <= LONGEST_DESCRIPTION else f"{text[: LONGEST_DESCRIPTION - 1]}…"


def linked_in(text: str) -> frozenset[str]:
    """The files that ``text`` names in links, wiki links (with ``.md``) and code."""
    found: set[str] = set()
    for link, wiki, code in _LINK.findall(text):
        found |= {link, code, f"{wiki.strip()}.md" if wiki else ""}
    return frozenset(name.replace("%20", " ") for name in found if name)


def background(files: Mapping[str, str], *, most: int) -> str:
    """The texts one below the other, each under its name; long ones are cut so that all have a share.

    Args:
        files: names and texts, the first being the most important.
        most: characters, names not counted.
    """
    told = {name: text.strip() for name, text in files.items() if text.strip()}
    told = dict([*told.items()][:MOST_TOLD])
    shares: dict[str, int] = {}
    left = most
    # the short ones first: what they leave goes to the long ones
    for waiting, name in zip(
        range(len(told), 0, -1), sorted(told, key=lambda each: len(told[each])), strict=True
    ):
        shares[name] = min(len(told[name]), left // waiting)
        left -= shares[name]
    return "\n\n".join(_told(name, text, share=shares[name]) for name, text in told.items() if shares[name])


def _told(name: str, text: str, *, share: int) -> str:
    rest = f"\n[{name} goes on]" if share < len(text) else ""
    return f"File {name}:\n\n{text[:share]}{rest}"
