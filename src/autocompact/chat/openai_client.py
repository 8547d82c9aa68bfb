"""OpenAI's APIs as pydantic-ai speaks them, and its client without the walk that it takes over every request.

The SDK tries each type of its unions on each message and tool, to rename members that none of them has: 150 ms for 900
messages, 350 ms in the Responses API, in which nothing else of the program runs.
What stands in ``extra_body`` it sends as it is, and what comes here is plain JSON.

To be imported only where the extra ``chat`` is installed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from openai import AsyncOpenAI, Timeout
from openai.resources.chat import AsyncChat, AsyncCompletions
from openai.resources.responses import AsyncResponses
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from autocompact.chat.model_choices import Access

_CONNECTING = Timeout(None, connect=5.0)
"""Timeouts of the SDK, for connecting only: with one for answers it would retry, and wait as long again."""

Close: TypeAlias = Callable[[], Awaitable[None]]


def openai_model(found: Access, *, key: str) -> tuple[OpenAIChatModel | OpenAIResponsesModel, Close]:
    """The model, and what closes its connections."""
    name, provider = found.choice.model, found.choice.provider
    url = found.base_url if urlsplit(found.base_url).path.strip("/") else f"{found.base_url.rstrip('/')}/v1"
    client = PlainOpenAI(api_key=key, base_url=url, timeout=_CONNECTING)
    if provider == "responses":
        return OpenAIResponsesModel(name, provider=OpenAIProvider(openai_client=client)), client.close
    api = (
        OpenAIProvider(openai_client=client)
        if provider == "openai"
        else OpenAICompatibleProvider(provider, openai_client=client)
    )
    return OpenAIChatModel(name, provider=api), client.close


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
