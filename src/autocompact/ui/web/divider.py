"""The line at a compaction: what it did at a glance, and when it is opened, all of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from nicegui import ui

from autocompact.chat import ChatSession
from autocompact.chat.views import Divider
from autocompact.compaction.record import Compaction
from autocompact.core.references import reference
from autocompact.ui.web.icons import icon
from autocompact.ui.web.record import RecordSections, Section

Act: TypeAlias = Callable[[str, Compaction], Awaitable[None]]
"""Called with "undo", "restore" or "compare"."""


class DividerPart:
    """The divider of a compaction in the history."""

    def __init__(self, divider: Divider, *, session: ChatSession, act: Act) -> None:
        self.divider = divider
        self._session = session
        self._act = act
        self._section: Section = "Summary"
        self._sections: RecordSections | None = None
        with ui.element("section").classes("divider").props(f'aria-label="{_name(divider)}"') as self.element:
            with ui.element("button").classes("line").props("type=button") as self._line:
                self._label = ui.html("", tag="span")
            self._body = ui.element("div").classes("opened")
        self._line.on("click", self._toggle, args=[])
        self._unfold(on=False)
        self.show(divider)

    def delete(self) -> None:
        """Take it off the page."""
        self.element.delete()

    def show(self, divider: Divider) -> None:
        """Show what became of it."""
        self.divider = divider
        self._label.content = line_html(divider)
        self.element.classes(add="active" if divider.active else "past", remove="active past")
        if self._sections is not None:
            self._sections.record = divider.record
            self._name_switch()

    async def _toggle(self) -> None:
        if self._sections is None:
            await self._open()
        else:
            self._section, self._sections = self._sections.section, None
            self._body.clear()
            self._unfold(on=False)

    def _unfold(self, *, on: bool) -> None:
        self._body.set_visibility(on)
        self._line.props(f"aria-expanded={'true' if on else 'false'}")

    async def _open(self) -> None:
        with self._body:
            # the headings of a summary are of the third level
            ui.html(_name(self.divider), tag="h2", sanitize=False).classes("sr")
            self._sections = RecordSections(
                self.divider.record,
                left=self.divider.left,
                session=self._session,
                section=self._section,
                metered=self.divider.tokens,
            )
            with ui.element("div").classes("acts"):
                self._switch = self._button(self._switched)
                self._button(partial(self._do, "compare")).content = "Compare…"
        self._name_switch()
        self._unfold(on=True)
        await self._sections.fill()
        self.element.client.run_javascript(f"autocompactPage.bring('c{self.element.id}')")

    def _button(self, act: Callable[[], Awaitable[None]]) -> ui.html:
        with ui.element("button").classes("secondary").props("type=button") as button:
            label = ui.html("", tag="span")
        button.on("click", act, args=[])
        return label

    def _name_switch(self) -> None:
        self._switch.content = "Undo" if self.divider.active else "Activate again"

    async def _switched(self) -> None:
        await self._do("undo" if self.divider.active else "restore")

    async def _do(self, name: str) -> None:
        await self._act(name, self.divider.record)


def _name(divider: Divider) -> str:
    """What a screen reader calls it: each has a name of its own, as in a comparison."""
    return f"Compaction {divider.record.id}"


def line_html(divider: Divider) -> str:
    """The divider closed."""
    record = divider.record
    if record.status == "undone":
        state = "compaction, undone"
    elif divider.active:
        state = "compacted"
    else:
        state = "compacted earlier"
    what = f"through {reference(record.through_seq)}" if record.through_seq else "tool outputs only"
    before, after = divider.tokens
    figures = f"{before:,} → {after:,} tokens"
    return (
        f"{icon('compress')}<span>{state} {what}</span><span class='figures'>{figures}</span>{icon('down')}"
    )
