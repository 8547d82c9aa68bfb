"""OpenAI's client without the walk that it takes over every request.

The SDK tries each type of its unions on each message and tool, to rename members that none of them has: 150 ms for 900
messages, 350 ms in the Responses API, in which nothing else of the program runs.
What stands in ``extra_body`` it sends as it is, and what comes here is plain JSON.

To be imported only where the extra ``chat`` is installed.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from openai import AsyncOpenAI
from openai.resources.chat import AsyncChat, AsyncCompletions
from openai.resources.responses import AsyncResponses


class PlainOpenAI(AsyncOpenAI):
    """`openai.AsyncOpenAI`, for requests whose messages are plain JSON."""

    @cached_property
    def chat(self) -> AsyncChat:  # pyright: ignore[reportIncompatibleMethodOverride] - the SDK's cached_property is the same, but typed as property
        """Chat Completions."""
        return _Chat(self)

    @cached_property
    def responses(self) -> AsyncResponses:  # pyright: ignore[reportIncompatibleMethodOverride] - the SDK's cached_property is the same, but typed as property
        """Responses."""
        return _Responses(self)


class _Chat(AsyncChat):
    @cached_property
    def completions(self) -> AsyncCompletions:  # pyright: ignore[reportIncompatibleMethodOverride] - the SDK's cached_property is the same, but typed as property
        return _Completions(self._client)


class _Completions(AsyncCompletions):
    async def create(self, **members: Any) -> Any:
        create: Any = super().create
        return await create(**_as_it_is(members, "messages", "tools"))


class _Responses(AsyncResponses):
    async def create(self, **members: Any) -> Any:
        create: Any = super().create
        return await create(**_as_it_is(members, "input", "tools"))


def _as_it_is(members: dict[str, Any], *names: str) -> dict[str, Any]:
    lists = {name: members[name] for name in names if isinstance(members.get(name), list)}
    empty: dict[str, Any] = dict.fromkeys(lists, ())
    return {**members, **empty, "extra_body": {**lists, **(members.get("extra_body") or {})}}
