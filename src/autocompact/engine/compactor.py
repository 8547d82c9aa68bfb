"""Opens and deletes the conversations of one application."""

from __future__ import annotations

from collections.abc import Mapping

from autocompact.compaction.modes import Mode
from autocompact.core.budget import Budget
from autocompact.engine.accepted import check_name
from autocompact.engine.conversation import Conversation, load_conversation
from autocompact.engine.deletion import delete_conversation
from autocompact.engine.shared import Shared
from autocompact.models.vocabulary import default_counter
from autocompact.ports import Clock, ConversationStore, Key, Model, Workers


class Compactor(Shared):
    """Keeps conversations within the window.

    Args:
        store: where logs and records are kept.
        model: the conversations' own model, which also makes the summaries; None makes them offline. A function that
            takes messages and returns text is one too (`autocompact.models.function.FunctionModel`).
        summary_model: another (cheaper) model for summaries.
        mode: when and how to compact.
        window: tokens of the model's window; None goes by what the model says, or by its name.
        windows: windows of models by the beginning of their names; they go before the table of known models.
        reserve: tokens kept for the reply; None takes a share of the window.
        counter: counts tokens, an object or a function; None takes the one that suits the model.
        memory_folder: where CONTEXT_ARCHIVE.md gets an entry per compaction, and DECISIONS.md is read from.
        keep_metrics: keep the figures of each compaction with its entry.
        clock: what time it is.

    With ``async with`` it closes store and models at the end.

    Raises:
        InvalidInput: a store, model, mode, figure or skill that cannot be used: the message says what one is.
    """

    async def open(self, conversation_id: str, *, namespace: str = "default") -> Conversation:
        """The conversation of that name, a new one if there is none.

        Raises:
            InvalidInput: it is no name, or the compactor was closed.
            StoreError: it cannot be read.
        """
        self.check_open()
        check_name(conversation_id, of="a conversation")
        check_name(namespace, of="a namespace")
        return await load_conversation(self, Key(conversation=conversation_id, namespace=namespace))

    async def delete(self, conversation_id: str, *, namespace: str = "default") -> bool:
        """Delete a conversation everywhere: log, compactions, search index, and its entries in memory folders.

        The store's file is written anew without it, which takes time in proportion to all that it holds. What other
        places have (exports, backups, TASK_ARCHIVE.md, the model's provider) stays, see `autocompact.engine.deletion.STAYS`.

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


class NamedCompactor(Compactor):
    """A compactor of conversations whose model is somebody else's, known by name alone.

    Args:
        store: see `Compactor`, as for what is not described here.
        name: of the model.
        budget: of its requests.
        mode: when and how to compact.
        windows: of models by the beginning of their names.
        ctok: count the tokens of Claude's models with ctok.
        summaries: the model that makes summaries; None makes them offline.
        clock: what time it is.
        workers: prepare compactions in place of this process; None if nobody does.
    """

    def __init__(
        self,
        store: ConversationStore,
        *,
        name: str,
        budget: Budget,
        mode: Mode,
        windows: Mapping[str, int] | None = None,
        ctok: bool = False,
        summaries: Model | None = None,
        clock: Clock | None = None,
        workers: Workers | None = None,
    ) -> None:
        super().__init__(
            store,
            clock=clock,
            summary_model=summaries,
            mode=mode,
            windows=windows,
            counter=default_counter(name, ctok=ctok),
        )
        self.budget = budget
        self.workers = workers
        self._name = name

    @property
    def model_name(self) -> str:
        """The name that it was given."""
        return self._name
