"""A month, and what was recorded in it."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta

from autocompact.errors import InvalidInput

_MONTH = re.compile(r"(\d{4})-(\d\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """A month of the calendar; its days are those of UTC."""

    year: int
    number: int

    @classmethod
    def read(cls, text: str) -> Month:
        """The month that ``YYYY-MM`` names.

        Raises:
            InvalidInput: it names none.
        """
        match = _MONTH.fullmatch(text.strip())
        if match is None or not 1 <= int(match[2]) <= 12 or not int(match[1]):
            raise InvalidInput(f"{text!r} is no month: write it as YYYY-MM, for example 2026-10")
        return cls(year=int(match[1]), number=int(match[2]))

    @classmethod
    def before(cls, day: date) -> Month:
        """The last whole month before ``day``."""
        last = day.replace(day=1) - timedelta(days=1)
        return cls(year=last.year, number=last.month)

    def __str__(self) -> str:
        return f"{self.year:04}-{self.number:02}"

    @property
    def first(self) -> date:
        """The first day of the month."""
        return date(self.year, self.number, 1)

    @property
    def last(self) -> date:
        """The last day of the month."""
        return date(self.year, self.number, self.days)

    @property
    def days(self) -> int:
        """Number of its days."""
        return monthrange(self.year, self.number)[1]

    def has(self, stamp: str | date | None) -> bool:
        """True if a day, or a stamp in ISO 8601, is within it."""
        return str(stamp)[:7] == str(self) if stamp else False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRecord:
    """A compaction that was made in the month. A number is None where nobody wrote it down.

    Attributes:
        conversation: its name.
        id: of the compaction.
        time: when, ISO 8601.
        tokens_before: starting tokens.
        tokens_after: tokens that were left.
        peak: most tokens since the compaction before.
        stated: ledger entries that the new context says in words.
        referenced: those that it only points to.
        missing: those that it does not have; recall finds them.
        seconds: how long it took.
        model: who wrote the summary, "" if unknown.
        cost: its price in US dollars, as the receipt has it.
    """

    conversation: str
    id: str
    time: str
    tokens_before: int | None = None
    tokens_after: int | None = None
    peak: int | None = None
    stated: int | None = None
    referenced: int | None = None
    missing: int | None = None
    seconds: float | None = None
    model: str = ""
    cost: float | None = None

    @property
    def recovered(self) -> int:
        """Tokens that the context became smaller by; 0 where nobody wrote down both figures."""
        if self.tokens_before is None or self.tokens_after is None:
            return 0
        return self.tokens_before - self.tokens_after


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A reply of a model in the month.

    Attributes:
        day: when.
        model: which one, "" if unknown.
        tokens: of the request, as the provider reported them or else as counted.
        reply: tokens of the reply.
        saved: tokens that compactions kept out of the request.
        reported: the provider reported the figures.
        conversation: its name.
    """

    day: date
    model: str
    tokens: int
    reply: int
    saved: int
    reported: bool
    conversation: str = ""

    @property
    def without(self) -> int:
        """Tokens that the request would have had if nothing had ever been compacted."""
        return self.tokens + self.saved


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Everything that is known of a month.

    Attributes:
        month: which.
        sessions: conversations in which something was said or compacted, by name.
        compactions: oldest first.
        calls: oldest first.
        undated_calls: replies in conversations that went on over the end of a month, without a time of their own.
        noted: observations that were first noted in the month.
        escalated: texts of observations that became rules.
        archived: texts of observations that were archived.
        tasks: names of tasks that were finished.
        archived_tasks: how many of these are in the archive already.
    """

    month: Month
    sessions: tuple[str, ...] = ()
    compactions: tuple[CompactionRecord, ...] = ()
    calls: tuple[Call, ...] = ()
    undated_calls: int = 0
    noted: tuple[str, ...] = ()
    escalated: tuple[str, ...] = ()
    archived: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    archived_tasks: int = 0

    @property
    def is_empty(self) -> bool:
        """True if nothing is known of the month."""
        found = (self.sessions, self.compactions, self.calls, self.noted, self.escalated, self.archived)
        return not any(found) and not self.tasks
