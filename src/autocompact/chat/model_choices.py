"""Model choices: what the environment offers, what runs on this machine, and the offline model."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args
from urllib.parse import urlsplit

import msgspec

from autocompact.errors import InvalidInput
from autocompact.models.anthropic import ANTHROPIC_URL, Anthropic
from autocompact.models.environment import DEFAULT_ANTHROPIC, DEFAULT_OPENAI, OF_OPENAI, ollama_url
from autocompact.models.http import Patience
from autocompact.models.openai_compatible import OPENAI_URL, OpenAICompatible
from autocompact.ports import Model

Provider: TypeAlias = Literal[
    "offline", "anthropic", "openai", "responses", "compatible", "ollama", "llamacpp"
]

LLAMACPP_URL = "http://127.0.0.1:8080"
OFFLINE = "offline"
PROBE_SECONDS = 0.5
"""Seconds that a server on this machine has to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """A model that can be chosen.

    Attributes:
        name: what `ChatSession.choose_model` takes: ``offline``, or the provider, a colon and the model.
        provider: whose API it speaks. "openai" is Chat Completions, "responses" OpenAI's Responses, "compatible" any
            server behind ``OPENAI_BASE_URL``.
        model: as the provider knows it.
        label: for people.
    """

    name: str
    provider: Provider
    model: str
    label: str

    @property
    def is_offline(self) -> bool:
        """True for the offline model, which only quotes the conversation and the memory files."""
        return self.provider == "offline"


OFFLINE_CHOICE = ModelChoice(
    name=OFFLINE, provider="offline", model=OFFLINE, label="Offline (no model: answers from what is stored)"
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Access:
    """Address and key of a model; has no repr, so that the key is never shown."""

    choice: ModelChoice
    base_url: str
    api_key: str


def choice_of(name: str) -> ModelChoice:
    """Parse the name of a model; models of Anthropic and OpenAI need no provider.

    Raises:
        InvalidInput: it names no known provider.
    """
    if name == OFFLINE:
        return OFFLINE_CHOICE
    if name.startswith("claude-"):
        name = f"anthropic:{name}"
    elif name.startswith(OF_OPENAI):
        name = f"openai:{name}"
    provider, colon, model = name.partition(":")
    match provider:
        case "anthropic" | "openai" | "responses" | "compatible" | "ollama" | "llamacpp" if colon and model:
            return ModelChoice(name=name, provider=provider, model=model, label=f"{model} ({provider})")
        case _:
            raise InvalidInput(
                f"{name!r} names no model: write offline, or PROVIDER:MODEL with one of anthropic, openai, "
                "responses, compatible, ollama, llamacpp"
            )


def offered(environ: Mapping[str, str] | None = None) -> tuple[ModelChoice, ...]:
    """The models that the environment offers, the most likely first; the offline model is always last.

    ``AUTOCOMPACT_MODEL`` names the model; without it a small one of the provider is offered.
    """
    given = os.environ if environ is None else environ
    wanted = given.get("AUTOCOMPACT_MODEL", "")
    names: list[str] = []
    if wanted == OFFLINE or wanted.partition(":")[0] in get_args(Provider):
        names, wanted = [wanted], ""
    claude = wanted.startswith("claude")
    if given.get("OPENAI_BASE_URL") and wanted and not (claude and given.get("ANTHROPIC_API_KEY")):
        names.append(f"compatible:{wanted}")
    if given.get("ANTHROPIC_API_KEY"):
        names.append(f"anthropic:{wanted if claude else DEFAULT_ANTHROPIC}")
    if given.get("OPENAI_API_KEY") and not given.get("OPENAI_BASE_URL"):
        names.append(f"openai:{DEFAULT_OPENAI if claude else wanted or DEFAULT_OPENAI}")
    if given.get("OLLAMA_HOST") and wanted and not claude:
        names.append(f"ollama:{wanted}")
    return tuple(choice_of(name) for name in dict.fromkeys((*names, OFFLINE)))


class _Listed(msgspec.Struct):
    id: str


class _List(msgspec.Struct):
    data: list[_Listed]


async def probed(environ: Mapping[str, str] | None = None) -> tuple[ModelChoice, ...]:
    """The models of an Ollama (port 11434) and a llama.cpp (port 8080) on this machine, and of ``OPENAI_BASE_URL``.

    A server that does not answer offers none.
    """
    given = os.environ if environ is None else environ
    asked: list[Provider] = ["ollama", "llamacpp", *(["compatible"] if given.get("OPENAI_BASE_URL") else [])]
    found = await asyncio.gather(*(_served(provider, given) for provider in asked))
    return tuple(choice for choices in found for choice in choices)


async def _served(provider: Provider, environ: Mapping[str, str]) -> list[ModelChoice]:
    import aiohttp

    found = access(choice_of(f"{provider}:any"), environ=environ)
    headers = {"Authorization": f"Bearer {found.api_key}"} if found.api_key else {}
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PROBE_SECONDS)) as client,
            client.get(f"{found.base_url}/models", headers=headers, allow_redirects=False) as response,
        ):
            listed = msgspec.json.decode(await response.read(), type=_List)
    except (aiohttp.ClientError, TimeoutError, ValueError, OSError):
        return []
    return [choice_of(f"{provider}:{model.id}") for model in listed.data if model.id]


