"""Engines: a model, and the compactor that keeps its conversations within its context window."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from autocompact.chat.config import ANSWER_SILENCE, OFFLINE_WINDOW, ChatConfig
from autocompact.chat.model_choices import (
    NOTHING_KEPT,
    OFFLINE,
    Access,
    Kept,
    ModelChoice,
    access,
    choice_of,
    offered,
    probed,
    summariser_of,
)
from autocompact.chat.offline import OfflineResponder
from autocompact.chat.remote import RemoteResponder
from autocompact.chat.responder import Responder
from autocompact.engine import Compactor, Conversation
from autocompact.errors import InvalidInput
from autocompact.events import Event
from autocompact.models.environment import FAMILIES, model_from_environment
from autocompact.models.offline import OfflineModel
from autocompact.ports import Clock, ConversationStore, Key, Model
from autocompact.stores.companions import EXAMPLE, is_example

log = logging.getLogger("autocompact")


class Engine:
    """A model and the compactor of its conversations.

    Attributes:
        choice: which model.
        responder: answers in turns.
        compactor: holds its conversations within the window.

    Args:
        choice: which model.
        store: where conversations are.
        config: how they are held.
        environ: where keys are found.
        kept: further keys and addresses.
        clock: what time it is.
        emit: takes the events of compactions.

    Raises:
        InvalidInput: the model's key or address is missing.
    """

    def __init__(
        self,
        choice: ModelChoice,
        *,
        store: ConversationStore,
        config: ChatConfig,
        environ: Mapping[str, str] | None,
        kept: Kept,
        clock: Clock,
        emit: Callable[[Event], None],
    ) -> None:
        self.choice = choice
        found = None if choice.is_offline else access(choice, environ=environ, kept=kept)
        self._config = config
        self._model = found and summariser_of(found, window=config.window, silence=config.silence)
        self._summary_model = _summary_model(config, environ=environ, kept=kept)
        self.responder: Responder = _responder(found, config)
        self._store, self._clock, self._emit = store, clock, emit
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
            counter=config.counter_for(self._model.name if self._model else ""),
            memory_folder=memory_folder,
            keep_metrics=config.keep_metrics,
            clock=self._clock,
        )
        compactor.subscribe(self._emit)
        return compactor

    async def open(self, conversation_id: str) -> Conversation:
        """Open a conversation for this model."""
        key = Key(conversation=conversation_id, namespace=self._config.namespace)
        if await is_example(self._store, key):
            return await self.open_example()
        return await self.compactor.open(conversation_id, namespace=key.namespace)

    async def open_example(self) -> Conversation:
        """Open the example conversation; it is never archived."""
        self._example = self._example or self._compactor(None)
        return await self._example.open(EXAMPLE, namespace=self._config.namespace)

    async def aclose(self) -> None:
        """Close what the model opened. The store stays open: others use it."""
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
    return RemoteResponder(found, extra=config.extra, silence=config.silence or ANSWER_SILENCE)


def _summary_model(config: ChatConfig, *, environ: Mapping[str, str] | None, kept: Kept) -> Model | None:
    name = config.summary_model
    if name is None:
        return None
    if name == OFFLINE:
        return OfflineModel()
    if name in FAMILIES:
        return (
            model_from_environment(name, environ=environ)
            or _family(name, environ=environ, kept=kept)
            or OfflineModel()
        )
    try:
        choice = choice_of(name)
    except InvalidInput:
        found = model_from_environment(name, environ=environ)
        if found is None:
            raise
        return found
    return summariser_of(access(choice, environ=environ, kept=kept), silence=config.silence)


def _family(name: str, *, environ: Mapping[str, str] | None, kept: Kept) -> Model | None:
    """A model of the family ``name``, by a kept key of Anthropic."""
    try:
        return summariser_of(access(choice_of(FAMILIES[name]), environ=environ, kept=kept))
    except InvalidInput:
        return None


class Engines:
    """The engines of one service, one for each model that was used.

    Args:
        store: where conversations are.
        config: how they are held.
        environ: where models and keys are found; None is the process's environment, read when it is needed.
        keys: further ones, by base URL.
        clock: the time.
        emit: takes the events of compactions.
    """

    def __init__(
        self,
        store: ConversationStore,
        *,
        config: ChatConfig,
        environ: Mapping[str, str] | None,
        clock: Clock,
        emit: Callable[[Event], None],
        keys: Mapping[str, str] = NOTHING_KEPT.keys,
    ) -> None:
        self._kept = Kept(keys=keys, base_url=config.base_url)
        self._store = store
        self._config = config
        self._environ = environ
        self._clock = clock
        self._emit = emit
        self._engines: dict[str, Engine] = {}

    async def choices(self, *, probe: bool) -> tuple[ModelChoice, ...]:
        """The models that can be chosen, see `ChatService.models`."""
        wanted = (choice_of(self._config.model),) if self._config.model else ()
        *from_environment, offline = offered(self._environ, kept=self._kept)
        local = await probed(self._environ, kept=self._kept) if probe else ()
        choices = (*wanted, *from_environment, *local, offline)
        return tuple({choice.name: choice for choice in choices}.values())

    def get(self, name: str) -> Engine:
        """The engine of the model ``name``.

        Raises:
            InvalidInput: there is no such model, or its key is missing.
        """
        choice = choice_of(name)
        if choice.name not in self._engines:
            self._engines[choice.name] = Engine(
                choice,
                store=self._store,
                config=self._config,
                environ=self._environ,
                kept=self._kept,
                clock=self._clock,
                emit=self._emit,
            )
        return self._engines[choice.name]

    def get_or_offline(self, name: str) -> Engine:
        """The engine of a conversation that used ``name`` last ("" if none was chosen).

        A conversation whose model is not available any more opens with the offline model.

        Raises:
            InvalidInput: the default model cannot be used.
        """
        wanted = name or self._config.model or offered(self._environ, kept=self._kept)[0].name
        try:
            return self.get(wanted)
        except InvalidInput as error:
            if not name:
                raise
            log.warning(
                "a conversation's model is not available", extra={"model": name, "reason": str(error)}
            )
            return self.get(OFFLINE)

    async def aclose(self) -> None:
        """Close all engines."""
        for engine in self._engines.values():
            await engine.aclose()
        self._engines.clear()
