"""Identifiers in the arguments of later calls that stood in the conversation before.

An identifier is what a model cannot guess: a path, a name of code, a hash, a version. Bare numbers are none, nor is the
vocabulary of the tools themselves (``in_progress``, ``files_with_matches``): a model that has the tools has these words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import cast

from autocompact.core.messages import Message, Reasoning, Text, ToolCall, ToolResult, decoded

PATH = r"(?:https?://|~/|\.{0,2}/)?[\w@.+-]+(?:/[\w@.+-]+)+"
CHUNK = re.compile(rf"{PATH}|--?[A-Za-z][\w-]+|[\w$][\w$.:-]*[\w$]", re.ASCII)
CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
BARE_NUMBER = re.compile(r"[\d.,:+-]+\Z")
_HASH = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\Z")
_OPTIONS = frozenset(
    "status priority output_mode subagent_type type mode verb action view level effort model kind".split()
)
"""Arguments whose values a tool prescribes: its own vocabulary."""


def mixed(text: str) -> set[str]:
    """Paths, dotted, snake, camel and hyphenated-with-digit names, hashes, URLs, versions, flags, long numbers."""
    return {chunk.strip(".:-") for chunk in CHUNK.findall(text) if _is_mixed(chunk.strip(".:-"))}


def _is_mixed(chunk: str) -> bool:
    if len(chunk) < 4:
        return False
    inner = chunk[1:-1]
    return (
        "/" in chunk
        or "_" in inner
        or "." in inner
        or chunk.isdigit()
        or bool(CAMEL.search(chunk))
        or bool(_HASH.match(chunk))
        or ("-" in inner and any(c.isdigit() for c in chunk))
    )


def names(text: str) -> set[str]:
    """Find names as `mixed` does, but take the last component of a path: absolute and relative spellings are one name."""
    return {last for chunk in mixed(text) if _is_mixed(last := chunk.rstrip("/").rsplit("/", 1)[-1])}


def strings(value: object) -> Iterable[str]:
    """Every string inside a JSON value; numbers as their decimal text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in cast("Mapping[str, object]", value).values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from strings(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def argument_text(call: ToolCall) -> str:
    """The strings in a call's arguments, one after the other."""
    arguments = decoded(call.arguments)
    return "\n".join(strings(arguments)) if arguments else call.arguments


def vocabulary(calls: Iterable[ToolCall]) -> set[str]:
    """The words that belong to the tools: their names, the names of their arguments, values that they prescribe."""
    found: set[str] = set()
    for call in calls:
        found.add(call.name)
        found.update(_prescribed(decoded(call.arguments)))
    return found


def _prescribed(value: object) -> Iterable[str]:
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[str, object]", value).items():
            yield key
            if key in _OPTIONS and isinstance(item, str):
                yield item
            yield from _prescribed(item)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _prescribed(item)


def content(message: Message) -> str:
    """All text of a message."""
    texts: list[str] = []
    for part in message.parts:
        if isinstance(part, Text | Reasoning | ToolResult):
            texts.append(part.text)
        elif isinstance(part, ToolCall):
            texts.append(argument_text(part))
    return "\n".join(texts)
