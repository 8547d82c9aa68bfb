"""Models behind OpenAI's API, and behind the many servers that speak it too."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal, Self, TypeAlias
from urllib.parse import urlsplit

from msgspec import Raw

from autocompact.core.messages import Dialect
from autocompact.models.failures import Secret
from autocompact.models.http import Patience, Retries, Transport, checked_url
from autocompact.models.remote import Call, RemoteModel
from autocompact.wire import export_messages, json

OPENAI_URL = "https://api.openai.com/v1"

ApiName: TypeAlias = Literal["chat", "responses"]


class OpenAICompatible(RemoteModel):
    """A model of OpenAI, or of any server that speaks its API (Ollama, vLLM, llama.cpp, LM Studio, OpenRouter…).

    Args:
        name: the model's name, as the server knows it.
        base_url: a bare host gets ``/v1``; an address with a path stays as it is (``…/v1``, ``…/v1beta/openai``).
        api_key: None or "" sends none.
        window: tokens that the model takes, its answer included; by default as far as the name is known.
        api: "chat" for Chat Completions; "responses" keeps the prompt cache of conversations that are held in the
            Responses API.
        headers: further ones, e.g. ``{"api-key": …}``; they are not shown anywhere.
        extra: further members of each request, e.g. ``{"reasoning_effort": "low"}``; they win over ours.
        patience: when to give up.
        retries: when to try again.

    Raises:
        InvalidInput: the base URL or the key cannot be used.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str = OPENAI_URL,
        api_key: str | None = None,
        window: int | None = None,
        api: ApiName = "chat",
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, object] | None = None,
        patience: Patience | None = None,
        retries: Retries | None = None,
    ) -> None:
        url = checked_url(base_url)
        transport = Transport(
            url if urlsplit(url).path else f"{url}/v1",
            model=name,
            secret=Secret(api_key),
            header=("Authorization", "Bearer {}"),
            headers=headers,
            patience=patience,
            retries=retries,
        )
        # who hosts the model says which of the two caps it takes, see `_Chat`
        own = (urlsplit(url).hostname or "").endswith(("openai.com", "azure.com"))
        spoken = _Responses() if api == "responses" else _Chat(own=own)
        super().__init__(name, api=spoken, transport=transport, window=window, extra=extra)

    @classmethod
    def from_environment(
        cls, name: str, *, window: int | None = None, environ: Mapping[str, str] | None = None
    ) -> Self:
        """The model with ``OPENAI_API_KEY`` and, where it is set, ``OPENAI_BASE_URL``, as they are now.

        Args:
            name: the model's name.
            window: tokens that it takes.
            environ: in place of the process's environment.
        """
        given = os.environ if environ is None else environ
        return cls(
            name,
            base_url=given.get("OPENAI_BASE_URL") or OPENAI_URL,
            api_key=given.get("OPENAI_API_KEY"),
            window=window,
        )


class _Chat:
    """Chat Completions."""

    dialect: Dialect = "openai_chat"
    path = "/chat/completions"
    count_path = "/responses/input_tokens"
    free_choice = True

    def __init__(self, *, own: bool) -> None:
        # OpenAI's newer models refuse max_tokens; some servers ignore max_completion_tokens without a word.
        old_last = ("max_completion_tokens", "max_tokens")
        self.limits: tuple[str, ...] = old_last if own else old_last[::-1]

    def request(self, call: Call) -> dict[str, object]:
        """The members of the request, but for the cap."""
        exported = export_messages(call.messages, dialect=self.dialect)
        members: dict[str, object] = {
            "model": call.model,
            "messages": json.fragment(json.array(exported.messages)),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        return members | _tools(call)

    def counting(self, call: Call) -> dict[str, object]:
        """The members of a request that is only to be counted: the endpoint speaks Responses."""
        tools = None if call.tools is None else json.array(map(_flat, json.items(call.tools, path="tools")))
        return _input(call) | ({} if tools is None else {"tools": json.fragment(tools)})


class _Responses:
    """Responses."""

    dialect: Dialect = "openai_responses"
    path = "/responses"
    count_path = "/responses/input_tokens"
    limits: tuple[str, ...] = ("max_output_tokens",)
    free_choice = True

    def request(self, call: Call) -> dict[str, object]:
        """The members of the request, but for the cap."""
        return _input(call) | {"stream": True, "store": False} | _tools(call)

    def counting(self, call: Call) -> dict[str, object]:
        """The members of a request that is only to be counted."""
        return _input(call) | ({} if call.tools is None else {"tools": json.fragment(call.tools)})


def _input(call: Call) -> dict[str, object]:
    exported = export_messages(call.messages, dialect="openai_responses")
    members: dict[str, object] = {"model": call.model, "input": json.fragment(json.array(exported.messages))}
    if exported.system is not None:
        members["instructions"] = json.fragment(exported.system)
    return members


def _tools(call: Call) -> dict[str, object]:
    if call.tools is None:
        return {}
    choice = {"tool_choice": "none"} if call.no_calls else {}
    return {"tools": json.fragment(call.tools), **choice}


def _flat(tool: bytes | Raw) -> bytes:
    """A tool of Chat Completions as one of Responses: the function's members stand beside ``type``."""
    members = json.members(tool, path="tools")
    function = members.pop("function", None)
    return json.encode({**members, **(json.members(function, path="tools") if function else {})})
