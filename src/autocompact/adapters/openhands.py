"""OpenHands SDK: what an agent sends stays within the window, and the conversation's events stay whole.

    condenser = AutocompactCondenser(compactor)
    agent = Agent(llm=llm, tools=tools, condenser=condenser)
    conversation = Conversation(agent=agent, workspace=folder, callbacks=[condenser.on_event])

The id of each OpenHands conversation names one of autocompact's, which live on autocompact's own event loop
(`autocompact.sync`). Needs the extra ``openhands``, and Python 3.12.

Before each model call OpenHands asks its condenser for a view of the events. It is given the context as one, for this request
alone: no event is forgotten in OpenHands' own log. A `Condensation` is returned only as the answer to a request for one (the
user's, or after a request that was too large), and forgets nothing. The usage is read from the metrics of the agent's LLM.

The system prompt and the tools, which OpenHands has as the first event, are no part of the history and not in the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import uuid4
from weakref import WeakValueDictionary

from autocompact.runtime.extras import install_command

try:
    from openhands.sdk.context.condenser.base import CondenserBase
    from openhands.sdk.context.view import View
    from openhands.sdk.event import (
        ActionEvent,
        Condensation,
        Event,
        LLMConvertibleEvent,
        MessageEvent,
        ObservationEvent,
        SystemPromptEvent,
    )
    from openhands.sdk.llm import (
        LLM,
        ImageContent,
        Message,
        MessageToolCall,
        RedactedThinkingBlock,
        TextContent,
    )
    from openhands.sdk.llm.call_context import resolve_llm_call_context
    from openhands.sdk.llm.utils.metrics import TokenUsage
    from openhands.sdk.tool import Observation
    from pydantic import PrivateAttr
except ImportError as error:
    raise ImportError(
        f"the adapter for OpenHands needs {error.name}: {install_command('openhands')} (Python 3.12 or newer)",
        name=error.name,
    ) from error

from autocompact import sync
from autocompact.adapters.conversations import Conversations, on_own_loop
from autocompact.core.messages import Dialect, Usage
from autocompact.engine import Compactor, Conversation
from autocompact.errors import CompactionRunning, IncompressibleContext, InvalidInput
from autocompact.ports import Item
from autocompact.wire import json

_MADE_HERE = "autocompact"
"""The id of the response that an event is said to come from which stands for another one in a view."""


@dataclass(slots=True, kw_only=True)
class _Talk:
    """What is known of one conversation.

    Attributes:
        events: its history, as far as it was followed; None before the first model call.
        asked: how many of these stood in the last request; `on_event` adds to the others.
        heard: the response whose usage was taken over last.
        llm: of the agent.
        is_helpless: a request was too large, and nothing could be made smaller.
        tools: the schemas of the last system prompt's tools, with its id.
    """

    events: list[LLMConvertibleEvent] | None = None
    asked: int = 0
    heard: str = ""
    llm: LLM | None = None
    is_helpless: bool = False
    tools: tuple[str, bytes | None] = ("", None)


@dataclass(slots=True, kw_only=True, weakref_slot=True)
class _Shared:
    """What all copies of one condenser share: OpenHands copies agents, with their condensers, as JSON."""

    conversations: Conversations
    talks: dict[str, _Talk] = field(default_factory=dict[str, _Talk])


_SHARED: WeakValueDictionary[str, _Shared] = WeakValueDictionary()
"""By `AutocompactCondenser.key`."""


class AutocompactCondenser(CondenserBase):
    """Keeps the conversations of an agent within its window.

    Args:
        compactor: keeps them.
        conversation: the name of the only one; None names each by OpenHands' id of it.
        namespace: of the conversations.

    Attributes:
        key: finds the compactor from a copy that OpenHands made (a fork), in this process.
    """

    conversation: str | None = None
    namespace: str = "default"
    key: str = ""
    _shared: _Shared | None = PrivateAttr(default=None)

    def __init__(self, compactor: Compactor | None = None, **data: Any) -> None:
        if compactor is not None:
            data["key"] = uuid4().hex
        super().__init__(**data)
        self._shared = _SHARED.get(self.key)
        if compactor is not None:
            conversations = Conversations(compactor, namespace=self.namespace)
            self._shared = _SHARED[self.key] = _Shared(conversations=conversations)

    def condense(self, view: View, agent_llm: LLM | None = None) -> View | Condensation:
        """The context as a view, or the answer to a request for a condensation."""
        return sync.run(self._condensed(view, agent_llm, name=self._named()))

    async def acondense(self, view: View, agent_llm: LLM | None = None) -> View | Condensation:
        """The same, from asynchronous code."""
        return await on_own_loop(self._condensed(view, agent_llm, name=self._named()))

    def handles_condensation_requests(self) -> bool:
        """True, unless the last request was too large and nothing could be made smaller: then its error is raised."""
        name = self._name()
        return name is None or not self._talk(name).is_helpless

    def on_event(self, event: Event) -> None:
        """Store an event of the agent's or its tools' at once; a callback of the OpenHands conversation.

        Without it each is stored with the next request, and what ended a conversation never.
        """
        name = self._name()
        talk = None if name is None else self._talk(name)
        if name is None or talk is None or talk.events is None or not isinstance(event, LLMConvertibleEvent):
            return
        talk.events.append(event)
        sync.run(self._recorded(talk, name=name))

    def _name(self) -> str | None:
        return self.conversation or resolve_llm_call_context(None).session_id

    def _named(self) -> str:
        name = self._name()
        if name is None:
            raise InvalidInput(
                "there is no OpenHands conversation around this: name one, "
                'AutocompactCondenser(compactor, conversation="trip")'
            )
        return name

    def _kept(self) -> _Shared:
        if self._shared is None:
            raise InvalidInput(
                "this condenser was read from a file and has no compactor: give the conversation an agent with "
                "condenser=AutocompactCondenser(compactor)"
            )
        return self._shared

    def _talk(self, name: str) -> _Talk:
        return self._kept().talks.setdefault(name, _Talk())

    async def _condensed(self, view: View, llm: LLM | None, *, name: str) -> View | Condensation:
        conversation, talk = await self._kept().conversations.get(name), self._talk(name)
        prompts = [event for event in view.events if isinstance(event, SystemPromptEvent)]
        events = [event for event in view.events if not isinstance(event, SystemPromptEvent)]
        # what was sent last comes again: it was too large
        is_refused = talk.events is not None and _ids(events) == _ids(talk.events[: talk.asked])
        talk.llm, talk.events, talk.is_helpless = llm, [*events], False
        if view.unhandled_condensation_request:
            if await _smaller(conversation, events, is_refused=is_refused):
                return Condensation(llm_response_id=_MADE_HERE)
            talk.is_helpless = is_refused
        await _hear(conversation, talk)
        context = await conversation.follow(
            events,
            dialect=BRIDGE,
            system="\n\n".join(map(_prompt, prompts)),
            tools=_schemas(talk, prompts),
        )
        talk.asked = len(events)
        return View(events=[*prompts, *_of_their_responses(context, events)])

    async def _recorded(self, talk: _Talk, *, name: str) -> None:
        conversation = await self._kept().conversations.get(name)
        await _hear(conversation, talk)
        await conversation.internals.following.record(talk.events or [], dialect=BRIDGE)


def _ids(events: Sequence[LLMConvertibleEvent]) -> list[str]:
    return [event.id for event in events]


def _prompt(event: SystemPromptEvent) -> str:
    parts = (event.system_prompt, event.dynamic_context)
    return "\n\n".join(part.text for part in parts if part is not None)


def _schemas(talk: _Talk, prompts: Sequence[SystemPromptEvent]) -> bytes | None:
    """The schemas of the tools, made once for a prompt."""
    if prompts and talk.tools[0] != prompts[-1].id:
        tools = cast("list[Any]", prompts[-1].tools)
        schemas = [tool.to_openai_tool(add_security_risk_prediction=True) for tool in tools]
        talk.tools = (prompts[-1].id, json.encode(schemas) if schemas else None)
    return talk.tools[1]


async def _smaller(
    conversation: Conversation, events: Sequence[LLMConvertibleEvent], *, is_refused: bool
) -> bool:
    """Compact, as was requested; False if a request that was too large cannot be made smaller."""
    await conversation.internals.background.wait_idle()
    if is_refused:
        try:
            return await conversation.internals.fitting.shrink()
        except IncompressibleContext:  # what the provider said is the better error
            return False
    await conversation.internals.following.record(events, dialect=BRIDGE)
    # where nothing comes of it, the next request is made to fit all the same
    with suppress(CompactionRunning, IncompressibleContext):
        await conversation.compact()
    return True


async def _hear(conversation: Conversation, talk: _Talk) -> None:
    """Take over the usage of the response that came to the last request."""
    new = (talk.events or [])[talk.asked :]
    answered = next((found for event in new if (found := getattr(event, "llm_response_id", None))), None)
    if not talk.asked or answered in (None, talk.heard) or talk.llm is None:
        return
    usages = reversed(talk.llm.metrics.token_usages)
    reported = next((usage for usage in usages if usage.response_id == answered), None)
    if reported is not None:
        talk.heard = reported.response_id
        await conversation.heard(reported)


def _of_their_responses(
    context: Sequence[LLMConvertibleEvent], events: Sequence[LLMConvertibleEvent]
) -> Iterator[LLMConvertibleEvent]:
    """The context, in which calls that were made anew come from the response of the ones they stand for.

    OpenHands writes the calls of one response as one message.
    """
    responses = {
        event.tool_call_id: event.llm_response_id for event in events if isinstance(event, ActionEvent)
    }
    for event in context:
        if isinstance(event, ActionEvent) and event.llm_response_id == _MADE_HERE:
            response = responses.get(event.tool_call_id, _MADE_HERE)
            yield event.model_copy(update={"llm_response_id": response})
        else:
            yield event


# The events


class ShownObservation(Observation):
    """What a model is shown of a tool's output."""


