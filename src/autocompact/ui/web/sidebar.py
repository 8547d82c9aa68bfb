"""The list of conversations: one element of HTML, however many there are, and what is clicked in it comes as an id."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import date, datetime
from html import escape
from typing import Literal, TypeAlias, get_args

from nicegui import ui
from nicegui.events import GenericEventArguments

from autocompact.chat.views import ConversationLine
from autocompact.core.plurals import plural
from autocompact.ui.web.addresses import page_address
from autocompact.ui.web.icons import icon

Act: TypeAlias = Literal["open", "pin", "rename", "tag", "export", "delete"]

MOST_TAGS = 12
"""Tags that are offered as filters, the most used first; the field finds the others."""

MOST = 100
"""Conversations that are listed at once; the filter finds the others."""

_MENU: tuple[tuple[Act, str], ...] = (
    ("pin", "Pin"),
    ("rename", "Rename…"),
    ("tag", "Tags…"),
    ("export", "Export…"),
    ("delete", "Delete…"),
)


class Sidebar:
    """Conversations, the last used first. An item is one tab stop: arrows go up and down, and right to its menu.

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
        self._lines: Sequence[ConversationLine] = ()
        self._current = ""
        self._filter = ""
        with ui.element("nav").classes("sidebar").props('id=sidebar aria-label="Conversations"'):
            with ui.element("div").classes("top"):
                ui.html(_FOLD, sanitize=False)
                ui.html("autocompact", tag="span").classes("brand")
                with (
                    ui.element("button")
                    .classes("new")
                    .props('type=button id=new title="New conversation (Alt N)"') as button
                ):
                    ui.html(f"{icon('plus')} New", sanitize=False, tag="span")
                button.on("click", new, args=[])
            field = ui.element("input").props(
                'id=filter type=search dir=auto placeholder="Filter by title or #tag" aria-label="Filter conversations by title or #tag" '
                "autocomplete=off"
            )
            field.on("input", self._filtered, throttle=0.2, leading_events=False, js_handler=_VALUE)
            self._tags = ui.html("").classes("tags").props('role=group aria-label="Filter by tag"')
            self._tags.on("click", self._tagged, js_handler=_TAG)
            self._list = ui.html("", tag="ul").classes("conversations")
            self._list.on("click", self._clicked, js_handler=_CLICK)

    def show(self, lines: Sequence[ConversationLine], *, current: str) -> None:
        """Show the list anew."""
        self._lines, self._current = lines, current
        self._draw()

    def _filtered(self, event: GenericEventArguments) -> None:
        self._filter = str(event.args)
        self._draw()

    def _tagged(self, event: GenericEventArguments) -> None:
        wanted = f"#{event.args}"
        self._filter = "" if self._filter.strip() == wanted else wanted
        self._list.client.run_javascript(f"autocompactPage.filter({json.dumps(self._filter)})")
        self._draw()

    def _draw(self) -> None:
        tags = tags_html(self._lines, words=self._filter)
        self._tags.content = tags
        self._tags.set_visibility(bool(tags))
        today = datetime.now().astimezone().date()
        self._list.content = list_html(self._lines, current=self._current, words=self._filter, today=today)

    async def _clicked(self, event: GenericEventArguments) -> None:
        act, id = event.args["act"], event.args["id"]
        known = [name for name in get_args(Act) if name == act]
        line = next((line for line in self._lines if line.id == id), None)
        if known and line is not None:
            await self._act(known[0], line)


def list_html(
    lines: Sequence[ConversationLine], *, current: str, words: str = "", today: date | None = None
) -> str:
    """The items of the list.

    Args:
        lines: all conversations.
        current: id of the one that is open.
        words: only those are listed whose titles hold this, in whatever case; of words with a ``#`` those with these tags.
        today: groups the conversations by day, as seen from this one; None, or ``words``, makes no groups.
    """
    wanted, tags = _wanted(words)
    found = [line for line in lines if wanted in line.title.casefold() and tags <= set(line.tags)]
    items, group = "", ""
    for line in found[:MOST]:
        name = _group(line, today) if today and not words.strip() else ""
        if name != group:
            items, group = f'{items}<li class="group"><h2>{name}</h2></li>', name
        items += _item(line, current=line.id == current, wanted=wanted)
    if not found:
        return f'<li class="note">Nothing found for {escape(repr(words.strip()))}. Ctrl K searches what was said.</li>'
    rest = len(found) - MOST
    more = f'<li class="note">and {rest:,} more: filter to find them</li>' if rest > 0 else ""
    return items + more


