"""The ledger: what must survive, found without a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from autocompact.core.messages import Message
from autocompact.core.tokens import Counter

Kind: TypeAlias = Literal["request", "file", "command", "error", "todo", "decision", "identifier", "running"]
State: TypeAlias = Literal["", "open", "done", "superseded", "withdrawn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that must survive.

    Attributes:
        kind: what it is.
        text: what it says, without secrets, readable on its own.
        seq: the message it comes from.
        key: what makes two entries the same thing (a path, a normalised command, an identifier).
        state: of a request or todo, only where there is evidence; "" is unknown.
        state_seq: the message that is the evidence for ``state``; 0 if none.
        need: expected need, 0..1: how likely the work goes on to use it.
    """

    kind: Kind
    text: str
    seq: int
    key: str
    state: State = ""
    state_seq: int = 0
    need: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Entries, the most needed first."""

    entries: tuple[Entry, ...] = ()


def extract(messages: Iterable[Message], *, previous: Ledger | None = None) -> Ledger:
    """All entries of these messages, merged with the ledger of an earlier compaction."""
    raise NotImplementedError


def render(entries: Sequence[Entry]) -> str:
    """The entries for a reader: grouped, chronological where order matters."""
    raise NotImplementedError


def choose(ledger: Ledger, budget: int, *, counter: Counter) -> tuple[Entry, ...]:
    """The entries worth most whose rendering takes at most ``budget`` tokens."""
    raise NotImplementedError
