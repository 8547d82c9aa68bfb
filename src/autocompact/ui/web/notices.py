"""Notices: replies of commands and errors, shown beside the conversation."""

from __future__ import annotations

from typing import Literal

from nicegui import ui

from autocompact.ui.web.render import words_html


class Notices:
    """The notices at the end of the history; they go when something else is sent, or by their button."""

    def __init__(self) -> None:
        self._shown: dict[str, ui.element] = {}
        self._all = ui.element("div").classes("notes").props("role=status aria-live=polite")

    def say(
        self, text: str, *, kind: Literal["reply", "error"] = "error", about: str = "", last_seq: int = 0
    ) -> None:
        """Show a notice.

        Args:
            text: Markdown.
            kind: decides how it looks.
            about: what it is about; a later notice about the same takes its place. "" is the text itself.
            last_seq: number of the last message: references up to it are links.
        """
        about = about or text
        self.withdraw(about)
        with self._all, ui.element("div").classes(f"said {kind}") as said:
            ui.html(words_html(text, last_seq=last_seq))
            with ui.element("button").classes("close").props('type=button aria-label="Dismiss"') as close:
                ui.html("×", sanitize=False, tag="span")
        close.on("click", lambda: self.withdraw(about), args=[])
        self._shown[about] = said

    def withdraw(self, about: str) -> None:
        """Remove the notice about something."""
        if about in self._shown:
            self._shown.pop(about).delete()

    def clear(self) -> None:
        """Remove all notices."""
        self._shown.clear()
        self._all.clear()
