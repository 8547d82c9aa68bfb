"""LangChain and LangGraph: a middleware for ``create_agent``.

    agent = create_agent(model, tools, middleware=[AutocompactMiddleware(compactor)], checkpointer=saver)
    agent.invoke({"messages": [("user", "Go on.")]}, {"configurable": {"thread_id": "trip"}})

Each thread is one conversation. The state of the graph keeps all messages; what the model is sent is the conversation's
context. Needs the extra ``langchain``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from autocompact.runtime.extras import install_command

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        ChatMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
        messages_from_dict,
    )
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.config import get_config
except ImportError as error:
    raise ImportError(
        f"the adapter for LangChain needs {error.name}: {install_command('langchain')}", name=error.name
    ) from error

from autocompact import sync
from autocompact.adapters.conversations import Conversations, has_shrunk
from autocompact.adapters.schemas import ToolSchemas
from autocompact.core.messages import Dialect, Usage
from autocompact.engine import Compactor, Conversation
from autocompact.errors import InvalidInput
from autocompact.ports import Item
from autocompact.wire import json


class AutocompactMiddleware(AgentMiddleware[Any, Any]):
    """Keeps the threads of an agent within the window, and all of their messages in a store.

    Before each model call the thread's messages are taken over into the log, and the model is sent the context that comes of
    it: all of them, or a summary and the recent ones. If the provider says that the request is too large, it is compacted and
    sent once more. The graph's state is read and never changed.

    Put it last in ``middleware``, so that it sees what the others made of the messages, and leave out
    ``SummarizationMiddleware``: two summaries of one conversation contradict each other.

    Args:
        compactor: store, window and mode.
        conversation: the conversation's name where there is no thread id, i.e. for an agent without a checkpointer.
        namespace: of the conversations.
    """

    def __init__(
        self, compactor: Compactor, *, conversation: str | None = None, namespace: str = "default"
    ) -> None:
        super().__init__()
        self._conversations = Conversations(compactor, namespace=namespace)
        self._conversation = conversation
        self._schemas = ToolSchemas[Any](convert_to_openai_tool)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the thread's context, from synchronous code."""
        conversation = sync.run(self._opened())
        try:
            response = handler(sync.run(self._fitted(conversation, request)))
        except Exception as error:
            if not sync.run(has_shrunk(conversation, error)):
                raise
            response = handler(sync.run(self._fitted(conversation, request)))
        sync.run(conversation.heard(response))
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Call the model with the thread's context."""
        conversation = await self._opened()
        try:
            response = await handler(await self._fitted(conversation, request))
        except Exception as error:
            if not await has_shrunk(conversation, error):
                raise
            response = await handler(await self._fitted(conversation, request))
        await conversation.heard(response)
        return response

    def after_agent(self, state: Any, runtime: Any) -> None:
        """Take over the last answer, which no model call follows."""
        del runtime
        sync.run(self._record(state["messages"]))

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        """Take over the last answer, which no model call follows."""
        del runtime
        await self._record(state["messages"])

    async def _record(self, messages: Sequence[BaseMessage]) -> None:
        await (await self._opened()).internals.following.record(messages, dialect=MESSAGES)

    async def _opened(self) -> Conversation:
        return await self._conversations.get(_thread(get_config()) or self._named())

    def _named(self) -> str:
        if self._conversation is None:
            raise InvalidInput(
                'there is no thread id: give one ({"configurable": {"thread_id": "trip"}}), or name the conversation: '
                'AutocompactMiddleware(compactor, conversation="trip")'
            )
        return self._conversation

    async def _fitted(self, conversation: Conversation, request: ModelRequest[Any]) -> ModelRequest[Any]:
        prompt = request.system_message.text if request.system_message is not None else ""
        messages = await conversation.follow(
            cast("list[BaseMessage]", request.messages),
            dialect=MESSAGES,
            system=prompt,
            tools=self._schemas.of(request.tools) or None,
        )
        return request.override(messages=cast("list[Any]", messages))


def _thread(config: Mapping[str, Any]) -> str:
    """The conversation's name: the thread, and for an agent that runs inside of a node, which one; "" without a thread."""
    configurable: Mapping[str, Any] = config.get("configurable") or {}
    thread = str(configurable.get("thread_id") or "")
    inside = str(configurable.get("checkpoint_ns") or "").rpartition("|")[0]
    return f"{thread}/{inside}" if thread and inside else thread


