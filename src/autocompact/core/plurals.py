"""Counts in sentences: "1 message", "2,000 messages"."""

from __future__ import annotations


def plural(count: int, noun: str, *, many: str = "") -> str:
    """``count`` with the noun in its number, e.g. "1 file", "2,000 files".

    Args:
        count: how many.
        noun: what one of them is called.
        many: what several are called; ``noun`` with an "s" by default.
    """
    return f"{count:,} {noun if count == 1 else many or f'{noun}s'}"
