"""A further rule for `FakeProvider`: an agent's instructions and tools stay what they were in its first request.

A provider takes a request that has lost its system prompt or half of its tools; the agent behind it is lost all the
same. So this is stricter than any real API.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from autocompact.testing.provider_responses import listed_tools
from autocompact.testing.provider_script import Json, Received, is_array, is_object, text_of

MEMORY_TOOLS = ("memory_search", "memory_expand")
"""Tools that the gateway may add to a request."""


class SameInstructions:
    """Refuses what changed since the first request with tools: one object for each agent.

    Requests that neither offer tools nor hold calls pass: agents ask a model for titles and the like in between.

    Args:
        added: names of tools that may come later.
        volatile: a system block or message that begins so may differ from request to request.
    """

    def __init__(self, *, added: Collection[str] = MEMORY_TOOLS, volatile: Collection[str] = ()) -> None:
        self._added = frozenset(added)
        self._volatile = tuple(volatile)
        self._system: list[str] | None = None
        self._tools: Mapping[str, bytes] = {}

    def __call__(self, asked: Received) -> str | None:
        """The reason why a request is refused; None if it is not."""
        tools = dict(offered(asked.body))
        if not tools:
            lost = self._tools and has_calls(asked)
            return "the tools are missing, although the messages hold tool calls" if lost else None
        system = [text for text in instructions(asked) if not text.startswith(self._volatile or ("\0",))]
        if self._system is None:
            self._system, self._tools = system, tools
            return None
        return next(self._changes(system, tools), None)

    def _changes(self, system: list[str], tools: Mapping[str, bytes]) -> Iterator[str]:
        for name in self._tools.keys() - tools.keys():
            yield f"the tool {name!r} vanished"
        for name in tools.keys() - self._tools.keys() - self._added:
            yield f"the tool {name!r} is unknown"
        for name in self._tools.keys() & tools.keys():
            if self._tools[name] != tools[name]:
                yield f"the tool {name!r} changed"
        text, first = "\n".join(system), "\n".join(self._system or ())
        if not text.startswith(first):
            yield "the system prompt is missing" if not text else "the system prompt changed"


def offered(body: Json) -> Iterator[tuple[str, bytes]]:
    """Name and definition of each tool that the request offers, without its cache mark."""
    for tool, namespace in listed_tools(body):
        function = tool.get("function")
        name = (function if is_object(function) else tool).get("name") or tool.get("type")
        plain = {key: value for key, value in tool.items() if key != "cache_control"}
        yield f"{namespace}.{name}".removeprefix("."), msgspec.json.encode(plain, order="sorted")


def instructions(asked: Received) -> list[str]:
    """System prompt: the blocks of ``system``, ``instructions``, and the system and developer messages at the beginning."""
    found: list[str] = []
    for member in ("system", "instructions"):
        given = asked.body.get(member)
        texts = [given] if isinstance(given, str) else [text_of([block]) for block in _listed(given)]
        found += filter(None, texts)
    for message in asked.messages:
        if message.get("role") in ("system", "developer"):
            found.append(text_of(message.get("content")))
        elif message.get("type") != "additional_tools":
            break
    return found


def has_calls(asked: Received) -> bool:
    """True if the history holds a tool call."""
    return any(
        message.get("tool_calls")
        or str(message.get("type", "")).endswith("_call")
        or any(block.get("type") == "tool_use" for block in _listed(message.get("content")))
        for message in asked.messages
    )


def _listed(value: Any) -> list[Json]:
    return [each for each in value if is_object(each)] if is_array(value) else []
