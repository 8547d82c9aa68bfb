"""Text that lists what deleting a conversation would remove, for the person who has to confirm it."""

from __future__ import annotations

from autocompact.engine.deletion import STAYS, Traces
from autocompact.ui.text import one_line


def traces_text(traces: Traces) -> str:
    """List what deleting a conversation removes, and what it leaves."""
    goes = (f"  - {one_line(each)}" for each in traces.goes)
    stays = (f"  - {each}" for each in STAYS)
    name = one_line(traces.key.conversation)
    return "\n".join((f"{name} goes for good:", *goes, "What stays:", *stays))
