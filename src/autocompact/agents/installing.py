"""Puts a plugin into an agent's folder, and takes it out again, with nothing else touched."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from autocompact.agents.changes import Change, make
from autocompact.errors import InvalidInput
from autocompact.runtime.files import make_folder, replace_file

MARK = ".autocompact.json"
"""The file in the plugin's folder that says which files are ours."""

_LEFT = "left.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A plugin that is files of its own.

    Attributes:
        agent: its name.
        folder: where the files are, or would be.
        files: makes them, by their path in the folder, with or without an archive of sessions.
        shared: files of others are in the folder, too.
        data: autocompact's folder among the user's data.
    """

    agent: str
    folder: Path
    files: Callable[[bool], Mapping[str, str]]
    shared: bool
    data: Path

    @property
    def is_installed(self) -> bool:
        """Whether the folder has our mark."""
        return (self.folder / MARK).is_file()

    @property
    def is_current(self) -> bool:
        """Whether it is installed as this version installs it, with an archive or without."""
        return self.is_installed and any(not self.to_install(archives=archives) for archives in (True, False))

    @property
    def place(self) -> Path:
        """What to show as its place."""
        return self.folder / next(iter(self.files(True))) if self.shared else self.folder

    def to_install(self, *, archives: bool = True) -> list[Change]:
        """What an installation would change; nothing if it is there already.

        Raises:
            InvalidInput: something that is not ours is in its place.
            OSError: it cannot be read.
        """
        known = self._known()
        files = {path: text.encode() for path, text in self.files(archives).items()}
        for path, content in files.items():
            there = self.folder / path
            if path not in known and there.exists() and there.read_bytes() != content:
                raise InvalidInput(f"{str(there)!r} is there, and not from us: remove or rename it first")
        wanted: dict[str, bytes | None] = dict.fromkeys(known, None) | files
        mark = {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
        wanted[MARK] = (json.dumps({"files": mark}, indent=2) + "\n").encode()
        return list(self._changes(wanted))

    def to_uninstall(self) -> list[Change]:
        """What its removal would change; nothing if it is not there.

        Raises:
            InvalidInput: the folder holds something that is not ours.
            OSError: it cannot be read.
        """
        known = self._known()
        if not known:
            return []
        # the mark last: where one file cannot be removed, the others are still known as ours
        return [*self._changes(dict.fromkeys(known, None)), *self._changes({MARK: None})]

    def apply(self, changes: Sequence[Change]) -> Path | None:
        """Make the changes; the folder with copies of the files as they were, None if there were none.

        Raises:
            OSError: a file cannot be written; those before it were.
        """
        backup = make(changes, agent=self.agent, root=self.folder, backups=self.data / "backups")
        if not self.shared:
            self._remove_empty()
            self._remember(() if self.is_installed else self._present())
        return backup

    def _known(self) -> Mapping[str, str]:
        """The files that are ours, with the hash of what was installed."""
        try:
            content = (self.folder / MARK).read_bytes()
        except FileNotFoundError:
            # through a link we would write, and later remove, in a folder that is somebody's for other things
            if not self.shared and (self.folder.is_symlink() or set(self._present()) - self._left()):
                raise InvalidInput(
                    f"{str(self.folder)!r} is there, and not from us: remove or rename it first"
                ) from None
            return {}
        try:
            files = json.loads(content)["files"]
            known = {str(path): str(digest) for path, digest in cast("dict[object, object]", files).items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(
                f"{str(self.folder / MARK)!r} is damaged: remove the files of autocompact by yourself"
            ) from error
        root = self.folder.resolve()
        if any(not (self.folder / path).resolve().is_relative_to(root) for path in known):
            raise InvalidInput(
                f"{str(self.folder / MARK)!r} names files outside of its folder: remove it by yourself"
            )
        return known

    def _changes(self, wanted: Mapping[str, bytes | None]) -> Iterator[Change]:
        for name, after in sorted(wanted.items()):
            path = self.folder / name
            before = path.read_bytes() if path.is_file() else None
            if before != after:
                yield Change(path=path, before=before, after=after)

    def _present(self) -> list[str]:
        """The paths of the files that are in the folder."""
        found = self.folder.rglob("*") if self.folder.is_dir() else ()
        return sorted(path.relative_to(self.folder).as_posix() for path in found if not path.is_dir())

    def _left(self) -> set[str]:
        """The user's own files that an uninstallation left in the folder: with these alone in it, it is still our place."""
        with suppress(OSError, ValueError, TypeError, AttributeError):
            left = json.loads((self.data / "agents" / _LEFT).read_bytes())
            return set(map(str, left.get(str(self.folder), ())))
        return set()

    def _remember(self, left: Sequence[str]) -> None:
        """Keep which files are left in the folder; an empty list is forgotten."""
        file = self.data / "agents" / _LEFT
        known: dict[str, object] = {}
        with suppress(OSError, ValueError, TypeError):
            known = dict(json.loads(file.read_bytes()))
        if known.get(str(self.folder), []) == list(left):
            return
        known = {folder: names for folder, names in known.items() if folder != str(self.folder)}
        make_folder(file.parent)
        replace_file(file, json.dumps(known | ({str(self.folder): list(left)} if left else {})).encode())

    def _remove_empty(self) -> None:
        """Remove the folders of the plugin that hold nothing any more."""
        folders = [each for each in self.folder.rglob("*") if each.is_dir()]
        for folder in (*sorted(folders, key=lambda each: -len(each.parts)), self.folder):
            with suppress(OSError):
                folder.rmdir()  # refused where something is in it