def _wanted(words: str) -> tuple[str, set[str]]:
    """What a title has to hold, and the tags, of the words in the field."""
    text, *tags = words.casefold().split("#")
    return text.strip(), {" ".join(tag.split()) for tag in tags if tag.strip()}


def tags_html(lines: Sequence[ConversationLine], *, words: str) -> str:
    """A button for each tag, the most used first; "" without tags."""
    _, wanted = _wanted(words)
    used = Counter(tag for line in lines for tag in line.tags)
    return "".join(
        f'<button type="button" data-tag="{escape(tag)}" aria-pressed="{"true" if tag in wanted else "false"}">'
        f"#{escape(tag)}</button>"
        for tag, _ in used.most_common(MOST_TAGS)
    )


def _marked(title: str, wanted: str) -> str:
    """The title with what the filter found in it marked."""
    at = title.casefold().find(wanted) if wanted else -1
    if at < 0 or len(title) != len(title.casefold()):
        return escape(title)
    end = at + len(wanted)
    return f"{escape(title[:at])}<mark>{escape(title[at:end])}</mark>{escape(title[end:])}"


def _group(line: ConversationLine, today: date) -> str:
    """The heading that a conversation stands under: pinned, or how long ago it was used last."""
    if line.pinned:
        return "Pinned"
    try:
        day = datetime.fromisoformat(line.updated).astimezone().date()
    except ValueError:
        return "Earlier"
    ago = (today - day).days
    if ago <= 1:
        return "Today" if ago <= 0 else "Yesterday"
    if ago <= _MONTH:
        return "Previous 7 days" if ago <= _WEEK else "Previous 30 days"
    return f"{day:%B %Y}"


_WEEK, _MONTH = 7, 30


def _item(line: ConversationLine, *, current: bool, wanted: str) -> str:
    marks = '<i class="busy" title="answering"></i>' if line.running else ""
    marks += icon("pin") if line.pinned else ""
    facts = " · ".join((line.updated[:10], _counted(line.messages), *(f"#{tag}" for tag in line.tags)))
    place = 'aria-current="page"' if current else ""
    id = escape(line.id)
    options = "".join(
        f'<button type="button" data-do="{act}" data-id="{id}">{"Unpin" if act == "pin" and line.pinned else label}</button>'
        for act, label in _MENU
    )
    return (
        f'<li class="{"current" if current else ""}">'
        f'<a class="title" href="{page_address(line.id)}" data-do="open" data-id="{id}" {place}>{marks}'
        f'<span class="words">{_marked(line.title, wanted)}</span><span class="day">{escape(facts)}</span></a>'
        f'<details class="menu" data-key="menu-{id}">'
        # as text: the page drops an attribute that holds what might end a comment or a title
        f'<summary tabindex="-1"><span class="sr">More for {escape(line.title)}</span>{icon("more")}</summary>'
        f'<div class="options">{options}</div></details></li>'
    )


def _counted(messages: int) -> str:
    return plural(messages, "message") if messages else "empty"


_FOLD = (
    '<button type="button" class="head-tool" id="fold-list" aria-label="Hide the list" title="Hide the list (Alt L)" '
    f'aria-controls="sidebar" aria-expanded="true">{icon("menu")}</button>'
)
_TAG = "(e) => { const b = e.target.closest('[data-tag]'); if (b) emit(b.dataset.tag); }"
_VALUE = "(e) => emit(e.target.value)"
# a middle click or Ctrl-click opens another tab, as on any link
_CLICK = (
    "(e) => { const b = e.target.closest('[data-do]');"
    " if (!b || e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return;"
    " e.preventDefault(); emit({act: b.dataset.do, id: b.dataset.id}); }"
)
