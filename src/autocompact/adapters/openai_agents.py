"""OpenAI Agents SDK: a session for its runs.

    session = AutocompactSession(compactor, conversation="trip")
    result = await Runner.run(agent, "Go on.", session=session, run_config=session.run_config())

The session holds all items of the conversation, as any session of the SDK does; what the model is sent is the conversation's
context. Needs the extra ``openai-agents``.

The SDK gives each model call a list of items: those of the session and what it did not store yet. That list is followed
(`Conversation.follow`). A list that is not the session's (an agent that runs as a tool inherits the run's configuration, a
handoff's filter drops items) is a conversation of its own, beside the session's.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from hashlib import blake2b
from inspect import isawaitable
from typing import Any, Final, cast

from autocompact.runtime.extras import install_command

try:
    from agents import Model, ModelProvider, ModelResponse, RunConfig
    from agents.run import CallModelData, CallModelInputFilter, ModelInputData
except ImportError as error:
    raise ImportError(
        f"the adapter for the OpenAI Agents SDK needs {error.name}: {install_command('openai-agents')}",
        name=error.name,
    ) from error

from autocompact.adapters.conversations import Conversations, has_shrunk
from autocompact.core.messages import Usage
from autocompact.engine import Compactor, Conversation
from autocompact.engine.following import current
from autocompact.ports import Item
from autocompact.wire import plain_messages
from autocompact.wire.json import encode

_DIALECT: Final = "openai_responses"


class AutocompactSession:
    """The items of one conversation, kept in a store; a `Session` of the SDK.

    Args:
        compactor: store, window and mode.
        conversation: its name; the same name goes on with it, in another process too.
        namespace: where it is.

    Attributes:
        session_id: the conversation's name.
        session_settings: what the SDK reads of a session; leave ``limit`` out, since it hides items.
    """

    def __init__(self, compactor: Compactor, *, conversation: str, namespace: str = "default") -> None:
        self.session_id = conversation
        self.session_settings: Any = None
        self._compactor = compactor
        self._namespace = namespace
        self._conversations = Conversations(compactor, namespace=namespace)
        self._items: list[Item] | None = None
        self._unsaved: list[Item] = []

    def run_config(self, config: RunConfig | None = None) -> RunConfig:
        """The configuration for runs of this session.

        Args:
            config: what else the runs need; its own filter goes first.
        """
        config = config or RunConfig()
        model = config.model
        return replace(
            config,
            call_model_input_filter=self._filter(config.call_model_input_filter),
            model=CompactingModel(model) if isinstance(model, Model) else model,
            model_provider=_Provider(config.model_provider),
        )

    # The session

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items, or the last so many of them."""
        conversation = await self._conversation()
        await conversation.internals.replica.sync()
        items = self._items = await _items(conversation)
        return list(items if limit is None else items[max(0, len(items) - limit) :])

    async def add_items(self, items: list[Any]) -> None:
        """Store items at the end; those that a model call has brought already are there."""
        held, known = await self._held(), self._unsaved[: len(items)]
        if not all(map(_says, known, items)):
            known = []
        self._unsaved = self._unsaved[len(known) :] if known else []
        await self._store([*held, *items[len(known) :]])

    async def pop_item(self) -> Any:
        """Take the last item back, and return it; None without one. The log keeps it, as replaced."""
        items = await self._held()
        if not items:
            return None
        if len(items) == 1:
            await self.clear_session()
        else:
            await self._store(items[:-1])
        return items[-1]

    async def clear_session(self) -> None:
        """Delete the conversation, in the store as well."""
        await self._compactor.delete(self.session_id, namespace=self._namespace)
        self._conversations = Conversations(self._compactor, namespace=self._namespace)
        self._items, self._unsaved = [], []

    async def _conversation(self) -> Conversation:
        return await self._conversations.get(self.session_id)

    async def _held(self) -> list[Item]:
        """The items, read if they are not known yet."""
        return await self.get_items() if self._items is None else self._items

    async def _store(self, items: list[Item]) -> None:
        await (await self._conversation()).internals.following.record(items, dialect=_DIALECT)
        self._items = items

    # The model calls

    def _filter(self, first: CallModelInputFilter | None) -> CallModelInputFilter:
        async def context(data: CallModelData[Any]) -> ModelInputData:
            given = data.model_data
            if first is not None:
                made = first(data)
                given = await made if isawaitable(made) else made
            call = await self._call(given, agent=data.agent.name)
            _CALL.set(call)
            return ModelInputData(input=await call.context(), instructions=given.instructions)

        return context

    async def _call(self, given: ModelInputData, *, agent: str) -> _Call:
        items: list[Item] = cast("list[Any]", given.input)
        system = given.instructions or ""
        held = await self._held()
        places = _places(held, items)
        if places is None:
            first = blake2b(encode(items[0]), digest_size=4).hexdigest()
            conversation = await self._conversations.get(f"{self.session_id}/{agent}/{first}")
            return _Call(conversation=conversation, items=items, shown={}, system=system)
        self._unsaved = items[sum(place is not None for place in places) :]
        self._items = [*held, *self._unsaved]
        shown = {
            id(each): each if place is None else items[place]
            for each, place in zip(held, places, strict=True)
        }
        conversation = await self._conversation()
        return _Call(conversation=conversation, items=self._items, shown=shown, system=system)


