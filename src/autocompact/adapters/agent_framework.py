"""Microsoft agent-framework: what agents send stays within the window, and the log is the sessions' history.

    agent = Agent(client=client, context_providers=[Autocompact(compactor)])

The provider loads a session's history from its conversation, and adds a middleware that puts the context in place of the
messages of each model call: they are stored before the call, the last answer when the run is done.

What other providers add to one run (memories) goes along where it stands and is not stored. The framework writes the
agent's name into what was said once the run is done; the log has it from the beginning. Needs the extra ``agent-framework``.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass
from typing import Any, cast

from autocompact.runtime.extras import install_command

try:
    from agent_framework import (
        ChatContext,
        ChatMiddleware,
        ChatResponse,
        ChatResponseUpdate,
        Content,
        HistoryProvider,
        Message,
        ResponseStream,
    )
except ImportError as error:
    raise ImportError(
        f"the adapter for agent-framework needs {error.name}: {install_command('agent-framework')}",
        name=error.name,
    ) from error

from autocompact.adapters.conversations import Conversations, has_shrunk, restored
from autocompact.core.messages import Dialect, Usage
from autocompact.engine import Compactor, Conversation
from autocompact.errors import InvalidInput
from autocompact.ports import Item

_LOADED: ContextVar[Sequence[Message] | None] = ContextVar("autocompact_loaded", default=None)
"""The history that the run began with whose messages are being saved."""

_SOURCE = "_attribution"
"""Where the framework notes which provider a message came from."""


class Autocompact(HistoryProvider):
    """Keeps the sessions of agents within the window; the name of a session is that of its conversation.

    Args:
        compactor: keeps the conversations.
        source_id: names the provider among others.
    """

    def __init__(self, compactor: Compactor, *, source_id: str = "autocompact") -> None:
        super().__init__(source_id)
        self._conversations = Conversations(compactor)

    async def get_messages(
        self,
        session_id: str | None,
        *,
        state: dict[str, Any] | None = None,  # noqa: ARG002 - the framework's signature
        **kwargs: Any,  # noqa: ARG002 - the framework's signature
    ) -> list[Message]:
        """The history of a session."""
        return await restored(await self._opened(session_id), bridge=BRIDGE)

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,  # noqa: ARG002 - the framework's signature
        **kwargs: Any,  # noqa: ARG002 - the framework's signature
    ) -> None:
        """Store messages that follow the history; those of a run are there already as far as the model was asked."""
        conversation, loaded = await self._opened(session_id), _LOADED.get()
        history = await restored(conversation, bridge=BRIDGE) if loaded is None else loaded
        await conversation.internals.following.record([*history, *messages], dialect=BRIDGE)

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        """Load the history, and take part in the run's model calls."""
        await super().before_run(agent=agent, session=session, context=context, state=state)
        conversation = await self._opened(context.session_id)
        context.extend_middleware(
            self.source_id, _Middleware(conversation, source_id=self.source_id, agent=agent.name or "")
        )

    async def after_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        """Store what the run brought."""
        token = _LOADED.set(context.get_messages(sources={self.source_id}))
        try:
            await super().after_run(agent=agent, session=session, context=context, state=state)
        finally:
            _LOADED.reset(token)

    async def _opened(self, session_id: str | None) -> Conversation:
        if not session_id:
            raise InvalidInput("the session has no id: give the agent's run a session")
        return await self._conversations.get(session_id)


