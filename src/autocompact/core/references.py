"""References: how a summary, a ledger line or a stub names a message, so that `memory_expand` can open it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from autocompact.core.patterns import LazyPattern
from autocompact.errors import InvalidInput

NO_SUCH_MESSAGE = "(no such message)"
"""Stands after a reference in prose that names no message."""

_LIST = LazyPattern(r"[ \t]?\[(m[1-9][0-9]{0,17}(?:[,;\s]+m[1-9][0-9]{0,17})*)\]", re.ASCII)
_EXPAND = r"memory_expand\(\s*[\"'`]?m[1-9][0-9]{0,17}[\"'`]?\s*\)"
_NO_MORE = r"(?![\w/@=]|[.:-]\w|[ \t]*\(no such)"
_IN_PROSE = LazyPattern(
    rf"{_EXPAND}|(?<![\w\[./@#$:=-])m[1-9][0-9]{{0,17}}{_NO_MORE}(?![ ]?[-–—][ ]?m[1-9][0-9]{{0,17}}[ \t]*\(no such)",
    re.ASCII,
)
_RANGE = LazyPattern(
    rf"[ \t]?(?P<list>\[m[1-9][0-9]{{0,17}}[ ]?[-–—][ ]?m[1-9][0-9]{{0,17}}\])"
    rf"|(?<![\w\[./@#$:=-])m[1-9][0-9]{{0,17}}[ ]?[-–—][ ]?m[1-9][0-9]{{0,17}}{_NO_MORE}"
)
_NUMBER = LazyPattern(r"m([1-9][0-9]{0,17})", re.ASCII)
_REFERENCE = LazyPattern(r"\s*\[?m([1-9][0-9]{0,17})\]?\s*", re.ASCII)

_BETWEEN = LazyPattern(r"\s*[-–—]\s*(?=\[?m)")


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


def false_references(text: str, exists: Callable[[int], bool]) -> tuple[int, ...]:
    """The messages that ``text`` refers to and that are not there, each once, in the order of the text.

    Args:
        text: a summary.
        exists: whether message ``seq`` is there (or ``m<seq>`` is the name of something else).
    """
    names = (match[0] for pattern in (_LIST, _IN_PROSE, _RANGE) for match in pattern.finditer(text))
    numbers = dict.fromkeys(int(number) for name in names for number in _NUMBER.findall(name))
    return tuple(number for number in numbers if not exists(number))


def without_references(text: str, wrong: Collection[int]) -> str:
    """``text`` without the references ``wrong`` (by ``seq``).

    A list such as ``[m12, m999]`` or ``[m12–m999]`` loses them, an emptied list goes; in a sentence `NO_SUCH_MESSAGE`
    stands after them.
    """

    def shortened(match: re.Match[str]) -> str:
        numbers = _NUMBER.findall(match[0])
        right = [f"m{number}" for number in numbers if int(number) not in wrong]
        if len(right) == len(numbers):
            return match[0]
        return f"{match[0].partition('[')[0]}[{', '.join(right)}]" if right else ""

    def marked(match: re.Match[str]) -> str:
        return f"{match[0]} {NO_SUCH_MESSAGE}" if int(_NUMBER.findall(match[0])[0]) in wrong else match[0]

    def ranged(match: re.Match[str]) -> str:
        if match["list"]:
            return shortened(match)
        is_wrong = any(int(number) in wrong for number in _NUMBER.findall(match[0]))
        return f"{match[0]} {NO_SUCH_MESSAGE}" if is_wrong else match[0]

    return _IN_PROSE.sub(marked, _LIST.sub(shortened, _RANGE.sub(ranged, text)))


def parse_range(text: str) -> tuple[int, int]:
    """First and last ``seq`` of a range (``m12-m15``, ``m12–m15``, ``[m12]–[m15]``) or of one reference.

    Raises:
        InvalidInput: it is neither, or it ends before it begins.
    """
    first, *last = (parse_reference(one) for one in _BETWEEN.split(text, maxsplit=1))
    if last and last[0] < first:
        raise InvalidInput(f"{text!r} ends before it begins: turn it round")
    return first, last[0] if last else first
