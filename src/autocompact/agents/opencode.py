"""OpenCode's model has written the summary of a compaction: what it lost goes into it, before OpenCode keeps it.

Its plugin (``files/opencode.js``) sends the session as ``opencode export`` writes it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import msgspec

from autocompact.agents.archiving import archive
from autocompact.agents.hook_files import state_folder
from autocompact.agents.hook_state import HookState
from autocompact.agents.receipts import receipt
from autocompact.agents.repairing import BLOCK_TOKENS, block
from autocompact.core.lookup import Lookup
from autocompact.core.redacted import edited
from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator
from autocompact.ledger.extraction import extract
from autocompact.ledger.summary import frame_beside
from autocompact.ledger.verification import verify
from autocompact.sessions.opencode import read

NAME = "opencode"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What the plugin says of a compaction.

    Attributes:
        session_id: of the session.
        summary: as OpenCode's model has written it.
        trigger: manual or auto.
    """

    session_id: str
    summary: str
    trigger: str = ""


def answer(content: bytes, *, folder: Path, archives: bool, work: bool) -> Mapping[str, object]:
    """What the plugin is to do with the event in ``content``: the text to add to the summary, or nothing.

    Args:
        content: the event as JSON.
        folder: autocompact's among the user's data.
        archives: the session is kept in our own store.
        work: keep it there now, which takes longer; else answer.

    Raises:
        Exception: whatever fails.
    """
    event = msgspec.json.decode(content, type=Event)
    state = state_folder(folder, agent=NAME, session_id=event.session_id)
    if work:
        archive(read([content]), name=f"{NAME}-{event.session_id}")
        return {}
    command = f"autocompact show {NAME}-{event.session_id}:m123" if archives else ""
    added = _added(event, content, state=state, lookup=Lookup(tools=False, command=command))
    return {"added": added} if added else {}


def _added(event: Event, content: bytes, *, state: Path, lookup: Lookup) -> str:
    """What the summary does not state of the session, as it is to stand below it."""
    begun = time.monotonic()
    counter = Estimator()
    messages = read([content]).messages
    ledger, summary = extract(messages), redact(event.summary)
    text = block(summary, ledger, pins=(), budget=BLOCK_TOKENS, counter=counter, lookup=lookup)
    added = edited(text, partial(frame_beside, lookup=lookup)) if text else text
    done = receipt(
        verify(summary, ledger),
        verify(f"{summary}\n\n{added}", ledger),
        trigger=event.trigger,
        through_seq=len(messages),
        tokens=counter.count(added),
        seconds=time.monotonic() - begun,
        way="beside",
    )
    HookState(state).add_receipt(done)
    return added
