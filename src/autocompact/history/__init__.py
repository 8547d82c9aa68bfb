"""Kept and recorded conversations: open, import, export, search, expand, undo, delete, compact.

    async with opened(path) as library:
        await library.take_in(incoming)      # a recorded session, or an archive
        await library.excerpt("fix-invoice-rounding", from_seq=1, through_seq=20)
        await library.undo("fix-invoice-rounding")

- `library`: the conversations of one namespace of a store. `incoming`, `outgoing`: what comes into it and leaves it;
  `archive` is the form in which nothing of a conversation is lost.
- `recall`: search and expand, over a store or a single log; `results` is its pure part.
- `recorded`: a session that another program recorded, without any store: compacted, checked, inspected.
- `paths`: where the store is.

Stands above the engine and the stores; the front ends, the gateway and the plugins ask here. Start reading with `library`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocompact.history.export_format import ExportFormat
    from autocompact.history.incoming import Incoming, read_incoming
    from autocompact.history.library import (
        CompactedKept,
        Excerpt,
        Library,
        Restored,
        TakenIn,
        Undone,
        opened,
        session_library,
    )
    from autocompact.history.outgoing import render
    from autocompact.history.paths import database_path

__all__ = [
    "CompactedKept",
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
    "ExportFormat": "export_format",
    "render": "outgoing",
    "database_path": "paths",
}
"""Modules of the names; those of the others are in `library`. Loaded when asked for: a hook only wants the folder."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"autocompact.history.{_WHERE.get(name, 'library')}"), name)
