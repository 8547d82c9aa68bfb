"""Automatic context compaction for LLM agents and chats.

    async with Compactor(SqliteStore("chats.db")) as compactor:
        conversation = await compactor.open("trip")
        await conversation.say("Where do we change trains?")
        context = await conversation.ready()

What an application needs is here; `docs/reference/stability.md` says what is promised of it.

    open and keep      Compactor, Conversation, SqliteStore, MemoryStore
    choose             Mode, MODES, Policy
    models             OpenAICompatible, Anthropic, FunctionModel, ModelReply
    messages           Message, Text, ToolCall, ToolResult, Usage
    what comes back    Context, Reading, CompactionResult, Compaction, Receipt
    events             CompactionStarted, CompactionCompleted, CompactionPrepared, CompactionDiscarded, CompactionUndone,
                       BreakerOpened
    errors             AutocompactError, InvalidInput, UnreadableSession, IncompressibleContext, CompactionRunning,
                       ModelError, ModelOverflow, StoreError
    recorded sessions  read_session, Session, compare_policies, Comparison

Names are loaded when they are first asked for: importing the package does nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocompact.compaction.modes import MODES, Mode
    from autocompact.compaction.record import Compaction, Receipt
    from autocompact.compaction.transcript import Context
    from autocompact.core.budget import Policy
    from autocompact.core.messages import Message, Text, ToolCall, ToolResult, Usage
    from autocompact.core.usage import Reading
    from autocompact.engine import CompactionResult, Compactor, Conversation
    from autocompact.errors import (
        AutocompactError,
        CompactionRunning,
        IncompressibleContext,
        InvalidInput,
        ModelError,
        ModelOverflow,
        StoreError,
        UnreadableSession,
    )
    from autocompact.events import (
        BreakerOpened,
        CompactionCompleted,
        CompactionDiscarded,
        CompactionPrepared,
        CompactionStarted,
        CompactionUndone,
    )
    from autocompact.models.anthropic import Anthropic
    from autocompact.models.function import FunctionModel
    from autocompact.models.openai_compatible import OpenAICompatible
    from autocompact.ports import ModelReply
    from autocompact.sessions.read import read_session
    from autocompact.sessions.session import Session
    from autocompact.stores.memory import MemoryStore
    from autocompact.stores.sqlite import SqliteStore
    from autocompact.what_if.comparison import Comparison, compare_policies

__all__ = [
    "MODES",
    "Anthropic",
    "AutocompactError",
    "BreakerOpened",
    "Compaction",
    "CompactionCompleted",
    "CompactionDiscarded",
    "CompactionPrepared",
    "CompactionResult",
    "CompactionRunning",
    "CompactionStarted",
    "CompactionUndone",
    "Compactor",
    "Comparison",
    "Context",
    "Conversation",
    "FunctionModel",
    "IncompressibleContext",
    "InvalidInput",
    "MemoryStore",
    "Message",
    "Mode",
    "ModelError",
    "ModelOverflow",
    "ModelReply",
    "OpenAICompatible",
    "Policy",
    "Reading",
    "Receipt",
    "Session",
    "SqliteStore",
    "StoreError",
    "Text",
    "ToolCall",
    "ToolResult",
    "UnreadableSession",
    "Usage",
    "compare_policies",
    "read_session",
]

_WHERE = {
    "Anthropic": "models.anthropic",
    "AutocompactError": "errors",
    "BreakerOpened": "events",
    "Compaction": "compaction.record",
    "CompactionCompleted": "events",
    "CompactionDiscarded": "events",
    "CompactionPrepared": "events",
    "CompactionResult": "engine",
    "CompactionRunning": "errors",
    "CompactionStarted": "events",
    "CompactionUndone": "events",
    "Comparison": "what_if.comparison",
    "Compactor": "engine",
    "Context": "compaction.transcript",
    "Conversation": "engine",
    "FunctionModel": "models.function",
    "IncompressibleContext": "errors",
    "InvalidInput": "errors",
    "MODES": "compaction.modes",
    "MemoryStore": "stores.memory",
    "Message": "core.messages",
    "Mode": "compaction.modes",
    "ModelError": "errors",
    "ModelOverflow": "errors",
    "ModelReply": "ports",
    "OpenAICompatible": "models.openai_compatible",
    "Policy": "core.budget",
    "Reading": "core.usage",
    "Receipt": "compaction.record",
    "Session": "sessions.session",
    "SqliteStore": "stores.sqlite",
    "StoreError": "errors",
    "Text": "core.messages",
    "ToolCall": "core.messages",
    "ToolResult": "core.messages",
    "UnreadableSession": "errors",
    "Usage": "core.messages",
    "compare_policies": "what_if.comparison",
    "read_session": "sessions.read",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
