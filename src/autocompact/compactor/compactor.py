"""What the conversations of one application share."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, Self

from autocompact.compactor.conversation import Conversation
from autocompact.compactor.summariser import Summariser
from autocompact.core.modes import DEFAULT, Mode
from autocompact.core.tokens import Counter
from autocompact.core.windows import DEFAULT_WINDOW, budget_for, window_for
from autocompact.events import Subscriber, Subscribers
from autocompact.ports import Clock, Key, Leases, Model, Store, SystemClock
from autocompact.skills import load_skill
from autocompact.vocabulary import default_counter


class ConversationStore(Store, Leases, Protocol):
    """A store that also gives leases, as all of ours do."""


class Compactor:
    """Keeps conversations within the window.

    Args:
        store: where logs and records are kept; the caller closes it.
        model: the conversations' own model, which also makes the summaries; None makes them offline.
        summary_model: another (cheaper) model for summaries.
        mode: when and how to compact.
        window: tokens of the model's window; None looks the model up.
        reserve: tokens kept for the reply; None takes a share of the window.
        counter: counts tokens; None takes the one that suits the model.
        memory_folder: where CONTEXT_ARCHIVE.md gets an entry per compaction, and DECISIONS.md is read from.
        clock: what time it is.

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
        reserve: int | None = None,
        counter: Counter | None = None,
        memory_folder: Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        name = model.name if model else ""
        self.store = store
        self.model = model
        self.mode = mode
        self.budget = budget_for(name, window=window, reserve=reserve)
        self.counter = counter or default_counter(name)
        self.memory_folder = memory_folder
        self.clock = clock or SystemClock()
        self.subscribers = Subscribers()
        self.holder = uuid.uuid4().hex
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

    def summariser(self, tools: bytes | None) -> Summariser | None:
        """Who makes summaries; None for offline ones."""
        model = self._summary_model or self.model
        if model is None:
            return None
        return Summariser(
            model=model,
            skill=self._skill,
            window=self.budget.window if model is self.model else window_for(model.name) or DEFAULT_WINDOW,
            counter=self.counter,
            live=model is self.model,
            cap_tokens=self.mode.cap_tokens,
            output_tokens=self.mode.output_tokens,
            tools=tools,
            decisions=self._decisions(),
        )

    def _decisions(self) -> str:
        path = self.memory_folder / "DECISIONS.md" if self.memory_folder else None
        return path.read_text("utf-8", errors="replace") if path and path.is_file() else ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.store.aclose()
        for model in (self.model, self._summary_model):
            if model is not None:
                await model.aclose()
