"""The newest text of each file in work, as far as the log shows all of it.

That is what a reading of the whole file showed, or what a call wrote, with the edits since applied. Where an edit does not
match, or something else may have changed the file (a shell command, a checkout), the log does not know its text.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import EMPTY
from autocompact.core.redaction import Redacted, redact
from autocompact.ledger.changes import edits_of
from autocompact.ledger.scan import Call
from autocompact.ledger.working_set import FileHistory, followed

_PART = ("offset", "limit", "view_range", "start_line", "end_line", "pages")
"""Arguments of a reading that asks for a part of the file."""

_LINE = LazyPattern(r" *(\d{1,7})[→\t:](.*)")


class FileVersion(Struct, frozen=True, kw_only=True):
    """A file that the agent's file tools read, wrote or edited.

    Attributes:
        path: as the calls name it, the absolute spelling where there is one.
        text: its newest text.
        is_known: the log shows all of the newest text; else ``text`` is "".
        opened: ``seq`` of the last call that read it or wrote it whole; 0 if none did.
    """

    path: Redacted
    text: Redacted
    is_known: bool
    opened: int


def newest_versions(calls: Sequence[Call]) -> tuple[FileVersion, ...]:
    """The files that the agent's file tools touched and that are not deleted, the one touched last first.

    Args:
        calls: in order.
    """
    files = ((path, file) for path, file in followed(calls).items() if file.by_tools and not file.is_deleted)
    newest = sorted(files, key=lambda item: -item[1].touched)
    return tuple(_version(path, file) for path, file in newest)


def _version(path: Redacted, file: FileHistory) -> FileVersion:
    text = _newest(file.calls)
    return FileVersion(
        path=path,
        # what an edit puts together may be a secret that neither part is
        text=EMPTY if text is None else redact(text),
        is_known=text is not None,
        opened=file.opened,
    )


def _newest(calls: Sequence[Call]) -> str | None:
    text = _opened(calls[0]) if calls else None
    for call in calls[1:]:
        text = None if text is None else _applied(text, call)
    return text


def _opened(call: Call) -> str | None:
    """The whole text that ``call`` read or wrote; None where it shows a part, or in a form that we do not know."""
    action = call.action
    if any(effect == "read" for _, effect in action.files):
        is_part = any(action.arguments.get(name) is not None for name in _PART)
        return None if is_part or action.verb != "read" else _numbered(call.output)
    hunks = [hunk for _, _, hunks in edits_of(action) for hunk in hunks]
    return hunks[0][1] if len(hunks) == 1 and hunks[0][0] is None else None


def _numbered(output: str) -> str | None:
    """The text of an output whose lines are numbered from 1; None where anything but the client's notes stands behind it."""
    lines = output.split("\n")
    text: list[str] = []
    for line in lines:
        numbered = _LINE.fullmatch(line)
        if numbered is None or int(numbered[1]) != len(text) + 1:
            break
        text.append(numbered[2])
    rest = "\n".join(lines[len(text) :]).strip()
    is_whole = bool(text) and (not rest or rest.startswith("<system-reminder>"))
    return "\n".join(text) if is_whole else None


def _applied(text: str, call: Call) -> str | None:
    """``text`` after the edits of ``call``; None where one of them does not match."""
    hunks = [hunk for _, _, hunks in edits_of(call.action) for hunk in hunks]
    everywhere = -1 if call.action.arguments.get("replace_all") is True else 1
    for old, new in hunks:
        if not old or old not in text:
            return None
        text = text.replace(old, new, everywhere)
    return text if hunks else None
