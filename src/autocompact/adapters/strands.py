"""Strands Agents: what an agent sends stays within the window, and its own history stays whole.

    agent = Agent(
        model=model,
        hooks=[Autocompact(compactor, conversation="trip")],
        conversation_manager=NullConversationManager(),
    )

The conversations live on autocompact's own event loop (`autocompact.sync`), from wherever the agent is called. Needs the extra
``strands``.

Before each model call the hook puts itself before the agent's model, which is then sent the context of ``agent.messages``;
these are never changed. Calls are stored before their tools run, the last answer when the agent is done.

Strands hands a model copies of the messages, without what it notes beside them (tracking ids, metrics). Those stay in the
agent's history alone: they are given anew when a history is restored, and would make other messages of the same ones.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from autocompact.runtime.extras import install_command

try:
    from pydantic import BaseModel
    from strands.agent.conversation_manager import NullConversationManager
    from strands.hooks import (
        AfterInvocationEvent,
        AgentInitializedEvent,
        BeforeModelCallEvent,
        HookProvider,
        HookRegistry,
        MessageAddedEvent,
    )
    from strands.models import Model
    from strands.types.content import Message, Messages
    from strands.types.streaming import StreamEvent
    from strands.types.tools import ToolSpec
except ImportError as error:
    raise ImportError(
        f"the adapter for Strands needs {error.name}: {install_command('strands')}", name=error.name
    ) from error

from autocompact.adapters.conversations import Conversations, has_shrunk, on_own_loop, restored
from autocompact.core.messages import Dialect, Usage
from autocompact.engine import Compactor, Conversation
from autocompact.errors import InvalidInput
from autocompact.ports import Item

T = TypeVar("T", bound=BaseModel)

_BYTES = "$bytes"
_DOCUMENTS = {
    "csv": "text/csv",
    "html": "text/html",
    "md": "text/markdown",
    "pdf": "application/pdf",
    "txt": "text/plain",
}


class Autocompact(HookProvider):
    """Keeps one agent within its window.

    Args:
        compactor: keeps the conversation.
        conversation: its name; the same name goes on with it, in another process too.
    """

    def __init__(self, compactor: Compactor, *, conversation: str) -> None:
        self._conversations = Conversations(compactor)
        self._name = conversation
        self._agent: Any = None
        self._due = False

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:  # noqa: ARG002 - Strands' signature
        """Take part in the agent's events."""
        registry.add_callback(AgentInitializedEvent, self._check)
        registry.add_callback(BeforeModelCallEvent, self._before_model_call)
        registry.add_callback(MessageAddedEvent, self._message_added)
        registry.add_callback(AfterInvocationEvent, self._after_invocation)

    async def messages(self) -> Messages:
        """The conversation's whole history, for an agent in a new process: ``Agent(messages=...)``."""
        return await on_own_loop(self._restored())

    async def _restored(self) -> Messages:
        return await restored(await self._opened(), bridge=BRIDGE)

    async def answer(
        self, model: Model, messages: Messages, *, options: Mapping[str, Any]
    ) -> AsyncGenerator[StreamEvent]:
        """The events of ``model`` for the context of the agent's history; after an overflow it is asked once more.

        Args:
            model: the agent's own.
            messages: the agent's history as Strands prepared it for the model.
            options: what else the request has.
        """
        if not self._due:  # a call beside the agent's loop: a summary, a classifier
            async for event in model.stream(messages, **options):
                yield event
            return
        self._due, begun = False, False
        try:
            async for event in self._asked(model, messages, options=options):
                begun = True
                yield event
        except Exception as error:
            # what was handed on cannot be taken back, and would come twice
            if begun or not await on_own_loop(self._has_shrunk(error)):
                raise
        else:
            return
        async for event in self._asked(model, messages, options=options):
            yield event

    async def _asked(
        self, model: Model, messages: Messages, *, options: Mapping[str, Any]
    ) -> AsyncGenerator[StreamEvent]:
        async for event in model.stream(await on_own_loop(self._context(messages, options)), **options):
            if "metadata" in event:
                await on_own_loop(self._heard(event))
            yield event

    async def _context(self, messages: Messages, options: Mapping[str, Any]) -> Messages:
        own: Messages = self._agent.messages
        history = own if len(own) == len(messages) else messages
        context = await (await self._opened()).follow(
            history,
            dialect=BRIDGE,
            system=options.get("system_prompt"),
            tools=cast("list[ToolSpec] | None", options.get("tool_specs") or None),
        )
        prepared = {id(message): sent for message, sent in zip(history, messages, strict=True)}
        return [prepared.get(id(message), message) for message in context]

    async def _heard(self, event: StreamEvent) -> None:
        await (await self._opened()).heard(event)

    async def _has_shrunk(self, error: Exception) -> bool:
        return await has_shrunk(await self._opened(), error)

    async def _record(self, messages: Messages) -> None:
        await (await self._opened()).internals.following.record(messages, dialect=BRIDGE)

    async def _opened(self) -> Conversation:
        return await self._conversations.get(self._name)

    def _check(self, event: AgentInitializedEvent) -> None:
        agent: Any = event.agent
        if self._agent is not None and self._agent is not agent:
            raise InvalidInput("this Autocompact belongs to another agent: make one for each agent")
        manager: object = agent.conversation_manager
        if not isinstance(manager, NullConversationManager):
            raise InvalidInput(
                f"the agent's conversation_manager is a {type(manager).__name__}, which removes messages: "
                "give conversation_manager=NullConversationManager()"
            )
        if getattr(agent.model, "stateful", False):
            raise InvalidInput(
                f"the model {type(agent.model).__name__} keeps the conversation at its provider, out of reach: "
                "take one that is sent the messages"
            )
        self._agent = agent

    async def _before_model_call(self, event: BeforeModelCallEvent) -> None:
        agent: Any = event.agent
        self._due = True
        # a program may give its agent another model at any time
        if not (isinstance(agent.model, CompactingModel) and agent.model.answer == self.answer):
            agent.model = CompactingModel(agent.model, answer=self.answer)

    async def _message_added(self, event: MessageAddedEvent) -> None:
        if any("toolUse" in block for block in event.message["content"]):
            await on_own_loop(self._record(event.agent.messages))

    async def _after_invocation(self, event: AfterInvocationEvent) -> None:
        self._due = False
        await on_own_loop(self._record(event.agent.messages))


