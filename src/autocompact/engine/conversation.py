"""One conversation in use: its log, its context, and the compactions that keep the context within the window.

The per-turn path touches only what is new: `append` stores and measures the message, `usage` reads running sums,
`ready` hands out the context. What takes longer happens in `autocompact.engine.execution`.

    replica      log, state and lock; the only one that writes them
    decisions    what to do next, from the state of one moment
    fitting      makes the next request fit
    execution    makes a compaction and activates it
    preparation  has one made in the background
    records      undo, restore, compare, pin
    following    makes the log equal to a list that the caller keeps
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import isawaitable
from typing import Any, TypeVar, cast, overload

from msgspec import structs

from autocompact.compaction.transcript import Context
from autocompact.core.messages import Dialect, Message, Role, Text, Usage
from autocompact.core.usage import Load, Reading
from autocompact.core.validity import check_message, check_usage
from autocompact.engine.accepted import check_name
from autocompact.engine.background import Background
from autocompact.engine.decisions import Decisions
from autocompact.engine.execution import Execution
from autocompact.engine.fitting import Fitting
from autocompact.engine.following import Following
from autocompact.engine.preparation import Preparation
from autocompact.engine.records import Records
from autocompact.engine.replica import Replica
from autocompact.engine.shared import Shared
from autocompact.engine.work import CompactionResult
from autocompact.errors import AutocompactError, IncompressibleContext, InvalidInput
from autocompact.models.sdk_errors import is_overflow
from autocompact.ports import Bridge, Framework, Key
from autocompact.stores.fork import copy_conversation
from autocompact.wire import check_raw, from_mapping, plain_messages
from autocompact.wire.items import Items, reported_usage, system_text, tools_json

T = TypeVar("T")


async def _answered(answer: object) -> object:
    return await answer if isawaitable(answer) else answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Internals:
    """The parts of a conversation, for programs built on the engine, such as the gateway and the chat page.

    Not covered by the stability promise: names here may change in any release.

    Attributes:
        replica: log, state and lock, and what conversations share.
        decisions: what to do next: `decide`, goals.
        fitting: `shrink`, for a request that was refused as too large.
        execution: makes and activates compactions; `recount`.
        preparation: prepares them.
        background: where they are prepared; `wait_idle`.
        following: `record`, for a caller's list that no model call follows.
    """

    replica: Replica
    decisions: Decisions
    fitting: Fitting
    execution: Execution
    preparation: Preparation
    background: Background
    following: Following

    @classmethod
    def of(cls, shared: Shared, key: Key) -> Internals:
        """The parts of the conversation of that key, put together."""
        replica, background = Replica(shared, key), Background()
        execution = Execution(replica, background=background)
        decisions = Decisions(replica, background=background)
        preparation = Preparation(replica, decisions=decisions, execution=execution, background=background)
        fitting = Fitting(
            replica,
            decisions=decisions,
            execution=execution,
            preparation=preparation,
            background=background,
        )
        return cls(
            replica=replica,
            decisions=decisions,
            fitting=fitting,
            execution=execution,
            preparation=preparation,
            background=background,
            following=Following(replica),
        )


class Conversation:
    """One conversation. Make it with `Compactor.open`; call its methods from one event loop.

    Attributes:
        records: the compactions of this conversation: the active one, preview, undo, restore, compare, pin.
        internals: what it is made of; not covered by the stability promise.
    """

    def __init__(self, shared: Shared, key: Key) -> None:
        self.internals = parts = Internals.of(shared, key)
        self._replica = parts.replica
        self.records = Records(
            parts.replica, execution=parts.execution, manual_goal=parts.decisions.manual_goal
        )
        self._following = parts.following

    async def fork(self, conversation_id: str, *, through_seq: int | None = None) -> Conversation:
        """A new conversation with the same log up to ``through_seq`` (default: all), and its compaction if that fits.

        Raises:
            InvalidInput: the name is taken, or is no name.
        """
        source, shared = self._replica, self._replica.shared
        source.check_usable()
        check_name(conversation_id, of="a conversation")
        target = replace(source.key, conversation=conversation_id)
        await copy_conversation(shared.store, source.key, target=target, through_seq=through_seq)
        fork = await load_conversation(shared, target)
        # a pin beyond the fork's end would name a message that is written there later
        pins = tuple(seq for seq in source.state.pins if seq <= len(fork))
        await fork.records.keep(pins, notes=source.state.notes)
        return fork

    # The log

    async def append(self, message: Message) -> Message:
        """Add a message at the end of the log; its ``seq`` is set here. Durable when this returns.

        If another process appended meanwhile, its messages come first.

        Raises:
            InvalidInput: it cannot be stored and used (`autocompact.core.validity`), or replaces a message that is not
                before it; the log is as it was.
            StoreError: it could not be stored; the log is as it was.
        """
        (stored,) = await self.extend((message,))
        return stored

    async def extend(self, messages: Iterable[Message], *, after: int | None = None) -> tuple[Message, ...]:
        """Add messages at the end of the log, all or none, in one transaction; otherwise as `append`.

        Args:
            messages: none is nothing to do.
            after: ``seq`` of the message that they have to follow directly; None is the last one, whoever wrote it.

        Raises:
            Conflict: the log does not end at ``after``.
        """
        self._replica.check_usable()
        if not isinstance(messages, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - not every caller is typed
            raise InvalidInput(
                f"messages is of type {type(messages).__name__}: give the messages in a list; `append` takes one"
            )
        # an iterator could be read only once, and it is read twice: checked, then stored
        messages = tuple(messages)
        for message in messages:
            check_message(message)
        return await self._replica.extend(messages, after=after, check=check_raw)

    async def add(
        self, message: Mapping[str, object], *, dialect: Dialect = "openai_chat", usage: Usage | None = None
    ) -> Message:
        """Add a message as a provider's API has it, e.g. ``{"role": "user", "content": "Hello."}``; nothing of it is lost.

        Raises:
            InvalidInput: it is no message of ``dialect``, or cannot be written as JSON; nothing was stored.
        """
        return await self.append(structs.replace(from_mapping(message, dialect=dialect), usage=usage))

    @overload
    async def follow(
        self,
        messages: Sequence[object],
        *,
        dialect: Dialect = "openai_chat",
        system: object = None,
        tools: Sequence[object] | bytes | None = None,
    ) -> list[Any]: ...

    @overload
    async def follow(
        self,
        messages: Sequence[T],
        *,
        dialect: Framework | Bridge[T],
        system: object = None,
        tools: Sequence[object] | bytes | None = None,
    ) -> list[T]: ...

    async def follow(
        self,
        messages: Sequence[Any],
        *,
        dialect: Dialect | Framework | Bridge[Any] = "openai_chat",
        system: object = None,
        tools: Sequence[object] | bytes | None = None,
    ) -> list[Any]:
        """Make the log equal to a list that the caller keeps, and return what to send in its place.

        For a framework or client that holds the messages itself and brings all of them before each model call. What is
        new is appended; what was edited, cut off or replaced since the last call is replaced in the log. Then a compaction
        is made if it is due (`ready`).

        Args:
            messages: the whole list, in the order of the API: mappings, objects of a provider's SDK, or the JSON of
                each as bytes; or a framework's own messages.
            dialect: the API that they are for, or the framework whose they are: ``"langchain"``, ``"pydantic_ai"``, or an
                `autocompact.ports.Bridge` to one that has no name here.
            system: the system prompt where it stands outside of the list: a text, or a list of the API's blocks. It
                counts and is never changed: a summary that would go into it stands in a message of the user.
            tools: the tool schemas of the request; they count.

        Returns:
            The context as a list of the same kind. Items that stand in it unchanged are the very objects that came.

        Raises:
            InvalidInput: the list, or one of its new items, is not what the API or framework describes; nothing was
                stored.
            ImportError: the framework is not installed; the sentence names the extra.
            IncompressibleContext: the context does not fit and cannot be made to; see `ready`.
            StoreError: what is new could not be stored.
        """
        self._replica.check_usable()
        bridged = self._following.bridge(dialect)
        if bridged is None:
            items = Items(messages, dialect=cast("Dialect", dialect))
            return await self._shown(items, system=system, tools=tools)
        written = bridged.written(messages)
        items = Items([item for group in written for item in group], dialect=bridged.bridge.dialect)
        shown = await self._shown(items, system=system, tools=tools)
        return bridged.handed_back(messages, written=written, shown=shown)

    async def _shown(
        self, items: Items, *, system: object, tools: Sequence[object] | bytes | None
    ) -> list[Any]:
        """The items to send in place of ``items``, once the log is equal to these."""
        following, dialect = self._following, items.dialect
        schemas, prompt = tools_json(tools), system_text(system, dialect=dialect)
        # two lists at once would each be compared with a log that the other is about to change
        async with following.lock:
            following.use(dialect)
            # before the decision, which counts what is new
            followed = await following.take_over(items)
            self._replica.use_tools(schemas, system=prompt)
            context = await self.ready()
            # a report that comes later is compared with this request, not with the context as it is by then
            following.sent = self._replica.load()
            return items.shown(
                context.messages, standing=context.standing, place=followed.place, renderer=following.renderer
            )

    async def heard(self, reply: object = None, *, usage: Usage | None = None) -> None:
        """Take over what the provider reported for the list that `follow` returned; the meter goes by it from now on.

        It is stored with the reply, once the list that `follow` is given next brings that.

        Args:
            reply: the API's whole response (a mapping, an object of its SDK, or JSON), which says its usage, or the
                reply of the framework that was followed last; None where ``usage`` is given.
            usage: what was reported, where the response is not at hand, as after a stream.

        Raises:
            InvalidInput: neither is given, the reply is no response, or what it reports is no usage.
        """
        following = self._following
        if usage is not None:
            reported = usage
        elif following.bridged is None or reply is None:
            reported = reported_usage(reply)
        else:
            reported = following.bridged.bridge.usage(reply)
        # not an error: compatible servers leave usage out
        if reported is None:
            return
        # it checks them: what is refused here must not be stored with the reply later
        self.report(reported, sent=following.sent)
        following.usage = reported

    async def say(self, text: str, *, role: Role = "user", usage: Usage | None = None) -> Message:
        """Add a message of plain words."""
        return await self.append(Message(seq=0, role=role, parts=(Text(text=text),), usage=usage))

    def __len__(self) -> int:
        """Number of messages, the replaced ones included."""
        return len(self._replica)

    async def history(self, *, from_seq: int = 1, through_seq: int | None = None) -> tuple[Message, ...]:
        """The log itself, whatever was compacted."""
        return await self._replica.history(from_seq=from_seq, through_seq=through_seq)

    # The context and its weight

    def context(self, *, closed: bool = False) -> Context:
        """Return the messages that the model is sent now. See `autocompact.compaction.transcript.View.context`."""
        return self._replica.context(closed=closed)

    def messages(self, *, dialect: Dialect = "openai_chat") -> list[dict[str, object]]:
        """The context as the message list of a provider's API; `autocompact.wire.export_messages` gives its bytes.

        What Python's JSON cannot hold comes as what is nearest: half a surrogate pair as U+FFFD, a number beyond a double
        as the largest one.
        """
        return plain_messages(self.context().messages, dialect=dialect)

    def usage(self) -> Reading:
        """Return the usage of the context: the figure of the meter and of the trigger. O(new)."""
        return self._replica.state.meter.read(self._replica.load())

    def report(self, usage: Usage, *, sent: Load | None = None) -> None:
        """Take over what the provider reported, where no message brings it.

        Args:
            usage: its figures.
            sent: the request, as `internals.replica.load` gave it then; None is the context as it is now.

        Raises:
            InvalidInput: it is no usage.
        """
        check_usage(usage)
        self._replica.observe_usage(usage, sent=sent)

    def should_compact(self) -> bool:
        """True if the threshold is reached; a compaction resets it."""
        return self.internals.decisions.should_compact()

    # Compaction

    async def ready(
        self, *, tools: Sequence[object] | bytes | None = None, system: str | None = None
    ) -> Context:
        """The context for the next model call, compacted first where that is due. Call it before each one.

        From the threshold on it waits for a compaction that is being prepared; one that is prepared without a model is
        waited for by the next call. A compaction that fails leaves the context as it was, unless the request would not
        fit: then the steps of the ladder that need no model act.

        Args:
            tools: the tool schemas that the request carries. They count, and the request for a summary repeats them, so
                that the provider's prompt cache hits. None: as it was said last.
            system: the same for a system prompt that is not in the log.

        Raises:
            IncompressibleContext: what must stay does not fit, nothing can be gained, or the policy forbids to
                compact. A context that does not fit is never handed out.
            StoreError: the request would not fit, and the compaction could not be stored.
        """
        if tools is not None or system is not None:
            meter = self._replica.state.meter
            schemas = meter.tools if tools is None else tools_json(tools)
            self._replica.use_tools(schemas, system=meter.system if system is None else system)
        return await self.internals.fitting.ready()

    @overload
    async def attempt(self, call: Callable[[Context], Awaitable[T]]) -> T: ...

    @overload
    async def attempt(self, call: Callable[[Context], T]) -> T: ...

    async def attempt(self, call: Callable[[Context], object]) -> object:
        """Make room, call the model, and if it says that the request is too large, compact without it and retry once.

        Tools and a system prompt outside of the log are those that `ready` was told of last.

        Args:
            call: sends the context by whichever client; what it returns, or an awaitable gives, is returned. It is called on
                the event loop: a client that blocks belongs in `asyncio.to_thread`.

        Raises:
            Exception: what ``call`` raised, the second time, or for another reason than the size of the request, or where
                nothing can be gained. The size is told by `ModelOverflow` and by the errors of the providers' SDKs.
        """
        context = await self.ready()
        try:
            return await _answered(call(context))
        except Exception as error:
            if is_overflow(error) is None:
                raise
            await self.internals.background.wait_idle()
            try:
                shrunk = await self.internals.fitting.shrink()
            except IncompressibleContext as refused:
                raise error from refused
            if not shrunk:
                raise
        return await _answered(call(self.context()))

    async def compact(self, focus: str = "") -> CompactionResult:
        """Compact now, because somebody asks for it.

        One that is asked for while another one runs fails; it is not queued. An empty conversation is left alone.
        """
        execution = self.internals.execution
        try:
            self._replica.check_usable()
            record = await execution.run(
                lambda: self.internals.decisions.manual_goal(focus), model_free=False, must_fit=False
            )
        except AutocompactError as error:
            return CompactionResult(success=False, message=str(error), summary=self._summary, error=error)
        if record is None:
            return CompactionResult(success=False, message=execution.no_op_reason, summary=self._summary)
        said = f"{record.receipt.tokens_before:,} tokens became {record.receipt.tokens_after:,}"
        return CompactionResult(success=True, message=said, summary=record.summary, record=record)

    @property
    def _summary(self) -> str:
        active = self._replica.active
        return active.summary if active else ""


async def load_conversation(shared: Shared, key: Key) -> Conversation:
    """The conversation as the store holds it, an empty one if there is none."""
    conversation = Conversation(shared, key)
    await conversation.internals.replica.reload()
    await conversation.internals.replica.learn_secrets()
    return conversation
