"""The windows of known models, and what else their providers limit.

A table of families by the beginning of the name, the longest match wins. Where sources disagree or a larger window
must be asked for, the smaller figure stands here: compacting too early costs one summary, too late an error. A local
server may run a model with less than its own window (Ollama's ``num_ctx``, llama.cpp's ``n_ctx``): give the real one
as an override.

Sources, read in November 2026: the model pages of OpenAI, Anthropic, Google, Meta, Alibaba, DeepSeek, Mistral.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from autocompact.core.budget import Budget
from autocompact.core.figures import check_whole, check_windows

Figure = TypeVar("Figure", int, float, str)

DEFAULT_WINDOW = 200_000
"""For a model that nothing is known about."""

MOST_RESERVE = 16_000
"""Tokens that are kept for a reply where the request does not say; an eighth of a window below 128,000."""

_MILLION = 1_000_000

WINDOWS: Mapping[str, int] = MappingProxyType(
    {
        # OpenAI
        "gpt-3.5": 16_385,
        "gpt-4": 8_192,
        "gpt-4-32k": 32_768,
        "gpt-4-1106": 128_000,
        "gpt-4-0125": 128_000,
        "gpt-4-turbo": 128_000,
        "gpt-4o": 128_000,
        "chatgpt-4o": 128_000,
        "gpt-4.1": 1_047_576,
        "gpt-4.5": 128_000,
        # 400,000 and 1,050,000 in all, but 128,000 of it can only be output
        "gpt-5": 272_000,
        "gpt-5-chat": 128_000,
        "gpt-5.1-chat": 128_000,
        "gpt-5.2-chat": 128_000,
        "gpt-5.4": 922_000,
        "gpt-5.4-mini": 272_000,
        "gpt-5.4-nano": 272_000,
        "gpt-5.5": 922_000,
        "gpt-oss": 131_072,
        "o1": 200_000,
        "o1-mini": 128_000,
        "o1-preview": 128_000,
        "o3": 200_000,
        "o4-mini": 200_000,
        "codex-mini": 200_000,
        # Anthropic: a million from generation 4.6 on; before that only where "[1m]" says so
        "claude": 200_000,
        "claude-2.0": 100_000,
        "claude-instant": 100_000,
        "claude-opus-4.6": _MILLION,
        "claude-opus-4.7": _MILLION,
        "claude-opus-4.8": _MILLION,
        "claude-sonnet-4.6": _MILLION,
        "claude-opus-5": _MILLION,
        "claude-sonnet-5": _MILLION,
        "claude-haiku-5.5": _MILLION,
        "claude-fable-5": _MILLION,
        "claude-mythos-5": _MILLION,
        # Google
        "gemini": 1_000_000,
        "gemini-1.0": 32_000,
        "gemini-pro": 32_000,
        "gemini-2.5": 1_048_576,
        "gemini-3": 1_000_000,
        "gemma": 8_192,
        "gemma-3": 128_000,
        "gemma3": 128_000,
        # Meta
        "llama-2": 4_096,
        "llama2": 4_096,
        "llama-3": 8_192,
        "llama3": 8_192,
        "meta-llama-3": 8_192,
        "llama-3.1": 128_000,
        "llama3.1": 128_000,
        "meta-llama-3.1": 128_000,
        "llama-3.2": 128_000,
        "llama3.2": 128_000,
        "llama-3.3": 128_000,
        "llama3.3": 128_000,
        "llama-4-scout": _MILLION,
        "llama-4-maverick": _MILLION,
        # Alibaba
        "qwen": 32_768,
        "qwen2.5": 32_768,
        "qwen2.5-turbo": _MILLION,
        "qwen3": 32_768,
        "qwen3-coder": 262_144,
        "qwen3-max": 262_144,
        "qwen3-next": 262_144,
        "qwq": 32_768,
        # DeepSeek
        "deepseek": 64_000,
        "deepseek-v3": 128_000,
        "deepseek-v3.1": 128_000,
        "deepseek-chat": 128_000,
        "deepseek-reasoner": 128_000,
        # Mistral
        "mistral": 32_768,
        "mistral-large": 128_000,
        "mistral-medium": 128_000,
        "mistral-small": 32_768,
        "mistral-nemo": 128_000,
        "mixtral": 32_768,
        "codestral": 32_768,
        "devstral": 128_000,
        "magistral": 40_000,
        "ministral": 128_000,
        # others
        "command-r": 128_000,
        "command-a": 256_000,
        "glm-4.5": 128_000,
        "glm-4.6": 200_000,
        "grok-2": 131_072,
        "grok-3": 131_072,
        "grok-4": 256_000,
        "kimi-k2": 128_000,
        "phi-3": 4_096,
        "phi-4": 16_384,
    }
)
"""Tokens of input and output together, by the beginning of a model's name."""