async def _items(conversation: Conversation) -> list[Item]:
    """The items of a log, without what was replaced."""
    log = current(await conversation.history())
    return cast("list[Item]", plain_messages(log, dialect=_DIALECT))


def _places(held: Sequence[Item], items: Sequence[Item]) -> list[int | None] | None:
    """Where the items of the session stand in those of a call; None for a call that is not the session's.

    The SDK leaves out calls that were never answered, with their reasoning.
    """
    found: list[int | None] = []
    at = 0
    for each in held:
        if at < len(items) and _says(items[at], each):
            found.append(at)
            at += 1
        elif str(each.get("type", "")).endswith(("_call", "reasoning")):
            found.append(None)
        else:
            return None
    return found


def _says(item: Item, held: Item) -> bool:
    """True if an item of a call is this one of the session: the SDK leaves members out that are none of the model's."""
    return all(name in held and held[name] == value for name, value in item.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """One model call.

    Attributes:
        conversation: whose context is sent.
        items: its list.
        shown: what the SDK brought for an item of the session, by the `id` of that.
        system: the instructions.
    """

    conversation: Conversation
    items: Sequence[Item]
    shown: dict[int, Item]
    system: str

    async def context(self) -> list[Any]:
        """What to send."""
        context = await self.conversation.follow(self.items, dialect=_DIALECT, system=self.system or None)
        return [self.shown.get(id(item), item) for item in context]


_CALL: ContextVar[_Call | None] = ContextVar("autocompact_call", default=None)
"""The call that the filter prepared last, in the task of the run."""


class CompactingModel(Model):
    """A model that is asked once more, with a smaller context, where the request was too large.

    `AutocompactSession.run_config` makes them for models that are named. An agent whose ``model`` is an object gets one by
    ``CompactingModel(model)``.

    Args:
        model: what is not about messages is asked of it.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        """What else the model has."""
        return getattr(self._model, name)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    def get_retry_advice(self, request: Any) -> Any:
        """The model's own advice."""
        return self._model.get_retry_advice(request)

    async def get_response(
        self, system_instructions: str | None, input: Any, *rest: Any, **options: Any
    ) -> ModelResponse:
        """The model's response to the context."""
        call = _CALL.get()
        try:
            response = await self._model.get_response(system_instructions, input, *rest, **options)
        except Exception as error:
            if call is None or not await has_shrunk(call.conversation, error):
                raise
            smaller = await call.context()
            response = await self._model.get_response(system_instructions, smaller, *rest, **options)
        await _observe(call, response.usage)
        return response

    async def stream_response(
        self, system_instructions: str | None, input: Any, *rest: Any, **options: Any
    ) -> AsyncGenerator[Any]:
        """The events of the model's response to the context; an overflow shows only when they are read."""
        call, begun = _CALL.get(), False
        try:
            events = self._model.stream_response(system_instructions, input, *rest, **options)
            async for event in _observed(call, events):
                begun = True
                yield event
        except Exception as error:
            # what was handed on cannot be taken back, and would come twice
            if begun or call is None or not await has_shrunk(call.conversation, error):
                raise
        else:
            return
        events = self._model.stream_response(system_instructions, await call.context(), *rest, **options)
        async for event in _observed(call, events):
            yield event


async def _observed(call: _Call | None, events: AsyncIterator[Any]) -> AsyncGenerator[Any]:
    async for event in events:
        if event.type == "response.completed":
            await _observe(call, event.response.usage)
        yield event


async def _observe(call: _Call | None, usage: Any) -> None:
    if call is not None and usage is not None and usage.input_tokens:
        await call.conversation.heard(usage=Usage(prompt=usage.input_tokens, completion=usage.output_tokens))


class _Provider(ModelProvider):
    """Finds models as another provider does."""

    def __init__(self, provider: ModelProvider) -> None:
        self._provider = provider

    def get_model(self, model_name: str | None) -> Model:
        return CompactingModel(self._provider.get_model(model_name))

    async def aclose(self) -> None:
        await self._provider.aclose()
