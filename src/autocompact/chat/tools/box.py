"""Tools (name, schema, coroutine) and the toolbox, which checks the arguments of a call, runs it, and never raises."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Something that a tool may only do with the person's word.

    Attributes:
        tool: which one.
        text: what it would do.
        diff: what would change in a file, as a unified diff.
        subject: what a standing answer is about; "" where none is offered, since the next case may be another one.
        note: what else the person should know, "" if nothing.
    """

    tool: str
    text: str
    diff: str = ""
    subject: str = ""
    note: str = ""


AskPermission: TypeAlias = Callable[[Asked], Awaitable[bool]]
"""Asks the person for permission; True allows it."""

REFUSED = "the person said no, or nobody could be asked: do not try again, ask what they want instead"

LONGEST_NAME = 64
"""Longest tool name, in characters, that every provider accepts."""

LONGEST_RESULT = 200_000
"""Longest result, in characters, that is sent to the model; tools with a limit of their own stay far below."""

log = logging.getLogger("autocompact")


class ToolError(Exception):
    """A tool call failed; the message goes to the model, so that it can correct its call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of the agent.

    Attributes:
        name: as the model calls it.
        description: when and how to use it.
        parameters: JSON schema of the arguments.
        run: the tool itself. Raises `ToolError` or an `AutocompactError` on failure.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[Mapping[str, Any], AskPermission], Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """The outcome of a tool call."""

    text: str
    is_error: bool = False


S = TypeVar("S", bound=msgspec.Struct)


def tool(name: str, arguments: type[S], *, run: Callable[[S, AskPermission], Awaitable[str]]) -> Tool:
    """A tool whose arguments are a struct: the docstring is the description, the fields are the schema."""
    found = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")[1]
    schema = found.pop(arguments.__name__)
    members = ("type", "properties", "required", "additionalProperties")
    parameters = {key: schema[key] for key in members if key in schema} | ({"$defs": found} if found else {})

    async def converted(given: Mapping[str, Any], asking: AskPermission) -> str:
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

    Of two tools with one name the first keeps it, so no server replaces a built-in tool; later ones are renamed
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
        """All tools of the box."""
        return tuple(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def schemas(self) -> bytes | None:
        """The tools as JSON for OpenAI's chat API, for counting tokens; None if there are none."""
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

    async def call(self, call: ToolCall, *, asking: AskPermission) -> ToolOutcome:
        """Run ``call``; an error becomes the outcome."""
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
        return ToolOutcome(text=_capped(text))


def _free(name: str, taken: Container[str]) -> str:
    """``name`` if it is free, else the first free one with a number appended."""
    numbered = (f"{name[: LONGEST_NAME - len(end)]}{end}" for end in map("_{}".format, count(2)))
    return next(each for each in chain([name], numbered) if each not in taken)


def _error(text: str) -> ToolOutcome:
    return ToolOutcome(text=f"Error: {text}", is_error=True)


def _capped(text: str) -> str:
    if len(text) <= LONGEST_RESULT:
        return text
    return f"{text[:LONGEST_RESULT]}\n[cut: {len(text) - LONGEST_RESULT:,} more characters]"
