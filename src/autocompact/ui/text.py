"""Text of somebody else as a terminal can show it: without what it would do there."""

from __future__ import annotations

import re

_UNSAFE = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
"""What would move the cursor, change colours, reverse the reading order, or cannot be written at all."""

_CONTROLS = re.compile(_UNSAFE)
_NO_COLORS = re.compile(rf"(\x1b\[[0-9;]{{0,20}}m)|{_UNSAFE}")


def visible(text: str) -> str:
    """``text`` of somebody else as a terminal can show it without doing what it says: controls are spelled out."""
    text = text.replace("\r\n", "\n")
    return _CONTROLS.sub(lambda match: _spelled(match[0]), text) if text else text


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode()


def checked(text: str) -> str:
    """``text`` with our own colours and no other control character, whatever was forgotten to be made `visible`."""
    return _NO_COLORS.sub(lambda match: match[1] or _spelled(match[0]), text)


def one_line(text: str) -> str:
    """``text`` of somebody else on one line, as a terminal can show it."""
    return visible(" ".join(text.split()))
