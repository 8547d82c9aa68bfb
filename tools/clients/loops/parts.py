"""What the loops share: their instructions, their request, and the tool that reads a part."""

from __future__ import annotations

from pathlib import Path

RULES = Path("AGENTS.md").read_text()
REQUEST = "Read all parts of this project, one after the other, then say done."
DESCRIPTION = "Read a part of the project by its number."
SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
MOST_TURNS = 100


def read_part(number: int) -> str:
    """Read a part of the project by its number."""
    return Path(f"part-{number:02}.txt").read_text()