class _Middleware(ChatMiddleware):
    """Puts the context in place of the messages of one run's model calls.

    Args:
        conversation: of the session.
        source_id: of the provider that loaded its history.
        agent: the agent's name.
    """

    def __init__(self, conversation: Conversation, *, source_id: str, agent: str) -> None:
        self._conversation = conversation
        self._source_id = source_id
        self._agent = agent

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Ask for the answer to the context; after an overflow once more."""
        options = context.options or {}
        if options.get("conversation_id") is not None:
            raise InvalidInput(
                "the model's provider keeps this conversation, out of reach: give the agent store=False, "
                "and no require_per_service_call_history_persistence"
            )
        call = _Call(
            conversation=self._conversation,
            shown=Shown.of(context.messages, source_id=self._source_id, agent=self._agent),
            context=context,
            call_next=call_next,
        )
        if context.stream:
            context.result = await call.streamed()
        else:
            await call.answered()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """One model call.

    Attributes:
        conversation: of the session.
        shown: the messages that came.
        context: of the call.
        call_next: makes it.
    """

    conversation: Conversation
    shown: Shown
    context: ChatContext
    call_next: Callable[[], Awaitable[None]]

    async def answered(self) -> None:
        """Ask for the answer."""
        try:
            response = await self._ask()
        except Exception as error:
            if not await has_shrunk(self.conversation, error):
                raise
            response = await self._ask()
        await self.conversation.heard(response)

    async def streamed(self) -> ResponseStream[ChatResponseUpdate, ChatResponse]:
        """The answer as a stream; an overflow shows only when it is read."""
        streams = [await self._ask()]

        async def whole(updates: Sequence[ChatResponseUpdate]) -> ChatResponse:  # noqa: ARG001 - the framework's signature
            response = await streams[-1].get_final_response()
            await self.conversation.heard(response)
            return response

        return ResponseStream(self._updates(streams), finalizer=whole)

    async def _updates(self, streams: list[Any]) -> AsyncGenerator[ChatResponseUpdate]:
        """The updates of the last of ``streams``, to which another one is added after an overflow."""
        begun = False
        try:
            async for update in streams[-1]:
                begun = True
                yield update
        except Exception as error:
            # what was handed on cannot be taken back, and would come twice
            if begun or not await has_shrunk(self.conversation, error):
                raise
        else:
            return
        streams.append(await self._ask())
        async for update in streams[-1]:
            yield update

    async def _ask(self) -> Any:
        """The answer to the context, or the stream of it."""
        options = self.context.options or {}
        schemas = [spec for tool in options.get("tools") or () if (spec := _schema(tool)) is not None]
        context = await self.conversation.follow(
            self.shown.written,
            dialect=BRIDGE,
            system=str(options.get("instructions") or ""),
            tools=schemas or None,
        )
        self.context.messages = self.shown.around(context)
        await self.call_next()
        return self.context.result


def _schema(tool: Any) -> Any:
    """The schema of a tool, for counting; None where it has none that can be read."""
    if isinstance(tool, Mapping):
        return dict(cast("Mapping[str, Any]", tool))
    spec = getattr(tool, "to_json_schema_spec", None)
    return None if spec is None else spec()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The messages of a model call, and which of them are the session's.

    Attributes:
        own: the session's.
        written: these with the names that the framework gives them in the end.
        beside: messages of other providers, with how many of the session's stand behind each.
    """

    own: tuple[Message, ...]
    written: tuple[Message, ...]
    beside: tuple[tuple[Message, int], ...]

    @classmethod
    def of(cls, messages: Sequence[Message], *, source_id: str, agent: str) -> Shown:
        """The messages of a call that was not changed."""
        is_own = [_source(message) in ("", source_id) for message in messages]
        own = tuple(message for message, mine in zip(messages, is_own, strict=True) if mine)
        beside = tuple((message, sum(is_own[at:])) for at, message in enumerate(messages) if not is_own[at])
        return cls(own=own, written=tuple(_named(message, agent) for message in own), beside=beside)

    def around(self, context: Sequence[Message]) -> list[Message]:
        """The messages of the call, with this context in place of the session's."""
        originals = {id(copy): message for copy, message in zip(self.written, self.own, strict=True)}
        shown = [originals.get(id(message), message) for message in context]
        for message, behind in reversed(self.beside):
            shown.insert(0 if behind == len(self.own) else max(0, len(shown) - behind), message)
        return shown


def _source(message: Message) -> str:
    noted: Item = message.additional_properties.get(_SOURCE) or {}
    return str(noted.get("source_id", ""))


def _named(message: Message, agent: str) -> Message:
    """The message as the framework leaves it at the end of a run."""
    if message.role not in ("assistant", "tool") or message.author_name is not None or not agent:
        return message
    named = copy(message)
    named.author_name = agent
    return named


# The messages


