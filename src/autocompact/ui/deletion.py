"""Text that lists what deleting a conversation would remove, for the person who has to confirm it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autocompact.engine.deletion import STAYS, Traces
from autocompact.ui.text import one_line


def traces_text(traces: Traces, *, also: str = "") -> str:
    """List what deleting a conversation removes, and what it leaves; ``also`` goes besides, "" for nothing."""
    goes = (f"  - {one_line(each)}" for each in (*traces.goes, *([also] if also else ())))
    stays = (f"  - {each}" for each in STAYS)
    name = one_line(traces.key.conversation)
    return "\n".join((f"{name} goes for good:", *goes, "What stays:", *stays))


def prepared_text(texts: Sequence[Path]) -> str:
    """What a plugin prepared for the conversation's session, in a line of that list; "" for nothing."""
    return (
        f"what the plugin prepared for its session in {texts[0].parent}; its receipts stay" if texts else ""
    )