_VENDOR = re.compile(r"^(?:.*/)?(?:(?:[a-z-]+\.)?(?:anthropic|meta|mistral|deepseek|qwen|openai|amazon)\.)?")


def plain_name(name: str) -> str:
    """Lower case, without route and vendor (``us.anthropic.``, ``openrouter/openai/``), dots as dashes."""
    return _VENDOR.sub("", name.strip().lower()).replace(".", "-")


_TABLE = {plain_name(family): tokens for family, tokens in WINDOWS.items()}


def window_for(model: str, *, overrides: Mapping[str, int] | None = None) -> int | None:
    """The window of ``model`` in tokens, input and output together; None if it is not known.

    Args:
        model: its name as it stands in a request; a route or vendor before it does not matter.
        overrides: windows by the beginning of a name; they go before the table.
    """
    name = plain_name(model)
    if overrides is not None:
        found = longest_match({plain_name(family): tokens for family, tokens in overrides.items()}, name)
        if found is not None:
            return found
    return _MILLION if name.startswith("claude") and name.endswith("[1m]") else longest_match(_TABLE, name)


def longest_match(table: Mapping[str, Figure], name: str) -> Figure | None:
    """The figure of the longest key that ``name`` (`plain_name`) begins with; None if there is none."""
    for length in range(len(name), 0, -1):
        if name[:length] in table:
            return table[name[:length]]
    return None


def default_reserve(window: int) -> int:
    """Tokens of a window that are kept for the reply where nothing else is said."""
    return min(MOST_RESERVE, window // 8)


def budget_for(
    model: str,
    *,
    window: int | None = None,
    reserve: int | None = None,
    overrides: Mapping[str, int] | None = None,
) -> Budget:
    """Make the budget for ``model``.

    Args:
        model: its name, "" if unknown.
        window: its window in tokens, where the caller knows better than the table.
        reserve: tokens kept for the reply; None is `default_reserve`.
        overrides: windows by the beginning of a name; they go before the table.

    Raises:
        InvalidInput: the window is no positive whole number, or the reserve leaves no room.
    """
    if overrides is not None:
        check_windows(overrides)
    if window is None:
        window = window_for(model, overrides=overrides)
        window = DEFAULT_WINDOW if window is None else window
    check_whole(window, name="window", least=1)
    if reserve is not None:
        check_whole(reserve, name="reserve")
    max_bytes, max_images = _request_limits(plain_name(model), window)
    return Budget(
        window=window,
        reserve=default_reserve(window) if reserve is None else reserve,
        max_bytes=max_bytes,
        max_images=max_images,
    )


def _request_limits(name: str, window: int) -> tuple[int, int]:
    """Bytes and images that the provider takes in one request; 0 where none is documented.

    Anthropic: 32 MB, and 100 images with a window of 200,000 tokens, else 600 ("Vision"). OpenAI: 50 MB and 500
    images ("Images and vision"). Google: 20 MB inline and 3,000 images.
    """
    if name.startswith("claude"):
        return 32_000_000, 100 if window <= 200_000 else 600
    if name.startswith(("gpt-4", "gpt-5", "chatgpt", "o1", "o3", "o4")):
        return 50_000_000, 500
    if name.startswith("gemini"):
        return 20_000_000, 3_000
    return 0, 0
