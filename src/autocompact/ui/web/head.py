"""The head of the page: title, model, meter, and what is not needed all the time."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from html import escape

from nicegui import ui

from autocompact.chat.model_choices import choice_of
from autocompact.chat.views import SessionView
from autocompact.ui.web.icons import Icon, icon
from autocompact.ui.web.meter import Meter

Act = Callable[[], Awaitable[object]]


class Head:
    """The bar above the messages."""

    def __init__(
        self,
        *,
        search: Callable[[], None],
        charts: Act,
        models: Act,
        compact: Callable[[], None],
        replaced: Callable[[], Awaitable[bool]],
        rules: Act,
        shortcuts: Callable[[], None],
        settings: Callable[[], None] | None,
    ) -> None:
        with ui.element("header").classes("head"):
            ui.html(_MENU, sanitize=False)
            self._title = ui.html("", tag="h1").classes("title")
            with ui.element("button").classes("model").props("type=button id=model") as model:
                self._model = ui.html("", tag="span")
            model.on("click", models, args=[])
            self.meter = Meter()
            _button("search", search, label="Search (Ctrl K)", id="search")
            with ui.element("details").classes("menu"):
                with ui.element("summary").props('aria-label="More" title="More"'):
                    ui.html(icon("more"), sanitize=False, tag="span")
                with ui.element("div").classes("options"):
                    _option("Compact the context…", compact)
                    _option("Usage and receipts", charts)
                    _option("Rules of this conversation…", rules, id="rules")
                    self._replaced = _option("Show replaced messages", self._toggle)
                    _option("Keyboard shortcuts", shortcuts, id="shortcuts")
                    if settings is not None:
                        _option("Settings…", settings)
                    ui.html(_THEME, sanitize=False)
        self._ask_replaced = replaced

    async def _toggle(self) -> None:
        shown = await self._ask_replaced()
        self._replaced.content = f"{'Hide' if shown else 'Show'} replaced messages"

    def show(self, view: SessionView) -> None:
        """Show title, model and meter of a conversation."""
        self._title.content = escape(view.title)
        choice = choice_of(view.model)
        name = "offline model" if choice.is_offline else choice.model
        label = '<b class="badge">no model connected</b>' if choice.is_offline else ""
        self._model.content = f'<span class="sr">Model: </span>{escape(name)}{label}'
        self.meter.show(view.meter)
        self._title.client.run_javascript(f"document.title = {_js(view.title)}")


def _js(text: str) -> str:
    return json.dumps(f"{text} · autocompact")


def _button(name: Icon, act: Callable[[], object], *, label: str, id: str) -> None:
    with ui.element("button").classes("head-tool").props(f"type=button id={id}") as button:
        ui.html(icon(name), sanitize=False, tag="span")
    button.props["aria-label"] = button.props["title"] = label
    button.on("click", act, args=[])


def _option(label: str, act: Callable[[], object], *, id: str = "") -> ui.html:
    with ui.element("button").props(f"type=button id={id}" if id else "type=button") as button:
        shown = ui.html(escape(label), tag="span")
    button.on("click", act, args=[])
    return shown


_MENU = f'<button type="button" class="head-tool" id="menu" aria-label="Conversations" aria-controls="sidebar" aria-expanded="false">{icon("menu")}</button>'
_THEME = (
    '<div class="theme" role="group" aria-label="Colours"><button type="button" data-theme="auto">Auto</button>'
    '<button type="button" data-theme="light">Light</button><button type="button" data-theme="dark">Dark</button></div>'
)
