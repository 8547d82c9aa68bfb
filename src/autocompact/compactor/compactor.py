"""What the conversations of one application share."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

from autocompact.compactor.conversation import Conversation
from autocompact.compactor.deletion import delete_conversation
from autocompact.compactor.guarded import GuardedModel
from autocompact.compactor.summariser import Summariser
from autocompact.core.messages import Message, text_message
from autocompact.core.modes import DEFAULT, Mode
from autocompact.core.tokens import Counter
from autocompact.core.windows import DEFAULT_WINDOW, budget_for, window_for
from autocompact.events import Subscriber, Subscribers
from autocompact.ports import Behind, Clock, ConversationStore, Key, Model, SystemClock
from autocompact.skills import load_skill
from autocompact.vocabulary import default_counter


class Compactor:
    """Keeps conversations within the window.

    Args:
        store: where logs and records are kept.
        model: the conversations' own model, which also makes the summaries; None makes them offline.
        summary_model: another (cheaper) model for summaries.
        mode: when and how to compact.
        window: tokens of the model's window; None goes by what the model says, or by its name.
        windows: windows of models by the beginning of their names; they go before the table of known models.
        reserve: tokens kept for the reply; None takes a share of the window.
        counter: counts tokens; None takes the one that suits the model.
        memory_folder: where CONTEXT_ARCHIVE.md gets an entry per compaction, and DECISIONS.md is read from.
        keep_metrics: keep the figures of each compaction with its entry.
        clock: what time it is.

    With ``async with`` it closes store and models at the end.

    Raises:
        InvalidInput: a figure or a skill that cannot be used.
    """

    def __init__(
        self,
        store: ConversationStore,
        *,
        model: Model | None = None,
        summary_model: Model | None = None,
        mode: Mode = DEFAULT,
        window: int | None = None,
        windows: Mapping[str, int] | None = None,
        reserve: int | None = None,
        counter: Counter | None = None,
        memory_folder: Path | None = None,
        keep_metrics: bool = True,
        clock: Clock | None = None,
    ) -> None:
        name = model.name if model else ""
        self.store = store
        self.behind = store if isinstance(store, Behind) else None
        self.model = model
        self.mode = mode
        self.budget = budget_for(
            name, window=window or _window_of(model, windows), reserve=reserve, overrides=windows
        )
        self.counter = counter or default_counter(name)
        self.memory_folder = memory_folder
        self.keep_metrics = keep_metrics
        self.clock = clock or SystemClock()
        self.subscribers = Subscribers()
        self.tasks: set[asyncio.Task[None]] = set()
        self.holder = uuid.uuid4().hex
        self._windows = windows
        self._summary_model = summary_model
        self._skill = load_skill(mode.skill)

    @property
    def model_name(self) -> str:
        """The conversations' model, "" if there is none."""
        return self.model.name if self.model else ""

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call ``subscriber`` with every event; returns the function that ends it."""
        return self.subscribers.subscribe(subscriber)

    async def open(self, conversation_id: str, *, namespace: str = "default") -> Conversation:
        """The conversation of that name, a new one if there is none."""
        return await Conversation.load(self, Key(conversation=conversation_id, namespace=namespace))

    async def delete(self, conversation_id: str, *, namespace: str = "default") -> bool:
        """Delete a conversation everywhere: log, compactions, search index, and its entries in memory folders.

        The store's file is written anew without it, which takes time in proportion to all that it holds. What other
        places have (exports, backups, DONE.md, the model's provider) stays, see `autocompact.compactor.deletion.STAYS`.

        Returns:
            Whether there was one.

        Raises:
            InvalidInput: CONTEXT_ARCHIVE.md names it in lines that are no entry; nothing was deleted.
            MemoryInUse: another process is at the memory folder for long.
            StoreError: the store or an archive cannot be used; delete it again.
        """
        folders = () if self.memory_folder is None else (self.memory_folder,)
        key = Key(conversation=conversation_id, namespace=namespace)
        existed = await delete_conversation(self.store, key, folders=folders)
        await self.store.purge()
        return existed

    def summariser(self, tools: bytes | None, *, system: str = "") -> Summariser | None:
        """Who makes summaries; None for offline ones.

        Args:
            tools: the live request's tool schemas.
            system: its system prompt, where that stands outside of the log.
        """
        model = self._summary_model or self.model
        if model is None:
            return None
        window = _window_of(model, self._windows) or DEFAULT_WINDOW
        return Summariser(
            model=GuardedModel(model),
            skill=self._skill,
            window=self.budget.window if model is self.model else window,
            counter=self.counter,
            live=model is self.model and self.mode.reuse_prefix,
            cap_tokens=self.mode.cap_tokens,
            output_tokens=self.mode.output_tokens,
            tools=tools,
            outside=self.outside(system),
            decisions=self._decisions(),
        )

    def outside(self, system: str) -> tuple[Message, ...]:
        """A system prompt that stands outside of the log, as the message it is sent as."""
        return (text_message(0, "system", system),) if system else ()

    def _decisions(self) -> str:
        path = self.memory_folder / "DECISIONS.md" if self.memory_folder else None
        return path.read_text("utf-8", errors="replace") if path and path.is_file() else ""

    async def aclose(self) -> None:
        """End what runs in the background, then close store and models."""
        running = tuple(self.tasks)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self.store.aclose()
        for model in (self.model, self._summary_model):
            if model is not None:
                await model.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _window_of(model: Model | None, windows: Mapping[str, int] | None) -> int | None:
    """What is known of a model's window: the caller's table, the model itself, the table of known models."""
    if model is None:
        return None
    own = model.window if isinstance(model, _Bounded) else None
    overridden = window_for(model.name, overrides=windows)
    return overridden if windows and overridden != window_for(model.name) else own or overridden


@runtime_checkable
class _Bounded(Protocol):
    """A model that says how many tokens it takes."""

    window: int | None