class CompactingModel(Model):
    """A model that is sent the context of an agent's history.

    Args:
        model: the agent's own; what is not about messages is asked of it.
        answer: asks that model with the context, as `Autocompact.answer` does.
    """

    def __init__(self, model: Model, *, answer: Callable[..., AsyncIterable[StreamEvent]]) -> None:
        self._model = model
        self.answer = answer

    def __getattr__(self, name: str) -> Any:
        """What else the agent's own model has."""
        return getattr(self._model, name)

    def update_config(self, **model_config: Any) -> None:
        """Change the settings of the agent's own model."""
        self._model.update_config(**model_config)

    def get_config(self) -> Any:
        """The settings of the agent's own model."""
        return self._model.get_config()

    def structured_output(
        self, output_model: type[T], *rest: Any, **kwargs: Any
    ) -> AsyncGenerator[dict[str, T | Any]]:
        """The agent's own model's output for these messages, which go as they came."""
        return self._model.structured_output(output_model, *rest, **kwargs)

    def stream(self, messages: Messages, *rest: Any, **kwargs: Any) -> AsyncIterable[StreamEvent]:
        """The events of the agent's own model for the context.

        Args:
            messages: the agent's history as Strands prepared it.
            rest: tool specs and system prompt, where they are not named.
            kwargs: what else the request has.
        """
        options = dict(zip(("tool_specs", "system_prompt"), rest, strict=False)) | kwargs
        return self.answer(self._model, messages, options=options)


class StrandsBridge:
    """A message of Strands is one of the Anthropic API; a block that this API has no word for stands in it as it is."""

    name = "strands"
    dialect: Dialect = "anthropic"
    types: tuple[type, ...] = (dict,)

    def write(self, message: Message) -> list[Item]:
        """The message."""
        return [{"role": message["role"], "content": [_written(block) for block in message["content"]]}]

    def read(self, items: Sequence[Item], *, names: Mapping[str, str]) -> list[Message]:  # noqa: ARG002 - the bridge's signature
        """A message for each; results stand in one of their own, before what else it says, as Strands itself has them.

        Behind a request that ended in its midst both are one message of the API. Strands' model for OpenAI would send the
        words between the calls and their results, which is refused.
        """
        return [message for item in items for message in _messages(item)]

    def dump(self, message: Message) -> Any:
        """The message without what the model never sees, its bytes as base64."""
        return {"role": message["role"], "content": packed(message["content"])}

    def load(self, value: Any) -> Message:
        """The message."""
        return unpacked(value)

    def usage(self, reply: Any) -> Usage | None:
        """The usage in an event; its total counts what was read from or written to a cache, whoever the provider is."""
        reported = reply.get("metadata", {}).get("usage")
        if reported is None:
            return None
        output = reported["outputTokens"]
        return Usage(prompt=max(reported["inputTokens"], reported["totalTokens"] - output), completion=output)


BRIDGE = StrandsBridge()


