"""The line at a compaction: what it did at a glance, and when it is opened, all of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from html import escape
from typing import Literal, TypeAlias

from nicegui import ui

from autocompact.chat import ChatSession
from autocompact.chat.markdown import reference_link, safe_html
from autocompact.chat.views import Divider
from autocompact.core.compaction import Compaction, Receipt
from autocompact.core.ledger.entries import Entry, Kind
from autocompact.core.messages import Message
from autocompact.core.references import reference
from autocompact.web.icons import icon
from autocompact.web.render import duration

Section: TypeAlias = Literal["Summary", "Ledger", "Receipt", "What left"]
Act: TypeAlias = Callable[[str, Compaction], Awaitable[None]]
"""Called with "undo", "restore" or "compare"."""

_SECTIONS: tuple[Section, ...] = ("Summary", "Ledger", "Receipt", "What left")
_LEFT = 300
"""Messages that "What left" lists."""

_KINDS: dict[Kind, str] = {
    "request": "Requests",
    "error": "Errors",
    "todo": "Plan",
    "running": "Running",
    "decision": "Decisions",
    "file": "Files",
    "command": "Commands",
    "identifier": "Details",
}


class DividerPart:
    """One compaction in the history."""

    def __init__(self, divider: Divider, *, session: ChatSession, act: Act) -> None:
        self.divider = divider
        self._session = session
        self._act = act
        self._section: Section = "Summary"
        self._open = False
        with ui.element("section").classes("divider").props("aria-label=Compaction") as self.element:
            with ui.element("button").classes("line").props("type=button") as self._line:
                self._label = ui.html("", tag="span")
            self._body = ui.element("div").classes("opened")
        self._line.on("click", self._toggle, args=[])
        self._body.set_visibility(False)
        self.show(divider)

    def delete(self) -> None:
        """Take it off the page."""
        self.element.delete()

    def show(self, divider: Divider) -> None:
        """Show what became of it."""
        changed = divider != self.divider
        self.divider = divider
        self._label.content = line_html(divider)
        self._line.props(f"aria-expanded={'true' if self._open else 'false'}")
        self.element.classes(add="in-force" if divider.in_force else "past", remove="in-force past")
        self.element.classes(add="in-force" if divider.in_force else "past")
        if changed and self._open:
            self._build()

    async def _toggle(self) -> None:
        self._open = not self._open
        self._body.set_visibility(self._open)
        self._line.props(f"aria-expanded={'true' if self._open else 'false'}")
        if self._open:
            self._build()
            await self._fill()

    def _build(self) -> None:
        self._body.clear()
        with self._body:
            with ui.element("div").classes("choices").props('role=group aria-label="What to show"'):
                self._choices = {name: self._choice(name) for name in _SECTIONS}
            self._content = ui.html("").classes("prose content")
            with ui.element("div").classes("acts"):
                for name, label in self._offers():
                    self._offer(name, label)
        self._mark()

    def _choice(self, name: Section) -> ui.element:
        async def choose() -> None:
            self._section = name
            self._mark()
            await self._fill()

        with ui.element("button").props("type=button") as button:
            ui.html(name, tag="span", sanitize=False)
        return button.on("click", choose, args=[])

    def _mark(self) -> None:
        for name, button in self._choices.items():
            button.props(f"aria-pressed={'true' if name == self._section else 'false'}")

    def _offers(self) -> list[tuple[str, str]]:
        offers = [("undo", "Undo")] if self.divider.in_force else [("restore", "Put in force again")]
        return [*offers, ("compare", "Compare…")]

    def _offer(self, name: str, label: str) -> None:
        async def act() -> None:
            await self._act(name, self.divider.record)

        with ui.element("button").classes("secondary").props(f"type=button data-offer={name}") as button:
            ui.html(label, tag="span", sanitize=False)
        button.on("click", act, args=[])

    async def _fill(self) -> None:
        record, last = self.divider.record, len(self._session.conversation)
        match self._section:
            case "Summary":
                self._content.content = summary_html(record, last_seq=last)
            case "Ledger":
                self._content.content = ledger_html(record)
            case "Receipt":
                self._content.content = receipt_html(record)
            case "What left":
                self._content.content = await self._left()

    async def _left(self) -> str:
        left = self.divider.left
        if left is None:
            return "<p>No message left: only outputs of tools are shown to the model as stubs.</p>"
        first, through = left
        messages = await self._session.conversation.history(
            from_seq=first, through_seq=min(through, first + _LEFT - 1)
        )
        return left_html(messages, first=first, through=through, keep=self.divider.record.keep)


def line_html(divider: Divider) -> str:
    """The divider closed."""
    record, receipt = divider.record, divider.record.receipt
    if record.status == "undone":
        state = "compaction, undone"
    elif divider.in_force:
        state = "compacted"
    else:
        state = "compacted earlier"
    what = f"through {reference(record.through_seq)}" if record.through_seq else "outputs of tools only"
    figures = f"{receipt.tokens_before:,} → {receipt.tokens_after:,} tokens"
    return (
        f"{icon('compress')}<span>{state} {what}</span><span class='figures'>{figures}</span>{icon('down')}"
    )


def summary_html(record: Compaction, *, last_seq: int) -> str:
    """What the model is told of everything above."""
    if not record.summary:
        return "<p>There is no summary: only outputs of tools became stubs.</p>"
    focus = f"<p class='note'>Focus: {escape(record.focus)}</p>" if record.focus else ""
    return focus + safe_html(record.summary, references=last_seq, bare=True)


def ledger_html(record: Compaction) -> str:
    """What must survive, by kind."""
    groups: dict[Kind, list[Entry]] = {}
    for entry in record.ledger.entries:
        groups.setdefault(entry.kind, []).append(entry)
    if not groups:
        return "<p>The ledger is empty.</p>"
    return "".join(
        f"<h3>{title} <span class='note'>{len(groups[kind])}</span></h3><ul class='ledger'>"
        + "".join(_item(entry) for entry in sorted(groups[kind], key=lambda entry: entry.seq))
        + "</ul>"
        for kind, title in _KINDS.items()
        if kind in groups
    )


def _item(entry: Entry) -> str:
    state = f" <span class='state'>{entry.state}</span>" if entry.state else ""
    place = f" {reference_link(reference(entry.seq))}" if entry.seq else ""
    return f"<li>{escape(entry.text)}{state}{place}</li>"


def receipt_html(record: Compaction) -> str:
    """What the compaction did, as a table."""
    rows = "".join(
        f"<tr><th scope='row'>{name}</th><td>{escape(value)}</td></tr>"
        for name, value in receipt_rows(record.receipt)
        if value
    )
    return f"<table class='receipt'><tbody>{rows}</tbody></table>"


def receipt_rows(receipt: Receipt) -> list[tuple[str, str]]:
    """Names and figures of a receipt; "" for what there is not."""
    share = 1 - receipt.tokens_after / receipt.tokens_before if receipt.tokens_before else 0
    return [
        ("Tokens", f"{receipt.tokens_before:,} → {receipt.tokens_after:,} ({share:.0%} less)"),
        ("Bytes", f"{receipt.bytes_before:,} → {receipt.bytes_after:,}"),
        (
            "Images",
            f"{receipt.images_before} → {receipt.images_after}" if receipt.images_before else "",
        ),
        (
            "Checked",
            f"{receipt.kept:,} kept, {receipt.recoverable:,} to be found by search, {receipt.lost:,} lost",
        ),
        ("Stubs", f"{receipt.masked} outputs of tools" if receipt.masked else ""),
        ("Rung", receipt.rung),
        ("Summary by", receipt.model),
        ("Cause", receipt.trigger),
        ("Took", duration(receipt.seconds) if receipt.seconds else ""),
        ("Cost", f"${receipt.cost:.4f}" if receipt.cost is not None else ""),
        ("When", receipt.time),
        ("Counted with", receipt.counter),
        ("Problem", receipt.problem),
    ]


def left_html(messages: tuple[Message, ...], *, first: int, through: int, keep: tuple[int, ...]) -> str:
    """The messages that left the context, a line each."""
    lines = "".join(
        f"<li>{reference_link(reference(message.seq))} <b>{_speaker(message)}</b> {escape(_words(message))}</li>"
        for message in messages
        if message.seq not in keep
    )
    kept = f", {len(keep)} of them kept verbatim" if keep else ""
    more = (
        f"<p class='note'>and {through - first + 1 - len(messages):,} more</p>"
        if through > messages[-1].seq
        else ""
    )
    return f"<p class='note'>{reference(first)} to {reference(through)}{kept}</p><ul class='left'>{lines}</ul>{more}"


def _speaker(message: Message) -> str:
    if message.results:
        return "tool"
    return "you" if message.is_request else message.role


def _words(message: Message) -> str:
    calls = ", ".join(call.name for call in message.calls)
    words = " ".join(message.text.split()) or " ".join(
        " ".join(result.text.split())[:120] for result in message.results
    )
    return (words[:160] + ("…" if len(words) > 160 else "")) + (f" ({calls})" if calls else "")
