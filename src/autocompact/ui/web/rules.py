"""The rules of the conversation: listed, written, changed, taken back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from html import escape

from nicegui import ui
from nicegui.events import GenericEventArguments

from autocompact.chat import ChatSession
from autocompact.chat.markdown import reference_link
from autocompact.chat.views import ConversationRule
from autocompact.core.references import reference
from autocompact.errors import AutocompactError
from autocompact.ui.web.thread import ACTION

_TITLES = {
    "own": "Written by you",
    "pinned": "Pinned messages",
    "found": "Found in your messages",
}
_NOTES = {
    "own": "In every request from now on, and kept by every compaction.",
    "pinned": "Kept word for word by every compaction.",
    "found": "Kept by every compaction, as long as you do not take them back.",
}


class Rules:
    """The rules, in the element in which it is made.

    Args:
        session: whose they are.
        jump: goes to a message.
    """

    def __init__(self, session: ChatSession, *, jump: Callable[[str], Awaitable[None]]) -> None:
        self._session = session
        self._jump = jump
        self._added = ""
        with ui.element("div").classes("rules"):
            with ui.element("div").classes("query"):
                self._field = ui.element("input").props(
                    'type=text id=new-rule autofocus autocomplete=off maxlength=2000 aria-label="New rule" '
                    'placeholder="A rule, such as: never push without my approval"'
                )
                self._button("Add", self._add, style="primary", label="Add the rule")
            self._told = ui.html("").classes("told wrong").props("role=alert")
            self._list = ui.element("div").on("click", self._clicked, js_handler=ACTION)
        self._field.on("input", self._typed, js_handler=_VALUE)
        self._field.on("keydown.enter", self._add, args=[])

    def _button(
        self, text: str, act: Callable[[], Awaitable[object]], *, style: str = "secondary", label: str
    ) -> None:
        with ui.element("button").classes(style).props("type=button") as button:
            ui.html(text, sanitize=False, tag="span")
        button.props["aria-label"] = label
        button.on("click", act, args=[])

    async def show(self) -> None:
        """List the rules as they are."""
        rules = await self._session.rules()
        self._list.clear()
        with self._list:
            for kind, title in _TITLES.items():
                self._section(title, [rule for rule in rules if rule.kind == kind], note=_NOTES[kind])
            if not rules:
                ui.html(
                    "<p class='note'>There is no rule yet. Any message can be pinned by its pin.</p>",
                    sanitize=False,
                )

    def _section(self, title: str, rules: Sequence[ConversationRule], *, note: str) -> None:
        if not rules:
            return
        ui.html(f"<h3>{title}</h3><p class='note'>{note}</p>", sanitize=False)
        with ui.element("ul"):
            for rule in rules:
                with ui.element("li"):
                    self._rule(rule)

    def _rule(self, rule: ConversationRule) -> None:
        match rule.kind:
            case "own":
                changed = _Text(rule.text)
                field = ui.element("input").props("type=text maxlength=2000")
                field.props["aria-label"], field.props["value"] = "Rule", rule.text
                field.on("input", changed.typed, js_handler=_VALUE)
                change = partial(self._change, rule.text, changed)
                field.on("keydown.enter", change, args=[])
                self._button("Save", change, label=f"Save the change of: {rule.text}")
                self._button("Remove", partial(self._unpin, rule.text), label=f"Remove: {rule.text}")
            case "pinned":
                self._words(rule)
                self._button("Unpin", partial(self._unpin, rule.seq), label=f"Unpin message {rule.seq}")
            case "found":
                self._words(rule)
                self._button("Write down", partial(self._pin, rule.text), label=f"Write down: {rule.text}")

    def _words(self, rule: ConversationRule) -> None:
        link = reference_link(reference(rule.seq))
        ui.html(f"{link} {escape(rule.text)}", tag="span").classes("words")

    def _typed(self, event: GenericEventArguments) -> None:
        self._added = str(event.args)

    async def _add(self) -> None:
        if await self._pin(self._added):
            self._added = ""
            self._field.client.run_javascript("document.getElementById('new-rule').value = ''")

    async def _pin(self, text: str) -> bool:
        return await self._attempt(self._session.pin(text))

    async def _unpin(self, pinned: int | str) -> None:
        await self._attempt(self._session.unpin(pinned))

    async def _change(self, before: str, changed: _Text) -> None:
        text = changed.text.strip()
        if text and text != before:
            # listed once: a list that is made anew takes the click that is on its way to the old one
            await self._attempt(self._replace(before, text))

    async def _replace(self, before: str, text: str) -> None:
        # the new one first: if it cannot be kept, the old one stays
        await self._session.pin(text)
        await self._session.unpin(before)

    async def _attempt(self, work: Awaitable[object]) -> bool:
        try:
            await work
        except AutocompactError as error:
            self._told.content = escape(str(error))
            return False
        self._told.content = ""
        await self.show()
        return True

    async def _clicked(self, event: GenericEventArguments) -> None:
        if event.args["action"] == "jump":
            await self._jump(f"m{int(event.args['seq'])}")


class _Text:
    """What is in a field."""

    def __init__(self, text: str) -> None:
        self.text = text

    def typed(self, event: GenericEventArguments) -> None:
        self.text = str(event.args)


_VALUE = "(e) => emit(e.target.value)"