def _local_url(provider: Literal["ollama", "llamacpp"], environ: Mapping[str, str]) -> str:
    if provider == "ollama":
        return f"{ollama_url(environ.get('OLLAMA_HOST', ''))}/v1"
    given = environ.get("LLAMACPP_HOST", "").rstrip("/") or LLAMACPP_URL
    return f"{given if '://' in given else f'http://{given}'}/v1"


def access(choice: ModelChoice, *, environ: Mapping[str, str] | None = None) -> Access:
    """Address and key of ``choice``, from the environment.

    Raises:
        InvalidInput: the environment lacks what it needs.
    """
    given = os.environ if environ is None else environ
    match choice.provider:
        case "anthropic":
            return _keyed(
                choice, given, key="ANTHROPIC_API_KEY", url=given.get("ANTHROPIC_BASE_URL") or ANTHROPIC_URL
            )
        case "openai" | "responses":
            return _keyed(choice, given, key="OPENAI_API_KEY", url=given.get("OPENAI_BASE_URL") or OPENAI_URL)
        case "compatible":
            url = given.get("OPENAI_BASE_URL")
            if not url:
                raise InvalidInput(f"{choice.name!r} needs OPENAI_BASE_URL: set it to the server's address")
            url = url.rstrip("/") if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}/v1"
            return Access(choice=choice, base_url=url, api_key=given.get("OPENAI_API_KEY", ""))
        case "ollama" | "llamacpp":
            return Access(choice=choice, base_url=_local_url(choice.provider, given), api_key="")
        case "offline":
            raise InvalidInput("the offline model has no address")


def _keyed(choice: ModelChoice, environ: Mapping[str, str], *, key: str, url: str) -> Access:
    value = environ.get(key)
    if not value:
        raise InvalidInput(f"{choice.name!r} needs {key}: set it in the environment, or choose another model")
    return Access(choice=choice, base_url=url, api_key=value)


def summariser_of(found: Access, *, window: int | None = None, silence: float | None = None) -> Model:
    """The model as a port of the engine, for summaries and token counts.

    Args:
        found: where it is.
        window: tokens of its window; None goes by the model.
        silence: seconds until its answer begins; None is as `Patience` has it.
    """
    patience = Patience() if silence is None else Patience(first_byte=silence, between=silence)
    match found.choice.provider:
        case "anthropic":
            return Anthropic(
                found.choice.model,
                base_url=found.base_url,
                api_key=found.api_key,
                window=window,
                patience=patience,
            )
        case "responses":
            return OpenAICompatible(
                found.choice.model,
                base_url=found.base_url,
                api_key=found.api_key,
                window=window,
                patience=patience,
                api="responses",
            )
        case _:
            return OpenAICompatible(
                found.choice.model,
                base_url=found.base_url,
                api_key=found.api_key,
                window=window,
                patience=patience,
            )
