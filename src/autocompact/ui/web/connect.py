"""Connecting a model: a server on this computer, or a provider with a pasted key.

The key goes from its field to the provider that is tested, and to where it is kept; no element of the page holds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from html import escape
from urllib.parse import urlsplit

from nicegui import ui
from nicegui.events import GenericEventArguments

from autocompact.chat.model_choices import Local
from autocompact.chat.setup import Hosted, LocalServer, Setup
from autocompact.core.plurals import plural
from autocompact.errors import AutocompactError
from autocompact.ui.web.icons import icon

_NAMES: dict[Local | Hosted, str] = {
    "ollama": "Ollama",
    "lmstudio": "LM Studio",
    "llamacpp": "llama.cpp",
    "vllm": "vLLM",
    "anthropic": "Anthropic",
    "openai": "OpenAI",
    "compatible": "Another server",
}
_HOSTED: tuple[tuple[Hosted, str], ...] = (
    ("anthropic", "Claude, with a key of console.anthropic.com"),
    ("openai", "GPT, with a key of platform.openai.com"),
    ("compatible", "Whatever speaks OpenAI's API: its address, and a key if it asks for one"),
)


class Connect:
    """The steps, in the element in which it is made.

    Args:
        setup: tests, keeps, and connects.
        connected: called with the name of the model, and a line on where its key is kept.
    """

    def __init__(self, setup: Setup, *, connected: Callable[[str, str], Awaitable[None]]) -> None:
        self._setup = setup
        self._connected = connected
        self._body = ui.element("div").classes("connect")
        with self._body:
            self._shown = ui.element("div")
            self._status = ui.html("", sanitize=False).classes("told").props("role=status")

    async def begin(self) -> None:
        """Show what can be connected."""
        self._say("")
        self._shown.clear()
        with self._shown:
            found = ui.element("div").props("aria-live=polite")
            ui.html("With a key", tag="h3", sanitize=False)
            for provider, words in _HOSTED:
                self._choice(_NAMES[provider], words, act=partial(self._ask, provider))
        with found:
            ui.html(f"{_WAIT}Looking for models on this computer…", sanitize=False).classes("note")
        servers = await self._setup.local_servers()
        if found.is_deleted:
            return
        found.clear()
        with found:
            ui.html("On this computer", tag="h3", sanitize=False)
            for server in servers:
                self._choice(_NAMES[server.provider], _facts(server), act=partial(self._choose_local, server))
            if not servers:
                ui.html(_NONE, sanitize=False).classes("note")
                self._button("Look again", self.begin, style="secondary")

    def _choice(self, name: str, words: str, *, act: Callable[[], object]) -> None:
        with ui.element("button").classes("choice").props("type=button") as button:
            ui.html(f"<b>{escape(name)}</b><span class='note'>{escape(words)}</span>", sanitize=False)
        button.on("click", act, args=[])

    def _button(self, label: str, act: Callable[[], object], *, style: str) -> ui.element:
        with ui.element("button").classes(style).props("type=button") as button:
            ui.html(label, sanitize=False, tag="span")
        return button.on("click", act, args=[])

    def _go(self, label: str, act: Callable[[GenericEventArguments], Awaitable[None]]) -> None:
        """A button that hands the values of the fields over."""
        with ui.element("button").classes("primary").props("type=button data-go") as button:
            ui.html(escape(label), sanitize=False, tag="span")
        button.on("click", act, js_handler=_VALUES)

    def _ask(self, provider: Hosted) -> None:
        """Ask for a key."""
        self._say("")
        self._shown.clear()
        name = "this server" if provider == "compatible" else _NAMES[provider]
        with self._shown:
            ui.html(escape(_NAMES[provider]), tag="h3", sanitize=False)
            ui.html(_form(provider), sanitize=False)
            with ui.element("div").classes("acts"):
                self._go(f"Test it, and list the models of {name}", partial(self._test, provider))
                self._button("Back", self.begin, style="secondary")
        self._focus("input")

    async def _test(self, provider: Hosted, event: GenericEventArguments) -> None:
        key, address = str(event.args["key"]), str(event.args["address"])
        if not key.strip() and provider != "compatible":
            self._say("Paste the key first.", wrong=True)
            return
        self._say(f"{_WAIT}Asking {escape(_NAMES[provider])}…")
        try:
            models = await self._setup.models_of(provider, key=key, address=address)
        except AutocompactError as error:
            self._say(escape(str(error)), wrong=True)
            return
        self._choose(provider, models, key=key, address=address)

    def _choose_local(self, server: LocalServer) -> None:
        self._choose(server.provider, server.models)

    def _choose(
        self, provider: Hosted | Local, models: tuple[str, ...], *, key: str = "", address: str = ""
    ) -> None:
        """Offer the models of a provider; the key stays in this call."""
        self._say("")
        self._shown.clear()
        with self._shown:
            ui.html(f"{escape(_NAMES[provider])}: choose a model", tag="h3", sanitize=False)
            if not models:
                ui.html("It has no model yet: load one there, and look again.", sanitize=False)
            else:
                ui.html(_models(models), sanitize=False)
            with ui.element("div").classes("acts"):
                if models:
                    use = partial(self._use, provider, key=key, address=address)
                    self._go("Use this model", use)
                self._button("Back", self.begin, style="secondary")
        self._focus("select, button")

    async def _use(
        self, provider: Hosted | Local, event: GenericEventArguments, *, key: str, address: str
    ) -> None:
        model = str(event.args["model"])
        self._say(f"{_WAIT}Trying {escape(model)}…")
        try:
            place = await self._setup.connect(provider, model, key=key, address=address)
        except AutocompactError as error:
            self._say(escape(str(error)), wrong=True)
            return
        self._say(f"{icon('check')} {escape(model)} is connected.")
        await self._connected(f"{provider}:{model}", self._setup.kept_in(place))

    def _say(self, html: str, *, wrong: bool = False) -> None:
        self._status.content = html
        self._status.classes(add="wrong") if wrong else self._status.classes(remove="wrong")

    def _focus(self, selector: str) -> None:
        self._body.client.run_javascript(f"autocompactPage.focusIn('c{self._body.id}', '{selector}')")


class StartCard:
    """The card that a chat without a model begins with.

    Args:
        setup: as for `Connect`; None shows no card.
        connected: likewise.
    """

    def __init__(self, setup: Setup | None, *, connected: Callable[[str, str], Awaitable[None]]) -> None:
        self._setup = setup
        self._connected = connected
        self._card = ui.element("section").classes("start").props('aria-label="Connect a model"')
        self._card.set_visibility(False)
        self._connect: Connect | None = None

    async def show(self) -> None:
        """Show the card if no model is connected, else hide it."""
        if self._setup is None:
            return
        wanted = not self._setup.dismissed and not await self._setup.is_connected()
        self._card.set_visibility(wanted)
        if not wanted or self._connect is not None:
            return
        with self._card:
            ui.html(_WELCOME, sanitize=False)
            self._connect = Connect(self._setup, connected=self._connected)
            with ui.element("button").classes("quiet").props("type=button") as later:
                ui.html("Look around without a model", sanitize=False, tag="span")
            later.on("click", self._dismiss, args=[])
        # the page is built before its browser listens: a server that does not answer must not hold it up
        self._looking = asyncio.create_task(self._connect.begin())

    def _dismiss(self) -> None:
        if self._setup is not None:
            self._setup.dismissed = True
        self._card.set_visibility(False)


def _facts(server: LocalServer) -> str:
    return f"{plural(len(server.models), 'model')} · {urlsplit(server.base_url).netloc}"


def _form(provider: Hosted) -> str:
    address = (
        '<label>Address<input type="url" name="address" placeholder="https://host/v1" autocomplete="off" required></label>'
        if provider == "compatible"
        else ""
    )
    return (
        f'<div class="fields">{address}<label>Key<input type="password" name="key" autocomplete="off" '
        'spellcheck="false" data-1p-ignore data-lpignore="true"></label></div>'
    )


def _models(models: tuple[str, ...]) -> str:
    options = "".join(f"<option>{escape(model)}</option>" for model in models)
    return f'<div class="fields"><label>Model<select name="model">{options}</select></label></div>'


_WAIT = icon("wait").replace('class="icon"', 'class="icon turning"')
_WELCOME = (
    "<h2>Connect a model</h2><p>No model is connected yet, so nothing here can reason. Choose one; that takes a minute, and "
    "can be changed in the settings.</p>"
)
_NONE = (
    "No server of models answers: Ollama, LM Studio, llama.cpp and vLLM are looked for on their usual ports of this "
    "computer."
)
_VALUES = (
    "(e) => { const box = e.target.closest('.connect');"
    " const of = (name) => { const field = box.querySelector(`[name=${name}]`); return field ? field.value : ''; };"
    " emit({key: of('key'), address: of('address'), model: of('model')}); }"
)
