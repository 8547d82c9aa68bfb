"""Deleting a conversation everywhere: its log, what is kept beside it, the search index, and the memory folders.

The archives go first and the log last: as long as the log is there, the conversation is in every list and can be deleted
again, so a crash in the middle leaves nothing that is found but not listed. Another process may have been archiving a
compaction meanwhile: the archives are looked at once more when the log is gone, and whoever archives looks afterwards
whether the log still is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from autocompact.compaction.record import Compaction
from autocompact.core.plurals import plural
from autocompact.memory.documents.erasing import Subject
from autocompact.memory.files.erasing import Archives, erase_entries, find_entries
from autocompact.ports import Key, Store
from autocompact.stores.companions import archive_folders, archives_key, companions

STAYS = (
    "what you exported or backed up yourself",
    "what you noted yourself in OBSERVATIONS.md, ACTIVE_RULES.md and DONE.md, rows of TASK_ARCHIVE.md, and the monthly reports",
    "files that the agent wrote into your folders",
    "what the model's provider keeps",
)
"""What deleting cannot reach, or leaves alone because it is the person's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """The places that hold data of one conversation.

    Attributes:
        key: which one.
        messages: of its log; 0 if there is no such conversation.
        compactions: its records, each with a summary.
        archives: the memory folders that have entries of it.
    """

    key: Key
    messages: int
    compactions: int
    archives: tuple[Archives, ...] = ()

    @property
    def exists(self) -> bool:
        """True if there is anything to delete."""
        return bool(self.messages or self.archives)

    @property
    def goes(self) -> tuple[str, ...]:
        """Describe for a person what deleting removes."""
        lines = [
            f"{plural(self.messages, 'message')} with tool calls and results",
            f"{plural(self.compactions, 'compaction')}: summaries, ledgers and receipts"
            if self.compactions
            else "",
            "its title, its drafts, and what the search knows of it",
            *(_archived(each) for each in self.archives),
        ]
        return tuple(filter(None, lines))


def _archived(found: Archives) -> str:
    entries = plural(found.entries, "entry", many="entries")
    tasks = f", {plural(found.tasks, 'task')} in DONE.md" if found.tasks else ""
    backups = f", {found.in_backups:,} in its backups" if found.in_backups else ""
    return f"{entries} in {found.folder / 'CONTEXT_ARCHIVE.md'}{tasks}{backups}"


async def find_traces(store: Store, key: Key, *, folders: Iterable[Path] = ()) -> Traces:
    """Find the places that hold data of a conversation; changes nothing.

    Args:
        store: holds it.
        key: which one.
        folders: memory folders to look into, besides those that it was archived in.

    Raises:
        InvalidInput: an archive names it in lines that are no entry.
        StoreError: the store or an archive cannot be used.
    """
    records = await store.compactions(key)
    subject = _subject(key, records)
    archives = [
        await asyncio.to_thread(find_entries, folder, subject)
        for folder in await _places(store, key, folders=folders)
    ]
    infos = await store.conversations(key.namespace, names=[key.conversation])
    return Traces(
        key=key,
        messages=infos[0].last_seq if infos else 0,
        compactions=len(records),
        archives=tuple(each for each in archives if each),
    )


async def delete_conversation(
    store: Store, key: Key, *, folders: Iterable[Path] = (), failpoint: Callable[[str], object] = str
) -> bool:
    """Delete a conversation everywhere; whether there was one in the store. May be repeated after a crash.

    What deleted rows leave in unused places of the file goes with `Retention.purge`.

    Args:
        store: holds it.
        key: which one.
        folders: memory folders to look into, besides those that it was archived in.
        failpoint: called with the name of each step when it is done, so that a test can end the process there.

    Raises:
        InvalidInput: an archive names it in lines that are no entry; nothing was deleted.
        MemoryInUse: another process is at a memory folder for long.
        StoreError: the store or an archive cannot be used; delete it again.
    """
    subject = _subject(key, await store.compactions(key))
    places = await _places(store, key, folders=folders)
    # an archive that cannot be read whole is refused before the first deletion
    for folder in places:  # before anything is changed, whether all of it can be
        await asyncio.to_thread(find_entries, folder, subject)
    failpoint("looked")
    for folder in places:
        await asyncio.to_thread(erase_entries, folder, subject)
        failpoint("archive")
    for companion in companions(key):
        await store.delete(companion)
    failpoint("companions")
    existed = await store.delete(key)
    failpoint("log")
    for folder in places:
        await asyncio.to_thread(erase_entries, folder, subject)
    # the very last: a crash before it leaves the list of folders for the next try
    await store.delete(archives_key(key))
    return existed


def _subject(key: Key, records: Iterable[Compaction]) -> Subject:
    named = frozenset((record.receipt.time, record.id) for record in records)
    return Subject(conversation=key.conversation, namespace=key.namespace, records=named)


async def _places(store: Store, key: Key, *, folders: Iterable[Path]) -> list[Path]:
    """The memory folders that are there, each once."""
    named = [*folders, *(Path(each) for each in await archive_folders(store, key))]
    return [folder for folder in dict.fromkeys(each.absolute() for each in named) if folder.is_dir()]
