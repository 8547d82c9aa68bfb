"""References: how a summary, a ledger line or a stub names a message, so that `memory_expand` can open it."""

from __future__ import annotations

import re

from autocompact.errors import InvalidInput

_REFERENCE = re.compile(r"\s*\[?m([1-9][0-9]{0,17})\]?\s*", re.ASCII)


def reference(seq: int) -> str:
    """The reference of message ``seq``: ``m123``."""
    return f"m{seq}"


def parse_reference(text: str) -> int:
    """The ``seq`` that a reference names; brackets around it (``[m123]``) are allowed.

    Raises:
        InvalidInput: it is not a reference.
    """
    match = _REFERENCE.fullmatch(text)
    if match is None:
        raise InvalidInput(
            f"{text!r} is not a reference. A reference is m and the number of a message, e.g. m123."
        )
    return int(match[1])