def _messages(item: Item) -> list[Message]:
    content = _contents(item["content"])
    results = [block for block in content if "toolResult" in block]
    others = [block for block in content if "toolResult" not in block]
    return [{"role": item["role"], "content": group} for group in (results, others) if group]


def _written(block: Mapping[str, Any]) -> Item:
    match block:
        case {"text": str() as text, **rest} if not rest:
            return {"type": "text", "text": text}
        case {"json": value, **rest} if not rest:
            return {"type": "text", "text": json.dumps(value, ensure_ascii=False), "strands": "json"}
        case {"toolUse": {"toolUseId": id, "name": name, "input": given, **more}, **rest} if not rest:
            return {"type": "tool_use", "id": id, "name": name, "input": given, **_beside(more)}
        case {"toolResult": {"toolUseId": id, "content": content, **more}, **rest} if not rest:
            told = {"is_error": True} if more.get("status") == "error" else {}
            blocks = [_written(each) for each in content]
            return {"type": "tool_result", "tool_use_id": id, "content": blocks, **told, **_beside(more)}
        case {"reasoningContent": {"reasoningText": {"text": str() as text, **more}, **others}, **rest} if (
            not others and not rest
        ):
            return {"type": "thinking", "thinking": text, **_beside(more)}
        case _:
            return _media(block) or {"type": "strands", "strands": packed(block)}


def _beside(more: Mapping[str, Any]) -> Item:
    """Members that the API has no word for."""
    return {"strands": packed(more)} if more else {}


def _media(block: Mapping[str, Any]) -> Item | None:
    """A picture or a document whose bytes are there."""
    match block:
        case {"image": {"format": kind, "source": {"bytes": bytes() as data, **more}, **others}, **rest} if (
            not more and not others and not rest
        ):
            return {"type": "image", "source": _source(f"image/{kind}", data)}
        case {
            "document": {"format": kind, "source": {"bytes": bytes() as data, **more}, **others},
            **rest,
        } if kind in _DOCUMENTS and not more and not rest:
            title = {"title": others.pop("name")} if "name" in others else {}
            return {"type": "document", "source": _source(_DOCUMENTS[kind], data), **title, **_beside(others)}
        case _:
            return None


def _source(media_type: str, data: bytes) -> Item:
    return {"type": "base64", "media_type": media_type, "data": b64encode(data).decode()}


def _contents(content: Any) -> list[Any]:
    return [{"text": content}] if isinstance(content, str) else [_read(block) for block in content]


def _read(block: Item) -> Item:
    more: Any = unpacked(block.get("strands", {}))
    match block:
        case {"type": "strands"}:
            return more
        case {"type": "text", "text": text}:
            return {"json": json.loads(text)} if more == "json" else {"text": text}
        case {"type": "thinking", "thinking": text}:
            return {"reasoningContent": {"reasoningText": {"text": text, **more}}}
        case {"type": "tool_use", "id": id, "name": name, "input": given}:
            return {"toolUse": {"toolUseId": id, "name": name, "input": given, **more}}
        case {"type": "tool_result", "tool_use_id": id}:
            status = "error" if block.get("is_error") else "success"
            shown = {"toolUseId": id, "status": status, "content": _contents(block.get("content") or [])}
            return {"toolResult": shown | more}
        case {"type": "image", "source": {"media_type": kind, "data": data}}:
            return {"image": {"format": kind.removeprefix("image/"), "source": {"bytes": b64decode(data)}}}
        case {"type": "document", "source": {"media_type": kind, "data": data}} if (
            kind in _DOCUMENTS.values()
        ):
            form = next(form for form, name in _DOCUMENTS.items() if name == kind)
            title = {"name": block["title"]} if "title" in block else {}
            return {"document": {"format": form, **title, "source": {"bytes": b64decode(data)}, **more}}
        case _:
            return {"text": json.dumps(block, ensure_ascii=False)}


def packed(value: Any) -> Any:
    """The value as JSON can say it: bytes as a mapping with their base64, and names that begin like it with a sign more."""
    if isinstance(value, bytes):
        return {_BYTES: b64encode(value).decode()}
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return {f"${name}" if name.startswith("$") else name: packed(each) for name, each in members.items()}
    if isinstance(value, list | tuple):
        return [packed(each) for each in cast("Sequence[Any]", value)]
    return value


def unpacked(value: Any) -> Any:
    """What `packed` was given."""
    if isinstance(value, list):
        return [unpacked(each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    members = cast("Item", value)
    if members.keys() == {_BYTES}:
        return b64decode(members[_BYTES])
    return {name.removeprefix("$"): unpacked(each) for name, each in members.items()}
