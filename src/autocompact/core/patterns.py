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
