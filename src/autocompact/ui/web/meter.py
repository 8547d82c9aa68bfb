"""The context meter: how full the window is, where compaction starts, and with what it is full."""

from __future__ import annotations

from html import escape

from nicegui import ui

from autocompact.chat.views import MeterReading

_COLOURS = 7


class Meter:
    """The meter at the head of the page; its breakdown shows while it is pointed at or has the focus."""

    def __init__(self) -> None:
        with ui.element("div").classes("meter") as self.element:
            self._bar = ui.html("", sanitize=False)

    def show(self, reading: MeterReading) -> None:
        """Show a reading."""
        self._bar.content = meter_html(reading)


def meter_html(reading: MeterReading) -> str:
    """The bar and its breakdown."""
    share = min(1.0, reading.ratio)
    threshold = reading.threshold / reading.window
    state = _state(reading)
    mark = f'<i class="threshold" style="left:{threshold:.2%}"></i>' if reading.threshold else ""
    words = f"Context: {reading.used:,} of {reading.window:,} tokens, {share:.0%}. {reading.threshold_words} {state}"
    ready = '<i class="ready" title="prepared"></i>' if reading.prepared else ""
    return (
        f'<button type="button" class="gauge {_level(reading)}" data-used="{reading.used}" aria-describedby="breakdown">'
        f'<span class="figure">{_short(reading.used)}<span class="of"> / {_short(reading.window)}</span></span>'
        f'<span class="sr">{escape(words)}</span>'
        # what is within a button has no role of its own: its name says the figures
        f'<span class="bar" aria-hidden="true"><b style="width:{share:.2%}"></b>{mark}</span>{ready}</button>'
        f'<div class="breakdown" id="breakdown" role="tooltip">{_breakdown(reading, state)}</div>'
    )


def _breakdown(reading: MeterReading, state: str) -> str:
    parts = sorted(reading.breakdown.items(), key=lambda part: -part[1])
    total = sum(reading.breakdown.values()) or 1
    stack = "".join(
        f'<i class="part{n % _COLOURS}" style="width:{tokens / total:.2%}"></i>'
        for n, (_, tokens) in enumerate(parts)
    )
    rows = "".join(
        f'<tr><td><i class="key part{n % _COLOURS}"></i>{escape(name)}</td><td>{tokens:,}</td></tr>'
        for n, (name, tokens) in enumerate(parts)
    )
    free = max(0, reading.window - reading.used - reading.reserve)
    rows += f"<tr><td>reserved for the reply</td><td>{reading.reserve:,}</td></tr><tr><td>free</td><td>{free:,}</td></tr>"
    reported = "The provider reported the total; the parts are estimates." if reading.reported else ""
    note = "".join(f'<p class="note">{escape(words)}</p>' for words in (reported, reading.note) if words)
    return (
        f'<p class="total"><b>{reading.used:,}</b> of {reading.window:,} tokens</p><div class="stack">{stack}</div>'
        f"<table>{rows}</table><p>{escape(reading.threshold_words)} {state}</p>{note}"
    )


def _state(reading: MeterReading) -> str:
    if reading.prepared:
        return "A compaction is prepared."
    if reading.preparing:
        return "A compaction is being prepared."
    return ""


def _level(reading: MeterReading) -> str:
    if reading.threshold and reading.used >= reading.threshold:
        return "over"
    return "near" if reading.prepare and reading.used >= reading.prepare else "calm"


def _short(tokens: int) -> str:
    """Tokens in three figures."""
    if tokens < 1_000:
        return str(tokens)
    thousands = tokens / 1_000
    if thousands < 9.95:
        return f"{thousands:.1f}k"
    return f"{thousands:.0f}k" if thousands < 999.5 else f"{thousands / 1000:.1f}M"
