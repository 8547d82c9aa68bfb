"""The chat: conversations with an agent that never run out of context, for a page, a terminal or a notebook.

    async with opened(Path("chats.db"), config=ChatConfig(workspace=Path("."))) as service:
        session = await service.create()
        await session.send("Which files are here?")
        outcome = await session.wait()

Nothing here knows of a screen. Where state is, and who may write it:

- `service.ChatService`: the list of conversations, their titles, and the sessions in memory (`session_cache`). It knows
  the sessions; they do not know it.
- `session.ChatSession`: one conversation in use: title, listeners, and the parts below. Only its own methods write this
  state. It hands the parts a frozen `session_context.SessionContext`, and makes a new one for another model.
- the parts, each of which writes only what it holds itself: `turn_runner` (one turn at a time, each a `turn.Turn`, with
  `recovery` for the turn of a program that died), `session_log` (appends messages, follows other programs),
  `pending_requests`, `task_list`, `request_prefix` (system prompt and tools), `edits` and `history` (pages). They return
  results and emit events (`events`), which the session applies and passes on to its listeners; none knows the session.
- stored beside the log: `notes` (model, failures, pending requests, tasks) and `turn_journal` (the running answer).

Models: `model_choices` finds them, `engine` pairs one with a compactor, `responder` is the seam behind which `remote`
and `offline` answer. Slash commands (`commands`) work on a session and its service, from outside.
"""

from __future__ import annotations

from autocompact.chat.commands import COMMANDS, CommandReply, is_command, run_command
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
    "is_command",
    "opened",
    "run_command",
]