class Messages:
    """LangChain's messages as those of OpenAI's Chat Completions (`autocompact.ports.Bridge`)."""

    name = "langchain"
    dialect: Dialect = "openai_chat"
    types: tuple[type, ...] = (BaseMessage,)

    def write(self, message: BaseMessage) -> list[Item]:
        """The item that says the message."""
        content: object = message.content
        match message:
            case AIMessage():
                return [_written_answer(message)]
            case ToolMessage():
                return [
                    {
                        "role": "tool",
                        "tool_call_id": message.tool_call_id,
                        "name": message.name,
                        "content": _content(content),
                    }
                ]
            case SystemMessage():
                return [{"role": "system", "content": _content(content)}]
            case ChatMessage():
                role = message.role if message.role in ("system", "assistant") else "user"
                return [{"role": role, "content": _content(content)}]
            case _:
                return [{"role": "user", "content": _content(content)}]

    def read(self, items: Sequence[Item], *, names: Mapping[str, str]) -> list[BaseMessage]:
        """The messages that the items say."""
        return [_read(item, names) for item in items]

    def dump(self, message: BaseMessage) -> Any:
        """The message as plain values."""
        return {"type": message.type, "data": message.model_dump(mode="json", fallback=str)}

    def load(self, value: Any) -> BaseMessage:
        """The message that `dump` wrote."""
        return messages_from_dict([value])[0]

    def usage(self, reply: Any) -> Usage | None:
        """The usage in an answer, or in the response of a middleware's handler."""
        answers: Sequence[Any] = getattr(reply, "result", (reply,))
        if not all(isinstance(each, BaseMessage) for each in answers):
            raise InvalidInput(f"the reply is of type {type(reply).__name__}: give an AIMessage")
        told = next(filter(None, (getattr(each, "usage_metadata", None) for each in answers)), None)
        return Usage(prompt=told["input_tokens"], completion=told["output_tokens"]) if told else None


MESSAGES = Messages()


def _read(item: Item, names: Mapping[str, str]) -> BaseMessage:
    content = item.get("content") or ""
    match item["role"]:
        case "assistant":
            calls = [
                {
                    "name": call["function"]["name"],
                    "args": _arguments(call["function"]["arguments"]),
                    "id": call["id"],
                }
                for call in item.get("tool_calls") or ()
            ]
            return AIMessage(content=content, tool_calls=cast("list[Any]", calls))
        case "tool":
            call_id = item["tool_call_id"]
            return ToolMessage(
                content=content, tool_call_id=call_id, name=item.get("name") or names.get(call_id)
            )
        case "system":
            return SystemMessage(content=content)
        case _:
            return HumanMessage(content=content)


def _arguments(text: str) -> object:
    value: Any = json.plain(text.encode())
    return cast("Item", value) if isinstance(value, dict) else {"input": value}


def _written_answer(message: AIMessage) -> Item:
    blocks: list[object] = [message.content] if isinstance(message.content, str) else list(message.content)
    thoughts = [_thought(block) for block in blocks]
    shown = [block for block, thought in zip(blocks, thoughts, strict=True) if thought is None]
    calls = [(call["id"], call["name"], call["args"]) for call in message.tool_calls]
    calls += [(call["id"], call["name"] or "tool", call["args"]) for call in message.invalid_tool_calls]
    item: Item = {"role": "assistant", "content": _content(shown[0] if len(shown) == 1 else shown)}
    if reasoning := "\n".join(filter(None, thoughts)):
        item["reasoning_content"] = reasoning
    if calls:
        item["tool_calls"] = [
            {
                "id": call_id or "",
                "type": "function",
                "function": {"name": name, "arguments": args if isinstance(args, str) else _json(args)},
            }
            for call_id, name, args in calls
        ]
    return item


def _json(value: object) -> str:
    return json.encode(value).decode()


_CALLS = ("tool_use", "tool_call", "function_call", "tool_call_chunk", "invalid_tool_call")


def _thought(block: object) -> str | None:
    """The thinking that a block says, "" for one that repeats a call; None for a block that is shown."""
    if not isinstance(block, dict):
        return None
    told = cast("Item", block)
    if told.get("type") in _CALLS:
        return ""
    if told.get("type") in ("reasoning", "thinking", "redacted_thinking", "reasoning_content"):
        found = told.get("reasoning") or told.get("thinking") or told.get("summary") or ""
        return found if isinstance(found, str) else _json(found)
    return None


def _content(content: object) -> object:
    """A content as Chat Completions have it: a text, or a list of blocks."""
    if not isinstance(content, list):
        return content
    return [_block(block) for block in cast("list[object]", content)]


def _block(block: object) -> object:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if not isinstance(block, dict) or cast("Item", block).get("type") != "image":
        return cast("object", block)
    told = cast("Item", block)
    source: Mapping[str, Any] = told.get("source") or told
    data = source.get("base64") or source.get("data")
    kind = source.get("mime_type") or source.get("media_type") or "image/png"
    url = f"data:{kind};base64,{data}" if data else source.get("url") or ""
    return {"type": "image_url", "image_url": {"url": url}} if url else told
