"""The model that the environment offers. It is read when somebody asks, and never on import."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from autocompact.errors import InvalidInput
from autocompact.models.anthropic import Anthropic
from autocompact.models.openai_compatible import OpenAICompatible
from autocompact.ports import Model

DEFAULT_ANTHROPIC = "claude-haiku-4-5"
DEFAULT_OPENAI = "gpt-5-mini"
FAMILIES: Mapping[str, str] = {
    "haiku": DEFAULT_ANTHROPIC,
    "sonnet": "claude-sonnet-4-5",
    "opus": "claude-opus-4-5",
}
"""A model of each family that a person may name without a version."""
OF_OPENAI = ("gpt-", "chatgpt-", "o1", "o3", "o4")
"""How the names of OpenAI's own models begin."""
_OLLAMA_PORT = 11_434


def model_from_environment(
    name: str | None = None, *, environ: Mapping[str, str] | None = None
) -> Model | None:
    """The model called ``name`` at the first provider that the environment knows; None if there is none.

    Looked for in this order: ``OPENAI_BASE_URL`` (any compatible server; with ``OPENAI_API_KEY`` if it asks for one),
    ``ANTHROPIC_API_KEY``, ``OPENAI_API_KEY``, ``OLLAMA_HOST``. A name that begins with "claude" goes to Anthropic first
    where there is a key, as does a family's name alone ("haiku"); one of OpenAI's ("gpt-…", "o3…") never does. ``anthropic:``, ``openai:`` or ``ollama:`` before the name chooses one.

    Args:
        name: the model's name; None is ``AUTOCOMPACT_MODEL``, else a small one of the provider. Servers of one's own
            have no such model, so they need a name.
        environ: in place of the process's environment.
    """
    given = os.environ if environ is None else environ
    wanted = name or given.get("AUTOCOMPACT_MODEL") or ""
    if wanted in FAMILIES:
        # OpenAI's own address and Ollama have no model of these names.
        found = (_model(each, FAMILIES[wanted], environ=given) for each in ("anthropic", "openai-url"))
        return next((model for model in found if model is not None), None)
    provider, colon, rest = wanted.partition(":")
    known = ("anthropic", "openai", "ollama")
    if colon and provider in known:
        return _model(provider, rest, environ=given)
    order = ("openai-url", "anthropic", "openai", "ollama")
    if wanted.startswith("claude"):
        order = ("anthropic", *order)
    elif wanted.startswith(OF_OPENAI):
        order = ("openai-url", "openai", "ollama")
    return next((model for each in order if (model := _model(each, wanted, environ=given)) is not None), None)


def no_model_of_family(name: str) -> str:
    """Line for a person: no provider was found for the family ``name``, so summaries are made offline."""
    return (
        f"no provider for the models of the family {name!r}: summaries are made offline; set ANTHROPIC_API_KEY, or "
        "OPENAI_BASE_URL of a server that has them"
    )


def _model(provider: str, name: str, *, environ: Mapping[str, str]) -> Model | None:
    match provider:
        case "anthropic" if environ.get("ANTHROPIC_API_KEY"):
            return Anthropic.from_environment(name or DEFAULT_ANTHROPIC, environ=environ)
        case "openai-url" if environ.get("OPENAI_BASE_URL") and name:
            return OpenAICompatible.from_environment(name, environ=environ)
        case "openai" if environ.get("OPENAI_API_KEY") or (environ.get("OPENAI_BASE_URL") and name):
            return OpenAICompatible.from_environment(name or DEFAULT_OPENAI, environ=environ)
        case "ollama" if environ.get("OLLAMA_HOST") and name:
            return OpenAICompatible(name, base_url=ollama_url(environ["OLLAMA_HOST"]))
        case _:
            return None


def ollama_url(host: str) -> str:
    """The address behind ``OLLAMA_HOST``, which is also what the server listens on: a host, a URL, or "" for this machine.

    Raises:
        InvalidInput: it is none of them.
    """
    given = host.strip()
    try:
        parts = urlsplit(given if "://" in given else f"http://{given}")
        named_port = parts.port
    except ValueError as error:
        raise InvalidInput(f"OLLAMA_HOST is {host!r}: it must be a host, HOST:PORT, or a URL") from error
    name = parts.hostname or "127.0.0.1"
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(name, f"[{name}]" if ":" in name else name)
    port = named_port or (
        _OLLAMA_PORT if "://" not in given else {"http": 80, "https": 443}.get(parts.scheme)
    )
    return f"{parts.scheme}://{name}:{port}{parts.path.rstrip('/')}"
