"""Hooks of ours in a file of hooks that belongs to the user: they are added to it and taken out again, nothing else is touched."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import msgspec

from autocompact.agents.changes import Change, make
from autocompact.agents.commands import as_json
from autocompact.agents.hook import AGENT
from autocompact.agents.json_edits import add_element, remove
from autocompact.errors import InvalidInput
from autocompact.runtime.files import make_folder, replace_file

_HOOKS = "hooks"


class _Written(msgspec.Struct, frozen=True, kw_only=True):
    """What an installation wrote, to put back to the byte what was there.

    Attributes:
        file: its path.
        before: its content without us; None where there was no file.
        after: digest of the content with our hooks.
    """

    file: str
    before: str | None
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HooksFile:
    """A plugin that is entries in a JSON file: ``{"hooks": {EVENT: [{"matcher": …, "hooks": [{"command": …}]}]}}``.

    Attributes:
        agent: its name.
        file: of the user; it need not exist.
        entries: ours, by event, with or without an archive of sessions.
        data: autocompact's folder among the user's data.
    """

    agent: str
    file: Path
    entries: Callable[[bool], Mapping[str, object]]
    data: Path

    @property
    def place(self) -> Path:
        """What to show as its place."""
        return self.file

    @property
    def is_installed(self) -> bool:
        """Whether entries of ours are in the file."""
        return bool(self._ours(self._text() or ""))

    @property
    def is_current(self) -> bool:
        """Whether it is installed as this version installs it, with an archive or without."""
        return self.is_installed and any(not self.to_install(archives=archives) for archives in (True, False))

    def to_install(self, *, archives: bool = True) -> list[Change]:
        """What an installation would change; nothing if it is there already.

        Raises:
            InvalidInput: the file has another form, or is read-only.
            OSError: it cannot be read.
        """
        content = self._text()
        wanted = self.entries(archives)
        if {event: element for event, _, element in self._ours(content or "")} == wanted:
            return []
        text = self._original(content) or ""
        if not text.strip():
            return self._change(as_json({_HOOKS: {event: [element] for event, element in wanted.items()}}))
        try:
            for event, element in wanted.items():
                text = add_element(text, (_HOOKS, event), element=element)
        except ValueError as error:
            raise self._damaged(error) from error
        return self._change(text)

    def to_uninstall(self) -> list[Change]:
        """What its removal would change; nothing if it is not there. A file that holds nothing else is removed.

        Raises:
            InvalidInput: the file has another form, or is read-only.
            OSError: it cannot be read.
        """
        text = self._text()
        return self._change(self._original(text)) if text and self._ours(text) else []

    def apply(self, changes: Sequence[Change]) -> Path | None:
        """Make the changes; the folder with a copy of the file as it was, None if there was none.

        Raises:
            OSError: the file cannot be written.
        """
        # before the file is written: a record that its digest does not fit is passed over, a file without one
        # could not be put back to the byte
        for change in changes:
            before, after = (
                None if content is None else content.decode() for content in (change.before, change.after)
            )
            self._remember(before, after)
        return make(changes, agent=self.agent, root=self.file.parent, backups=self.data / "backups")

    def _remember(self, before: str | None, after: str | None) -> None:
        """Keep what the file was without us, or forget it with our hooks."""
        if after is None or not self._ours(after):
            self._record.unlink(missing_ok=True)
            return
        written = _Written(file=str(self.file), before=self._original(before), after=_digest(after))
        make_folder(self._record.parent)
        replace_file(self._record, msgspec.json.encode(written))

    @property
    def _record(self) -> Path:
        return self.data / "agents" / f"{self.agent}-hooks.json"

    def _original(self, text: str | None) -> str | None:
        """The file without us: as it was before, unless somebody has changed it since."""
        # without a record that can be read, ours is taken out of the file as it is now
        with suppress(OSError, msgspec.MsgspecError):
            written = msgspec.json.decode(self._record.read_bytes(), type=_Written)
            if text is not None and (written.file, written.after) == (str(self.file), _digest(text)):
                return written.before
        return (self._without(text) or None) if text and self._ours(text) else text

    def _text(self) -> str | None:
        try:
            return self.file.read_bytes().decode()
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise self._damaged(error) from error

    def _ours(self, text: str) -> list[tuple[str, int, object]]:
        """Event, place and content of each entry of ours."""
        try:
            document = cast("dict[str, dict[str, list[object]]]", json.loads(text) if text.strip() else {})
            hooks = document.get(_HOOKS, {})
            found = [
                (event, place, element)
                for event, elements in hooks.items()
                for place, element in enumerate(elements)
            ]
        except (ValueError, AttributeError, TypeError) as error:
            raise self._damaged(error) from error
        ours = f"{AGENT}{self.agent}"
        return [
            each for each in found if ours in json.dumps(each[2]) and "autocompact" in json.dumps(each[2])
        ]

    def _without(self, text: str) -> str:
        """The document without our entries; "" where nothing else is in it."""
        for event, place, _ in reversed(self._ours(text)):
            text = remove(text, (_HOOKS, event, place))
        return "" if text.strip() and json.loads(text) == {} else text

    def _change(self, text: str | None) -> list[Change]:
        before = self.file.read_bytes() if self.file.is_file() else None
        after = None if text is None else text.encode()
        if before == after:
            return []
        if before is not None and not self.file.stat().st_mode & stat.S_IWUSR:
            raise InvalidInput(f"{str(self.file)!r} is read-only: make it writable, then try again")
        return [Change(path=self.file, before=before, after=after)]

    def _damaged(self, error: Exception) -> InvalidInput:
        return InvalidInput(f"{str(self.file)!r} is no file of hooks ({error}): mend or rename it first")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
