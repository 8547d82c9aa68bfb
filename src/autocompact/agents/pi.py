"""pi asks for a compaction: our account instead of a summary that it would have its model write.

Its extension (``files/pi.js``) sends the entries of the current branch, so a session that pi does not record is served as well,
and what was left by a rewind is not in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from autocompact.agents.archiving import archive
from autocompact.agents.hook_files import state_folder
from autocompact.agents.hook_state import HookState
from autocompact.agents.in_place import Wanted, account_of
from autocompact.agents.pinned import pinned_in
from autocompact.agents.receipts import receipt
from autocompact.core.lookup import Lookup
from autocompact.core.tokens import Estimator
from autocompact.ports import SystemClock
from autocompact.sessions import Session
from autocompact.sessions.pi import read

NAME = "pi"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What the extension says of a compaction.

    Attributes:
        session_id: of the session.
        cwd: the folder that pi runs in.
        entries: of the current branch, oldest first, as pi records them.
        first_kept: id of the first entry that stays.
        tokens_before: tokens of the context.
        window: tokens of the model's window, 0 if pi does not know it.
        focus: what the user gave with ``/compact``.
        trigger: manual, threshold or overflow.
        transcript_path: the session's file; "" if there is none.
    """

    session_id: str
    cwd: str
    entries: list[msgspec.Raw]
    first_kept: str
    tokens_before: int
    window: int = 0
    focus: str = ""
    trigger: str = ""
    transcript_path: str = ""


class _Entry(msgspec.Struct):
    id: str | None = None


_id_of = msgspec.json.Decoder(_Entry).decode


def session_in(event: Event) -> tuple[Session, int]:
    """The session, and the last of its messages that leaves the context."""
    head = {"type": "session", "timestamp": "", "cwd": event.cwd}
    lines = [msgspec.json.encode(head), *map(bytes, event.entries)]
    session = read(lines)
    ids = (_id_of(entry).id for entry in event.entries)
    # the head is line 1; where nothing stays, all of the entries leave
    first = next((number for number, id in enumerate(ids, start=2) if id == event.first_kept), len(lines) + 1)
    return session, sum(line < first for line in session.lines)


def answer(content: bytes, *, folder: Path, archives: bool, work: bool) -> Mapping[str, object]:
    """What the extension is to do with the event in ``content``: the summary to take, or nothing.

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
        archive(session_in(event)[0], name=f"{NAME}-{event.session_id}")
        return {}
    summary = replaced(event, state=state, pins=folder / "pins", archives=archives)
    return {"summary": summary} if summary else {}


def replaced(event: Event, *, state: Path, pins: Path, archives: bool) -> str:
    """The account as it is to stand in the context; "" where pi's own summary is the better choice.

    Args:
        event: what the extension says.
        state: folder of what the hooks of the session keep.
        pins: folder of what is pinned in recorded sessions.
        archives: the session is kept in our own store, where the agent can look.
    """
    session, through = session_in(event)
    command = f"autocompact show {NAME}-{event.session_id}:m123" if archives else ""
    wanted = Wanted(
        through=through,
        context=event.tokens_before,
        window=event.window,
        lookup=Lookup(tools=False, command=command),
        focus=event.focus,
        pins=pinned_in(Path(event.transcript_path), folder=pins) if event.transcript_path else (),
    )
    made = account_of(session, wanted, counter=Estimator(), clock=SystemClock()) if through else None
    if made is None:
        return ""
    found = made.verification
    done = receipt(
        found,
        found,
        trigger=event.trigger,
        through_seq=through,
        tokens=made.tokens,
        seconds=made.seconds,
        way="in place",
    )
    HookState(state).add_receipt(done)
    return made.text
