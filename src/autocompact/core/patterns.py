"""Regular expressions that are compiled when they are first used, so that importing a module of many costs nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property


class LazyPattern:
    """A regular expression, compiled at its first use.

    Args:
        source: the expression.
        flags: those of `re`.
    """

    def __init__(self, source: str, flags: int = 0) -> None:
        self.source, self.flags = source, flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The expression itself."""
        return re.compile(self.source, self.flags)

    @property
    def search(self) -> Callable[..., re.Match[str] | None]:
        """`re.Pattern.search`."""
        return self.compiled.search

    @property
    def match(self) -> Callable[..., re.Match[str] | None]:
        """`re.Pattern.match`."""
        return self.compiled.match

    def found_in(self, text: str) -> bool:
        """True if `search` finds it, told several times as fast where ``text`` is ASCII."""
        if self._lower is None or not text.isascii():
            return self.search(text) is not None
        return self._lower.search(text.lower()) is not None

    def begins(self, text: str) -> bool:
        """True if `match` finds it, told several times as fast where ``text`` is ASCII."""
        if self._lower is None or not text.isascii():
            return self.match(text) is not None
        return self._lower.match(text.lower()) is not None

    @cached_property
    def _lower(self) -> re.Pattern[str] | None:
        """The expression in lower case, for text in lower case; None if case counts.

        With IGNORECASE, `re` tries each branch of an alternative in full, without it only those whose first letter fits.
        """
        if not self.flags & re.IGNORECASE:
            return None
        source = _CAPITAL.sub(lambda found: found[0].lower() if len(found[0]) == 1 else found[0], self.source)
        return re.compile(source, self.flags & ~re.IGNORECASE)


_CAPITAL = re.compile(r"\\.|\(\?P|[A-Z]")
"""A capital letter, or an escape or the beginning of a named group, whose letters mean something else."""
