"""Pydantic AI: a capability for an agent.

    agent = Agent(model, capabilities=[AutocompactCapability(compactor)])
    result = await agent.run("Go on.", message_history=history, conversation_id="trip")

Each conversation id is one conversation. The run's history keeps all messages; what the model is sent is the conversation's
context. It is a capability and no history processor, since what such a one returns takes the place of the history. Needs
the extra ``pydantic-ai``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from autocompact.runtime.extras import install_command

try:
    from pydantic_ai import RetryModelRequest, RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.capabilities.abstract import WrapRunHandler
    from pydantic_ai.messages import (
        BinaryContent,
        ImageUrl,
        ModelMessage,
        ModelMessagesTypeAdapter,
        ModelRequest,
        ModelRequestPart,
        ModelResponse,
        ModelResponsePart,
        SystemPromptPart,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserContent,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.tools import ToolDefinition
except ImportError as error:
    raise ImportError(
        f"the adapter for Pydantic AI needs {error.name}: {install_command('pydantic-ai')}", name=error.name
    ) from error

from autocompact.adapters.conversations import Conversations, has_shrunk
from autocompact.adapters.schemas import ToolSchemas
from autocompact.core.messages import Dialect, Usage
from autocompact.engine import Compactor, Conversation
from autocompact.errors import InvalidInput
from autocompact.ports import Item


class AutocompactCapability(AbstractCapability[Any]):
    """Keeps the conversations of an agent within the window, and all of their messages in a store.

    Before each model call the run's messages are taken over into the log, and the model is sent the context that comes of it:
    all of them, or a summary and the recent ones. If the provider says that the request is too large, it is compacted and
    sent once more. The run's own history is read and never changed.

    Put it last in ``capabilities``, so that it sees what the others made of the messages.

    Args:
        compactor: store, window and mode.
        conversation: the conversation's name; None is the ``conversation_id`` of the run.
        namespace: of the conversations.
    """

    def __init__(
        self, compactor: Compactor, *, conversation: str | None = None, namespace: str = "default"
    ) -> None:
        self._conversations = Conversations(compactor, namespace=namespace)
        self._conversation = conversation
        self._schemas = ToolSchemas(_schema)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Send the conversation's context in place of all messages."""
        conversation = await self._opened(ctx)
        parameters = request_context.model_request_parameters
        system = "\n\n".join(part.content for part in parameters.instruction_parts or ())
        messages = await conversation.follow(
            request_context.messages,
            dialect=MESSAGES,
            system=system,
            tools=self._schemas.of(parameters.function_tools) or None,
        )
        return replace(request_context, messages=messages)

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Take over what the provider reported."""
        del request_context
        await (await self._opened(ctx)).heard(response)
        return response

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Compact where the provider says that the request is too large, and ask once more."""
        if request_context.attempt == 1 and await has_shrunk(await self._opened(ctx), error):
            raise RetryModelRequest from error
        raise error

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Take over the last answer, which no model call follows."""
        result = await handler()
        following = (await self._opened(ctx)).internals.following
        await following.record(result.all_messages(), dialect=MESSAGES)
        return result

    async def _opened(self, ctx: RunContext[Any]) -> Conversation:
        name = self._conversation or ctx.conversation_id
        if not name:
            raise InvalidInput(
                'there is no conversation id: give one, agent.run(…, conversation_id="trip"), or name the conversation: '
                'AutocompactCapability(compactor, conversation="trip")'
            )
        return await self._conversations.get(name)


def _schema(tool: ToolDefinition) -> object:
    function = {
        "name": tool.name,
        "description": tool.description or "",
        "parameters": tool.parameters_json_schema,
    }
    return {"type": "function", "function": function}


class Messages:
    """Pydantic AI's messages as those of OpenAI's Chat Completions (`autocompact.ports.Bridge`).

    A request is several items: one for each result, prompt and system prompt in it.
    """

    name = "pydantic_ai"
    dialect: Dialect = "openai_chat"
    types: tuple[type, ...] = (ModelRequest, ModelResponse)

    def write(self, message: ModelMessage) -> list[Item]:
        """The items that say the message."""
        if isinstance(message, ModelResponse):
            return [_answer(message)]
        return [_asked(part) for part in message.parts] or [{"role": "user", "content": ""}]

    def read(self, items: Sequence[Item], *, names: Mapping[str, str]) -> list[ModelMessage]:
        """The messages that the items say: all items up to an answer are one request."""
        messages: list[ModelMessage] = []
        parts: list[ModelRequestPart] = []
        for item in items:
            if item["role"] != "assistant":
                parts.append(_part(item, names))
                continue
            if parts:
                messages.append(ModelRequest(parts=parts))
            parts = []
            messages.append(ModelResponse(parts=_said(item)))
        return [*messages, ModelRequest(parts=parts)] if parts else messages

    def dump(self, message: ModelMessage) -> Any:
        """The message as plain values."""
        return ModelMessagesTypeAdapter.dump_python([message], mode="json")[0]

    def load(self, value: Any) -> ModelMessage:
        """The message that `dump` wrote."""
        return ModelMessagesTypeAdapter.validate_python([value])[0]

    def usage(self, reply: Any) -> Usage | None:
        """The usage in a response."""
        if not isinstance(reply, ModelResponse):
            raise InvalidInput(f"the reply is of type {type(reply).__name__}: give a ModelResponse")
        used = reply.usage
        return Usage(prompt=used.input_tokens, completion=used.output_tokens) if used.input_tokens else None


MESSAGES = Messages()


def _answer(message: ModelResponse) -> Item:
    calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
    texts = [part.content for part in message.parts if isinstance(part, TextPart)]
    thoughts = [part.content for part in message.parts if isinstance(part, ThinkingPart)]
    item: Item = {"role": "assistant", "content": "\n".join(texts)}
    if reasoning := "\n".join(filter(None, thoughts)):
        item["reasoning_content"] = reasoning
    if calls:
        item["tool_calls"] = [
            {
                "id": call.tool_call_id,
                "type": "function",
                "function": {"name": call.tool_name, "arguments": call.args_as_json_str()},
            }
            for call in calls
        ]
    return item


def _said(item: Item) -> list[ModelResponsePart]:
    parts: list[ModelResponsePart] = []
    if reasoning := item.get("reasoning_content"):
        parts.append(ThinkingPart(reasoning))
    if content := item.get("content"):
        parts.append(TextPart(content if isinstance(content, str) else _words(content)))
    for call in item.get("tool_calls") or ():
        function = call["function"]
        parts.append(ToolCallPart(function["name"], function["arguments"], call["id"]))
    return parts


def _asked(part: ModelRequestPart) -> Item:
    match part:
        case SystemPromptPart():
            return {"role": "system", "content": part.content}
        case UserPromptPart():
            return {"role": "user", "content": _content(part.content)}
        case ToolReturnPart():
            return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
        case _ if getattr(part, "tool_name", None) and getattr(part, "tool_call_id", None):
            call_id = str(getattr(part, "tool_call_id", ""))
            return {"role": "tool", "tool_call_id": call_id, "content": _told(part)}
        case _:
            return {"role": "user", "content": _told(part)}


def _told(part: ModelRequestPart) -> str:
    """What the model is told by a part of another kind, such as a prompt to try again."""
    told = getattr(part, "model_response", None)
    content = told() if callable(told) else getattr(part, "content", "")
    return content if isinstance(content, str) else ""


def _part(item: Item, names: Mapping[str, str]) -> ModelRequestPart:
    content: Any = item.get("content") or ""
    match item["role"]:
        case "system":
            return SystemPromptPart(content if isinstance(content, str) else _words(content))
        case "tool":
            call_id = item["tool_call_id"]
            text = content if isinstance(content, str) else _words(content)
            return ToolReturnPart(names.get(call_id) or "tool", text, call_id)
        case _:
            return UserPromptPart(
                content if isinstance(content, str) else [_shown(block) for block in content]
            )


def _content(content: str | Sequence[UserContent]) -> object:
    """A prompt as Chat Completions have it: a text, or a list of blocks."""
    return content if isinstance(content, str) else [_block(each) for each in content]


def _block(each: UserContent) -> Item:
    if isinstance(each, str):
        return {"type": "text", "text": each}
    if isinstance(each, BinaryContent) and each.is_image:
        return {"type": "image_url", "image_url": {"url": each.data_uri}}
    if isinstance(each, ImageUrl):
        return {"type": "image_url", "image_url": {"url": each.url}}
    if isinstance(each, BinaryContent):
        return {"type": "file", "file": {"filename": each.identifier, "file_data": each.data_uri}}
    told = getattr(each, "url", "") or getattr(each, "content", "")
    return {"type": "text", "text": str(told)}


def _shown(block: Item) -> UserContent:
    match block.get("type"):
        case "image_url":
            url = str(block["image_url"]["url"])
            return BinaryContent.from_data_uri(url) if url.startswith("data:") else ImageUrl(url)
        case "file" if "file_data" in block["file"]:
            return BinaryContent.from_data_uri(str(block["file"]["file_data"]))
        case _:
            return str(block.get("text") or "")


def _words(blocks: object) -> str:
    found = (block.get("text") or "" for block in cast("list[Item]", blocks))
    return "\n".join(filter(None, map(str, found)))
