"""The chat: conversations with an agent that never run out of context, for a page, a terminal or a notebook.

    async with opened(Path("chats.db"), config=ChatConfig(workspace=Path("."))) as service:
        session = await service.create()
        await session.send("Which files are here?")
        outcome = await session.wait()

`ChatService` has the conversations, `ChatSession` is one of them in use; what happens in it comes as events
(`autocompact.chat.events`). Nothing here knows of a screen.

Names are loaded when they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autocompact.chat.commands import COMMANDS, CommandReply, complete
    from autocompact.chat.config import ChatConfig, CommandRules
    from autocompact.chat.events import ChatEvent
    from autocompact.chat.model_choices import ModelChoice
    from autocompact.chat.service import ChatService, opened
    from autocompact.chat.session import ChatSession

__all__ = [
    "COMMANDS",
    "ChatConfig",
    "ChatEvent",
    "ChatService",
    "ChatSession",
    "CommandReply",
    "CommandRules",
    "ModelChoice",
    "complete",
    "opened",
]

_WHERE = {
    "COMMANDS": "commands",
    "ChatConfig": "config",
    "ChatEvent": "events",
    "ChatService": "service",
    "ChatSession": "session",
    "CommandReply": "commands",
    "CommandRules": "config",
    "ModelChoice": "model_choices",
    "complete": "commands",
    "opened": "service",
}


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
