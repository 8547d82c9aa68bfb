"""Messages as HTML. Everything that is not written here is escaped or goes through `safe_html`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from html import escape
from typing import Literal, TypeAlias, cast

import msgspec

from autocompact.chat.highlighting import highlighted
from autocompact.chat.markdown import safe_html
from autocompact.chat.views import Entry, Question, Version, Versions
from autocompact.core.messages import Document, Image, Opaque, Reasoning, Role, Text, ToolCall, ToolResult
from autocompact.ui.web.addresses import attached_address, markdown_address
from autocompact.ui.web.calls import Call, LogPlace
from autocompact.ui.web.icons import Icon, icon

_Inline: TypeAlias = Text | Reasoning | ToolCall | ToolResult | Opaque

SHOWN = 12_000
"""Characters of a request, or of a tool's result or arguments, that the history shows at once."""

LONG = 1_500
"""Characters of a message from which on it folds."""

_LONG_LINES = 24
_LONG_ANSWER = 6_000
"""The same of an answer, which is there to be read: it only folds when the person wants it to."""

_LAST_LINE = 160
"""Characters of the line that is seen of a model that thinks."""

_CUTS = {
    "cancelled": "Stopped before the answer was complete.",
    "failed": "The model failed before the answer was complete.",
    "interrupted": "Interrupted: the program ended before the answer was complete.",
    "length": "Cut off: the answer reached its token limit. Ask for the rest.",
}
_VISIBILITIES = {
    "sent": "",
    "summarised": "no longer in the context: the model sees the summary instead",
    "masked": "the model sees a stub instead of this tool output",
    "replaced": "replaced: neither sent nor summarised",
}


def message_html(
    entry: Entry, *, calls: Mapping[LogPlace, Call], last_seq: int, conversation: str = ""
) -> str:
    """A message of the log.

    Args:
        entry: the message.
        calls: what is known of its tool calls, by their place.
        last_seq: number of the last message: references beyond it are no links.
        conversation: id of it, for the addresses of it and of what is attached.
    """
    role = _role(entry)
    step = " step" if entry.message.calls else ""
    parts = "".join(
        attached_html(part, attached_address(conversation, seq=entry.seq, index=index))
        if isinstance(part, Image | Document)
        else _part(part, entry, call=calls.get(LogPlace(entry.seq, index)), last_seq=last_seq)
        for index, part in enumerate(entry.message.parts)
    )
    cut = f'<p class="note cut">{icon("stop")}{_CUTS[entry.cut]}</p>' if entry.cut else ""
    marks = f"{' pinned' if entry.pinned else ''}{' versioned' if entry.versions else ''}"
    return (
        f'<article class="message {role}{step} {entry.visibility}{marks}" id="m{entry.seq}" '
        f'data-markdown="{markdown_address(conversation, seq=entry.seq)}" tabindex="0" aria-label="{_speaker(role)}, message {entry.seq}">'
        f"{parts}{cut}{_foot(entry, role)}</article>"
    )


def _role(entry: Entry) -> str:
    if entry.message.synthetic:
        return "synthetic"
    return entry.message.role


def _speaker(role: str) -> str:
    names = {"user": "You", "assistant": "Answer", "tool": "Tool", "system": "System"}
    return names.get(role, "Program note")


def _part(part: _Inline, entry: Entry, *, call: Call | None, last_seq: int) -> str:
    match part:
        case Text():
            own = entry.message.is_request
            html = own_html(part.text, seq=entry.seq) if own else words_html(part.text, last_seq=last_seq)
            if not is_long(part.text, role=entry.message.role):
                return html
            return long_html(html, key=f"long-{entry.seq}", folded=entry.message.role != "assistant")
        case Reasoning():
            return reasoning_html(part.text, key=f"reasoning-{entry.seq}", seconds=entry.seconds or 0.0)
        case ToolCall():
            return call_html(call) if call else ""
        case ToolResult():
            return output_html(part.text, seq=entry.seq, label="Tool result")
        case Opaque():
            return f'<p class="chip">{escape(part.kind)}</p>'


def attached_html(part: Image | Document, address: str) -> str:
    """A file of a message: an image is shown, another one can be saved.

    Args:
        part: the file.
        address: where the page gets its content.
    """
    if isinstance(part, Image):
        if not part.data:
            return f'<p class="chip">{escape(part.media_type or "image")}</p>'
        size = f' width="{part.width}" height="{part.height}"' if part.width and part.height else ""
        return f'<img class="attached" alt="Attached image" loading="lazy"{size} src="{address}">'
    name = escape(part.name or part.media_type or "document")
    if part.data or part.text:
        return f'<p class="chip"><a href="{address}" download>{icon("file")}{name}</a></p>'
    return f'<p class="chip">{name}</p>'


