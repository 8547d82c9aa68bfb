"""The forms in which a conversation is exported; a module of its own, since an option names them before history is loaded."""

from __future__ import annotations

from typing import Literal, TypeAlias

ExportFormat: TypeAlias = Literal["json", "jsonl", "openai", "anthropic", "markdown"]
