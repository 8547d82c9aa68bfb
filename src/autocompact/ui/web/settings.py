"""The settings in the page: each with its value, where it comes from, and a field; they are written to ``settings.json``."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import cast

from nicegui import ui
from nicegui.events import GenericEventArguments

from autocompact.chat.setup import Setup
from autocompact.errors import AutocompactError
from autocompact.settings import Loaded, Setting, all_settings
from autocompact.ui.web.icons import icon


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A setting in the page.

    Attributes:
        path: of the setting.
        label: for people.
        hint: one line on what it does.
        choices: values to choose from; others are written as text.
        lines: it is written in several lines.
    """

    path: str
    label: str
    hint: str
    choices: tuple[str, ...] = ()
    lines: bool = False


_SWITCH = ("true", "false")
_MODES = ("default", "database-chat", "usage-driven", "session-layer", "coding-agent")
SECTIONS: tuple[tuple[str, tuple[Row, ...]], ...] = (
    (
        "Model",
        (
            Row(path="chat.model", label="Model", hint="Of new conversations, as provider:name."),
            Row(
                path="chat.baseUrl",
                label="Base URL",
                hint="Of the server behind models called compatible:name. Its key is asked for where the model is connected.",
            ),
            Row(
                path="chat.instructions",
                label="Instructions",
                hint="Added to the system prompt of every conversation.",
                lines=True,
            ),
            Row(
                path="chat.titles",
                label="Titles",
                hint="Let the model name a conversation after its first answer.",
                choices=_SWITCH,
            ),
        ),
    ),
    (
        "Compaction",
        (
            Row(
                path="compaction.enabled",
                label="By itself",
                hint="Compact when the threshold is reached; by you it is always possible.",
                choices=_SWITCH,
            ),
            Row(
                path="compaction.triggers.sessionTokens.threshold",
                label="Threshold",
                hint="Tokens, or 50k, 100k, 150k, 200k, never. Empty leaves it to the mode.",
            ),
            Row(path="engine.mode", label="Mode", hint="When and how to compact.", choices=_MODES),
            Row(
                path="compaction.summaryModel",
                label="Summaries by",
                hint='Another model for summaries; "offline" needs none. Empty is the model of the conversation.',
            ),
        ),
    ),
    (
        "Agent",
        (
            Row(
                path="chat.workspace",
                label="Workspace",
                hint="Folder that the agent reads and writes in, and cannot leave.",
            ),
            Row(
                path="chat.approval",
                label="Approval",
                hint="Ask before a file is written or a tool of an MCP server is used.",
                choices=("ask", "allow"),
            ),
            Row(
                path="chat.commands.enabled",
                label="Commands",
                hint="Let the agent run commands in the workspace; you are asked before each.",
                choices=_SWITCH,
            ),
            Row(
                path="chat.commands.sandbox",
                label="Sandbox",
                hint="Run commands under bubblewrap where the system has it; each question says whether.",
                choices=_SWITCH,
            ),
            Row(
                path="chat.commands.allow",
                label="Without asking",
                hint="Commands that run at once, one a line, with the options that are covered: git log --oneline",
                lines=True,
            ),
            Row(
                path="chat.commands.deny",
                label="Never",
                hint="Commands that are refused, one a line.",
                lines=True,
            ),
            Row(path="chat.mcpFile", label="MCP servers", hint="JSON file with mcpServers."),
            Row(path="chat.memoryFolder", label="Memory", hint="Folder of the memory files."),
        ),
    ),
)


class SettingsForm:
    """The settings, in the element in which it is made.

    Args:
        setup: reads and writes them.
        saved: called when they were written.
    """

    def __init__(self, setup: Setup, *, saved: Callable[[], Awaitable[None]]) -> None:
        self._setup = setup
        self._saved = saved
        with ui.element("div").classes("settings") as self._box:
            self._rows = ui.html("", sanitize=False)
            ui.html(_THEME, sanitize=False)
            with ui.element("div").classes("save"):
                with ui.element("button").classes("primary").props("type=button data-go") as save:
                    ui.html("Save", sanitize=False, tag="span")
                self._status = ui.html("", sanitize=False).classes("told").props("role=status")
            save.on("click", self._save, js_handler=_CHANGED)

    def show(self) -> None:
        """Show the values as they hold now."""
        try:
            loaded = self._setup.loaded()
        except AutocompactError as error:
            self._say(escape(str(error)), wrong=True)
            return
        self._rows.content = settings_html(loaded, otherwise=self._setup.unset())

    async def _save(self, event: GenericEventArguments) -> None:
        try:
            changes = parsed(cast("Mapping[str, str]", event.args))
            if changes:
                await self._setup.change(changes)
        except AutocompactError as error:
            self._say(escape(str(error)), wrong=True)
            return
        self.show()
        where = f" to <code>{escape(str(self._setup.loaded().files[-1]))}</code>" if changes else ""
        self._say(f"{icon('check')} Saved{where}." if changes else "Nothing was changed.")
        await self._saved()

    def _say(self, html: str, *, wrong: bool = False) -> None:
        self._status.content = html
        self._status.classes(add="wrong") if wrong else self._status.classes(remove="wrong")


