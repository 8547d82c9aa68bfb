"""The search over one conversation or all of them, with the memory files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from functools import partial
from html import escape

from nicegui import ui
from nicegui.events import GenericEventArguments

from autocompact.chat import ChatSession
from autocompact.core.search import parse_query
from autocompact.core.terms import occurrences
from autocompact.errors import AutocompactError
from autocompact.history.recall import Found, doubt
from autocompact.ui.web.icons import icon

RESULTS = 20
BEFORE_MATCH = 120
"""Characters of a result that are shown before its first match."""


class Search:
    """The dialog.

    Args:
        session: the conversation that is open now.
        jump: goes to a reference of a result.
    """

    def __init__(self, *, session: Callable[[], ChatSession], jump: Callable[[str], Awaitable[None]]) -> None:
        self._session = session
        self._jump = jump
        self._everywhere = False
        self._query = ""
        self.dialog = ui.dialog().props('aria-label="Search"')
        with self.dialog, ui.element("div").classes("panel search"):
            with ui.element("div").classes("query"):
                ui.html(icon("search"), sanitize=False, tag="span")
                self._field = ui.element("input").props(
                    'type=search id=query autofocus autocomplete=off aria-label="Search" '
                    'placeholder="Search messages, tool outputs and memory files"'
                )
            with ui.element("div").classes("choices").props('role=group aria-label="Where"'):
                self._scopes = [
                    self._scope(False, "This conversation"),
                    self._scope(True, "All conversations"),
                ]
            self._results = ui.element("div").classes("results").props("aria-live=polite")
        self._field.on("input", self._typed, throttle=0.2, leading_events=False, js_handler=_VALUE)
        self._field.on("keydown.enter", self._typed, js_handler=_VALUE)
        self._mark()

    def open(self) -> None:
        """Show it."""
        self.dialog.open()

    def _scope(self, everywhere: bool, label: str) -> ui.element:
        async def choose() -> None:
            self._everywhere = everywhere
            self._mark()
            await self.find(self._query)

        with ui.element("button").props("type=button") as button:
            ui.html(label, sanitize=False, tag="span")
        return button.on("click", choose, args=[])

    def _mark(self) -> None:
        for everywhere, button in enumerate(self._scopes):
            button.props(f"aria-pressed={'true' if bool(everywhere) == self._everywhere else 'false'}")

    async def _typed(self, event: GenericEventArguments) -> None:
        await self.find(str(event.args))

    async def find(self, query: str) -> None:
        """Show what is found."""
        self._query = query
        if not query.strip():
            self._results.clear()
            return
        try:
            scope = "all" if self._everywhere else "conversation"
            found = await self._session().search(query, k=RESULTS, scope=scope)
        except AutocompactError as error:
            self._show(f'<p class="note">{escape(str(error))}</p>', ())
            return
        told = doubt(query, found) if found else f"Nothing found for {query!r}."
        head = f'<p class="note">{escape(told)}</p>' if told else ""
        if query == self._query:
            self._show(head, found)

    def _show(self, head: str, found: tuple[Found, ...]) -> None:
        wanted = parse_query(self._query).terms
        self._results.clear()
        with self._results:
            ui.html(head)
            for one in found:
                with ui.element("button").classes("result").props("type=button") as button:
                    ui.html(found_html(one, wanted))
                button.on("click", partial(self._go, one.reference), args=[])

    async def _go(self, reference: str) -> None:
        self.dialog.close()
        await self._jump(reference)


def found_html(found: Found, wanted: Collection[str] = ()) -> str:
    """A result: whose words, when, and the lines around the match, in which the terms ``wanted`` are marked.

    Below it what belongs to it: the output of a call, the answer to a question.
    """
    facts = " · ".join(map(escape, filter(None, (found.source, found.time[:10], found.note))))
    beside = f'<p class="beside">{_marked(found.beside, wanted)}</p>' if found.beside else ""
    return (
        f'<p class="facts"><b>{escape(found.reference)}</b> · {facts}</p>'
        f"<pre>{_marked(_from_match(found.excerpt.strip(), wanted), wanted)}</pre>{beside}"
    )


def _from_match(text: str, wanted: Collection[str]) -> str:
    """The text from shortly before its first match on: only a few lines of it are seen."""
    places = occurrences(text, wanted)
    if not places or places[0][0] <= BEFORE_MATCH:
        return text
    start = text.find(" ", places[0][0] - BEFORE_MATCH, places[0][0]) + 1 or places[0][0] - BEFORE_MATCH
    return f"… {text[start:]}"


def _marked(text: str, wanted: Collection[str]) -> str:
    """Escaped piece by piece: a mark must not fall into an escaped character."""
    pieces: list[str] = []
    at = 0
    for start, end in occurrences(text, wanted):
        pieces += (escape(text[at:start]), "<mark>", escape(text[start:end]), "</mark>")
        at = end
    return "".join((*pieces, escape(text[at:])))


_VALUE = "(e) => emit(e.target.value)"
