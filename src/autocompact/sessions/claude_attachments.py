"""Files in work, as Claude Code attaches them to the context after a compaction.

As its version 2.1.330 does it: the five files that its file tools touched last, each in its newest version, but for those
that a reading among the messages that stay shows already, and for instruction files, which it sends along anyway. A file of
more than 5,000 tokens is only named.

The newest version is on disk where the folder that the session ran in is on this computer, else in the log. On disk only
what lies in that folder is opened: a transcript may name any path.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Literal, TypeAlias

from autocompact.compaction.record import Compaction
from autocompact.core.redacted import EMPTY
from autocompact.core.redaction import Redacted, redact
from autocompact.core.secret_files import may_hold_secrets
from autocompact.core.tokens import Counter
from autocompact.ledger.file_versions import FileVersion, newest_versions
from autocompact.ledger.paths import is_temporary
from autocompact.ledger.scan import scan
from autocompact.sessions.session import Session

MOST_FILES = 5
FILE_TOKENS = 5_000
ALL_TOKENS = 50_000

_FRAME_TOKENS = 60
"""For the words that Claude Code puts around a file, or a name."""

_MOST_BYTES = 16 * FILE_TOKENS
"""More than so many bytes are more than `FILE_TOKENS` tokens, unless they are hardly a text."""

_INSTRUCTIONS = frozenset(("claude.md", "claude.local.md"))

Origin: TypeAlias = Literal["disk", "log", "named"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAttachment:
    """A file in work.

    Attributes:
        path: absolute, or as the log has it where that is not known.
        name: the path from the folder that the session ran in, for people.
        text: its content, without secrets; "" if it is only named.
        origin: where the content is from; "named" if the file is only named.
        tokens: that it takes in the context.
    """

    path: Redacted
    name: Redacted
    text: Redacted
    origin: Origin
    tokens: int


def files_in_work(
    session: Session, record: Compaction, *, counter: Counter, budget: int, home: Path
) -> tuple[FileAttachment, ...]:
    """The files that belong beside the summary of ``record``, the one touched last first.

    Args:
        session: of Claude Code.
        record: a compaction of all its messages.
        counter: measures.
        budget: tokens that the files may take together; `ALL_TOKENS` at most.
        home: the user's home folder: a session that ran in it, or above it, has no project folder on disk.
    """
    calls = scan(session.messages, with_names=False).calls
    folder = _Folder(session.cwd, home=home)
    space = min(budget, ALL_TOKENS)
    found: list[FileAttachment] = []
    for version in newest_versions(calls):
        if len(found) == MOST_FILES:
            break
        stays = version.opened > record.through_seq or version.opened in record.keep
        # what stays in the context shows the file already, in the version of that time
        if stays or not folder.takes(version.path):
            continue
        for file in _attachments(version, folder, counter=counter):
            if file.tokens <= space:
                found.append(file)
                space -= file.tokens
                break
    return tuple(found)


def _attachments(version: FileVersion, folder: _Folder, *, counter: Counter) -> Iterator[FileAttachment]:
    """The file with its content, and only named, as far as there is either."""
    text, origin = folder.newest(version)
    if origin is None:
        return
    path, name = folder.spelled(version.path)
    lines = text.split("\n")
    shown = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))
    tokens = counter.count(shown) if origin != "named" and len(text) <= _MOST_BYTES else FILE_TOKENS + 1
    if tokens <= FILE_TOKENS:
        tokens += _FRAME_TOKENS + counter.count(path)
        yield FileAttachment(path=path, name=name, text=text, origin=origin, tokens=tokens)
    tokens = _FRAME_TOKENS + counter.count(path)
    yield FileAttachment(path=path, name=name, text=EMPTY, origin="named", tokens=tokens)


class _Folder:
    """The folder that a session ran in; it may not be on this computer."""

    def __init__(self, cwd: str, *, home: Path) -> None:
        self._cwd = PurePosixPath(cwd)
        self._real = _project(cwd, home=home)

    def takes(self, path: Redacted) -> bool:
        """True unless the file is one of instructions, may hold secrets, or lies where files are thrown away."""
        parts = PurePosixPath(path).parts
        is_inside = self._absolute(path).is_relative_to(self._cwd)
        named = self._absolute(path).relative_to(self._cwd).parts if is_inside else parts
        return not (
            parts[-1].casefold() in _INSTRUCTIONS
            or may_hold_secrets(named)
            or (is_temporary(path) and not is_inside)
        )

    def spelled(self, path: Redacted) -> tuple[Redacted, Redacted]:
        """The absolute path, and the one from this folder."""
        absolute = self._absolute(path)
        short = absolute.relative_to(self._cwd) if absolute.is_relative_to(self._cwd) else absolute
        return redact(str(absolute)), redact(str(short))

    def newest(self, version: FileVersion) -> tuple[Redacted, Origin | None]:
        """The newest text and where it is from; None where the file is not there any more."""
        known: tuple[Redacted, Origin] = (version.text, "log") if version.is_known else (EMPTY, "named")
        path = Path(self._absolute(version.path))
        if self._real is None or not path.is_absolute():
            return known
        try:
            # links first: one within the folder may lead out of it
            real = path.resolve(strict=True)
            if not real.is_relative_to(self._real) or may_hold_secrets(real.relative_to(self._real).parts):
                return known
            described = real.stat()
            # a pipe would never end, a device may give anything
            if not stat.S_ISREG(described.st_mode):
                return known
            if described.st_size > _MOST_BYTES:
                return EMPTY, "named"
            text = real.read_text(encoding="utf-8")
        except FileNotFoundError:
            # gone from the project, so it was deleted; elsewhere it may be another computer's
            return (EMPTY, None) if path.is_relative_to(self._cwd) else known
        except (OSError, RuntimeError, ValueError):  # no right to, a circle of links, no text
            return known
        return known if "\0" in text else (redact(text), "disk")

    def _absolute(self, path: str) -> PurePosixPath:
        return PurePosixPath(normpath(self._cwd / path))


def _project(cwd: str, *, home: Path) -> Path | None:
    """The folder on disk; None where it is not there, or holds the user's whole home."""
    try:
        real = Path(cwd).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None
    is_project = Path(cwd).is_absolute() and real.is_dir() and not home.resolve().is_relative_to(real)
    return real if is_project else None


def attachment_of(file: FileAttachment) -> dict[str, object]:
    """The attachment as Claude Code writes it."""
    named = {"filename": file.path, "displayPath": file.name}
    if file.origin == "named":
        return {"type": "compact_file_reference", **named}
    lines = file.text.count("\n") + 1
    shown = {
        "filePath": file.path,
        "content": file.text,
        "numLines": lines,
        "startLine": 1,
        "totalLines": lines,
    }
    return {"type": "file", **named, "content": {"type": "text", "file": shown}}