class AgentFrameworkBridge:
    """A message is one of the Anthropic API; a content that this API has no word for stands in it as it is."""

    name = "agent_framework"
    dialect: Dialect = "anthropic"
    types: tuple[type, ...] = (Message,)

    def write(self, message: Message) -> list[Item]:
        """The message."""
        role = message.role if message.role in ("assistant", "system") else "user"
        return [{"role": role, "content": [_written(content.to_dict()) for content in message.contents]}]

    def read(self, items: Sequence[Item], *, names: Mapping[str, str]) -> list[Message]:  # noqa: ARG002 - the bridge's signature
        """A message for each; results stand in one of their own, before what else it says."""
        return [message for item in items for message in _messages(item)]

    def dump(self, message: Message) -> Any:
        """The message as the framework writes it, without what it notes for itself."""
        value = message.to_dict()
        noted: Item = value.get("additional_properties") or {}
        kept = {name: each for name, each in noted.items() if not name.startswith("_")}
        return value | {"additional_properties": kept}

    def load(self, value: Any) -> Message:
        """The message."""
        return Message.from_dict(value)

    def usage(self, reply: Any) -> Usage | None:
        """The usage in a response."""
        reported: Mapping[str, Any] = getattr(reply, "usage_details", None) or {}
        given, output = reported.get("input_token_count"), reported.get("output_token_count") or 0
        if not given:
            return None
        return Usage(prompt=max(given, (reported.get("total_token_count") or 0) - output), completion=output)


BRIDGE = AgentFrameworkBridge()


def _written(content: Item) -> Item:
    rest = {name: value for name, value in content.items() if name != "type" and value not in ({}, [])}
    match content["type"]:
        case "text":
            return _block("text", rest, text=rest.pop("text", ""))
        case "text_reasoning":
            return _block("thinking", rest, thinking=rest.pop("text", ""))
        case "function_call" if "call_id" in rest and "name" in rest:
            given = rest.pop("arguments", "")
            return _block("tool_use", rest, id=rest.pop("call_id"), name=rest.pop("name"), input=given)
        case "function_result" if "call_id" in rest:
            items, text = rest.pop("items", None), rest.pop("result", "")
            blocks = [_written(item) for item in items] if items else [{"type": "text", "text": str(text)}]
            told = {"is_error": True} if "exception" in rest else {}
            return _block("tool_result", rest, tool_use_id=rest.pop("call_id"), content=blocks, **told)
        case _:
            return _media(content, rest)


def _block(kind: str, rest: Item, **members: Any) -> Item:
    """A block with what the API has no word for."""
    return {"type": kind, **members, **({"agent_framework": rest} if rest else {})}


def _media(content: Item, rest: Item) -> Item:
    """A picture or a PDF, or the content as it is."""
    kind, uri = str(content.get("media_type", "")), str(content.get("uri", ""))
    block = {"application/pdf": "document"}.get(kind, "image" if kind.startswith("image/") else "")
    is_media = content["type"] in ("data", "uri") and bool(block)
    head, comma, data = uri.partition(";base64,")
    if is_media and comma and head == f"data:{kind}":
        rest = {name: value for name, value in rest.items() if name not in ("uri", "media_type")}
        return _block(block, rest, source={"type": "base64", "media_type": kind, "data": data})
    if is_media and "://" in uri[:12]:
        rest = {name: value for name, value in rest.items() if name != "uri"}
        return _block(block, rest, source={"type": "url", "url": uri})
    return {"type": f"agent_framework_{content['type']}", "agent_framework": content}


def _messages(item: Item) -> list[Message]:
    content = item["content"]
    blocks: list[Item] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    results = [block for block in blocks if block["type"] == "tool_result"]
    others = [block for block in blocks if block["type"] != "tool_result"]
    made = [("tool", results), (item["role"], others)]
    return [
        Message(role, [Content.from_dict(_read(block)) for block in group])
        for role, group in made
        if group or (role == item["role"] and not blocks)
    ]


def _read(block: Item) -> Item:
    rest: Item = block.get("agent_framework", {})
    match block:
        case {"type": "text", "text": text}:
            return {"type": "text", "text": text, **rest}
        case {"type": "thinking", "thinking": text}:
            return {"type": "text_reasoning", "text": text, **rest}
        case {"type": "tool_use", "id": id, "name": name, "input": given}:
            return {"type": "function_call", "call_id": id, "name": name, "arguments": given, **rest}
        case {"type": "tool_result", "tool_use_id": id, "content": content}:
            return _result(id, content) | rest
        case {"type": "image" | "document", "source": {"type": "base64", "media_type": kind, "data": data}}:
            return {"type": "data", "uri": f"data:{kind};base64,{data}", "media_type": kind, **rest}
        case {"type": "image" | "document", "source": {"type": "url", "url": uri}}:
            return {"type": "uri", "uri": uri, **rest}
        case _:
            return rest or {"type": "text", "text": json.dumps(block, ensure_ascii=False)}


def _result(call_id: str, content: Any) -> Item:
    blocks: list[Item] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    made = Content.from_function_result(call_id, result=[Content.from_dict(_read(each)) for each in blocks])
    return made.to_dict()
