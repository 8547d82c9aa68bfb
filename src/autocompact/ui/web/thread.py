"""The history on the page: messages in chunks, a divider at each compaction, older ones when they are asked for.

A chunk is one element with the HTML of several messages: a page of the history that was loaded, or one message that
came since. So a long conversation is few elements. Dividers stand between chunks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, count

from nicegui import ui

from autocompact.chat import ChatSession
from autocompact.chat.events import ToolFinished
from autocompact.chat.views import Divider, Entry, HistoryPage, RunningTurn, Version
from autocompact.ui.web.calls import LogPlace, ShownCalls
from autocompact.ui.web.divider import DividerPart
from autocompact.ui.web.render import message_html

PAGE = 50
AROUND = 20
"""Messages that are shown after one that was jumped to."""

ACTION = (
    "(e) => { const b = e.target.closest('[data-action]');"
    " if (!b || b.dataset.action.startsWith('copy')) return;"
    " e.preventDefault(); emit({action: b.dataset.action, seq: b.dataset.seq || '', through: b.dataset.through || ''}); }"
)
"""Sends what was clicked among messages, as its action and its message; the browser itself copies."""


class Chunk:
    """Messages in one element."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = list(entries)
        self.element = ui.html("").classes("chunk")

    @property
    def first(self) -> int:
        """Number of its first message."""
        return self.entries[0].seq

    @property
    def last(self) -> int:
        """Number of its last message."""
        return self.entries[-1].seq


