"""The search over one conversation or all of them, with the memory files."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from html import escape
from types import MappingProxyType

from nicegui import ui
from nicegui.events import GenericEventArguments

from autocompact.chat import ChatSession
from autocompact.chat.views import ConversationLine
from autocompact.core.search import parse_query
from autocompact.core.terms import occurrences
from autocompact.errors import AutocompactError
from autocompact.history.recall import Found, doubt
from autocompact.ui.web.icons import icon

RESULTS = 20
TITLES = 5
"""Conversations whose titles match that are shown above what was said."""

_SPEAKERS = (("", "Everything"), ("user", "You"), ("assistant", "Answers"), ("tool", "Tools"))
NO_TITLES: Mapping[str, str] = MappingProxyType({})
_MESSAGE = re.compile(r"m[1-9]")
BEFORE_MATCH = 120
"""Characters of a result that are shown before its first match."""


class Search:
    """The dialog.

    Args:
        session: the conversation that is open now.
        conversations: lists all of them.
        jump: goes to a reference of a result.
        show: goes to a conversation.
    """

    def __init__(
        self,
        *,
        session: Callable[[], ChatSession],
        conversations: Callable[[], Awaitable[Sequence[ConversationLine]]],
        jump: Callable[[str], Awaitable[None]],
        show: Callable[[str], Awaitable[None]],
    ) -> None:
        self._session = session
        self._conversations = conversations
        self._jump = jump
        self._show_conversation = show
        self._speaker = ""
        self._everywhere = False
        self._query = ""
        self.dialog = ui.dialog().props('aria-label="Search"')
        with self.dialog, ui.element("div").classes("panel search"):
            with ui.element("div").classes("query"):
                ui.html(icon("search"), sanitize=False, tag="span")
                self._field = ui.element("input").props(
                    'type=search id=query dir=auto autofocus autocomplete=off aria-label="Search" '
                    'placeholder="Search messages, tool outputs and memory files"'
                )
            with ui.element("div").classes("choices").props('role=group aria-label="Where"'):
                self._scopes = [
                    self._scope(False, "This conversation"),
                    self._scope(True, "All conversations"),
                ]
            with ui.element("div").classes("choices").props('role=group aria-label="Whose words"'):
                self._speakers = [self._whose(speaker, label) for speaker, label in _SPEAKERS]
            ui.html(_HINT, sanitize=False)
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

    def _whose(self, speaker: str, label: str) -> ui.element:
        async def choose() -> None:
            self._speaker = speaker
            self._mark()
            await self.find(self._query)

        with ui.element("button").props("type=button") as button:
            ui.html(label, sanitize=False, tag="span")
        return button.on("click", choose, args=[])

    def _mark(self) -> None:
        for (speaker, _), button in zip(_SPEAKERS, self._speakers, strict=True):
            button.props(f"aria-pressed={'true' if speaker == self._speaker else 'false'}")
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
        asked = self._asked()
        whose = f" speaker:{self._speaker}" if self._speaker else ""
        scope = "all" if self._everywhere else "conversation"
        lines: Sequence[ConversationLine] = ()
        try:
            lines = await self._conversations() if self._everywhere else ()
            found = await self._session().search(f"{query}{whose}", k=RESULTS, scope=scope)
            told = doubt(query, found) if found else f"Nothing found for {query!r}."
        except AutocompactError as error:
            lines, found, told = (), (), str(error)
        # a search of everything takes longer, and may end after one that was asked for later
        if asked == self._asked():
            titled = () if whose else _titled(query, lines)
            head = f'<p class="note">{escape(told)}</p>' if told and not titled else ""
            self._show(head, found, titled=titled, lines=lines)

    def _asked(self) -> tuple[str, str, bool]:
        """The query as it stands in the dialog now."""
        return self._query, self._speaker, self._everywhere

    def _show(
        self,
        head: str,
        found: Sequence[Found],
        *,
        titled: Sequence[ConversationLine],
        lines: Sequence[ConversationLine],
    ) -> None:
        wanted = parse_query(self._query).terms
        titles = {line.id: line.title for line in lines}
        titles[""] = titles.get(self._session().id, "")  # a reference into the open conversation names none
        self._results.clear()
        with self._results:
            ui.html(head)
            for line in titled:
                self._result(titled_html(line, wanted), partial(self._go_to, line.id))
            for one in found:
                self._result(found_html(one, wanted, titles=titles), partial(self._go, one.reference))

    def _result(self, html: str, act: Callable[[], Awaitable[None]]) -> None:
        with ui.element("button").classes("result").props("type=button") as button:
            ui.html(html)
        button.on("click", act, args=[])

    async def _go_to(self, id: str) -> None:
        self.dialog.close()
        await self._show_conversation(id)

    async def _go(self, reference: str) -> None:
        self.dialog.close()
        await self._jump(reference)


def _titled(query: str, lines: Sequence[ConversationLine]) -> tuple[ConversationLine, ...]:
    """The conversations whose titles or tags hold all words of the query."""
    words = query.casefold().replace("#", " ").split()
    texts = ((line, f"{line.title} {' '.join(line.tags)}".casefold()) for line in lines)
    return tuple(line for line, text in texts if words and all(word in text for word in words))[:TITLES]


def titled_html(line: ConversationLine, wanted: Collection[str]) -> str:
    """A conversation whose title matches, and when it was used last."""
    facts = " · ".join(("conversation", line.updated[:10], *(f"#{escape(tag)}" for tag in line.tags)))
    return f'<p class="facts">{facts}</p><p class="words">{_marked(line.title, wanted)}</p>'


def found_html(found: Found, wanted: Collection[str] = (), *, titles: Mapping[str, str] = NO_TITLES) -> str:
    """A result: whose words, when, and the lines around the match, in which the terms ``wanted`` are marked.

    Below it what belongs to it: the output of a call, the answer to a question. Of another conversation the title is
    shown, and a summary of the archive is called one.
    """
    conversation, _, name = found.reference.rpartition(":")
    title = titles.get(conversation, "") if _MESSAGE.match(name) else ""
    facts = " · ".join(map(escape, filter(None, (title, found.source, found.time[:10], found.note))))
    badge = (
        '<span class="archived">archive: a summary, not the words themselves</span> '
        if found.is_archived
        else ""
    )
    beside = f'<p class="beside">{_marked(found.beside, wanted)}</p>' if found.beside else ""
    return (
        f'<p class="facts">{badge}<b>{escape(name if title else found.reference)}</b> · {facts}</p>'
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


_HINT = (
    '<p class="note">Also <code>after:2026-03</code>, <code>before:2026-06-15</code>, <code>file:tax.py</code>, '
    "<code>kind:command</code>.</p>"
)
_VALUE = "(e) => emit(e.target.value)"
