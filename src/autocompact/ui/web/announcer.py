"""Announcements of a turn for screen readers: its begin, each answer once it is complete, and questions.

The growing answer itself is no live region: it changes many times a second, and would be read again each time.
"""

from __future__ import annotations

from html import escape

from nicegui import ui

from autocompact.chat import events
from autocompact.chat.events import ChatEvent
from autocompact.core.messages import Message
from autocompact.events import CompactionStarted

LONGEST = 3_000
"""Characters of an answer that are read out; the answer itself can be walked through."""


class Announcer:
    """A region of the page that is not seen, only heard."""

    def __init__(self) -> None:
        self._html = ui.html("").classes("sr").props("id=announcer role=status aria-live=polite")

    def announce(self, event: ChatEvent) -> None:
        """Say what a person who does not see the page should know of."""
        words = announced(event)
        if words:
            self._html.content = escape(words)


def announced(event: ChatEvent) -> str:
    """Announcement of an event, "" for most."""
    match event:
        case events.TurnStarted():
            return "The answer has started."
        case events.TurnEnded(outcome="cancelled"):
            return "Stopped."
        case events.MessageAdded() if event.entry.message.role == "assistant":
            return _answer(event.entry.message)
        case events.QuestionAsked():
            return f"Allow {event.question.tool}? {event.question.text}"
        case CompactionStarted():
            return "Compressing context."
        case _:
            return ""


def _answer(message: Message) -> str:
    text = message.text.strip()
    words = f"Answer: {text[:LONGEST]}" if text else ""
    used = f"Uses {', '.join(call.name for call in message.calls)}." if message.calls else ""
    return " ".join(filter(None, (words, used)))
