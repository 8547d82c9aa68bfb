"""Chats that Cursor exports as Markdown: a heading, then what each speaker said, between rules."""

from __future__ import annotations

import re
from collections.abc import Iterable

from autocompact.core.messages import Text
from autocompact.sessions.building import Log
from autocompact.sessions.session import Session

_HEAD = re.compile(r"# (?P<title>[^\n]*)\n_Exported on [^\n]* from Cursor(?: \([^\n]*\))?_[ \t]*\n")
_TURN = re.compile(r"^---\n+\*\*(?P<speaker>User|Cursor)\*\*[ \t]*$", re.MULTILINE)


def matches(text: str) -> bool:
    """True if a text begins like an export of Cursor."""
    return _HEAD.match(text.lstrip()) is not None


def read(lines: Iterable[bytes]) -> Session:
    """Read an export from its lines."""
    text = b"".join(lines).decode(errors="replace").removeprefix("\ufeff").replace("\r\n", "\n")
    head = _HEAD.match(text.lstrip())
    turns, log = list(_TURN.finditer(text)), Log()
    ends = [*(turn.start() for turn in turns[1:]), len(text)]
    number, counted = 1, 0
    for turn, end in zip(turns, ends, strict=False):
        number, counted = number + text.count("\n", counted, turn.end()), turn.end()
        said = text[turn.end() : end].strip().removesuffix("\n---").strip()
        role = "user" if turn["speaker"] == "User" else "assistant"
        log.add(role, [Text(text=said)] if said else (), line=number)
    title = head["title"] if head else ""
    return Session(format="cursor", messages=tuple(log.messages), lines=tuple(log.lines), title=title)
