"""Values that were recognised as secrets where a name gave them away, found again wherever they stand alone.

An agent reads ``API_KEY=…`` once and uses the value in its commands for hours: there nothing says what it is. Only
what looks made up is known again, since a password that is a word ("summer") is a word elsewhere.

Source of the cases: recorded sessions, where half of the places of such a value had nothing beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from autocompact.core.redaction.spans import Span, merged
from autocompact.core.redaction.values import (
    has_symbol,
    is_dotted_password,
    is_placeholder,
    is_reference,
    mixed,
    random_looking,
)

LEAST, MOST = 8, 512
"""Characters of a value that is known again."""

MOST_VALUES = 200
"""Values that are looked for, the last ones seen: the search takes time with their number."""

_NAMED = re.compile(r"\A[A-Za-z_][A-Za-z0-9_.-]*=(?=[^=])")
_CASES = re.compile(r"(?=.*[a-z])(?=.*[A-Z])")


class KnownSecrets:
    """The secrets of a conversation, in memory only: they are never stored or shown.

    What is stored is in which messages they stand (`seen_in`), which is enough to learn them again.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._seqs: dict[str, int] = {}
        self._pattern: re.Pattern[str] | None = None

    def __len__(self) -> int:
        return len(self._kinds)

    @property
    def version(self) -> object:
        """Another object whenever there is a new value."""
        return self._pattern

    @property
    def seen_in(self) -> tuple[int, ...]:
        """The messages (``seq``) that gave the values away, in order."""
        return tuple(sorted({seq for value in self._kinds if (seq := self._seqs[value])}))

    def learn(self, text: str, spans: Sequence[Span], *, seq: int = 0) -> None:
        """Know the values again that ``spans`` of ``text`` are.

        Args:
            text: as it was said.
            spans: the secrets in it.
            seq: of the message that says it; 0 where there is none.
        """
        found = {_bare(text[span.start : span.end]): span.kind for span in spans}
        new = {value: kind for value, kind in found.items() if value not in self._kinds and is_unique(value)}
        if not new:
            return
        kept = [*self._kinds.items(), *new.items()][-MOST_VALUES:]
        self._kinds = dict(kept)
        self._seqs = {value: self._seqs.get(value, seq) for value in self._kinds}
        longest_first = sorted(self._kinds, key=len, reverse=True)
        either = "|".join(map(re.escape, longest_first))
        self._pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{either})(?![A-Za-z0-9])")

    def find(self, text: str) -> tuple[Span, ...]:
        """Where the values stand in ``text``, in order, without overlap."""
        if self._pattern is None:
            return ()
        return merged(
            Span(start=match.start(), end=match.end(), kind=self._kinds[match[0]])
            for match in self._pattern.finditer(text)
        )


def _bare(found: str) -> str:
    """The value alone, as it is used: "the key is API_KEY=…" is one secret whole."""
    return _NAMED.sub("", found.strip("\"'`"), count=1).strip("\"'`")


def is_unique(value: str) -> bool:
    """True for a value that is nothing but this secret, wherever it stands: made up, and no word, name, path or number."""
    if not LEAST <= len(value) <= MOST or any(each.isspace() for each in value) or not mixed(value):
        return False
    if is_placeholder(value) or (is_reference(value) and not is_dotted_password(value)):
        return False
    return random_looking(value) or has_symbol(value) or bool(_CASES.match(value))