class OpenHandsBridge:
    """Each event is items of OpenAI's Responses API, which has thoughts, calls and results apart, as events are."""

    name = "openhands"
    dialect: Dialect = "openai_responses"
    types: tuple[type, ...] = (LLMConvertibleEvent,)

    def write(self, message: LLMConvertibleEvent) -> list[Item]:
        """The items: reasoning, words, calls; or a result."""
        said = message.to_llm_message()
        if said.role == "tool":
            output = _blocks(said)
            return [
                {"type": "function_call_output", "call_id": said.tool_call_id or "", "output": _lone(output)}
            ]
        items = [*_reasoning(said)]
        calls = [
            {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
            for call in said.tool_calls or ()
        ]
        if said.content or not calls:
            items.append({"role": said.role, "content": _lone(_blocks(said))})
        return [*items, *calls]

    def read(self, items: Sequence[Item], *, names: Mapping[str, str]) -> list[LLMConvertibleEvent]:
        """An event for each call, result and message; a call has the thoughts before it."""
        return [*_read(items, names)]

    def dump(self, message: LLMConvertibleEvent) -> Any:
        """The event as OpenHands keeps it."""
        return message.model_dump(mode="json")

    def load(self, value: Any) -> LLMConvertibleEvent:
        """The event; the tools' classes have to be there."""
        return cast("LLMConvertibleEvent", Event.model_validate(value))

    def usage(self, reply: Any) -> Usage | None:
        """The usage that an LLM's metrics have for a response."""
        if not isinstance(reply, TokenUsage):
            raise InvalidInput(f"the reply is of type {type(reply).__name__}: give a TokenUsage")
        if not reply.prompt_tokens:
            return None
        return Usage(prompt=reply.prompt_tokens, completion=reply.completion_tokens)


BRIDGE = OpenHandsBridge()


def _reasoning(said: Message) -> Iterator[Item]:
    if said.responses_reasoning_item is not None:
        item = said.responses_reasoning_item
        texts = [*item.summary, *(item.content or ())]
        opaque = {"encrypted_content": item.encrypted_content} if item.encrypted_content else {}
        yield {"type": "reasoning", "summary": _summary(texts), **opaque}
    elif said.thinking_blocks:
        texts = [
            block.thinking for block in said.thinking_blocks if not isinstance(block, RedactedThinkingBlock)
        ]
        yield {"type": "reasoning", "summary": _summary(texts)}
    elif said.reasoning_content:
        yield {"type": "reasoning", "summary": _summary([said.reasoning_content])}


def _summary(texts: Sequence[str]) -> list[Item]:
    return [{"type": "summary_text", "text": text} for text in texts]


def _blocks(said: Message) -> list[Item]:
    blocks: list[Item] = []
    for content in said.content:
        if isinstance(content, ImageContent):
            blocks += [{"type": "input_image", "image_url": url} for url in content.image_urls]
        else:
            kind = "output_text" if said.role == "assistant" else "input_text"
            blocks.append({"type": kind, "text": content.text})
    return blocks


def _lone(blocks: list[Item]) -> object:
    """A text alone, or blocks."""
    if not blocks:
        return ""
    return blocks[0]["text"] if len(blocks) == 1 and "text" in blocks[0] else blocks


def _read(items: Sequence[Item], names: Mapping[str, str]) -> Iterator[LLMConvertibleEvent]:
    thought: list[Item] = []
    for item in items:
        goes_on = _is_thought(item) and not any("role" in each for each in thought)
        if thought and not goes_on and item.get("type") != "function_call":
            yield _answer(thought)
            thought = []
        if _is_thought(item):
            thought.append(item)
        elif item.get("type") == "function_call":
            yield _call(item, thought)
            thought = []
        else:
            yield _result(item, names) if "output" in item else _message(item)
    if thought:
        yield _answer(thought)


def _is_thought(item: Item) -> bool:
    """True for what belongs to the call behind it: reasoning, the agent's words."""
    return item.get("type") == "reasoning" or item.get("role") == "assistant"


def _thoughts(items: Sequence[Item]) -> str | None:
    found = [str(block.get("text", "")) for item in items for block in item.get("summary", ())]
    return "\n".join(filter(None, found)) or None


def _said(items: Sequence[Item]) -> list[TextContent | ImageContent]:
    return [content for item in items if "role" in item for content in _contents(item.get("content"))]


def _call(item: Item, thought: Sequence[Item]) -> ActionEvent:
    call_id, name = str(item["call_id"]), str(item["name"])
    call = MessageToolCall(id=call_id, name=name, arguments=str(item["arguments"]), origin="completion")
    return ActionEvent(
        thought=[each for each in _said(thought) if isinstance(each, TextContent)],
        reasoning_content=_thoughts(thought),
        tool_name=name,
        tool_call_id=call_id,
        tool_call=call,
        llm_response_id=_MADE_HERE,
    )


def _answer(thought: Sequence[Item]) -> MessageEvent:
    said = Message(role="assistant", content=_said(thought), reasoning_content=_thoughts(thought))
    return MessageEvent(source="agent", llm_message=said)


def _result(item: Item, names: Mapping[str, str]) -> ObservationEvent:
    call_id = str(item["call_id"])
    return ObservationEvent(
        observation=ShownObservation(content=_contents(item["output"])),
        action_id=call_id,
        tool_name=names.get(call_id) or "tool",
        tool_call_id=call_id,
    )


def _message(item: Item) -> MessageEvent:
    role = "system" if item.get("role") in ("system", "developer") else "user"
    return MessageEvent(source="user", llm_message=Message(role=role, content=_contents(item.get("content"))))


def _contents(content: Any) -> list[TextContent | ImageContent]:
    if isinstance(content, str):
        return [TextContent(text=content)] if content else []
    return [_content(block) for block in cast("list[Item]", content or [])]


def _content(block: Item) -> TextContent | ImageContent:
    if block.get("type") == "input_image" and block.get("image_url"):
        return ImageContent(image_urls=[str(block["image_url"])])
    return TextContent(text=str(block.get("text") or block.get("refusal") or ""))
