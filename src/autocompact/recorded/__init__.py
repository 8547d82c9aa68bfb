"""What the command line does with a recorded session: compact it, and say where its window went."""

from __future__ import annotations

from autocompact.recorded.asking import compact_with
from autocompact.recorded.compacting import Compacted, Options, compact_session
from autocompact.recorded.inspecting import Inspection, inspect_session

__all__ = ["Compacted", "Inspection", "Options", "compact_session", "compact_with", "inspect_session"]
