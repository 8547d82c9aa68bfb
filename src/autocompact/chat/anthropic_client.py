"""Anthropic's API as pydantic-ai speaks it. To be imported only where the extra ``chat`` is installed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from anthropic import AsyncAnthropic, Timeout
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from autocompact.chat.model_choices import Access

_CONNECTING = Timeout(None, connect=5.0)
"""Timeouts of the SDK, for connecting only: with one for answers it would retry, and wait as long again."""


def anthropic_model(found: Access, *, key: str) -> tuple[AnthropicModel, Callable[[], Awaitable[None]]]:
    """The model, and what closes its connections."""
    base_url = found.base_url.removesuffix("/").removesuffix("/v1")
    client = AsyncAnthropic(api_key=key, base_url=base_url, timeout=_CONNECTING)
    model = AnthropicModel(found.choice.model, provider=AnthropicProvider(anthropic_client=client))
    return model, client.close
