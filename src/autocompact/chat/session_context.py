"""Session context: everything that the parts of a session work with, as one frozen value.

A part (`Turn`, `TurnRunner`, recovery, the history) reads this and nothing else. News goes up as events (`emit`),
results as return values; no part knows the session or the service.
"""

from __future__ import annotations

from dataclasses import dataclass

from autocompact.chat.config import ChatConfig
from autocompact.chat.engine import Engines
from autocompact.chat.events import Emit
from autocompact.chat.model_choices import ModelChoice
from autocompact.chat.notes import Notes
from autocompact.chat.pending_requests import PendingRequests
from autocompact.chat.request_prefix import RequestPrefix, Toolkit
from autocompact.chat.responder import Responder
from autocompact.chat.session_log import SessionLog
from autocompact.engine import Conversation
from autocompact.history.recall import Recall
from autocompact.ports import Clock, ConversationStore, Index, Key


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServiceContext:
    """The objects that all sessions of a service share.

    Attributes:
        store: keeps the conversations.
        index: finds messages in it.
        config: how conversations are held.
        clock: the time.
        holder: name of this process in leases.
        engines: the models, each with its compactor.
        toolkit: system prompt and tools.
    """

    store: ConversationStore
    index: Index
    config: ChatConfig
    clock: Clock
    holder: str
    engines: Engines
    toolkit: Toolkit

    async def aclose(self) -> None:
        """Close the engines and end the MCP servers."""
        await self.engines.aclose()
        await self.toolkit.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """One conversation with its current model. The session makes a new one when another model is chosen.

    Attributes:
        key: of the conversation.
        conversation: its context, kept within the model's context window.
        model: the model that answers.
        responder: sends requests to it.
        steps: model calls that one turn may take.
        store: keeps the turn journal and the leases.
        clock: the time.
        holder: name of this process in leases.
        log: appends messages, and follows other programs.
        notes: what is kept beside the log.
        pending: requests that wait for the end of the running turn.
        prefix: system prompt and tools of the next request.
        recall: searches what was said and the memory files.
        emit: takes the events of the parts.
    """

    key: Key
    conversation: Conversation
    model: ModelChoice
    responder: Responder
    steps: int
    store: ConversationStore
    clock: Clock
    holder: str
    log: SessionLog
    notes: Notes
    pending: PendingRequests
    prefix: RequestPrefix
    recall: Recall
    emit: Emit

    @property
    def id(self) -> str:
        """Id of the conversation."""
        return self.key.conversation
