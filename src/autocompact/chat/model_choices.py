"""Model choices: what the environment offers, what runs on this machine, and the offline model."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from autocompact.chat.model_lists import model_names
from autocompact.errors import InvalidInput, ModelError
from autocompact.models.anthropic import ANTHROPIC_URL, Anthropic
from autocompact.models.environment import DEFAULT_ANTHROPIC, DEFAULT_OPENAI, OF_OPENAI, ollama_url
from autocompact.models.http import Patience
from autocompact.models.openai_compatible import OPENAI_URL, OpenAICompatible
from autocompact.models.remote import RemoteModel
from autocompact.ports import Model

Provider: TypeAlias = Literal[
    "offline", "anthropic", "openai", "responses", "compatible", "ollama", "lmstudio", "llamacpp", "vllm"
]
Local: TypeAlias = Literal["ollama", "lmstudio", "llamacpp", "vllm"]

LOCAL: Mapping[Local, str] = MappingProxyType(
    {
        "ollama": "http://127.0.0.1:11434",
        "lmstudio": "http://127.0.0.1:1234",
        "llamacpp": "http://127.0.0.1:8080",
        "vllm": "http://127.0.0.1:8000",
    }
)
"""Servers on this machine by provider: the usual address of each. A variable such as ``VLLM_HOST`` names another."""

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
class Kept:
    """What the person entered instead of variables; has no repr, so that the keys are never shown.

    Attributes:
        keys: by the base URL that each belongs to, and is sent to only.
        base_url: of the server behind "compatible"; None is ``OPENAI_BASE_URL``.
    """

    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    base_url: str | None = None


NOTHING_KEPT = Kept()


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
        case (
            "anthropic" | "openai" | "responses" | "compatible" | "ollama" | "lmstudio" | "llamacpp" | "vllm"
        ) if colon and model:
            return ModelChoice(name=name, provider=provider, model=model, label=f"{model} ({provider})")
        case _:
            raise InvalidInput(
                f"{name!r} names no model: write offline, or PROVIDER:MODEL with one of anthropic, openai, "
                f"responses, compatible, {', '.join(LOCAL)}"
            )


def offered(
    environ: Mapping[str, str] | None = None, *, kept: Kept = NOTHING_KEPT
) -> tuple[ModelChoice, ...]:
    """The models that the environment and kept keys offer, the most likely first; the offline model is always last.

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
    if _key_of("anthropic", environ=given, kept=kept):
        names.append(f"anthropic:{wanted if claude else DEFAULT_ANTHROPIC}")
    if _key_of("openai", environ=given, kept=kept) and not given.get("OPENAI_BASE_URL"):
        names.append(f"openai:{DEFAULT_OPENAI if claude else wanted or DEFAULT_OPENAI}")
    if given.get("OLLAMA_HOST") and wanted and not claude:
        names.append(f"ollama:{wanted}")
    return tuple(choice_of(name) for name in dict.fromkeys((*names, OFFLINE)))


async def probed(
    environ: Mapping[str, str] | None = None, *, kept: Kept = NOTHING_KEPT
) -> tuple[ModelChoice, ...]:
    """The models of the servers on this machine (`LOCAL`), and of the server behind "compatible".

    A server that does not answer offers none.
    """
    given = os.environ if environ is None else environ
    own: list[Provider] = ["compatible"] if kept.base_url or given.get("OPENAI_BASE_URL") else []
    found = await asyncio.gather(
        *(_served(provider, environ=given, kept=kept) for provider in (*LOCAL, *own))
    )
    return tuple(choice for choices in found for choice in choices)


async def _served(provider: Provider, *, environ: Mapping[str, str], kept: Kept) -> list[ModelChoice]:
    found = access(choice_of(f"{provider}:any"), environ=environ, kept=kept)
    try:
        names = await model_names(found.base_url, key=found.api_key, seconds=PROBE_SECONDS)
    except ModelError:
        return []
    return [choice_of(f"{provider}:{name}") for name in names]


