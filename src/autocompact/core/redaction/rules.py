"""The form of a rule: what the tables of this package are made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from msgspec import Struct

from autocompact.core.patterns import LazyPattern


class Token(Struct, frozen=True, kw_only=True, dict=True):
    """A secret that its beginning gives away.

    ``body`` (a pattern) follows one of ``prefixes``. In ``examples`` ``<a36>`` is 36 letters and digits made up by the
    reader: ``a`` letters and digits, ``l`` small letters and digits, ``h`` hexadecimal, ``u`` capitals and digits,
    ``d`` digits, ``b`` base64, ``w`` letters, digits, hyphen and underscore. «…» is the secret where it is not all of it.
    """

    kind: str
    prefixes: tuple[str, ...]
    body: str
    examples: tuple[str, ...]
    others: tuple[str, ...] = ()
    """What looks like it and must stay."""
    back: int = 0
    """Characters before the prefix that belong to the token."""
    dense: bool = False
    """The body needs a run of 12 letters and digits, mixed: words joined by hyphens have none."""

    @cached_property
    def pattern(self) -> LazyPattern:
        """``body``, to be looked for."""
        return LazyPattern(self.body)


class Form(Struct, frozen=True, kw_only=True):
    """A secret that its surroundings give away: the group ``s`` of ``pattern``, matched around ``anchor``.

    ``anchor`` is a literal in lower case. The pattern is searched from ``back`` characters before it, and begins at the
    anchor or before.
    """

    kind: str
    anchor: str
    pattern: LazyPattern
    examples: tuple[str, ...]
    others: tuple[str, ...] = ()
    back: int = 0
    ahead: int = 8000
    line: LazyPattern | None = None
    """What must stand before the anchor on the same line; has the group ``s`` if the pattern has none."""
    accept: Callable[[str], bool] = bool


class Name(Struct, frozen=True, kw_only=True):
    """A secret that its name gives away: ``DB_PASSWORD=…``, ``"apiKey": "…"``, ``the password is …``.

    ``word`` is matched at ``anchor``; ``head`` must match the end of what stands before it in the name.
    """

    kind: str
    anchor: str
    word: LazyPattern
    examples: tuple[str, ...]
    others: tuple[str, ...] = ()
    head: LazyPattern | None = None
    least: int = 0
    """Characters of its values, at least; 0 for a password, which may be short."""
    sure: bool = True
    """Nothing else has such a name; False: only what is made up beyond doubt is its secret (``refresh``, ``license``)."""
    accept: Callable[[str], bool] | None = None
    """What its values look like, where they are neither a password nor a key: a code of six digits."""
