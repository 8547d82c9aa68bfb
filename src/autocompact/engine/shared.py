"""The parts that all conversations of one application share: store, models, mode, budget, clock, listeners.

It knows no conversation. `autocompact.engine.compactor.Compactor` is this and what opens and deletes them.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

from autocompact.compaction.modes import DEFAULT, Mode
from autocompact.compaction.receipts import Check, checked
from autocompact.core.figures import check_whole, check_windows
from autocompact.core.messages import Message, text_message
from autocompact.core.prices import CacheRates, cache_rates
from autocompact.core.redacted import EMPTY, Reader, redacted
from autocompact.core.redaction import Redacted, redact
from autocompact.core.tokens import Counter
from autocompact.core.windows import DEFAULT_WINDOW, budget_for, window_for
from autocompact.engine.accepted import (
    checked_clock,
    checked_counter,
    checked_folder,
    checked_mode,
    checked_model,
    checked_store,
)
from autocompact.engine.guarded import GuardedModel
from autocompact.engine.summariser import Summariser, memory_told
from autocompact.errors import InvalidInput, log_data
from autocompact.events import Subscriber, Subscribers
from autocompact.memory.files.others import background_files
from autocompact.models.function import Count, Function
from autocompact.models.skills import load_skill
from autocompact.models.vocabulary import default_counter
from autocompact.ports import Behind, Clock, ConversationStore, Model, SystemClock, Workers

log = logging.getLogger("autocompact")


class Shared:
    """Holds what conversations share, and closes it. See `Compactor` for the arguments.

    Attributes:
        store: where logs and records are kept.
        model: the conversations' own model; None if there is none.
        mode: when and how to compact.
        behind: the store, if it takes messages at once and writes them later; else None.
        budget: tokens of the window, and the reserve for the reply.
        counter: counts tokens.
        memory_folder: where CONTEXT_ARCHIVE.md gets an entry per compaction; None for no archive.
        keep_metrics: keep the figures of each compaction with its entry.
        clock: what time it is.
        subscribers: are notified of every event.
        tasks: what runs in the background.
        workers: prepare compactions in place of this process; None if nobody does.
        holder: names this object in the leases that it takes.
        read: redacts a message that a compaction meets for the first time.
        check: completes the receipt of a compaction that is taken.
    """

    def __init__(
        self,
        store: ConversationStore,
        *,
        model: Model | Function | None = None,
        summary_model: Model | Function | None = None,
        mode: Mode = DEFAULT,
        window: int | None = None,
        windows: Mapping[str, int] | None = None,
        reserve: int | None = None,
        counter: Counter | Count | None = None,
        memory_folder: str | Path | None = None,
        keep_metrics: bool = True,
        clock: Clock | None = None,
    ) -> None:
        self.store = checked_store(store)
        self.model = checked_model(model, name="model")
        self.mode = checked_mode(mode)
        self.behind = store if isinstance(store, Behind) else None
        name = self.model.name if self.model else ""
        if windows is not None:
            check_windows(windows)
        own = _window_of(self.model, windows) if window is None else window
        self.budget = budget_for(name, window=own, reserve=reserve, overrides=windows)
        self.counter = checked_counter(counter) or default_counter(name)
        self.memory_folder = checked_folder(memory_folder)
        self.keep_metrics = keep_metrics
        self.clock = checked_clock(clock) or SystemClock()
        self.subscribers = Subscribers()
        self.tasks: set[asyncio.Task[None]] = set()
        self.workers: Workers | None = None
        self.read: Reader = redacted
        self.check: Check = checked
        self.holder = uuid.uuid4().hex
        self._closed = False
        self._windows = windows
        self._summary_model = checked_model(summary_model, name="summary_model")
        # read now, so that a missing file is refused here and not at the first compaction
        self._skill = load_skill(mode.skill)

    @property
    def model_name(self) -> str:
        """The conversations' model, "" if there is none."""
        return self.model.name if self.model else ""

    @property
    def has_summary_model(self) -> bool:
        """True if a model makes the summaries, which takes its time."""
        return (self._summary_model or self.model) is not None

    @cached_property
    def rates(self) -> CacheRates | None:
        """Prices of the prompt cache of the conversations' model; None if unknown."""
        return cache_rates(self.model_name)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call ``subscriber`` with every event; returns the function that ends it."""
        return self.subscribers.subscribe(subscriber)

    def summariser(self, tools: bytes | None, *, system: str = "") -> Summariser | None:
        """Return the summariser; None if summaries are made offline.

        Args:
            tools: the live request's tool schemas.
            system: its system prompt, where that stands outside of the log.
        """
        model = self._summary_model or self.model
        if model is None:
            return None
        # a cheaper model may have a smaller window than the conversation's own
        window = _window_of(model, self._windows) or DEFAULT_WINDOW
        return Summariser(
            model=GuardedModel(model),
            skill=self._skill,
            window=self.budget.window if model is self.model else window,
            counter=self.counter,
            # only the same model has the conversation's prefix in its cache
            live=model is self.model and self.mode.reuse_prefix,
            cap_tokens=self.mode.cap_tokens,
            output_tokens=self.mode.output_tokens,
            tools=tools,
            outside=self.outside(system),
        )

    def informed(self, summariser: Summariser) -> Summariser:
        """``summariser`` with what the memory folder and the project's files say now. Reads the disk: call it in a thread.

        They are read for each summary: agents write to them as they work.
        """
        if self.memory_folder is None:
            return summariser
        memory = memory_told(background_files(self.memory_folder), window=summariser.window)
        return replace(summariser, decisions=self._decisions(self.memory_folder), memory=memory)

    def outside(self, system: str) -> tuple[Message, ...]:
        """A system prompt that stands outside of the log, as the message it is sent as."""
        return (text_message(0, "system", system),) if system else ()

    def _decisions(self, folder: Path) -> Redacted:
        path = folder / "DECISIONS.md"
        try:
            return redact(path.read_text("utf-8", errors="replace")) if path.is_file() else EMPTY
        except OSError as error:
            log.warning("DECISIONS.md could not be read", extra=log_data(error))
            return EMPTY

    def check_open(self) -> None:
        """Check that it can still be used.

        Raises:
            InvalidInput: it was closed.
        """
        if self._closed:
            raise InvalidInput(
                "this compactor was closed: make a new one, and open the conversation with that"
            )

    async def aclose(self) -> None:
        """End what runs in the background, then close store and models."""
        # first: nothing new may start while the running tasks are ended
        self._closed = True
        running = tuple(self.tasks)
        for task in running:
            task.cancel()
        # before the store is closed, into which they may still be writing
        await asyncio.gather(*running, return_exceptions=True)
        # one that cannot be closed keeps none of the others open
        async with AsyncExitStack() as closing:
            for each in (self._summary_model, self.model, self.store):
                if each is not None:
                    closing.push_async_callback(each.aclose)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _window_of(model: Model | None, windows: Mapping[str, int] | None) -> int | None:
    """Look up a model's context window: in the caller's table, at the model itself, in the table of known models."""
    if model is None:
        return None
    own = model.window if isinstance(model, _Bounded) else None
    if own is not None:
        check_whole(own, name=f"the window of the model {model.name!r}", least=1)
    # a name in the caller's own table goes before what the model says of
    # itself, the table of known models after it
    overridden = window_for(model.name, overrides=windows)
    return overridden if windows and overridden != window_for(model.name) else own or overridden


@runtime_checkable
class _Bounded(Protocol):
    """A model that says how many tokens it takes."""

    window: int | None
