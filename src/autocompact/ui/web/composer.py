"""The composer: the field that the person writes in. Keystrokes stay in the browser (assets/page.js); whole lines arrive here."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from html import escape

from nicegui import ui
from nicegui.events import GenericEventArguments

from autocompact.chat import COMMANDS
from autocompact.ui.web.icons import icon
from autocompact.ui.web.pending_requests import PendingList
from autocompact.ui.web.tasks import TaskList

MOST = 950_000
"""Characters of a message, as JSON, that the page sends at most: NiceGUI's end of the websocket takes a million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the person sends.

    Attributes:
        text: as it was written.
        replaces: the message that it replaces, 0 if none.
        attached: names of the files in `autocompact.chat.attachments.Uploads`.
    """

    text: str
    replaces: int = 0
    attached: tuple[str, ...] = ()


class Advice:
    """A line that recommends a compaction where that would be cheap; the person may put it off for this conversation.

    Args:
        compact: previews a compaction.
    """

    def __init__(self, *, compact: Callable[[], None]) -> None:
        self._compact = compact
        self._text = ""
        self._dismissed: set[str] = set()
        self._conversation = ""
        with ui.element("div").classes("advice").props("role=status") as self._line:
            self._words = ui.html("", tag="span")
            for label, act in (("Preview a compaction…", self._preview), ("Not now", self._dismiss)):
                with ui.element("button").classes("quiet").props("type=button") as button:
                    ui.html(label, sanitize=False, tag="span")
                button.on("click", act, args=[])
        self._line.set_visibility(False)

    def show(self, text: str, *, conversation: str) -> None:
        """Show a recommendation for a conversation; "" takes it back."""
        self._conversation = conversation
        if not text:
            self._dismissed.discard(conversation)
        text = "" if conversation in self._dismissed else text
        if text != self._text:
            self._text, self._words.content = text, escape(text)
            self._line.set_visibility(bool(text))

    def _preview(self) -> None:
        self._dismiss()
        self._compact()

    def _dismiss(self) -> None:
        self._dismissed.add(self._conversation)
        self.show(self._text, conversation=self._conversation)


class Composer:
    """The field, the button that sends or stops, the task list, and the notice while the context is compressed.

    Attributes:
        tasks: the agent's task list.
        waiting: what was said while an answer ran.

    Args:
        send: called with what was written; False gives it back.
        stop: called when the person wants the turn to end.
        withdraw: takes back what waits.
        send_pending: sends what waits.
        compact: previews a compaction.
        newest: goes back from an earlier version of the conversation to the present one.
    """

    def __init__(
        self,
        *,
        send: Callable[[Said], Awaitable[bool]],
        stop: Callable[[], Awaitable[None]],
        withdraw: Callable[[str], Awaitable[None]],
        send_pending: Callable[[], Awaitable[None]],
        newest: Callable[[], Awaitable[None]],
        compact: Callable[[], None],
    ) -> None:
        self._send = send
        with ui.element("div").classes("composer"):
            self.tasks = TaskList()
            self.pending = PendingList(withdraw=withdraw, send=send_pending)
            self._compressing = (
                ui.html(_COMPRESSING, sanitize=False).classes("compressing").props("role=status")
            )
            self.advice = Advice(compact=compact)
            ui.html(_EDITING, sanitize=False).classes("editing")
            self._earlier = _earlier_line(newest)
            ui.html(_ATTACHED, sanitize=False)
            with ui.element("div").classes("box") as self._box:
                ui.html(_ATTACH, sanitize=False)
                self._field = ui.element("textarea").props(
                    'id=field rows=1 dir=auto autocomplete=off spellcheck=true aria-label="Message" '
                    'placeholder="Ask something, or / for a command" aria-controls=completions aria-autocomplete=list'
                )
                self._field.props["data-commands"] = _commands()
                self._field.props["data-most"] = MOST
                with (
                    ui.element("button")
                    .classes("stop")
                    .props('type=button id=stop aria-label="Stop" title="Stop (Esc)"') as self._stop
                ):
                    ui.html(icon("stop"), sanitize=False, tag="span")
                with (
                    ui.element("button")
                    .classes("send")
                    .props('type=button id=send aria-label="Send" title="Send (Enter)"') as self._go
                ):
                    ui.html(icon("send"), sanitize=False, tag="span")
            ui.html(_BESIDE, sanitize=False)
        self._field.on("say", self._said, js_handler="(e) => emit(e.detail)")
        self._stop.on("click", stop, args=[])
        self._stop.set_visibility(False)
        self._compressing.set_visibility(False)
        self._earlier.set_visibility(False)

    async def _said(self, event: GenericEventArguments) -> None:
        said = Said(
            text=str(event.args["text"]),
            replaces=int(event.args["replaces"]),
            attached=tuple(map(str, event.args["attached"])),
        )
        taken = False
        try:
            taken = await self._send(said)
        finally:
            self._field.client.run_javascript(f"autocompactPage.answered({json.dumps(taken)})")

    def earlier(self, *, on: bool) -> None:
        """An earlier version of the conversation is shown, or the present one."""
        self._earlier.set_visibility(on)

    def running(self, *, on: bool) -> None:
        """A turn runs, or does not any more."""
        self._stop.set_visibility(on)
        self._box.classes(add="running") if on else self._box.classes(remove="running")

    def compressing(self, *, on: bool, focus: bool = True) -> None:
        """The context is being compressed: nothing can be written meanwhile; ``focus`` comes back to the field after it."""
        self._compressing.set_visibility(on)
        for element in (self._field, self._go):
            element.props(add="disabled") if on else element.props(remove="disabled")
        if focus and not on:
            self.resume()

    def resume(self, *, after_dialog: bool = False) -> None:
        """Give the focus back to the field once it is on again, unless the person went elsewhere meanwhile.

        Args:
            after_dialog: the person left a dialog to come here.
        """
        self._field.client.run_javascript(f"autocompactPage.resume({json.dumps(after_dialog)})")

    def put(self, text: str, *, replaces: int = 0) -> None:
        """Put a text into the field, to be changed; sending it replaces message ``replaces``."""
        self._field.client.run_javascript(f"autocompactPage.put({json.dumps(text)}, {replaces})")

    def give_back(self, text: str) -> None:
        """Put a text into the field, before what is being written."""
        self._field.client.run_javascript(f"autocompactPage.giveBack({json.dumps(text)})")

    def focus(self) -> None:
        """Put the cursor into the field."""
        self._field.client.run_javascript("autocompactPage.focus()")


def _earlier_line(newest: Callable[[], Awaitable[None]]) -> ui.element:
    """The line that says that an earlier version is shown, with the way back."""
    with ui.element("div").classes("earlier").props("role=status") as line:
        ui.html(_EARLIER, sanitize=False, tag="span")
        with ui.element("button").classes("quiet").props("type=button id=newest") as back:
            ui.html("Back to the latest", sanitize=False, tag="span")
        back.on("click", newest, args=[])
    return line


def _commands() -> str:
    return json.dumps([[each.name, each.arguments, each.help] for each in COMMANDS])


_ATTACHED = (
    '<ul id="attached" aria-label="Attached files" hidden></ul><p id="unattached" role="alert" hidden></p>'
)
_ATTACH = (
    f'<button type="button" id="attach" class="head-tool" aria-label="Attach files" title="Attach files: images, PDF, text">{icon("clip")}'
    '</button><input type="file" id="files" multiple hidden tabindex="-1" aria-label="Files">'
)
_COMPRESSING = f"{icon('wait')}<span>Compressing context…</span>"
_EARLIER = "You see an earlier version. What you send next goes on from it; nothing of the other one is lost."
_EDITING = (
    f"{icon('edit')}<span>Editing message <b id='edited'></b>. Later messages are kept, but no longer sent."
    f"</span><button type='button' class='quiet' id='unedit'>{escape('Cancel')}</button>"
)
_BESIDE = (
    '<ul id="completions" role="listbox" aria-label="Commands" tabindex="0" hidden></ul>'
    f'<p id="toolong" role="alert" hidden>Too long to send: <b id="length"></b> characters, at most {MOST:,} may be sent. '
    "Save it as a file in the workspace, and refer to that.</p>"
    f'<button type="button" id="to-end" aria-label="To the end" title="To the end" hidden>{icon("down")}</button>'
)