def local_url(provider: Local, environ: Mapping[str, str] | None = None) -> str:
    """Base URL of a server on this machine, ``/v1`` included."""
    given = os.environ if environ is None else environ
    if provider == "ollama":
        return f"{ollama_url(given.get('OLLAMA_HOST', ''))}/v1"
    host = given.get(f"{provider.upper()}_HOST", "").rstrip("/") or LOCAL[provider]
    return f"{host if '://' in host else f'http://{host}'}/v1"


def compatible_url(given: str) -> str:
    """Base URL of a server of OpenAI's API: ``/v1`` is added to one without a path."""
    plain = given.strip().rstrip("/")
    return plain if urlsplit(plain).path.strip("/") else f"{plain}/v1"


def hosted_url(provider: Literal["anthropic", "openai"], environ: Mapping[str, str] | None = None) -> str:
    """Base URL of a provider: its own, or the one that the environment names."""
    given = os.environ if environ is None else environ
    if provider == "anthropic":
        return given.get("ANTHROPIC_BASE_URL") or ANTHROPIC_URL
    return given.get("OPENAI_BASE_URL") or OPENAI_URL


def access(
    choice: ModelChoice, *, environ: Mapping[str, str] | None = None, kept: Kept = NOTHING_KEPT
) -> Access:
    """Address and key of ``choice``, from the environment or kept.

    Raises:
        InvalidInput: what it needs is not there.
    """
    given = os.environ if environ is None else environ
    match choice.provider:
        case "anthropic" | "openai" | "responses":
            return _keyed(choice, environ=given, kept=kept)
        case "compatible":
            url = kept.base_url or given.get("OPENAI_BASE_URL")
            if not url:
                raise InvalidInput(
                    f"{choice.name!r} needs the address of its server: set chat.baseUrl, or OPENAI_BASE_URL"
                )
            # a key of the environment goes where the environment says, and nowhere else
            key = "" if kept.base_url else given.get("OPENAI_API_KEY", "")
            url = compatible_url(url)
            return Access(choice=choice, base_url=url, api_key=key or kept.keys.get(url, ""))
        case "ollama" | "lmstudio" | "llamacpp" | "vllm":
            return Access(choice=choice, base_url=local_url(choice.provider, given), api_key="")
        case "offline":
            raise InvalidInput("the offline model has no address")


def _key_of(provider: Literal["anthropic", "openai"], *, environ: Mapping[str, str], kept: Kept) -> str:
    return environ.get(f"{provider.upper()}_API_KEY") or kept.keys.get(hosted_url(provider, environ), "")


def _keyed(choice: ModelChoice, *, environ: Mapping[str, str], kept: Kept) -> Access:
    provider: Literal["anthropic", "openai"] = "anthropic" if choice.provider == "anthropic" else "openai"
    key = _key_of(provider, environ=environ, kept=kept)
    if not key:
        raise InvalidInput(
            f"{choice.name!r} needs {provider.upper()}_API_KEY: set it in the environment, paste a key on the chat page, "
            "or choose another model"
        )
    return Access(choice=choice, base_url=hosted_url(provider, environ), api_key=key)


def summariser_of(found: Access, *, window: int | None = None, silence: float | None = None) -> Model:
    """The model as a port of the engine, for summaries and token counts.

    Args:
        found: where it is.
        window: tokens of its window; None goes by the model.
        silence: seconds until its answer begins; None is as `Patience` has it.
    """
    patience = Patience() if silence is None else Patience(first_byte=silence, between=silence)
    return model_of(found, window=window, patience=patience)


def model_of(
    found: Access,
    *,
    window: int | None = None,
    patience: Patience,
    extra: Mapping[str, object] | None = None,
) -> RemoteModel:
    """The model at an address, in the API that it speaks.

    Args:
        found: where it is.
        window: tokens of its window; None goes by the model.
        patience: when a request is given up.
        extra: further members of each request.

    Raises:
        InvalidInput: the base URL or the key cannot be used.
    """
    kind = partial(OpenAICompatible, api="chat")
    if found.choice.provider == "responses":
        kind = partial(OpenAICompatible, api="responses")
    elif found.choice.provider == "anthropic":
        kind = Anthropic
    return kind(
        found.choice.model,
        base_url=found.base_url,
        api_key=found.api_key,
        window=window,
        patience=patience,
        extra=extra,
    )
