"""The disk side of the memory folder: entries of the context archive here, changes of several files in `changes`."""

from __future__ import annotations

import os
from pathlib import Path

from autocompact.core.memory.context_archive import ARCHIVE_HEADING, CONTEXT_ARCHIVE, ArchiveEntry


def append_to_archive(folder: Path, entry: ArchiveEntry) -> Path:
    """Add one compaction to ``folder``/CONTEXT_ARCHIVE.md; makes folder and file where missing.

    One write at the end of the file: what stands there stays, and two programs do not get in each other's way.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / CONTEXT_ARCHIVE
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        heading = "" if os.fstat(handle).st_size else ARCHIVE_HEADING
        os.write(handle, (heading + entry.render()).encode())
        os.fsync(handle)
    finally:
        os.close(handle)
    return path
