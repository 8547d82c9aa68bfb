"""Texts with half of a surrogate pair, such as a cut emoji leaves: no UTF-8 can hold them."""

from __future__ import annotations


def without_half_surrogates(text: str) -> str:
    """``text`` with U+FFFD for each half; two halves that belong together are their character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
