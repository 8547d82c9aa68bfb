"""One model and the compactor that keeps its conversations within its window."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from autocompact.chat.config import ANSWER_SILENCE, OFFLINE_WINDOW, ChatConfig
from autocompact.chat.finding import OFFLINE, Access, ModelChoice, access, choice_of, summariser_of
from autocompact.chat.late import LateResponder
from autocompact.chat.offline import OfflineResponder
from autocompact.chat.responder import Responder
from autocompact.engine import Compactor, Conversation
from autocompact.errors import InvalidInput
from autocompact.events import Event
from autocompact.models.environment import model_from_environment
from autocompact.models.offline import OfflineModel
from autocompact.ports import Clock, ConversationStore, Key, Model
from autocompact.stores.companions import EXAMPLE, is_example


class Engine:
    """A model with everything around it.

    Attributes:
        choice: which model.
        responder: answers in turns.
        compactor: holds its conversations within the window.

    Args:
        choice: which model.
        store: where conversations are.
        config: how they are held.
        environ: where keys are found.
        clock: what time it is.
        hear: told of compactions.

    Raises:
        InvalidInput: the environment lacks what the model needs.
        ImportError: the extra ``chat`` is not installed.
    """

    def __init__(
        self,
        choice: ModelChoice,
        *,
        store: ConversationStore,
        config: ChatConfig,
        environ: Mapping[str, str] | None,
        clock: Clock,
        hear: Callable[[Event], None],
    ) -> None:
        self.choice = choice
        found = None if choice.is_offline else access(choice, environ=environ)
        self._config = config
        self._model = found and summariser_of(found, window=config.window, silence=config.silence)
        self._summary_model = _summary_model(config, environ)
        self.responder: Responder = _responder(found, config)
        self._store, self._clock, self._hear = store, clock, hear
        self.compactor = self._compactor(config.memory_folder)
        self._example: Compactor | None = None

    def _compactor(self, memory_folder: Path | None) -> Compactor:
        config = self._config
        compactor = Compactor(
            self._store,
            model=self._model,
            summary_model=self._summary_model,
            mode=config.mode,
            window=OFFLINE_WINDOW if self.choice.is_offline and config.window is None else config.window,
            windows=config.windows,
            reserve=config.reserve,
            memory_folder=memory_folder,
            keep_metrics=config.keep_metrics,
            clock=self._clock,
        )
        compactor.subscribe(self._hear)
        return compactor

    async def open(self, conversation_id: str) -> Conversation:
        """A conversation, kept for this model."""
        key = Key(conversation=conversation_id, namespace=self._config.namespace)
        if await is_example(self._store, key):
            return await self.open_example()
        return await self.compactor.open(conversation_id, namespace=key.namespace)

    async def open_example(self) -> Conversation:
        """The example. It is no memory of the person's: it is never archived."""
        self._example = self._example or self._compactor(None)
        return await self._example.open(EXAMPLE, namespace=self._config.namespace)

    async def aclose(self) -> None:
        """Give back what the model opened. The store stays open: others use it."""
        running = (*self.compactor.tasks, *(self._example.tasks if self._example else ()))
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for each in (self.responder, self._model, self._summary_model):
            if each is not None:
                await each.aclose()


def _responder(found: Access | None, config: ChatConfig) -> Responder:
    if found is None:
        return OfflineResponder()
    return LateResponder(found, extra=config.extra, silence=config.silence or ANSWER_SILENCE)


def _summary_model(config: ChatConfig, environ: Mapping[str, str] | None) -> Model | None:
    name = config.summary_model
    if name is None:
        return None
    if name == OFFLINE:
        return OfflineModel()
    try:
        choice = choice_of(name)
    except InvalidInput:
        found = model_from_environment(name, environ=environ)
        if found is None:
            raise
        return found
    return summariser_of(access(choice, environ=environ), silence=config.silence)
