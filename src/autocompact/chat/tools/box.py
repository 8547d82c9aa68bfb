"""A tool is a name, a schema and a coroutine; the box finds it by its name, checks the arguments, and never raises."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any, TypeAlias, TypeVar

import msgspec

from autocompact.core.messages import ToolCall
from autocompact.errors import AutocompactError

Asking: TypeAlias = Callable[[str, str], Awaitable[bool]]
"""Asks the person: the tool, what it would do; whether it may."""

LONGEST_NAME = 64
"""Characters of a tool's name that every provider takes."""

LONGEST_RESULT = 200_000
"""Characters of a result that go to the model; what a tool caps itself is far smaller."""

log = logging.getLogger("autocompact")


class ToolError(Exception):
    """The tool could not do it: the message goes to the model, so that it can mend its call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Something that the agent can do.

    Attributes:
        name: as the model calls it.
        description: when and how to use it.
        parameters: JSON schema of the arguments.
        run: does it. Raises `ToolError`, or an `AutocompactError`, where it cannot.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[Mapping[str, Any], Asking], Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a call gave."""

    text: str
    is_error: bool = False


S = TypeVar("S", bound=msgspec.Struct)


def tool(name: str, arguments: type[S], *, run: Callable[[S, Asking], Awaitable[str]]) -> Tool:
    """A tool whose arguments are a struct: its docstring is the description, its fields make the schema."""
    found = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")[1]
    schema = found.pop(arguments.__name__)
    members = ("type", "properties", "required", "additionalProperties")
    parameters = {key: schema[key] for key in members if key in schema} | ({"$defs": found} if found else {})

    async def converted(given: Mapping[str, Any], asking: Asking) -> str:
        try:
            asked = msgspec.convert(given, arguments, strict=False)
        except msgspec.ValidationError as error:
            raise ToolError(f"{name} cannot be called like that: {error}") from error
        return await run(asked, asking)

    return Tool(
        name=name,
        description=inspect.cleandoc(arguments.__doc__ or ""),
        parameters=parameters,
        run=converted,
    )


class Toolbox:
    """The tools of one conversation, in a fixed order: the provider's prompt cache begins with them.

    Of two tools of one name the first keeps it, so no server takes the place of a tool of ours; a later one is called
    ``NAME_2`` and so on.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for each in tools:
            name = _free(each.name, self._tools)
            self._tools[name] = replace(each, name=name)
        self._schemas: bytes | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All of them."""
        return tuple(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def schemas(self) -> bytes | None:
        """What a request of OpenAI's chat API carries of them, for counting; None if there are none."""
        if self._schemas is None and self._tools:
            listed = [
                {
                    "type": "function",
                    "function": {
                        "name": each.name,
                        "description": each.description,
                        "parameters": each.parameters,
                    },
                }
                for each in self.tools
            ]
            self._schemas = msgspec.json.encode(listed)
        return self._schemas

    async def call(self, call: ToolCall, *, asking: Asking) -> Answered:
        """Carry ``call`` out; what is wrong with it is the answer."""
        found = self._tools.get(call.name)
        if found is None:
            return _error(f"there is no tool {call.name!r}. There are: {', '.join(self._tools) or 'none'}.")
        try:
            given = msgspec.json.decode(call.arguments or "{}", type=dict[str, Any])
        except msgspec.DecodeError as error:
            return _error(f"the arguments of {call.name} are no JSON object: {error}")
        try:
            text = await found.run(given, asking)
        except (ToolError, AutocompactError) as error:
            return _error(str(error))
        except Exception as error:
            log.exception("a tool failed", extra={"tool": call.name})
            return _error(f"{call.name} failed: {type(error).__name__}")
        return Answered(text=_capped(text))


def _free(name: str, taken: Container[str]) -> str:
    """A name that is not taken: this one, or the first with a number behind it."""
    numbered = (f"{name[: LONGEST_NAME - len(end)]}{end}" for end in map("_{}".format, count(2)))
    return next(each for each in chain([name], numbered) if each not in taken)


def _error(text: str) -> Answered:
    return Answered(text=f"Error: {text}", is_error=True)


def _capped(text: str) -> str:
    if len(text) <= LONGEST_RESULT:
        return text
    return f"{text[:LONGEST_RESULT]}\n[cut: {len(text) - LONGEST_RESULT:,} more characters]"
