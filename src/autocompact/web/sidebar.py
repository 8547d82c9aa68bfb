"""The list of conversations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from html import escape
from typing import Literal, TypeAlias

from nicegui import ui

from autocompact.chat.views import ConversationLine
from autocompact.web.icons import icon

Act: TypeAlias = Literal["open", "rename", "export", "delete"]

_MENU: tuple[tuple[Act, str], ...] = (("rename", "Rename…"), ("export", "Export…"), ("delete", "Delete…"))


class Sidebar:
    """Conversations, the last used first.

    Args:
        new: begins another conversation.
        act: does something with one of them.
    """

    def __init__(
        self,
        *,
        new: Callable[[], Awaitable[None]],
        act: Callable[[Act, ConversationLine], Awaitable[None]],
    ) -> None:
        self._act = act
        with ui.element("nav").classes("sidebar").props('id=sidebar aria-label="Conversations"'):
            with ui.element("div").classes("top"):
                ui.html("autocompact", tag="span").classes("brand")
                with (
                    ui.element("button")
                    .classes("new")
                    .props('type=button id=new title="New conversation (Alt N)"') as button
                ):
                    ui.html(f"{icon('plus')} New", sanitize=False, tag="span")
                button.on("click", new, args=[])
            ui.html(_FILTER, sanitize=False)
            self._list = ui.element("ul").classes("conversations")

    def show(self, lines: Sequence[ConversationLine], *, current: str) -> None:
        """Show the list anew."""
        self._list.clear()
        with self._list:
            for line in lines:
                self._line(line, current=line.id == current)

    def _line(self, line: ConversationLine, *, current: bool) -> None:
        with ui.element("li").classes("current" if current else "") as item:
            item.props["data-title"] = line.title.lower()
            with ui.element("a").classes("title") as link:
                link.props["href"] = f"/c/{line.id}"
                if current:
                    link.props["aria-current"] = "page"
                ui.html(_title_html(line), tag="span")
            link.on("click", partial(self._act, "open", line), js_handler=_PLAIN_CLICK)
            self._menu(line)

    def _menu(self, line: ConversationLine) -> None:
        with ui.element("details").classes("menu"):
            with ui.element("summary") as summary:
                ui.html(icon("more"), sanitize=False, tag="span")
            summary.props["aria-label"] = f"More for {line.title}"
            with ui.element("div").classes("options"):
                for name, label in _MENU:
                    with ui.element("button").props("type=button") as button:
                        ui.html(label, sanitize=False, tag="span")
                    button.on("click", partial(self._act, name, line), args=[])


def _title_html(line: ConversationLine) -> str:
    marks = '<i class="busy" title="answering"></i>' if line.running else ""
    facts = f"{line.updated[:10]} · {_counted(line.messages)}"
    return f'{marks}<span class="words">{escape(line.title)}</span><span class="day">{escape(facts)}</span>'


def _counted(messages: int) -> str:
    return "empty" if not messages else "1 message" if messages == 1 else f"{messages:,} messages"


_FILTER = '<input id="filter" type="search" placeholder="Filter" aria-label="Filter conversations by title" autocomplete="off">'
# a middle click or Ctrl-click opens another tab, as on any link
_PLAIN_CLICK = "(e) => { if (!e.ctrlKey && !e.metaKey && !e.shiftKey && e.button === 0) { e.preventDefault(); emit(); } }"
