"""The options that name a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict, TypeVar

import click

F = TypeVar("F", bound=Callable[..., None])

PROVIDERS = "OPENAI_BASE_URL, ANTHROPIC_API_KEY, OPENAI_API_KEY or OLLAMA_HOST"
"""The variables by which a model's provider is found."""


class Asked(TypedDict):
    """The options."""

    model: str | None
    base_url: str | None
    api_key_env: str | None


def model_options(command: F) -> F:
    """``--model``, ``--base-url`` and ``--api-key-env``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option(
        "--model",
        metavar="NAME",
        help=f"Let this model write the summaries; what is summarised is sent to it. Found by {PROVIDERS} unless "
        "--base-url is given; anthropic:NAME, openai:NAME and ollama:NAME choose the provider, offline asks none.  [default: compaction.summaryModel of the settings, else offline]",
    ),
    click.option(
        "--base-url",
        metavar="URL",
        help="Address of a server with OpenAI's API, or with Anthropic's for anthropic:NAME. Keys of the environment are not sent to it.",
    ),
    click.option(
        "--api-key-env", metavar="VAR", help="Environment variable that holds the key for the model."
    ),
)
