"""Recorded sessions of the common agents, read into the core's messages and written back."""

from __future__ import annotations

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