def is_long(text: str, *, role: Role) -> bool:
    """True for a text that would push what stands around it out of sight."""
    if role == "assistant":
        return len(text) > _LONG_ANSWER
    return len(text) > LONG or text.count("\n") >= _LONG_LINES


def long_html(html: str, *, key: str, folded: bool) -> str:
    """A long text with a button that folds it to its beginning, and unfolds it.

    Args:
        html: of the text.
        key: by which the page keeps what the person chose.
        folded: as it is shown at first.
    """
    state, label = ("long folded", "Show all") if folded else ("long", "Fold")
    return (
        f'<div class="{state}" id="{key}">{html}</div>'
        f'<button type="button" class="quiet unfold" data-unfold="{key}" aria-expanded="{"false" if folded else "true"}" '
        f'aria-controls="{key}">{label}</button>'
    )


def own_html(text: str, *, seq: int) -> str:
    """The person's words as they were typed, their beginning if they are long."""
    return f'<div class="bubble" dir="auto">{escape(text[:SHOWN])}{_more(text, seq=seq, most=SHOWN)}</div>'


def words_html(text: str, *, last_seq: int, growing: bool = False) -> str:
    """Text that the person did not write, as Markdown; ``growing`` while more of it comes."""
    html = safe_html(text, references=last_seq, highlight=highlighted, growing=growing)
    return f'<div class="prose">{html}</div>'


def reasoning_html(text: str, *, key: str, running: bool = False, seconds: float = 0.0) -> str:
    """The model's thinking, folded; while it runs, its last line is seen.

    Args:
        text: of the thinking.
        key: by which the page keeps the fold open.
        running: whether it goes on.
        seconds: how long it has taken, 0 where that is not known.
    """
    if not text.strip():
        return ""
    took = duration(seconds) if seconds else ""
    if running:
        last = text.rstrip().rpartition("\n")[2].strip()
        label = f'Thinking… {took}</span><span class="brief">{escape(last[-_LAST_LINE:])}'
    else:
        label = f"Thought for {took}" if took else "Reasoning"
    return (
        f'<details class="fold reasoning" data-key="{escape(key)}"><summary>{icon("down")}<span>{label}</span></summary>'
        f'<div class="prose">{safe_html(text, growing=running)}</div></details>'
    )


def call_html(call: Call) -> str:
    """A tool call and what came of it, folded."""
    state, word = _state(call)
    place = f' id="m{call.seq}"' if call.seq else ""
    note = _VISIBILITIES[call.visibility] if call.visibility == "masked" else ""
    masked = f'<p class="note">{escape(note)}</p>' if note else ""
    result = output_html(call.result, seq=call.seq, label="Result") if call.done else ""
    return (
        f'<details class="fold tool {state}" data-key="call-{call.place.seq}-{call.place.part}"{place} tabindex="-1"><summary>'
        f'{icon(_STATE_ICONS[state])}<span class="name">{escape(call.name)}</span>'
        f'<code class="brief">{escape(brief(call.arguments))}</code><span class="took">{word}</span></summary>'
        f"{output_html(_pretty(call.arguments), seq=0, label='Arguments')}{masked}{result}</details>"
    )


_STATE_ICONS: dict[str, Icon] = {"running": "wait", "failed": "close", "done": "check"}


def _state(call: Call) -> tuple[str, str]:
    if not call.done:
        return "running", "running…"
    took = "" if call.seconds is None else duration(call.seconds)
    return ("failed", f"failed {took}".strip()) if call.is_error else ("done", took)


def output_html(text: str, *, seq: int, label: str, most: int | None = SHOWN) -> str:
    """Plain text of a tool, its beginning if it is longer than ``most`` characters."""
    if not text:
        return f'<p class="label">{label}</p><p class="note">nothing</p>'
    return f'<p class="label">{label}</p><pre tabindex="0">{escape(text[:most])}</pre>{_more(text, seq=seq, most=most)}'


def _more(text: str, *, seq: int, most: int | None) -> str:
    """A note that the text was shortened, with a button that shows all of it; "" if it was not."""
    if most is None or len(text) <= most:
        return ""
    button = f'<button type="button" class="quiet" data-action="whole" data-seq="{seq}">Show all</button>'
    shown = f"The first {most:,} of {len(text):,} characters."
    return f'<p class="note">{shown} {button if seq else ""}</p>'


