"""Where the memory folder is unless somebody says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autocompact.library.place import data_folder

FOLDER = ".autocompact"
IN_DATA_FOLDER = "memory"
_PROJECT = (".git", ".hg", ".svn", "pyproject.toml", "package.json", "Cargo.toml", "go.mod")
"""What the top folder of a project has."""


def memory_folder(
    start: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    platform: str | None = None,
    home: Path | None = None,
) -> Path:
    """The memory folder for work in ``start``; it need not exist.

    The nearest ``.autocompact`` in ``start`` or above it, within the repository; else where the project has its top folder, ``.autocompact`` in
    that; else ``memory`` in the user's data folder. The home folder itself is no project.

    Args:
        start: the folder that is worked in, by default the current one.
        environ: in place of the process's environment.
        platform: in place of ``sys.platform``.
        home: in place of the user's home folder.
    """
    at = (start or Path.cwd()).resolve()
    at_home = (home or Path.home()).resolve()
    folders = [folder for folder in (at, *at.parents) if folder != at_home]
    for folder in folders:
        if (folder / FOLDER).is_dir():
            return folder / FOLDER
        if (folder / ".git").exists():
            break
    for folder in folders:
        if any((folder / each).exists() for each in _PROJECT):
            return folder / FOLDER
    return data_folder(environ=environ, platform=platform, home=home) / IN_DATA_FOLDER
