"""Notes a compaction in CONTEXT_ARCHIVE.md of the memory folder."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from autocompact.engine.deletion import delete_conversation
from autocompact.errors import AutocompactError, log_data
from autocompact.memory.documents.context_archive import ArchiveEntry
from autocompact.memory.files.archive import append_to_archive
from autocompact.ports import Key, Store
from autocompact.stores.companions import note_archive_folder

log = logging.getLogger("autocompact")


async def archive(entry: ArchiveEntry, *, folder: Path, store: Store, key: Key) -> None:
    """Append ``entry`` to the archive in ``folder``. A failure is logged: the compaction itself is done.

    Args:
        entry: what was compacted.
        folder: the memory folder, as an absolute path.
        store: holds the conversation; it remembers the folder.
        key: which conversation.
    """
    try:
        # where it is archived is known before it is, so that deleting the conversation finds it
        await note_archive_folder(store, key, folder=str(folder))
        await asyncio.to_thread(append_to_archive, folder, entry)
        if not await store.read(key, from_seq=1, through_seq=1):  # it was deleted meanwhile
            await delete_conversation(store, key, folders=(folder,))
    except (OSError, AutocompactError) as error:
        log.warning("CONTEXT_ARCHIVE.md could not be written", extra=log_data(error))
