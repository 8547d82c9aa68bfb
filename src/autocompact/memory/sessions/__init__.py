"""The session layer: the newest session is closed with a summary, archived, and its tasks are noted.

- `finding`: which session is meant, among those of Claude Code, Codex and our own conversations.
- `closing`: its compaction.
- `archiving`: the entry in CONTEXT_ARCHIVE.md, the tasks in DONE.md.
"""

from __future__ import annotations

from autocompact.memory.sessions.archiving import SessionRun, compact_session_now
from autocompact.memory.sessions.closing import SessionPolicy
from autocompact.memory.sessions.finding import Places, newest_session

__all__ = ["Places", "SessionPolicy", "SessionRun", "compact_session_now", "newest_session"]
