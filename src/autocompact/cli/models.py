"""The model that the options of a command name."""

from __future__ import annotations

import os
from typing import Unpack

import click

from autocompact.cli.model_options import PROVIDERS, Asked
from autocompact.errors import InvalidInput
from autocompact.ports import Model
from autocompact.ui.terminal.output import tell

_OFFLINE = "offline"
_TOLD = "autocompact.cli.models"
"""In the context of the command: the family of which it was said that nobody offers it."""


def chosen_model(**asked: Unpack[Asked]) -> Model | None:
    """The model that the options name; None if they name none, ``offline``, or a family that no provider offers.

    Raises:
        InvalidInput: no provider is known for it, the variable of the key is not set, or options do not go together.
    """
    name, base_url, variable = asked["model"], asked["base_url"], asked["api_key_env"]
    if name in (None, _OFFLINE):
        if base_url or variable:
            raise InvalidInput("--base-url and --api-key-env say where a model is: name it with --model")
        return None
    if not name.strip():
        raise InvalidInput("--model is empty: give a model's name")
    key = _key(variable)
    return _at(base_url, name, key=key) if base_url else _known(name, key=key)


def _key(variable: str | None) -> str | None:
    """The key; never part of a message."""
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise InvalidInput(f"--api-key-env: the environment variable {variable!r} is not set, or empty")
    return key


def _at(base_url: str, name: str, *, key: str | None) -> Model:
    from autocompact.models.anthropic import Anthropic
    from autocompact.models.openai_compatible import OpenAICompatible

    if name.startswith("anthropic:"):
        return Anthropic(name.removeprefix("anthropic:"), base_url=base_url, api_key=key)
    return OpenAICompatible(name.removeprefix("openai:"), base_url=base_url, api_key=key)


def _known(name: str, *, key: str | None) -> Model | None:
    from autocompact.models.environment import FAMILIES, model_from_environment, no_model_of_family

    environ = dict(os.environ)
    if key is not None:
        claude = name.startswith(("claude", "anthropic:")) or name in FAMILIES
        environ["ANTHROPIC_API_KEY" if claude else "OPENAI_API_KEY"] = key
    model = model_from_environment(name, environ=environ)
    if model is None and name in FAMILIES:
        told = click.get_current_context().meta
        if told.get(_TOLD) != name:
            tell(no_model_of_family(name))
        told[_TOLD] = name
    elif model is None:
        raise InvalidInput(
            f"no provider is known for the model {name!r}: set {PROVIDERS}, or give --base-url"
        )
    return model
