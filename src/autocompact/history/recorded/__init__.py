"""Recorded sessions without a store: compacted and checked; `inspecting` finds what filled the window."""

from __future__ import annotations

from autocompact.history.recorded.asking import compact_with
from autocompact.history.recorded.compacting import Compacted, Options, compact_session

__all__ = ["Compacted", "Options", "compact_session", "compact_with"]