class Thread:
    """The messages of the conversation that is open.

    Args:
        show_divider: makes the element of a compaction, in the place where it is called.

    Attributes:
        show_replaced: whether replaced messages are to be shown.
        last_seq: number of messages in the log.
        through: number of messages that the log had with the earlier version that is shown; 0 if none is.
    """

    def __init__(self, *, show_divider: Callable[[Divider], DividerPart]) -> None:
        self.show_replaced = False
        self.last_seq = self.through = 0
        self._show_divider = show_divider
        self._session: ChatSession | None = None
        self._chunks: list[Chunk] = []
        self._dividers: dict[str, DividerPart] = {}
        self._calls = ShownCalls()
        self._earlier: int | None = None
        self._changing = asyncio.Lock()
        self._older = self._button("Earlier messages", self.older).props("data-auto")
        self.body = ui.element("div").classes("messages")
        self._newer = self._button("Later messages", self.newer)
        self._empty = ui.html(_WELCOME, sanitize=False).classes("welcome")

    def _button(self, label: str, act: Callable[[], object]) -> ui.element:
        with ui.element("button").classes("quiet older").props("type=button") as button:
            ui.html(label, sanitize=False, tag="span")
        return button.on("click", act, args=[])

    @property
    def session(self) -> ChatSession:
        """The conversation that is open."""
        if self._session is None:
            raise LookupError("no conversation is open")
        return self._session

    @property
    def at_end(self) -> bool:
        """True if the last message of the conversation is shown, and no earlier version."""
        return not self.through and self._all_shown

    @property
    def _all_shown(self) -> bool:
        return not self._chunks or self._chunks[-1].last >= (self.through or self.last_seq)

    # Opening and paging

    async def open(self, session: ChatSession, *, around: int | None = None) -> None:
        """Show the last messages, or those around one."""
        async with self._changing:
            await self._open(session, around=around)

    async def show_version(self, version: Version) -> None:
        """Show a version of the conversation, around the request that it begins with."""
        async with self._changing:
            await self._open(self.session, around=version.seq, through=version.through)

    async def _open(self, session: ChatSession, *, around: int | None = None, through: int = 0) -> None:
        self._session, self.through = session, through
        page = await self._page(before_seq=around + AROUND + 1 if around else None)
        self.body.clear()
        self._chunks.clear()
        self._dividers.clear()
        self._calls = ShownCalls()
        self.last_seq, self._earlier = page.last_seq, page.earlier
        self._place(page, at=0)
        self._mark_ends()

    async def _page(self, *, before_seq: int | None, limit: int = PAGE) -> HistoryPage:
        """A page of the version that is shown."""
        return await self.session.history(
            before_seq=before_seq, limit=limit, replaced=self.show_replaced, through=self.through
        )

    async def older(self) -> None:
        """Show the page before the first message."""
        async with self._changing:
            await self._show_older()

    async def _show_older(self) -> None:
        if self._earlier is None:
            return
        page = await self._page(before_seq=self._earlier)
        self._earlier = page.earlier
        self._place(page, at=0)
        self._mark_ends()

    async def newer(self) -> None:
        """Show the page after the last message."""
        async with self._changing:
            await self._show_newer()

    async def _show_newer(self) -> None:
        if self._all_shown:
            return
        shown = self._chunks[-1].last
        for last in range(shown + PAGE, (self.through or self.last_seq) + PAGE, PAGE):
            page = await self._page(before_seq=last + 1)
            later = tuple(entry for entry in page.entries if entry.seq > shown)
            if later:  # else there were only replaced ones, which are not shown
                dividers = tuple(divider for divider in page.dividers if divider.after_seq > shown)
                self._place(replace(page, entries=later, dividers=dividers), at=None)
                break
        self._mark_ends()

    async def reach(self, seq: int) -> bool:
        """Have message ``seq`` shown; whether there is such a message to show."""
        async with self._changing:
            return await self._reach(seq)

    async def _reach(self, seq: int) -> bool:
        if not 1 <= seq <= self.last_seq:
            return False
        version = await self.session.version_with(seq)
        if version.through != self.through and not self.show_replaced:
            await self._open(self.session, around=seq, through=version.through)
        elif self._chunks and self._chunks[0].first <= seq <= self._chunks[-1].last:
            pass
        elif self._earlier is not None and self._earlier - seq <= PAGE and seq < self._earlier:
            await self._show_older()
        else:
            await self._open(self.session, around=seq, through=self.through)
        return True

    async def refresh(self) -> None:
        """Show anew what compactions, pins and edits changed of the messages that are shown."""
        async with self._changing:
            await self._refresh()

    async def _refresh(self) -> None:
        if not self._chunks:
            await self._open(self.session, through=self.through)
            return
        first, last = self._chunks[0].first, self._chunks[-1].last
        page = await self._page(before_seq=last + 1, limit=last - first + 1)
        page = replace(page, entries=tuple(entry for entry in page.entries if entry.seq >= first))
        if [entry.seq for entry in page.entries] != [e.seq for c in self._chunks for e in c.entries]:
            await self._open(self.session, through=self.through)
            return
        # the log may have grown meanwhile: `add` tells of each message, and only then it counts as there
        fresh = {entry.seq: entry for entry in page.entries}
        changed: list[Chunk] = []
        for chunk in self._chunks:
            entries = [fresh[entry.seq] for entry in chunk.entries]
            if entries != chunk.entries:
                chunk.entries = entries
                changed.append(chunk)
        if changed:
            self._calls = ShownCalls(page.entries)
        for chunk in changed:
            self._draw(chunk)
        self._place_dividers(divider for divider in page.dividers if divider.after_seq >= first)

    def _place(self, page: HistoryPage, *, at: int | None) -> None:
        """Put a page before (``at`` 0) or behind (None) what is shown."""
        shown = chain.from_iterable(chunk.entries for chunk in self._chunks)
        order = (page.entries, shown) if at == 0 else (shown, page.entries)
        self._calls = ShownCalls(chain.from_iterable(order))
        index = count(0 if at == 0 else len(self._chunks))
        ends = {divider.after_seq for divider in page.dividers}
        for entries in _split(page.entries, ends):
            position = next(index)
            with self.body:
                chunk = Chunk(entries)
            if at == 0:
                chunk.element.move(self.body, position)
            self._chunks.insert(position, chunk)
            self._draw(chunk)
        self._place_dividers((*self._shown_dividers(), *page.dividers))

    def _shown_dividers(self) -> list[Divider]:
        return [part.divider for part in self._dividers.values()]

    def _place_dividers(self, dividers: Iterable[Divider]) -> None:
        """Have exactly these dividers, each below its message."""
        wanted = {divider.record.id: divider for divider in dividers}
        for id in [id for id in self._dividers if id not in wanted]:
            self._dividers.pop(id).delete()
        for id, divider in wanted.items():
            if id in self._dividers:
                self._dividers[id].show(divider)
                continue
            self._split_at(divider.after_seq)
            with self.body:
                self._dividers[id] = self._show_divider(divider)
        self._order()

    def _order(self) -> None:
        """Chunks and dividers in the order of the log."""
        parts = [(chunk.last, 0, chunk.element) for chunk in self._chunks]
        parts += [
            (part.divider.after_seq, 1 + n, part.element) for n, part in enumerate(self._dividers.values())
        ]
        children = self.body.default_slot.children
        wanted = [element for _, _, element in sorted(parts, key=lambda part: part[:2])]
        if children != wanted:
            children[:] = wanted
            self.body.update()

    def _split_at(self, seq: int) -> None:
        """Have a chunk end with message ``seq``, so that a divider can stand there."""
        for n, chunk in enumerate(self._chunks):
            if chunk.first <= seq < chunk.last:
                rest = [entry for entry in chunk.entries if entry.seq > seq]
                chunk.entries = [entry for entry in chunk.entries if entry.seq <= seq]
                with self.body:
                    after = Chunk(rest)
                self._chunks.insert(n + 1, after)
                self._draw(chunk)
                self._draw(after)
                return

    def _mark_ends(self) -> None:
        self._older.set_visibility(self._earlier is not None)
        self._newer.set_visibility(not self._all_shown)
        self._empty.set_visibility(not self._chunks)

    # What a turn changes

    async def add(self, entry: Entry) -> None:
        """A message came to the log. It waits for a page that is being read: that one may be from before it."""
        async with self._changing:
            self._add(entry)

    def _add(self, entry: Entry) -> None:
        behind = not self.at_end
        self.last_seq = max(self.last_seq, entry.seq)
        if behind or (self._chunks and entry.seq <= self._chunks[-1].last):
            self._mark_ends()
            return
        answered = self._calls.push(entry)
        with self.body:
            chunk = Chunk([entry])
        self._chunks.append(chunk)
        self._draw(chunk)
        self._draw_calls(answered)
        self._mark_ends()

    async def ended(self) -> None:
        """A turn has ended: an answer that took the place of another one is known as such only now."""
        if any(entry.message.replaces for chunk in self._chunks for entry in chunk.entries):
            await self.refresh()

    def running(self, turn: RunningTurn | None) -> None:
        """The calls of the running turn."""
        if turn and self.at_end:
            self._draw_calls(self._calls.running(turn.calls))

    async def finished(self, event: ToolFinished) -> None:
        """A tool of the running turn has ended."""
        async with self._changing:
            if self.at_end:
                self._draw_calls(self._calls.finished(event))

    def _draw_calls(self, places: Iterable[LogPlace]) -> None:
        """Draw the chunks that hold these calls."""
        for seq in {place.seq for place in places}:
            chunk = next((each for each in reversed(self._chunks) if each.first <= seq <= each.last), None)
            if chunk is not None:
                self._draw(chunk)

    def _draw(self, chunk: Chunk) -> None:
        shown = (entry for entry in chunk.entries if not self._is_folded(entry))
        chunk.element.content = "".join(
            message_html(entry, calls=self._calls.known, last_seq=self.last_seq, conversation=self.session.id)
            for entry in shown
        )

    def _is_folded(self, entry: Entry) -> bool:
        """True for a message that is shown within the call that it answers."""
        message = entry.message
        return bool(message.results) and not message.text and self._calls.answers(entry)


_WELCOME = """\
<h2>What are you working on?</h2>
<p>Everything that is said here is kept. When the model's window fills up, the older part is summarised, and the
originals stay: above the line, in the search, and one <kbd>/undo</kbd> away.</p>
<p class="hints"><kbd>/</kbd> commands <kbd>Ctrl K</kbd> search <kbd>Esc</kbd> stop</p>
"""


def _split(entries: Sequence[Entry], ends: set[int]) -> Iterable[list[Entry]]:
    """The entries in runs; one ends where a divider stands."""
    run: list[Entry] = []
    for entry in entries:
        run.append(entry)
        if entry.seq in ends:
            yield run
            run = []
    if run:
        yield run
