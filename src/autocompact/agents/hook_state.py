"""What the hooks of one session hand to each other, as files for their owner alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from autocompact.agents.hook_files import BLIND, GIVEN, PENDING
from autocompact.ledger.entries import Ledger
from autocompact.runtime.files import make_folder, replace_file

Way: TypeAlias = Literal["beside", "in place", "unread"]

_RECEIPTS = "receipts.jsonl"
_MOST_RECEIPTS = 50
_PREPARED = "prepared.json"
_TEXTS = (_PREPARED, GIVEN, PENDING, BLIND)
"""The files that have words of the session in them."""
_KEPT_SECONDS = 30 * 86_400


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in a transcript before its compaction.

    Attributes:
        size: bytes of the transcript that were read.
        through_seq: the last message.
        ledger: what must survive of all of them.
    """

    size: int
    through_seq: int
    ledger: Ledger


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """What is put beside a summary.

    Attributes:
        text: as it goes into the context.
        body: the same without its frame.
        tokens: of ``text``.
        size: bytes of the transcript that it was made from.
    """

    text: str
    body: str
    tokens: int
    size: int


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent's own summary said, and what was put beside it.

    Attributes:
        time: ISO 8601 stamp (UTC).
        trigger: manual or auto.
        through_seq: last message that the summary stands for.
        stated, referenced, missing: entries of the ledger, by what the summary says of them.
        missing_after: entries that are missing with what was put beside it.
        rules: in force.
        rules_stated: by the summary; with what was put beside it `rules_stated_after`.
        contradictions: sentences of the summary that the evidence speaks against.
        tokens: of what was put beside it.
        seconds: that it took.
        way: the agent's own summary stays, and ours stands beside it or is given to its model; ours is in its place; or the agent's cannot be read.
    """

    time: str
    trigger: str
    through_seq: int
    stated: int
    referenced: int
    missing: int
    missing_after: int
    rules: int
    rules_stated: int
    rules_stated_after: int
    contradictions: int
    tokens: int
    seconds: float
    way: Way = "beside"


@dataclass(frozen=True, slots=True)
class HookState:
    """The files of one session.

    Attributes:
        folder: of this session; made when something is written.
    """

    folder: Path

    def write_prepared(self, prepared: Prepared) -> None:
        """Keep what was found before a compaction."""
        self._write(_PREPARED, msgspec.json.encode(prepared))

    def prepared(self) -> Prepared | None:
        """What was found before the compaction; None if there is nothing that can be read."""
        with suppress(FileNotFoundError, msgspec.DecodeError):
            return msgspec.json.decode((self.folder / _PREPARED).read_bytes(), type=Prepared)
        return None

    def forget_prepared(self) -> None:
        """Remove what was found before a compaction: it is large, and the next one finds it anew."""
        (self.folder / _PREPARED).unlink(missing_ok=True)

    def write_block(self, name: str, block: Block) -> None:
        """Keep a block under one of the names that `autocompact.agents.hook` gives them."""
        self._write(name, msgspec.json.encode(block))

    def take_block(self, name: str) -> Block | None:
        """The block of that name, which is then gone; None if there is none."""
        path = self.folder / name
        with suppress(FileNotFoundError, msgspec.DecodeError):
            block = msgspec.json.decode(path.read_bytes(), type=Block)
            path.unlink()
            return block
        return None

    def add_receipt(self, receipt: Receipt) -> None:
        """Add a receipt; of many the oldest is forgotten."""
        kept = [*self.receipts(), receipt][-_MOST_RECEIPTS:]
        self._write(_RECEIPTS, b"".join(msgspec.json.encode(each) + b"\n" for each in kept))

    def receipts(self) -> Sequence[Receipt]:
        """The receipts, oldest first."""
        # no folder: the Finder of macOS leaves a file beside those of the sessions
        with suppress(FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
            lines = (self.folder / _RECEIPTS).read_bytes().splitlines()
            return [msgspec.json.decode(line, type=Receipt) for line in lines]
        return ()

    def _write(self, name: str, content: bytes) -> None:
        make_folder(self.folder)
        replace_file(self.folder / name, content)


def forget_old(folder: Path, *, now: float) -> None:
    """Remove the words of an agent's sessions that no hook has written for a month; their receipts stay.

    Args:
        folder: of the agent; it has one for each session.
        now: seconds since 1970.
    """
    for name in _TEXTS:
        for path in folder.glob(f"*/{name}"):
            with suppress(OSError):  # another hook was there first
                if now - path.stat().st_mtime > _KEPT_SECONDS:
                    path.unlink()


def session_texts(data: Path, conversation: str) -> Sequence[Path]:
    """The files with words of the session that a plugin archived as ``conversation``; none if none did.

    Args:
        data: autocompact's folder among the user's data.
        conversation: its name, which begins with that of the agent.
    """
    folders = (
        folder for folder in data.glob("agents/*/*") if f"{folder.parent.name}-{folder.name}" == conversation
    )
    return [folder / name for folder in folders for name in _TEXTS if (folder / name).is_file()]


def remove_texts(texts: Sequence[Path]) -> None:
    """Remove files that `session_texts` found, and their folder if nothing else is in it; receipts stay."""
    for path in texts:
        with suppress(OSError):  # a hook was there first
            path.unlink()
        with suppress(OSError):  # it has receipts, or another text
            path.parent.rmdir()


def size_of(path: Path) -> int:
    """Bytes of the file, 0 if there is none."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
