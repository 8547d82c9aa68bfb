"""Recorded sessions without a store: compacted, checked, and inspected for what filled the window."""

from __future__ import annotations

from autocompact.history.recorded.asking import compact_with
from autocompact.history.recorded.compacting import Compacted, Options, compact_session
from autocompact.history.recorded.inspecting import Inspection, inspect_session

__all__ = ["Compacted", "Inspection", "Options", "compact_session", "compact_with", "inspect_session"]
