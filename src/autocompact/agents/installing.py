"""Puts a plugin into an agent's folder, and takes it out again, with nothing else touched."""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal, TypeAlias, cast

from autocompact.agents.claude_plugin import Commands, plugin_files
from autocompact.errors import InvalidInput
from autocompact.files import make_folder, replace_file

Agent: TypeAlias = Literal["claude-code"]
MARK = ".autocompact.json"
"""The file in the plugin's folder that says which files are ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file: its content before and after, None where there is none."""

    path: Path
    before: bytes | None
    after: bytes | None

    def diff(self) -> str:
        """As a unified diff."""
        old, new = (_lines(content) for content in (self.before, self.after))
        names = [
            str(self.path) if content is not None else os.devnull for content in (self.before, self.after)
        ]
        return "".join(difflib.unified_diff(old, new, names[0], names[1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """The plugin of one agent.

    Attributes:
        folder: where it is, or would be.
        backups: where files are copied to before they are changed or removed.
    """

    folder: Path
    backups: Path

    @property
    def is_installed(self) -> bool:
        """Whether the folder has our mark."""
        return (self.folder / MARK).is_file()

    @property
    def is_current(self) -> bool:
        """Whether it is installed as this version installs it, with the same choice of archives."""
        try:
            archives = "--no-archive" not in (self.folder / "hooks" / "hooks.json").read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return False
        return self.is_installed and not self.to_install(archives=archives)

    def to_install(self, *, archives: bool = True) -> list[Change]:
        """What an installation would change; nothing if it is there already.

        Raises:
            InvalidInput: the folder holds something that is not ours.
            OSError: it cannot be read.
        """
        known = self._known()
        texts = plugin_files(_commands(), version=version("autocompact"), archives=archives)
        files = {path: text.encode() for path, text in texts.items()}
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
        return list(self._changes(dict.fromkeys([*known, MARK], None))) if known else []

    def apply(self, changes: list[Change]) -> Path | None:
        """Make the changes; the folder with copies of the files as they were, None if there were none.

        Raises:
            OSError: a file cannot be written; those before it were.
        """
        backup = self.backups / f"claude-code-{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
        changed = [change for change in changes if change.before is not None]
        for change in changed:
            copy = backup / change.path.relative_to(self.folder)
            make_folder(copy.parent)
            replace_file(copy, change.before or b"")
        for change in changes:
            if change.after is None:
                change.path.unlink(missing_ok=True)
            else:
                make_folder(change.path.parent)
                replace_file(change.path, change.after)
        self._remove_empty()
        return backup if changed else None

    def _known(self) -> Mapping[str, str]:
        """The files that are ours, with the hash of what was installed."""
        try:
            content = (self.folder / MARK).read_bytes()
        except FileNotFoundError:
            if self.folder.is_symlink() or (self.folder.exists() and any(self.folder.iterdir())):
                raise InvalidInput(
                    f"{str(self.folder)!r} is there, and not from us: remove or rename it first"
                ) from None
            return {}
        try:
            files = json.loads(content)["files"]
            known = {str(path): str(digest) for path, digest in cast("dict[object, object]", files).items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(
                f"{str(self.folder / MARK)!r} is damaged: remove the folder by yourself"
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

    def _remove_empty(self) -> None:
        """The folders of the plugin that hold nothing any more."""
        folders = [each for each in self.folder.rglob("*") if each.is_dir()]
        for folder in (*sorted(folders, key=lambda each: -len(each.parts)), self.folder):
            with suppress(OSError):
                folder.rmdir()  # refused where something is in it


def claude_code_plugin(*, home: Path, environment: Mapping[str, str], data: Path) -> Plugin:
    """The plugin in the folder from which Claude Code loads plugins by itself."""
    configuration = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    return Plugin(folder=configuration / "skills" / "autocompact", backups=data / "backups")


def _commands() -> Commands:
    """How this very installation is run, wherever the agent is started."""
    python = (sys.executable, "-m")
    return Commands(
        hook=(*python, "autocompact.agents.hook"),
        program=(*python, "autocompact"),
        tools=importlib.util.find_spec("mcp") is not None,
    )


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines(keepends=True)
