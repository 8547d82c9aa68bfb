"""A compaction looked at before it is made: what would leave, what would be kept, and the figures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from html import escape

from nicegui import ui
from nicegui.events import GenericEventArguments, ValueChangeEventArguments

from autocompact.chat import ChatSession
from autocompact.compaction.record import Compaction
from autocompact.core.plurals import plural
from autocompact.core.references import reference
from autocompact.errors import AutocompactError
from autocompact.ui.web.icons import icon
from autocompact.ui.web.record import RecordSections
from autocompact.ui.web.thread import ACTION

log = logging.getLogger("autocompact")


class Preview:
    """The preview dialog. It activates the very compaction that it shows: the summary is not made twice.

    Args:
        session: the conversation that is open now.
        apply: activates the previewed compaction.
        jump: goes to a reference.
    """

    def __init__(
        self,
        *,
        session: Callable[[], ChatSession],
        apply: Callable[[Compaction], Awaitable[object]],
        jump: Callable[[str], Awaitable[None]],
    ) -> None:
        self._session = session
        self._apply = apply
        self._jump = jump
        self._focus = ""
        self._record: Compaction | None = None
        self._work: asyncio.Task[None] | None = None
        self.dialog = ui.dialog().props('aria-label="Compact the context"')
        with self.dialog, ui.element("div").classes("panel wide preview"):
            ui.html("Compact the context", tag="h2", sanitize=False)
            with ui.element("div").classes("query"):
                field = ui.element("input").props(
                    'type=text id=focus autofocus autocomplete=off aria-label="What to concentrate on" '
                    'placeholder="What to concentrate on (optional)"'
                )
                self._button("Preview again", self._begin, style="secondary").props("data-again")
            self._status = ui.html("", sanitize=False).classes("told").props("role=status")
            self._shown = ui.element("div").on("click", self._clicked, js_handler=ACTION)
            with ui.element("div").classes("acts"):
                self._go = self._button("Compact now", self._compact, style="primary").props("data-go")
                self._button("Cancel", self.dialog.close, style="secondary")
        field.on("input", self._typed, js_handler="(e) => emit(e.target.value)")
        field.on("keydown.enter", self._begin, args=[])
        self.dialog.on_value_change(self._changed)

    def _button(self, label: str, act: Callable[[], object], *, style: str) -> ui.element:
        with ui.element("button").classes(style).props("type=button") as button:
            ui.html(label, tag="span", sanitize=False)
        return button.on("click", act, args=[])

    def _typed(self, event: GenericEventArguments) -> None:
        self._focus = str(event.args)

    async def _clicked(self, event: GenericEventArguments) -> None:
        if event.args["action"] == "jump":
            self.dialog.close()
            await self._jump(reference(int(event.args["seq"])))

    def _changed(self, event: ValueChangeEventArguments[bool]) -> None:
        if not event.value and self._work is not None:
            self._work.cancel()

    def open(self) -> None:
        """Show what a compaction would do now."""
        self._focus = ""
        self.dialog.open()
        self._begin()

    def _begin(self) -> None:
        if self._work is not None:
            self._work.cancel()
        self._work = asyncio.create_task(self._make())

    async def _make(self) -> None:
        self._record = None
        self._shown.clear()
        self._go.props("disabled")
        self._status.content = f"{icon('wait')}<span>Making a preview…</span>"
        try:
            record = await self._session().preview(self._focus)
        except AutocompactError as error:
            self._status.content = f"<span>{escape(str(error))}</span>"
            return
        except Exception:
            log.exception("a compaction could not be previewed")
            self._status.content = "<span>The preview failed: the server's log has the details.</span>"
            return
        if record is None:
            self._status.content = "<span>There is nothing to compact: the context is already small.</span>"
            return
        await self._show(record)

    async def _show(self, record: Compaction) -> None:
        active = self._session().conversation.records.active
        first = active.through_seq + 1 if active else 1
        left = (first, record.through_seq) if record.through_seq >= first else None
        self._status.content = figures_html(record, left=left, used=self._session().meter().used)
        with self._shown:
            sections = RecordSections(record, left=left, session=self._session())
        self._record = record
        self._go.props(remove="disabled")
        await sections.fill()

    async def _compact(self) -> None:
        record = self._record
        if record is not None:
            self.dialog.close()
            await self._apply(record)


def figures_html(record: Compaction, *, left: tuple[int, int] | None, used: int) -> str:
    """The effect of the compaction, in one paragraph.

    Args:
        record: the compaction.
        left: numbers of the first and the last message that leave with it; None if none does.
        used: tokens of the context as the meter shows them, from which the figure begins; what is left of them is
            foreseen by the share that the receipt counts.
    """
    receipt = record.receipt
    share = 1 - receipt.tokens_after / receipt.tokens_before if receipt.tokens_before else 0
    kept = (
        f"; {len(record.keep)} of them {'stays' if len(record.keep) == 1 else 'stay'} verbatim"
        if record.keep
        else ""
    )
    leave = f"{reference(left[0])} to {reference(left[1])} leave the context{kept}. " if left else ""
    stubs = f"{plural(len(record.masks), 'tool output')} shown as stubs. " if record.masks else ""
    return (
        f"<p><b>{used:,} → about {round(used * (1 - share)):,} tokens</b> ({share:.0%} less). {leave}{stubs}"
        f"Of the ledger, {plural(receipt.stated, 'entry is', many='entries are')} stated in the summary, {receipt.referenced:,} only referenced, "
        f"{receipt.missing:,} missing (search finds them). The messages stay visible, and you can undo this.</p>"
    )
