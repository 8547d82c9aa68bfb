"""Automatic context compaction for LLM agents and chats.

    async with Compactor(SqliteStore("chats.db")) as compactor:
        conversation = await compactor.open("trip")
        await conversation.say("Where do we change trains?")
        context = await conversation.ready()

Names are loaded when they are first asked for: importing the package does nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocompact.compaction.modes import MODES, Mode
    from autocompact.core.budget import Policy
    from autocompact.core.messages import Message
    from autocompact.engine import Compactor, Conversation
    from autocompact.errors import AutocompactError
    from autocompact.models.anthropic import Anthropic
    from autocompact.models.openai_compatible import OpenAICompatible
    from autocompact.sessions.read import read_session
    from autocompact.stores.memory import MemoryStore
    from autocompact.stores.sqlite import SqliteStore

__all__ = [
    "MODES",
    "Anthropic",
    "AutocompactError",
    "Compactor",
    "Conversation",
    "MemoryStore",
    "Message",
    "Mode",
    "OpenAICompatible",
    "Policy",
    "SqliteStore",
    "read_session",
]

_WHERE = {
    "MODES": "compaction.modes",
    "Anthropic": "models.anthropic",
    "AutocompactError": "errors",
    "Compactor": "engine",
    "Conversation": "engine",
    "MemoryStore": "stores.memory",
    "Message": "core.messages",
    "Mode": "compaction.modes",
    "OpenAICompatible": "models.openai_compatible",
    "Policy": "core.budget",
    "SqliteStore": "stores.sqlite",
    "read_session": "sessions.read",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
