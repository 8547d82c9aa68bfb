"""Cutting a text to one line of a given length, between words."""

from __future__ import annotations

from autocompact.core.patterns import LazyPattern

_SPACE = LazyPattern(r"\s+")


def clipped(text: str, length: int, *, end: bool = False) -> str:
    """``text`` on one line in at most ``length`` characters, cut between words: its beginning, or its ``end``."""
    text = _SPACE.sub(" ", text).strip()
    if len(text) <= length:
        return text
    if end:
        cut = text[len(text) - length + 1 :]
        at = cut.find(" ", 0, length // 3)
        return f"…{cut[at + 1 :]}"
    cut = text[: length - 1]
    at = cut.rfind(" ", length // 2)
    return f"{cut[:at] if at > 0 else cut}…"
