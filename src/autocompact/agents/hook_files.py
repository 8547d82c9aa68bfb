"""Files that the hooks of one session hand to each other, known to what is quick to load and to what does the work."""

from __future__ import annotations

import re
from pathlib import Path

GIVEN, PENDING, BLIND = "given.json", "pending.json", "blind.json"
"""Texts beside a summary: one that was given, one that waits for its turn, one that was made before the summary."""

GROWN = 65_536
"""Bytes by which a transcript may have grown since it was read: notes of the program, not the agent's work."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


def state_folder(data: Path, *, agent: str, session_id: str) -> Path:
    """The folder of a session's files; it need not exist.

    Args:
        data: autocompact's folder among the user's data.
        agent: its name.
        session_id: as the agent gives it.

    Raises:
        ValueError: the id would lead out of the folder.
    """
    if _NAME.fullmatch(session_id) is None:
        raise ValueError("the session's id is no plain name")
    return data / "agents" / agent / session_id
