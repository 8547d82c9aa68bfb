"""Remote responder: one streamed request at a time, through pydantic-ai's model layer.

To be imported only where the extra ``chat`` is installed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Literal, TypeAlias, TypeVar
from urllib.parse import urlsplit

import msgspec
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import AgentRunError, ModelHTTPError
from pydantic_ai.messages import (
    InstructionPart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from autocompact.chat.model_choices import Access
from autocompact.chat.responder import Delta, ModelRequest, Piece, Reply
from autocompact.chat.tools import Tool
from autocompact.chat.translation import from_pydantic, system_text, to_pydantic
from autocompact.core.messages import Dialect
from autocompact.errors import ModelError, ModelUnavailable
from autocompact.models.failures import Secret, failure

AnyModel: TypeAlias = Model[Any]
_DIALECTS: Mapping[str, Dialect] = {"anthropic": "anthropic", "responses": "openai_responses"}
_STOPPED: Mapping[str, Literal["length", "refused"]] = {"length": "length", "content_filter": "refused"}
T = TypeVar("T")

_NO_KEY = "none"
"""Key for servers that ask for none: the SDKs demand one."""


class RemoteResponder:
    """Implements `autocompact.chat.responder.Responder` with a provider's API.

    Args:
        found: where the model is.
        extra: further members of each request.
        silence: seconds without data after which a request is given up, retries of the SDK included.
    """

    def __init__(self, found: Access, *, extra: Mapping[str, object], silence: float) -> None:
        self._name = found.choice.model
        self._dialect: Dialect = _DIALECTS.get(found.choice.provider, "openai_chat")
        self._model, self._close = _model(found)
        self._secret = Secret(found.api_key)
        self._where = urlsplit(found.base_url).hostname or found.base_url
        self._extra = dict(extra)
        self._silence = silence

    async def answer(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """See `Responder.answer`."""
        system, rest = system_text(request.system, request.messages)
        messages = to_pydantic(rest, dialect=self._dialect, model=self._name, provider=self._model.system)
        parameters = ModelRequestParameters(
            function_tools=[_definition(tool) for tool in request.toolbox.tools],
            instruction_parts=[InstructionPart(system)] if system else None,
        )
        settings = _settings(request, self._dialect)
        if self._extra:
            settings["extra_body"] = self._extra
        requesting = model_request_stream(
            self._model, messages, model_settings=settings, model_request_parameters=parameters
        )
        try:
            async with AsyncExitStack() as stack:
                stream = await self._patiently(stack.enter_async_context(requesting))
                events = aiter(stream)
                while (event := await self._patiently(anext(events, None))) is not None:
                    if (delta := _delta(event)) is not None:
                        yield delta
                response = stream.get()
        except AgentRunError as error:
            raise self._error(error) from error
        if response.state != "complete":
            raise ModelUnavailable(f"the answer of {self._name} broke off: try again")
        message = from_pydantic(response, dialect=self._dialect, model=self._name)
        yield Reply(message=message, stopped=_STOPPED.get(response.finish_reason or "stop", ""))

    async def _patiently(self, waiting: Awaitable[T]) -> T:
        """The result of ``waiting``.

        Raises:
            ModelUnavailable: it did not come in time.
        """
        limit = asyncio.timeout(self._silence)
        try:
            async with limit:
                return await waiting
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise ModelUnavailable(
                f"{self._name!r} at {self._where} said nothing for {self._silence:g} seconds: try again, or wait longer "
                "(models.silentSeconds of the settings)"
            ) from error

    def _error(self, error: AgentRunError) -> ModelError:
        who = f"{self._name!r} at {self._where}"
        if isinstance(error, ModelHTTPError):
            return failure(
                error.status_code,
                _body(error.body),
                who=who,
                wait=error.retry_after,
                clean=self._secret.hidden_in,
            ).error
        return ModelUnavailable(f"{who} did not answer: {self._secret.hidden_in(str(error))}")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._close()


def _model(found: Access) -> tuple[AnyModel, Callable[[], Awaitable[None]]]:
    """The model, and the function that closes it. Only the SDK that it needs is imported: each takes a second."""
    key = found.api_key or _NO_KEY
    if found.choice.provider == "anthropic":
        from autocompact.chat.anthropic_client import anthropic_model

        return anthropic_model(found, key=key)
    from autocompact.chat.openai_client import openai_model

    return openai_model(found, key=key)


def _settings(request: ModelRequest, dialect: Dialect) -> ModelSettings:
    if dialect != "openai_responses":
        return ModelSettings(max_tokens=request.max_tokens, cache=True)
    from pydantic_ai.models.openai import OpenAIResponsesModelSettings

    # nothing stays with the provider: reasoning travels sealed in the request
    return OpenAIResponsesModelSettings(max_tokens=request.max_tokens, openai_store=False)


def _definition(tool: Tool) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name,
        description=tool.description,
        parameters_json_schema=dict(tool.parameters),
        strict=False,
    )


def _delta(event: ModelResponseStreamEvent) -> Delta | None:
    match event:
        case PartStartEvent(part=TextPart(content=text)) if text:
            return Delta(kind="text", text=text)
        case PartStartEvent(part=ThinkingPart(content=text)) if text:
            return Delta(kind="reasoning", text=text)
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
            return Delta(kind="text", text=text)
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text))) if text:
            return Delta(kind="reasoning", text=text)
        case _:
            return None


def _body(body: object) -> bytes:
    """The body of an error response, as far as the SDK keeps it: OpenAI's drops what is around ``error``."""
    try:
        encoded = msgspec.json.encode(body)
    except (TypeError, ValueError):
        return str(body).encode()
    return encoded if b'"error"' in encoded else b'{"error":' + encoded + b"}"
