"""Finds the memory that other programs keep: in a memory folder, and in the project around it.

Nothing of it is written. Links that lead out of a project are not followed: a repository that somebody else made could name
any file of the person's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from autocompact.memory.documents.others import MOST_TOLD, text_of
from autocompact.memory.documents.pages import NAMES
from autocompact.memory.files.changes import BACKUPS
from autocompact.sessions.places import claude_code_folder

FOLDER = ".autocompact"
REPORTS = "reports"
LARGEST = 500_000
"""Bytes of a file; larger ones are data."""
MOST_FILES = 300
WALKED = 20_000
"""Files and folders of a project that are looked at for instructions of its parts."""
DEPTH = 6
"""Folders below the top of a project in which instructions are looked for."""

_PROJECT = (".git", ".hg", ".svn", "pyproject.toml", "package.json", "Cargo.toml", "go.mod")
"""What the top folder of a project has."""
_ENDS = (".md", ".mdc")
_ANYWHERE = (
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    ".cursorrules",
    ".clinerules",
    ".windsurfrules",
)
"""Files of instructions, each for the folder that it stands in."""
_FOLDERS: Mapping[str, tuple[str, ...]] = {
    "memory-bank": _ENDS,
    ".clinerules": _ENDS,
    ".cursor/rules": _ENDS,
    ".claude/rules": _ENDS,
    ".windsurf/rules": _ENDS,
    ".github/instructions": (".instructions.md",),
}
"""Folders of instructions and notes, with the ends of their files' names."""
_SINGLE = (".github/copilot-instructions.md", ".claude/CLAUDE.md")
_SKIPPED = frozenset(
    f"{BACKUPS} node_modules vendor target build dist out venv __pycache__ site-packages bower_components Pods".split()
)
"""Folders with what others wrote, what a program made, or copies."""
_FIRST = ("activeContext.md", "progress.md", "MEMORY.md")
"""Files that say where the work stands come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherFile:
    """A file of another program, or of a person.

    Attributes:
        name: its path from the memory folder or the project; ``~/…`` in the home folder.
        path: where it is.
    """

    name: str
    path: Path

    def read(self) -> bytes:
        """All of it; nothing if it is gone, too large, or not ours to read."""
        try:
            return self.path.read_bytes() if self.path.stat().st_size <= LARGEST else b""
        except OSError:
            return b""

    def text(self) -> str:
        """The same as text, "" if it is none."""
        return text_of(self.read(), name=self.name)


def is_project(folder: Path) -> bool:
    """True if ``folder`` looks like the top of a project."""
    return any((folder / mark).exists() for mark in _PROJECT)


def project_around(folder: Path, *, home: Path | None = None) -> Path | None:
    """The project that a memory folder is in, None if it is in none.

    Args:
        folder: the memory folder; it need not exist.
        home: in place of the user's home folder.
    """
    where = folder.absolute()
    at_home = (home or Path.home()).resolve()
    if where.name == FOLDER:
        # below the home folder stand all projects of a person, which have nothing to do with each other
        return None if where.parent.resolve() == at_home else where.parent
    resolved = where.resolve()
    return next(
        (each for each in (resolved, *resolved.parents) if each != at_home and is_project(each)), None
    )


def texts_in(folder: Path) -> list[OtherFile]:
    """The texts of a memory folder by name, ours included; without backups and what is hidden in it."""
    return _texts(folder, ends=_ENDS)


def topics_in(folder: Path) -> dict[str, bytes]:
    """Names and contents of a memory folder's files that are not ours: topic files, a memory bank, rules.

    In the top folder of a project these are the project's pages, and no memory.
    """
    return {each.name: each.read() for each in _topics(folder)}


def _topics(folder: Path) -> list[OtherFile]:
    if is_project(folder):
        return []
    return [each for each in texts_in(folder) if each.name.partition("/")[0] not in (*NAMES, REPORTS)]


def untouched_by(folder: Path) -> list[str]:
    """Names of the files in and around a memory folder that are memory too, and that nobody but their program changes."""
    topics = [each.name for each in _topics(folder)]
    inside = topics or [path.name for path in folder.glob("*.md") if path.name not in NAMES]
    return [*sorted(inside), *(each.name for each in others_around(folder) if each.name not in inside)]


def others_around(
    folder: Path, *, home: Path | None = None, environ: Mapping[str, str] | None = None
) -> list[OtherFile]:
    """The files of other programs in the project of a memory folder, and Claude Code's notes on it.

    Args:
        folder: the memory folder; its own files are left out.
        home: in place of the user's home folder.
        environ: in place of the process's environment.
    """
    project = project_around(folder, home=home)
    if project is None:
        return []
    at_home = home or Path.home()
    found = [
        *_in_project(project),
        *_auto_memory(project, home=at_home, environ=os.environ if environ is None else environ),
    ]
    own = folder.resolve()
    inside = {} if own == project.resolve() else {each.path.resolve(): each for each in texts_in(folder)}
    others = {each.path: each for each in found if each.path.resolve() not in inside}
    return sorted(others.values(), key=lambda each: (_rank(each), each.name))[:MOST_FILES]


def background_files(folder: Path) -> dict[str, str]:
    """Names and texts of what other programs keep in mind, in the memory folder and around it, for the background of summaries."""
    found = sorted([*_topics(folder), *others_around(folder)], key=lambda each: (_rank(each), each.name))
    return {each.name: each.text() for each in found[:MOST_TOLD]}


def _rank(file: OtherFile) -> int:
    name = PurePosixPath(file.name).name
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def _in_project(project: Path) -> Iterator[OtherFile]:
    for folder, names in _walk(project):
        yield from _here(folder, project=project, names=names)


def _here(folder: Path, *, project: Path, names: Sequence[str]) -> Iterator[OtherFile]:
    """Instructions that stand in one folder of the project."""
    there = set(names)
    singles = [name for name in _ANYWHERE if name in there and (folder / name).is_file()]
    singles += [name for name in _SINGLE if name.partition("/")[0] in there and (folder / name).is_file()]
    found = [OtherFile(name=name, path=folder / name) for name in singles]
    for place, ends in _FOLDERS.items():
        if place.partition("/")[0] in there and (folder / place).is_dir():
            found += (
                replace(each, name=f"{place}/{each.name}") for each in _texts(folder / place, ends=ends)
            )
    for each in found:
        if each.path.resolve().is_relative_to(project.resolve()):
            yield OtherFile(name=each.path.relative_to(project).as_posix(), path=each.path)


def _auto_memory(project: Path, *, home: Path, environ: Mapping[str, str]) -> list[OtherFile]:
    """What Claude Code noted about the project, which it keeps in the home folder."""
    # its folder for a project is the path with hyphens
    folder = (
        claude_code_folder(environ, home=home)
        / re.sub(r"[^A-Za-z0-9]", "-", str(project.resolve()))
        / "memory"
    )
    if not folder.is_dir():
        return []
    shown = f"~/{folder.relative_to(home).as_posix()}" if folder.is_relative_to(home) else folder.as_posix()
    return [replace(each, name=f"{shown}/{each.name}") for each in _texts(folder, ends=_ENDS)]


def _texts(folder: Path, *, ends: tuple[str, ...]) -> list[OtherFile]:
    """Files below ``folder`` whose names end so, without what is hidden or somebody else's code."""
    found: list[OtherFile] = []
    top = folder.resolve()
    for at, names in _walk(folder):
        for name in sorted(names):
            path = at / name
            is_meant = name.endswith(ends) and not name.startswith(".") and path.is_file()
            # a file of ours may be a link to where its owner keeps it
            if is_meant and (name in NAMES or path.resolve().is_relative_to(top)):
                found.append(OtherFile(name=path.relative_to(folder).as_posix(), path=path))
        if len(found) >= MOST_FILES:
            break
    return found[:MOST_FILES]


def _walk(top: Path) -> Iterator[tuple[Path, list[str]]]:
    """Folders with the names in them, from the top down, `WALKED` names at most."""
    left = WALKED
    for at, folders, names in os.walk(top):
        here = Path(at)
        left -= len(folders) + len(names)
        inner = [name for name in folders if not name.startswith(".") and name not in _SKIPPED]
        yield here, [*folders, *names]
        is_deep = len(here.relative_to(top).parts) >= DEPTH or left <= 0
        folders[:] = [] if is_deep else sorted(inner)
