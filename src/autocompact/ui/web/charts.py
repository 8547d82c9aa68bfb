"""Receipts and usage over time, as drawings that need nothing but the page itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from autocompact.chat.views import MeterReading, UsagePoint
from autocompact.compaction.record import Compaction
from autocompact.core.plurals import plural

WIDTH, HEIGHT = 640, 200
_LEFT, _TOP, _BOTTOM = 48, 12, 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A figure at a place of the log."""

    seq: int
    tokens: int
    words: str


def charts_html(
    *,
    usage: Sequence[UsagePoint],
    records: Sequence[Compaction],
    reading: MeterReading,
    last_seq: int,
) -> str:
    """Both charts with their tables.

    Args:
        usage: what providers reported.
        records: every compaction, oldest first.
        reading: of now.
        last_seq: messages of the log.
    """
    accepted = [record for record in records if record.status != "prepared"]
    return (
        f"<h3>Tokens of the context</h3>{_context_chart(usage, accepted, reading=reading, last_seq=last_seq)}"
        f"<h3>Compactions</h3>{_receipts(accepted)}"
    )


def _context_chart(
    usage: Sequence[UsagePoint], records: Sequence[Compaction], *, reading: MeterReading, last_seq: int
) -> str:
    points = _reported(usage) if usage else _from_receipts(records)
    points.append(Point(seq=last_seq or 1, tokens=reading.used, words=f"now: {reading.used:,} tokens"))
    most = max(reading.window, *(point.tokens for point in points))
    scale = _Scale(last=max(2, last_seq), most=most)
    path = " ".join(f"{'L' if n else 'M'}{scale.x(p.seq)},{scale.y(p.tokens)}" for n, p in enumerate(points))
    dots = "".join(
        f'<circle cx="{scale.x(p.seq)}" cy="{scale.y(p.tokens)}" r="3"><title>{escape(p.words)}</title></circle>'
        for p in points
    )
    marks = "".join(_mark(record, scale) for record in records if record.through_seq)
    threshold = scale.level(reading.threshold, "threshold", label="threshold") if reading.threshold else ""
    words = f"Context over {plural(last_seq, 'message')}: now {reading.used:,} of {reading.window:,} tokens"
    note = "" if usage else "<p class='note'>No provider reported usage: the line follows the receipts.</p>"
    return (
        f'<div class="wide-part" tabindex="0"><svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">'
        f"{scale.level(reading.window, 'window', label='window')}{threshold}{marks}"
        f'<path class="line" d="{path}"/>{dots}{scale.axis()}</svg></div>{note}'
    )


def _reported(usage: Sequence[UsagePoint]) -> list[Point]:
    return [
        Point(
            seq=point.seq,
            tokens=point.prompt,
            words=f"m{point.seq}: {point.prompt:,} tokens sent, {point.completion:,} answered by {point.model}",
        )
        for point in usage
    ]


def _from_receipts(records: Sequence[Compaction]) -> list[Point]:
    """Up to each compaction and down again; it is drawn at the last message that it covers."""
    points = [Point(seq=1, tokens=0, words="the beginning")]
    for record in records:
        seq, receipt = record.through_seq, record.receipt
        if seq and record.status == "active":
            points.append(
                Point(
                    seq=seq, tokens=receipt.tokens_before, words=f"before: {receipt.tokens_before:,} tokens"
                )
            )
            points.append(
                Point(seq=seq, tokens=receipt.tokens_after, words=f"after: {receipt.tokens_after:,} tokens")
            )
    return points


def _mark(record: Compaction, scale: _Scale) -> str:
    x = scale.x(record.through_seq)
    title = f"compaction through m{record.through_seq}: {record.receipt.tokens_before:,} to {record.receipt.tokens_after:,} tokens"
    return f'<line class="mark {record.status}" x1="{x}" x2="{x}" y1="{_TOP}" y2="{HEIGHT - _BOTTOM}"><title>{title}</title></line>'


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """From messages and tokens to places of the drawing."""

    last: int
    most: int

    def x(self, seq: int) -> float:
        return round(_LEFT + (WIDTH - _LEFT - 12) * (max(1, seq) - 1) / (self.last - 1), 1)

    def y(self, tokens: int) -> float:
        return round(HEIGHT - _BOTTOM - (HEIGHT - _BOTTOM - _TOP) * tokens / self.most, 1)

    def level(self, tokens: int, name: str, *, label: str) -> str:
        """A line across, with its figure."""
        y = self.y(tokens)
        return (
            f'<line class="{name}" x1="{_LEFT}" x2="{WIDTH - 12}" y1="{y}" y2="{y}"><title>{label}</title></line>'
            f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{thousands(tokens)}</text>'
        )

    def axis(self) -> str:
        """The messages below."""
        y = HEIGHT - 6
        return f'<text x="{_LEFT}" y="{y}">m1</text><text x="{WIDTH - 12}" y="{y}" text-anchor="end">m{self.last}</text>'


def _receipts(records: Sequence[Compaction]) -> str:
    if not records:
        return "<p class='note'>Nothing was compacted yet.</p>"
    most = max(record.receipt.tokens_before for record in records) or 1
    rows = "".join(_receipt_row(record, most, state=state_of(record, records)) for record in records)
    return (
        "<div class='wide-part' tabindex='0'><table class='receipts'><thead><tr><th scope='col'>Through</th><th scope='col'>Before and after</th>"
        "<th scope='col'>Stated</th><th scope='col'>By</th><th scope='col'>State</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def state_of(record: Compaction, others: Iterable[Compaction]) -> str:
    """The state of a compaction for a person: one that an active one has taken over is ``earlier``."""
    taken_over = any(each.status == "active" and each.parent == record.id for each in others)
    return "earlier" if record.status == "active" and taken_over else record.status


def _receipt_row(record: Compaction, most: int, *, state: str) -> str:
    receipt = record.receipt
    before, after = (100 * tokens / most for tokens in (receipt.tokens_before, receipt.tokens_after))
    through = f"m{record.through_seq}" if record.through_seq else "stubs"
    found = receipt.stated + receipt.referenced + receipt.missing
    return (
        f"<tr><th scope='row'>{through}</th><td><div class='pair'><i style='width:{before:.1f}%'></i>"
        f"<b style='width:{after:.1f}%'></b></div>{receipt.tokens_before:,} → {receipt.tokens_after:,}</td>"
        f"<td>{receipt.stated:,} of {found:,}</td><td>{escape(receipt.model)}</td><td>{state}</td></tr>"
    )


def thousands(tokens: int) -> str:
    """Tokens, short."""
    return f"{tokens / 1000:.0f}k" if tokens >= 1000 else str(tokens)
