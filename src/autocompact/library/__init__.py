"""Conversations that are kept in a file: what a person can do with them.

    async with opened(path) as library:
        await library.take_in(incoming)      # a recorded session, or an archive
        await library.excerpt("fix-invoice-rounding", from_seq=1, through_seq=20)
        await library.undo("fix-invoice-rounding")

Messages and compactions come and go through `autocompact.library.incoming` and `autocompact.library.outgoing`;
`autocompact.library.archive` is the form in which nothing of a conversation is lost.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocompact.library.incoming import Incoming, read_incoming
    from autocompact.library.library import (
        Excerpt,
        Library,
        Restored,
        TakenIn,
        Undone,
        opened,
        session_library,
    )
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
    "session_library",
]

_WHERE = {
    "Incoming": "incoming",
    "read_incoming": "incoming",
    "ExportFormat": "outgoing",
    "render": "outgoing",
    "database_path": "place",
}
"""Modules of the names; those of the others are in `library`. Loaded when asked for: a hook only wants the folder."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"autocompact.library.{_WHERE.get(name, 'library')}"), name)
