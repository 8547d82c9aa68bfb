"""The schedule of the upkeep, printed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from autocompact.history.archive import encode
from autocompact.memory.schedule import crontab, systemd_units

Kind: TypeAlias = Literal["cron", "systemd"]

HOW: Mapping[Kind, str] = {
    "cron": "To install it: (crontab -l; compress-context --print-schedule cron) | crontab -",
    "systemd": "To install it: save each unit under its name in ~/.config/systemd/user, then\n"
    "  systemctl --user enable --now autocompact-weekly.timer autocompact-monthly.timer",
}


def text(kind: Kind, folder: Path) -> bytes:
    """The crontab, or the units one after the other, each under its name.

    Raises:
        InvalidInput: a path has a line break.
    """
    at = folder.absolute()
    if kind == "cron":
        return crontab(_program(), at).encode()
    units = systemd_units(_program(), at)
    return "\n".join(f"# {name}\n{unit}" for name, unit in units.items()).encode()


def document(kind: Kind, folder: Path) -> bytes:
    """The same as JSON: texts by the names of files.

    Raises:
        InvalidInput: a path has a line break.
    """
    at = folder.absolute()
    files = {"crontab": crontab(_program(), at)} if kind == "cron" else systemd_units(_program(), at)
    return encode({"folder": str(at), "files": files}) + b"\n"


def _program() -> Path:
    """Path of compress-context: beside this Python, or on the PATH."""
    beside = Path(sys.executable).with_name("compress-context")
    return beside if beside.exists() else Path(shutil.which("compress-context") or beside)
