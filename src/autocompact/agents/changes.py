"""Changes of files in an agent's folder: shown as a diff, made with a copy of what was there."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autocompact.runtime.files import make_folder, replace_file


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


def make(changes: Sequence[Change], *, agent: str, root: Path, backups: Path) -> Path | None:
    """Make the changes; the folder with copies of the files as they were, None if there were none.

    Args:
        changes: of files below ``root``.
        agent: names the folder of the copies.
        root: the copies have the paths that the files have below it.
        backups: where such folders are.

    Raises:
        OSError: a file cannot be written; those before it were.
    """
    backup = backups / f"{agent}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
    changed = [change for change in changes if change.before is not None]
    # every copy is there before the first file is touched
    for change in changed:
        copy = backup / change.path.relative_to(root)
        make_folder(copy.parent)
        replace_file(copy, change.before or b"")
    for change in changes:
        if change.after is None:
            change.path.unlink(missing_ok=True)
        else:
            make_folder(change.path.parent)
            replace_file(change.path, change.after)
    return backup if changed else None


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines(keepends=True)
