"""The default path of the memory folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from autocompact.history.paths import data_folder
from autocompact.memory.files.others import FOLDER, is_project

IN_DATA_FOLDER = "memory"


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
    if top := _top(folders):
        return top / FOLDER
    return data_folder(environ=environ, platform=platform, home=home) / IN_DATA_FOLDER


def project_of(
    folder: Path,
    *,
    start: Path | None = None,
    environ: Mapping[str, str] | None = None,
    platform: str | None = None,
    home: Path | None = None,
) -> Path | None:
    """The project whose sessions belong to a memory folder; None for the user's own, which takes those of all.

    A ``.autocompact`` belongs to the folder that it is in. One of another name belongs to the project around it, else to
    that of the folder that is worked in, which is its own project where nothing says more: never to everything.

    Args:
        folder: the memory folder; it need not exist.
        start: the folder that is worked in, by default the current one.
        environ: in place of the process's environment.
        platform: in place of ``sys.platform``.
        home: in place of the user's home folder.
    """
    where = folder.absolute()
    if where.name == FOLDER:
        return where.parent
    if (
        where.resolve()
        == (data_folder(environ=environ, platform=platform, home=home) / IN_DATA_FOLDER).resolve()
    ):
        return None
    at_home = (home or Path.home()).resolve()
    at = (start or Path.cwd()).resolve()
    around = [
        [each for each in (inner, *inner.parents) if each != at_home] for inner in (where.resolve(), at)
    ]
    return next(filter(None, map(_top, around)), at)


def _top(folders: Sequence[Path]) -> Path | None:
    """The first of ``folders`` that looks like the top of a project."""
    return next(filter(is_project, folders), None)
