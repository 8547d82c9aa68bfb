"""Journal of a running turn: the deltas of its answer are stored, so that a crash loses none of them.

The journal is a log of its own, in a namespace that no conversation uses. Each entry names the message that it
follows: once the whole answer is in the conversation's log, its entries are obsolete. The journal is deleted when the
turn ends. If it is there when a conversation is opened, and no program works on it, the turn is unfinished.
"""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import msgspec

from autocompact.core.messages import Message, Part, Reasoning, Text, text_message
from autocompact.ports import Clock, Key, Lease, Store
from autocompact.stores.companions import draft_key, turn_key

FLUSH_SECONDS = 0.5
"""Seconds of a stream that a crash may lose,"""
FLUSH_CHARACTERS = 400
"""and characters of it. The first delta of an answer is stored at once."""


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """The process that runs a turn.

    Attributes:
        host: name of the machine, or of the container.
        pid: of the process.
        began: boot id and start tick of the process, "" where the system has none: pids are reused.
        holder: of the lease.
        fence: of the lease.
    """

    host: str
    pid: int
    began: str = ""
    holder: str
    fence: int

    @classmethod
    def here(cls, lease: Lease) -> Self:
        """This process."""
        pid = os.getpid()
        return cls(
            host=socket.gethostname(), pid=pid, began=_began(pid), holder=lease.holder, fence=lease.fence
        )

    @property
    def is_dead(self) -> bool:
        """True if the process is known to have ended; of one on another host only its lease tells."""
        if self.host != socket.gethostname() or sys.platform == "win32":
            return False  # on Windows a process cannot be asked without harm
        if self.began:
            return _began(self.pid) != self.began
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False


def _began(pid: int) -> str:
    """Boot of the system and clock tick at which a process began, by Linux's /proc; "" elsewhere, or if it is gone."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        # the name of the program, in brackets, may hold spaces; the tick is the 20th field after it
        return f"{boot}/{Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[19]}"
    except (OSError, IndexError):
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedTurn:
    """A turn that did not end.

    Attributes:
        parts: half an answer, to be appended after the last message; empty if there is none.
        lease: that the turn ran under; None if the journal does not say.
        dead: True if its process is known to have ended.
    """

    parts: tuple[Part, ...]
    lease: Lease | None
    dead: bool


class TurnJournal:
    """The journal of one running turn."""

    def __init__(self, store: Store, key: Key, *, clock: Clock) -> None:
        self._store = store
        self._key = draft_key(key)
        self._clock = clock
        self._last = 0
        self._after = 0
        self._new = {"reasoning": "", "text": ""}
        self._flushed = 0.0

    async def begin(self, lease: Lease) -> None:
        """Write down which process works. The journal of an earlier turn must have been deleted."""
        worker = msgspec.json.encode(Worker.here(lease)).decode()
        await self._append(text_message(0, "system", worker, synthetic=True))

    def answer(self, *, after: int) -> None:
        """Begin an answer that follows message ``after``; deltas that were not flushed are dropped."""
        self._after, self._new, self._flushed = after, {"reasoning": "", "text": ""}, -FLUSH_SECONDS

    def add(self, kind: Literal["text", "reasoning"], text: str) -> None:
        """Add a delta, to be stored with the next `flush`."""
        self._new[kind] += text

    @property
    def is_due(self) -> bool:
        """True if enough text is new, or enough time has passed, for a `flush`."""
        waited = self._clock.monotonic() - self._flushed
        return waited >= FLUSH_SECONDS or sum(map(len, self._new.values())) >= FLUSH_CHARACTERS

    async def flush(self) -> None:
        """Store the new deltas."""
        new, self._new = self._new, {"reasoning": "", "text": ""}
        self._flushed = self._clock.monotonic()
        parts = _parts(new["reasoning"], new["text"])
        if parts:
            await self._append(Message(seq=0, role="assistant", parts=parts, id=str(self._after)))

    async def _append(self, message: Message) -> None:
        stored = Message(
            seq=self._last + 1,
            role=message.role,
            parts=message.parts,
            id=message.id,
            synthetic=message.synthetic,
        )
        await self._store.append(self._key, [stored], after=self._last)
        self._last += 1

    async def end(self) -> None:
        """Delete the journal."""
        await self._store.delete(self._key)


def _parts(reasoning: str, text: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    if reasoning:
        parts.append(Reasoning(text=reasoning))
    if text:
        parts.append(Text(text=text))
    return tuple(parts)


async def find_unfinished(store: Store, key: Key, *, last_seq: int) -> UnfinishedTurn | None:
    """The unfinished turn of a conversation whose last message is ``last_seq``; None if there is none."""
    drafted = await store.read(draft_key(key))
    if not drafted:
        return None
    worker = _worker(drafted[0])
    # of several answers of a turn only the last can be unfinished: those before it are in the log, and have moved its
    # end
    mine = [message for message in drafted[1:] if message.id == str(last_seq)]
    parts = _parts(
        "".join(part.text for message in mine for part in message.parts if isinstance(part, Reasoning)),
        "".join(part.text for message in mine for part in message.parts if isinstance(part, Text)),
    )
    lease = worker and Lease(key=turn_key(key), holder=worker.holder, fence=worker.fence)
    return UnfinishedTurn(parts=parts, lease=lease, dead=worker is not None and worker.is_dead)


def _worker(message: Message) -> Worker | None:
    try:
        return msgspec.json.decode(message.text, type=Worker)
    except msgspec.DecodeError:
        return None
