"""Small dialogs: a question before something is done, a new title, an export, a text, a comparison."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from html import escape

from nicegui import ui
from nicegui.events import GenericEventArguments

from autocompact.chat import ModelChoice
from autocompact.chat.views import ConversationLine
from autocompact.compaction.record import Compaction
from autocompact.engine.deletion import STAYS, Traces
from autocompact.engine.records import Comparison
from autocompact.history.outgoing import ExportFormat
from autocompact.ledger.entries import Entry
from autocompact.ui.web.addresses import export_address
from autocompact.ui.web.charts import state_of
from autocompact.ui.web.icons import icon
from autocompact.ui.web.render import diff_html

Act = Callable[[], Awaitable[None]]

_FORMATS: tuple[tuple[ExportFormat, str], ...] = (
    ("markdown", "Markdown, to read"),
    ("json", "Complete archive (JSON)"),
    ("openai", "OpenAI messages"),
    ("anthropic", "Anthropic messages"),
    ("jsonl", "One message per line (JSON Lines)"),
)


class Dialogs:
    """Shows one dialog at a time, filled when it is opened."""

    def __init__(self) -> None:
        self._dialog = ui.dialog()
        with self._dialog:
            self._panel = ui.element("div").classes("panel")

    def _begin(self, title: str, *, wide: bool = False) -> ui.element:
        self._panel.clear()
        self._panel.classes(add="wide") if wide else self._panel.classes(remove="wide")
        self._dialog.props["aria-label"] = title
        with self._panel:
            ui.html(escape(title), tag="h2")
        self._dialog.open()
        return self._panel

    def _buttons(self, label: str, act: Act | None, *, style: str = "primary") -> None:
        async def go() -> None:
            self._dialog.close()
            if act is not None:
                await act()

        with ui.element("div").classes("acts"):
            if act is not None:
                with ui.element("button").classes(style).props("type=button data-go") as button:
                    ui.html(escape(label), tag="span")
                button.on("click", go, args=[])
            with ui.element("button").classes("secondary").props("type=button") as close:
                ui.html("Close" if act is None else "Cancel", sanitize=False, tag="span")
            close.on("click", self._dialog.close, args=[])

    def confirm_delete(self, line: ConversationLine, traces: Traces, *, delete: Act) -> None:
        """Ask before a conversation is deleted; what goes and what stays is said."""
        with self._begin("Delete this conversation?"):
            ui.html(f"<p><b>{escape(line.title)}</b> will be deleted. This cannot be undone.</p>")
            ui.html(f"<h3>Deleted</h3>{_list(traces.goes)}")
            ui.html(f"<h3>Kept</h3>{_list(STAYS)}")
            self._buttons("Delete", delete, style="danger")

    def rename(self, line: ConversationLine, rename: Callable[[str], Awaitable[None]]) -> None:
        """Ask for a title."""
        with self._begin("Rename"):
            self._field("Title", line.title, most=200, label="Rename", take=rename)

    def tags(self, line: ConversationLine, tag: Callable[[str], Awaitable[None]]) -> None:
        """Ask for the tags of a conversation."""
        with self._begin("Tags"):
            ui.html("<p class='note'>Separated by commas, such as: work, taxes 2026</p>", sanitize=False)
            self._field("Tags", ", ".join(line.tags), most=500, label="Save", take=tag)

    def _field(
        self, name: str, text: str, *, most: int, label: str, take: Callable[[str], Awaitable[None]]
    ) -> None:
        """A field of one line; Enter or the button gives ``take`` what is in it."""

        def typed(event: GenericEventArguments) -> None:
            nonlocal text
            text = str(event.args)

        async def go() -> None:
            await take(text)

        async def enter() -> None:
            self._dialog.close()
            await take(text)

        field = ui.element("input").props(f'type=text autofocus maxlength={most} aria-label="{name}"')
        field.props["value"] = text
        field.on("input", typed, js_handler="(e) => emit(e.target.value)")
        field.on("keydown.enter", enter, args=[])
        self._buttons(label, go)

    def export(self, line: ConversationLine) -> None:
        """Offer the forms that a conversation can be had in."""
        with self._begin("Export"):
            ui.html(
                f"<p><b>{escape(line.title)}</b>: the whole conversation, compacted messages included.</p>"
            )
            with ui.element("ul").classes("formats"):
                for name, label in _FORMATS:
                    with ui.element("li"), ui.element("a").classes("choice") as link:
                        ui.html(escape(label), tag="span")
                    link.props["href"] = export_address(line.id, format=name)
                    link.props["download"] = True
            self._buttons("", None)

    def text(self, title: str, html: str) -> None:
        """Show something; ``html`` is safe."""
        with self._begin(title, wide=True):
            ui.html(html).classes("prose")
            self._buttons("", None)

    @contextmanager
    def shown(self, title: str, *, wide: bool = False) -> Generator[None]:
        """A dialog with the elements that are made within the block."""
        with self._begin(title, wide=wide):
            yield
            self._buttons("", None)

    def close(self) -> None:
        """Close whatever is open."""
        self._dialog.close()

    def models(
        self,
        choices: Sequence[ModelChoice],
        *,
        current: str,
        choose: Callable[[str], Awaitable[None]],
        connect: Act | None,
    ) -> None:
        """Offer the models, and with ``connect`` to connect another one."""

        async def chosen(name: str) -> None:
            self._dialog.close()
            await choose(name)

        with self._begin("Model"):
            for choice in choices:
                with ui.element("button").classes("choice").props("type=button") as button:
                    ui.html(f"<b>{escape(choice.label)}</b><span class='note'>{escape(choice.name)}</span>")
                button.props["aria-pressed"] = "true" if choice.name == current else "false"
                button.on("click", partial(chosen, choice.name), args=[])
            if connect is None:
                ui.html(_KEYS, sanitize=False)
            else:
                with ui.element("button").classes("choice").props("type=button id=connect") as button:
                    ui.html(f"{icon('plus')} Connect another one…", sanitize=False, tag="span")
                button.on("click", connect, args=[])
            self._buttons("", None)

    async def compare(
        self,
        record: Compaction,
        others: Sequence[Compaction],
        *,
        compare: Callable[[str, str], Awaitable[Comparison]],
    ) -> None:
        """Show a compaction beside the one before it, or beside another one that is chosen.

        Raises:
            AutocompactError: a compaction cannot be read.
        """
        every = (record, *others)
        with self._begin("Compare compactions", wide=True):
            if not others:
                ui.html("<p>There is no other compaction to compare with yet.</p>")
            with ui.element("div").classes("choices").props('role=group aria-label="Compare with"'):
                buttons = [(other, self._other(_named(other, every))) for other in others]
            shown = ui.html("").classes("comparison")
            self._buttons("", None)

        async def choose(chosen: Compaction) -> None:
            for other, button in buttons:
                button.props(f"aria-pressed={'true' if other.id == chosen.id else 'false'}")
            # the earlier one stands first
            first, second = sorted((chosen, record), key=lambda each: each.through_seq)
            names = (_named(first, every), _named(second, every))
            shown.content = comparison_html(await compare(first.id, second.id), names=names)

        for other, button in buttons:
            button.on("click", partial(choose, other), args=[])
        earlier = [other for other in others if other.through_seq < record.through_seq]
        if others:
            await choose(earlier[-1] if earlier else others[0])

    def _other(self, name: str) -> ui.element:
        with ui.element("button").props("type=button aria-pressed=false") as button:
            ui.html(escape(name), tag="span")
        return button


SHORTCUTS: tuple[tuple[str, str], ...] = (
    ("Enter, Shift Enter", "send, new line"),
    ("Esc", "stop the answer; leave a dialog"),
    ("↑ in the empty field", "change your last message and ask again"),
    ("/", "go to the field"),
    ("Ctrl K", "search"),
    ("Alt N", "new conversation"),
    ("Alt L", "hide or show the list of conversations"),
    ("?", "show these shortcuts"),
    ("↑ ↓ in the list or on a message", "go to the one before or after"),
    ("→ ← on a message or in the list", "go to its buttons, and back"),
)


def shortcuts_html() -> str:
    """The keys of the page."""
    rows = "".join(
        f"<tr><th scope='row'><kbd>{keys}</kbd></th><td>{what}</td></tr>" for keys, what in SHORTCUTS
    )
    return f"<table class='shortcuts'><tbody>{rows}</tbody></table>"


_KEYS = (
    "<p class='note'>Keys are read from the environment that the server was started in: ANTHROPIC_API_KEY, "
    "OPENAI_API_KEY, OPENAI_BASE_URL. Ollama and llama.cpp on this computer are found automatically.</p>"
)


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in lines)}</ul>"


def _named(record: Compaction, every: Sequence[Compaction]) -> str:
    through = f"through m{record.through_seq}" if record.through_seq else "stubs only"
    return f"{record.id[:8]} · {through} · {state_of(record, every)}"


def comparison_html(comparison: Comparison, *, names: tuple[str, str]) -> str:
    """Two compactions side by side, under their names."""
    heads = "".join(f"<th scope='col'>{escape(name)}</th>" for name in names)
    tokens = "".join(f"<td>{tokens:,} tokens</td>" for tokens in comparison.tokens)
    only = "".join(
        f"<td>{_entries(entries)}</td>" for entries in (comparison.only_first, comparison.only_second)
    )
    return (
        f"<table><thead><tr><td></td>{heads}</tr></thead><tbody><tr><th scope='row'>Context</th>{tokens}</tr>"
        f"<tr><th scope='row'>Only here</th>{only}</tr></tbody></table>{diff_html(comparison.summaries)}"
    )


def _entries(entries: Sequence[Entry]) -> str:
    return (
        f"<ul class='ledger'>{''.join(f'<li>{escape(entry.text)}</li>' for entry in entries)}</ul>"
        if entries
        else "nothing"
    )