def _foot(entry: Entry, role: str) -> str:
    """Number, model, time, and what can be done with a message."""
    facts = [f'<a class="number" tabindex="-1" href="#m{entry.seq}">m{entry.seq}</a>']
    if entry.message.model:
        facts.append(escape(entry.message.model))
    if entry.message.time:
        facts.append(
            f'<time datetime="{escape(entry.message.time)}">{escape(entry.message.time[11:16])}</time>'
        )
    if entry.visibility != "sent":
        facts.append(_VISIBILITIES[entry.visibility])
    if entry.pinned:
        facts.append("pinned")
    buttons = "".join(_buttons(entry, role))
    versions = versions_html(entry.versions, of="request" if role == "user" else "answer")
    return (
        f'<footer>{versions}<span class="facts">{" · ".join(facts)}</span>'
        f'<span class="actions">{buttons}</span></footer>'
    )


def versions_html(versions: Versions | None, *, of: str) -> str:
    """Buttons that show the version before and the one after; "" where there is only one."""
    if versions is None:
        return ""
    return (
        f'<span class="versions" role="group" aria-label="Versions of this {of}">'
        f"{_version(versions.before, 'previous', of=of)}<b>{versions.number}/{versions.count}</b>"
        f"{_version(versions.after, 'next', of=of)}</span>"
    )


def _version(version: Version | None, which: Literal["previous", "next"], *, of: str) -> str:
    place = f'data-seq="{version.seq}" data-through="{version.through}"' if version else "disabled"
    label = f"{which.capitalize()} version of this {of}"
    return (
        f'<button type="button" tabindex="-1" data-action="version" data-which="{which}" {place} title="{label}" '
        f'aria-label="{label}">{icon("left" if which == "previous" else "right")}</button>'
    )


def _buttons(entry: Entry, role: str) -> list[str]:
    button = partial(_button, seq=entry.seq)
    whole = not entry.message.is_request or len(entry.message.text) <= SHOWN
    buttons = [button("copy", "copy", label="Copy")] if entry.message.text and whole else []
    if entry.visibility == "replaced":
        return buttons
    if role == "user":
        buttons.append(button("edit", "edit", label="Edit and ask again"))
    if role == "assistant" and not entry.message.calls:
        buttons.append(button("retry", "retry", label="Answer again"))
    pin = ("unpin", "Unpin") if entry.pinned else ("pin", "Keep through compactions")
    return [*buttons, button(pin[0], "pin", label=pin[1])]


def _button(action: str, shown: Icon, *, label: str, seq: int) -> str:
    return (
        f'<button type="button" tabindex="-1" data-action="{action}" data-seq="{seq}" title="{label}" '
        f'aria-label="{label} (message {seq})">{icon(shown)}</button>'
    )


def question_html(question: Question) -> str:
    """A question of the agent: the tool, what it would do, and what would change."""
    diff = diff_html(question.diff) if question.diff else ""
    what = (
        f"<pre tabindex='0'>{escape(question.text)}</pre>" if not diff else f"<p>{escape(question.text)}</p>"
    )
    note = f"<p class='note'>{escape(question.note)}</p>" if question.note else ""
    return f'<p class="ask">Allow <b>{escape(question.tool)}</b>?</p>{what}{diff}{note}'


def diff_html(diff: str) -> str:
    """A unified diff with its lines marked."""
    if not diff.strip():
        return "<p class='note'>The texts are the same.</p>"
    lines = "".join(f"<span class='{_sign(line)}'>{escape(line)}\n</span>" for line in diff.splitlines())
    return f"<pre class='diff' tabindex='0'>{lines}</pre>"


def _sign(line: str) -> str:
    return {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "same")


def brief(arguments: str) -> str:
    """The arguments of a call on one line."""
    try:
        values = msgspec.json.decode(arguments, type=dict[str, object]).values()
        return " ".join(" ".join(_plain(value).split()) for value in values)[:120]
    except (msgspec.DecodeError, RecursionError):  # a model may nest them without end
        return " ".join(arguments.split())[:120]


def _plain(value: object) -> str:
    """An argument in words: of a list its items, of an object what its first field says."""
    match value:
        case list():
            return ", ".join(map(_plain, cast("list[object]", value)))
        case dict():
            fields = cast("dict[str, object]", value)
            return _plain(next(iter(fields.values()), ""))
        case _:
            return str(value)


def _pretty(arguments: str) -> str:
    try:
        return msgspec.json.format(arguments, indent=2)
    except (msgspec.DecodeError, RecursionError):
        return arguments


def duration(seconds: float) -> str:
    """Seconds as a person reads them."""
    if seconds < 0.95:
        return f"{max(1, round(seconds * 1000))} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"
