"""Shows a compaction in sections: summary, ledger, receipt, and the messages that left the context."""

from __future__ import annotations

from html import escape
from typing import Literal, TypeAlias

from nicegui import ui

from autocompact.chat import ChatSession
from autocompact.chat.markdown import reference_link, safe_html
from autocompact.compaction.record import DONE, Compaction, Receipt
from autocompact.core.messages import Message
from autocompact.core.redacted import without_secrets
from autocompact.core.references import reference
from autocompact.ledger.entries import Entry, Kind
from autocompact.ui.web.render import duration

Section: TypeAlias = Literal["Summary", "Ledger", "Receipt", "Messages"]

_SECTIONS: tuple[Section, ...] = ("Summary", "Ledger", "Receipt", "Messages")
_LEFT = 300
"""Messages that "Messages" lists."""

_KINDS: dict[Kind, str] = {
    "rule": "Rules",
    "wish": "Wishes",
    "request": "Requests",
    "error": "Errors",
    "todo": "Plan",
    "running": "Running",
    "step": "Current step",
    "finding": "Findings",
    "fact": "Facts",
    "change": "Changes",
    "file": "Files read",
    "command": "Commands",
    "identifier": "Details",
}


class RecordSections:
    """The sections of a compaction, one of them shown; built in the place where it is made.

    Args:
        record: the compaction, active or only previewed.
        left: numbers of the first and the last message that leave with it; None if none does.
        session: whose it is.
        section: that is shown first.
        metered: tokens before and after it as the meter showed them; None if that is not known.
    """

    def __init__(
        self,
        record: Compaction,
        *,
        left: tuple[int, int] | None,
        session: ChatSession,
        section: Section = "Summary",
        metered: tuple[int, int] | None = None,
    ) -> None:
        self.section: Section = section
        self.record = record
        self._left = left
        self._metered = metered
        self._session = session
        with ui.element("div").classes("choices").props('role=group aria-label="What to show"'):
            self._choices = {name: self._choice(name) for name in _SECTIONS}
        self._content = ui.html("").classes("prose content")

    def _choice(self, name: Section) -> ui.element:
        async def choose() -> None:
            self.section = name
            await self.fill()

        with ui.element("button").props("type=button") as button:
            ui.html(name, tag="span", sanitize=False)
        return button.on("click", choose, args=[])

    async def fill(self) -> None:
        """Show the section that is chosen."""
        for name, button in self._choices.items():
            button.props(f"aria-pressed={'true' if name == self.section else 'false'}")
        match self.section:
            case "Summary":
                content = summary_html(self.record, last_seq=len(self._session.conversation))
            case "Ledger":
                content = ledger_html(self.record)
            case "Receipt":
                content = receipt_html(self.record, metered=self._metered)
            case "Messages":
                content = await self._what_left()
        if not self._content.is_deleted:  # it was closed meanwhile
            self._content.content = content

    async def _what_left(self) -> str:
        if self._left is None:
            return "<p>No message left the context: only tool outputs became stubs.</p>"
        first, through = self._left
        messages = await self._session.conversation.history(
            from_seq=first, through_seq=min(through, first + _LEFT - 1)
        )
        return left_html(messages, first=first, through=through, keep=self.record.keep)


def summary_html(record: Compaction, *, last_seq: int) -> str:
    """The summary that the model sees in place of the messages above."""
    if not record.summary:
        return "<p>There is no summary: only tool outputs became stubs.</p>"
    focus = f"<p class='note'>Focus: {escape(record.focus)}</p>" if record.focus else ""
    return focus + safe_html(record.summary, references=last_seq, bare=True)


def ledger_html(record: Compaction) -> str:
    """The entries of the ledger, by kind."""
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


def receipt_html(record: Compaction, *, metered: tuple[int, int] | None) -> str:
    """The receipt as a table; ``metered`` are the tokens before and after as the meter showed them, if that is known."""
    rows = "".join(
        f"<tr><th scope='row'>{name}</th><td>{_value_html(name, value)}</td></tr>"
        for name, value in receipt_rows(record.receipt, metered=metered)
        if value
    )
    return f"<table class='receipt'><tbody>{rows}</tbody></table>"


def _value_html(name: str, value: str) -> str:
    """A value of a receipt; the page writes the time as it is where its reader is."""
    return f'<time datetime="{escape(value)}">{escape(value)}</time>' if name == "When" else escape(value)


def receipt_rows(receipt: Receipt, *, metered: tuple[int, int] | None) -> list[tuple[str, str]]:
    """Names and figures of a receipt; "" for what there is not."""
    counted = (receipt.tokens_before, receipt.tokens_after)
    share = 1 - receipt.tokens_after / receipt.tokens_before if receipt.tokens_before else 0
    return [
        ("Tokens", f"{receipt.tokens_before:,} → {receipt.tokens_after:,} ({share:.0%} less)"),
        ("On the meter", "{:,} → {:,}".format(*metered) if metered and metered != counted else ""),
        ("Bytes", f"{receipt.bytes_before:,} → {receipt.bytes_after:,}"),
        (
            "Images",
            f"{receipt.images_before} → {receipt.images_after}" if receipt.images_before else "",
        ),
        (
            "Checked",
            f"{receipt.stated:,} stated, {receipt.referenced:,} referenced, {receipt.missing:,} missing",
        ),
        ("Stubs", f"{receipt.masked} tool outputs" if receipt.masked else ""),
        ("Step", DONE[receipt.rung]),
        ("Summary by", receipt.model),
        ("Cause", receipt.trigger),
        ("Took", duration(receipt.seconds) if receipt.seconds else ""),
        ("Cost", f"${receipt.cost:.4f}" if receipt.cost is not None else ""),
        ("When", receipt.time),
        ("Counted with", receipt.counter),
        ("Problem", receipt.problem),
        ("Notes", "; ".join(receipt.notes)),
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
    message = without_secrets(message)
    calls = ", ".join(call.name for call in message.calls)
    words = " ".join(message.text.split()) or " ".join(
        " ".join(result.text.split())[:120] for result in message.results
    )
    return (words[:160] + ("…" if len(words) > 160 else "")) + (f" ({calls})" if calls else "")
