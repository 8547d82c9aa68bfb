"""Recorded sessions of the common agents, read into the core's messages and written back."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocompact.sessions.claude_attachments import FileAttachment, files_in_work
    from autocompact.sessions.formats import KNOWN, KNOWN_ARE, LABELS
    from autocompact.sessions.read import read_session
    from autocompact.sessions.session import Format, Session, Skipped
    from autocompact.sessions.write import render_chat_json, render_markdown, write_claude_code

__all__ = [
    "KNOWN",
    "KNOWN_ARE",
    "LABELS",
    "FileAttachment",
    "Format",
    "Session",
    "Skipped",
    "files_in_work",
    "read_session",
    "render_chat_json",
    "render_markdown",
    "write_claude_code",
]

# thirty formats take a tenth of a second to import, and a chat asks for none of them
_WHERE = {
    "FileAttachment": "claude_attachments",
    "files_in_work": "claude_attachments",
    "KNOWN": "formats",
    "KNOWN_ARE": "formats",
    "LABELS": "formats",
    "read_session": "read",
    "Format": "session",
    "Session": "session",
    "Skipped": "session",
    "render_chat_json": "write",
    "render_markdown": "write",
    "write_claude_code": "write",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