def parsed(given: Mapping[str, str]) -> dict[str, object]:
    """What was written into the fields, as changes of settings; an empty field removes its setting.

    Raises:
        InvalidInput: a value that its setting does not accept.
    """
    known = {setting.path: setting for setting in _shown_settings()}
    return {path: _value(known[path], text) for path, text in given.items() if path in known}


def _value(setting: Setting, text: str) -> object:
    if not text.strip():
        return None
    where = f"{_labels()[setting.path]} ({setting.path})"
    if setting.is_list:
        return [line.strip() for line in text.splitlines() if line.strip()]
    return setting.accept(text.strip(), where=where, strict=False)


def _labels() -> Mapping[str, str]:
    return {row.path: row.label for _, rows in SECTIONS for row in rows}


def _shown_settings() -> Sequence[Setting]:
    labels = _labels()
    return [setting for setting in all_settings() if setting.path in labels]


def settings_html(loaded: Loaded, *, otherwise: Mapping[str, tuple[str, str]]) -> str:
    """The fields.

    Args:
        loaded: the settings with their origins.
        otherwise: what holds where a setting is null, and a sentence on where that comes from, by the setting's path.
    """
    settings = {setting.path: setting for setting in _shown_settings()}
    return "".join(
        f"<section><h3>{escape(title)}</h3>"
        + "".join(_row(row, settings[row.path], loaded=loaded, otherwise=otherwise) for row in rows)
        + "</section>"
        for title, rows in SECTIONS
    )


def _row(row: Row, setting: Setting, *, loaded: Loaded, otherwise: Mapping[str, tuple[str, str]]) -> str:
    origin = loaded.origins[row.path]
    value = loaded.value(row.path)
    shown = _text(setting.shown(value))
    own = origin.source == "user"
    locked = origin.source in ("option", "project")
    held, whence = otherwise.get(row.path, ("", "Default."))
    unset = (shown if origin.source == "environment" else _text(setting.default)) or held
    where = _origin(origin.source, origin.where, otherwise=whence)
    id = f"set-{row.path.replace('.', '-')}"
    control = _control(row, value=shown if own or locked else "", unset=unset, id=id, locked=locked)
    return (
        f'<div class="row"><label for="{id}">{escape(row.label)}</label><div>{control}'
        f'<p class="note" id="{id}-note">{escape(row.hint)} <span class="origin">{where}</span></p>'
        "</div></div>"
    )


def _control(row: Row, *, value: str, unset: str, id: str, locked: bool) -> str:
    common = (
        f'id="{id}" data-setting="{escape(row.path)}" data-before="{escape(value)}" aria-describedby="{id}-note"'
        f"{' disabled' if locked else ''}"
    )
    if row.choices:
        options = "".join(
            f'<option value="{escape(each)}"{" selected" if each == value else ""}>{escape(_WORDS.get(each, each))}</option>'
            for each in row.choices
        )
        return f'<select {common}><option value="">{escape(_WORDS.get(unset, unset))} (unless set)</option>{options}</select>'
    if row.lines:
        return f'<textarea {common} rows="3" placeholder="{escape(unset)}">\n{escape(value)}</textarea>'
    return f'<input type="text" {common} value="{escape(value)}" placeholder="{escape(unset)}" spellcheck="false" autocomplete="off">'


_WORDS = {"true": "on", "false": "off"}


def _text(value: object) -> str:
    """A value as its field has it."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return "\n".join(cast("tuple[str, ...]", value))
    return value if isinstance(value, str) else json.dumps(value)


def _origin(source: str, where: str, *, otherwise: str) -> str:
    match source:
        case "user":
            return f"From <code>{escape(where)}</code>."
        case "environment":
            return f"From the environment, <code>{escape(where)}</code>."
        case "option":
            return f"From the command line, <code>{escape(where)}</code>: start the server without it to change it here."
        case "project":
            return f"From the project, <code>{escape(where)}</code>, which goes before yours."
        case _:
            return escape(otherwise)


_THEME = (
    '<section><h3>Page</h3><div class="row"><span class="name">Colours</span><div class="theme" role="group" '
    'aria-label="Colours"><button type="button" data-theme="auto">Auto</button><button type="button" data-theme="light">'
    'Light</button><button type="button" data-theme="dark">Dark</button></div></div></section>'
)
_CHANGED = (
    "(e) => { const changed = {};"
    " for (const field of e.target.closest('.settings').querySelectorAll('[data-setting]'))"
    " if (field.value !== field.dataset.before) changed[field.dataset.setting] = field.value;"
    " emit(changed); }"
)
