"""Adds entries to the context archive of a memory folder."""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack, suppress
from pathlib import Path

from autocompact.errors import MemoryInUse
from autocompact.memory.documents.context_archive import ARCHIVE_HEADING, CONTEXT_ARCHIVE, ArchiveEntry
from autocompact.memory.files.changes import locked
from autocompact.runtime.files import PRIVATE_FILE


def append_to_archive(folder: Path, entry: ArchiveEntry) -> Path:
    """Add one compaction to ``folder``/CONTEXT_ARCHIVE.md; makes folder and file where missing.

    One write at the end of the file: what stands there stays, and an entry is there whole or not at all. It waits for an
    upkeep that is at the folder; one that takes too long finds the file changed and looks at it again.

    Raises:
        OSError: the file cannot be written.
        StoreUnavailable: the folder cannot be made or locked.
    """
    with ExitStack() as stack:
        with suppress(MemoryInUse):
            stack.enter_context(locked(folder))
        return _append(folder / CONTEXT_ARCHIVE, entry)


def _append(path: Path, entry: ArchiveEntry) -> Path:
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE_FILE)
    try:
        before = os.fstat(handle).st_size
        heading = "" if before else ARCHIVE_HEADING
        # half of a surrogate pair, as programs leave it that cut a text, is no UTF-8
        content = (heading + entry.render()).encode("utf-8", "replace")
        written = os.write(handle, content)
        if written < len(content):
            if os.fstat(handle).st_size == before + written:
                os.ftruncate(handle, before)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.fsync(handle)
    finally:
        os.close(handle)
    return path
