"""Spellings of one file: an agent names it by its absolute path in one call and from its folder in the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction import Redacted

DOCUMENTS = (".md", ".mdx", ".markdown", ".rst", ".txt", ".adoc", ".org")
"""How the names of documents end."""


_TEMPORARY = ("/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/", "/dev/shm/")
_TEMPORARY_INSIDE = ("/AppData/Local/Temp/", "/.claude/jobs/")
"""Windows's folder for them, and Claude Code's for its own work."""

_DRIVE = LazyPattern(r"[A-Za-z]:/")


def is_absolute(path: str) -> bool:
    """Whether it begins at the root of a file system, or at a drive of Windows."""
    return path.startswith("/") or _DRIVE.match(path) is not None


def spellings(paths: Iterable[Redacted]) -> Mapping[Redacted, Redacted]:
    """For each relative path that is surely one of the absolute ones: which.

    A relative path with a folder in it is the one absolute path that ends with it. A bare name is one only in a folder
    that such a pair has shown to be a working directory. Where several would do, nothing is said.
    """
    by_name: dict[str, tuple[list[Redacted], list[Redacted]]] = {}
    for path in dict.fromkeys(paths):
        absolute, relative = by_name.setdefault(path.rsplit("/", 1)[-1], ([], []))
        (absolute if is_absolute(path) else relative).append(path)
    found: dict[Redacted, Redacted] = {}
    folders: set[str] = set()
    for absolute, relative in by_name.values():
        for path in relative:
            plain = path.removeprefix("./")
            ending = [one for one in absolute if one.endswith(f"/{plain}")] if "/" in plain else []
            if len(ending) == 1:
                found[path] = ending[0]
                folders.add(ending[0].removesuffix(plain))
    for absolute, relative in by_name.values():
        for path in relative:
            inside = [one for one in absolute if one.removesuffix(path.removeprefix("./")) in folders]
            if path not in found and len(inside) == 1 and "/" not in path.removeprefix("./"):
                found[path] = inside[0]
    return found


def is_temporary(path: str) -> bool:
    """Whether it lies where files are made to be thrown away."""
    return path.startswith(_TEMPORARY) or any(folder in path for folder in _TEMPORARY_INSIDE)
