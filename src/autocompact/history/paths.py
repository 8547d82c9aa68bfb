"""Default paths of conversations and settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

FILE = "conversations.db"


def database_path(
    *, environ: Mapping[str, str] | None = None, platform: str | None = None, home: Path | None = None
) -> Path:
    """The file in the user's data folder; it need not exist. Arguments are those of `data_folder`."""
    return data_folder(environ=environ, platform=platform, home=home) / FILE


def data_folder(
    *, environ: Mapping[str, str] | None = None, platform: str | None = None, home: Path | None = None
) -> Path:
    """Autocompact's folder among the user's data; it need not exist.

    ``XDG_DATA_HOME`` or ``~/.local/share`` on Linux and other systems, ``~/Library/Application Support`` on macOS,
    ``%LOCALAPPDATA%`` on Windows.

    Args:
        environ: in place of the process's environment.
        platform: in place of ``sys.platform``.
        home: in place of the user's home folder.
    """
    given = os.environ if environ is None else environ
    system = platform or sys.platform
    at_home = home or Path.home()
    if system == "darwin":
        folder = at_home / "Library" / "Application Support"
    elif system == "win32":
        folder = Path(given.get("LOCALAPPDATA") or at_home / "AppData" / "Local")
    else:
        # The XDG specification: a path that is not absolute is to be ignored.
        named = Path(given.get("XDG_DATA_HOME") or "")
        folder = named if named.is_absolute() else at_home / ".local" / "share"
    return folder / "autocompact"


def cache_folder(
    *, environ: Mapping[str, str] | None = None, platform: str | None = None, home: Path | None = None
) -> Path:
    """Autocompact's folder among what can be made again; it need not exist. Arguments are those of `data_folder`.

    ``XDG_CACHE_HOME`` or ``~/.cache`` on Linux and other systems, ``~/Library/Caches`` on macOS, a folder beside the data
    on Windows.
    """
    given = os.environ if environ is None else environ
    system = platform or sys.platform
    at_home = home or Path.home()
    if system == "win32":
        return data_folder(environ=given, platform=system, home=at_home) / "Cache"
    if system == "darwin":
        return at_home / "Library" / "Caches" / "autocompact"
    named = Path(given.get("XDG_CACHE_HOME") or "")
    return (named if named.is_absolute() else at_home / ".cache") / "autocompact"
