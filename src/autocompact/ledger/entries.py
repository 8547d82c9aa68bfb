"""The values of a ledger."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from autocompact.core.redacted import EMPTY, own
from autocompact.core.redaction import Redacted

Kind: TypeAlias = Literal[
    "rule", "wish", "request", "finding", "fact", "change", "step",
    "file", "command", "error", "todo", "identifier", "running",
]  # fmt: skip
State: TypeAlias = Literal["", "open", "done", "superseded", "withdrawn"]

FOLLOWS = own("↓")
"""Text of a request that stands word for word in the context, after the summary."""

POINTER = own("…")
"""Text of a request of which the summary has the reference alone."""

ASKERS: Mapping[str, Redacted] = {"lead": own("lead"), "reply": own("reply")}
"""Who makes requests beside the user: the lead of a team of agents, and the user who answers a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that must survive.

    Attributes:
        kind: what it is.
        text: what it says, readable on its own.
        seq: the message it comes from.
        key: what makes two entries the same thing (a path, a normalised command, an identifier).
        state: of a request or todo, only where there is evidence; of a command "done" or "open" for succeeded or
            failed; "" is unknown.
        state_seq: the message that is the evidence for ``state``; of a request of unknown state, the reply that closed its turn; of a finding or fact, its place among those of its message; 0 if
            none.
        need: expected need, 0..1: how likely the work goes on to use it.
        where: of an identifier, the file of the ledger (its ``key``) whose text its line was seen in; of a request, who
            made it if not the user, or the question of the model that it answers; "" elsewhere.
    """

    kind: Kind
    text: Redacted
    seq: int
    key: Redacted
    state: State = ""
    state_seq: int = 0
    need: float = 0.0
    where: Redacted = EMPTY


ERROR_TOLD = 0.3
"""Expected need from which on an account tells an open error."""

FADED = 0.005
"""Expected need below which an identifier of an earlier compaction is left to recall: the ledger must not grow with
the conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Entries, the most needed first."""

    entries: tuple[Entry, ...] = ()

    @property
    def unfaded(self) -> Ledger:
        """What is worth carrying from one compaction to the next: each halves the need of what it takes over."""
        kept = (entry for entry in self.entries if entry.kind != "identifier" or entry.need >= FADED)
        return Ledger(entries=tuple(kept))

    def without(self, gone: Collection[Entry]) -> Ledger:
        """The ledger without the entries ``gone``."""
        return Ledger(entries=tuple(entry for entry in self.entries if entry not in gone)) if gone else self
