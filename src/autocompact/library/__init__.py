"""Conversations that are kept in a file: what a person can do with them.

    async with opened(path) as library:
        await library.take_in(incoming)      # a recorded session, or an archive
        await library.excerpt("fix-invoice-rounding", from_seq=1, through_seq=20)
        await library.undo("fix-invoice-rounding")

Messages and compactions come and go through `autocompact.library.incoming` and `autocompact.library.outgoing`;
`autocompact.library.archive` is the form in which nothing of a conversation is lost.
"""

from __future__ import annotations

from autocompact.library.incoming import Incoming, read_incoming
from autocompact.library.library import Excerpt, Library, Restored, TakenIn, Undone, opened
from autocompact.library.outgoing import ExportFormat, render
from autocompact.library.place import database_path

__all__ = [
    "Excerpt",
    "ExportFormat",
    "Incoming",
    "Library",
    "Restored",
    "TakenIn",
    "Undone",
    "database_path",
    "opened",
    "read_incoming",
    "render",
]
