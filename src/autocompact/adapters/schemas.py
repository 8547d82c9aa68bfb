"""The schemas of a framework's tools, which count in every request and change seldom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class ToolSchemas(Generic[T]):
    """Makes the schemas of tools, once for the same ones.

    Args:
        make: the schema of a tool.
    """

    def __init__(self, make: Callable[[T], object]) -> None:
        self._make = make
        # the tools themselves, and no ids of them: a tool that is made later may get the id of one that is gone
        self._last: tuple[Sequence[T], list[object]] = ((), [])

    def of(self, tools: Sequence[T]) -> list[object]:
        """The schemas of these tools."""
        known, schemas = self._last  # in one step: a framework may call from several threads
        if len(known) != len(tools) or any(one is not other for one, other in zip(known, tools, strict=True)):
            schemas = [self._make(tool) for tool in tools]
            self._last = tuple(tools), schemas
        return schemas
