"""Anthropic's API as pydantic-ai speaks it. To be imported only where the extra ``chat`` is installed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from anthropic import AsyncAnthropic
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from autocompact.chat.finding import Access


def anthropic_model(found: Access, *, key: str) -> tuple[AnthropicModel, Callable[[], Awaitable[None]]]:
    """The model, and what closes its connections."""
    client = AsyncAnthropic(api_key=key, base_url=found.base_url.removesuffix("/").removesuffix("/v1"))
    model = AnthropicModel(found.choice.model, provider=AnthropicProvider(anthropic_client=client))
    return model, client.close
