"""Notes as Markdown: how one is written, and how one that stands in a file is confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from autocompact.memory.documents.document import Document, Edit
from autocompact.memory.documents.notes import Note, reads_as
from autocompact.memory.documents.outline import Outline
from autocompact.memory.documents.tables import BREAK, Table, escaped

QUOTE = ">"


def one_line(text: str) -> str:
    """``text`` on one line, without characters that no line of Markdown can have."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(text.split())


def times(count: int, noun: str) -> str:
    """``1 confirmation``, ``2 confirmations``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(dates: Sequence[date]) -> str:
    """The dates, each once, in order."""
    return ", ".join(day.isoformat() for day in sorted(set(dates)))


def headline(note: Note) -> str:
    """``2026-10-03: what it says (2 confirmations: 2026-10-05, 2026-10-09)``."""
    front = f"{note.date.isoformat()}: " if note.date else ""
    line = f"{front}{note.text}"
    if note.confirmations:
        return line + _brackets(note.confirmations, note.confirmed, sessions=note.sessions)
    # What the text ends in would otherwise be taken for its confirmations.
    return line if reads_as(line, note) else line + _brackets(0, (), sessions=0)


def across(sessions: int) -> str:
    """``across 4 sessions``."""
    return f"across {times(sessions, 'session')}"


def confirmations_of(note: Note) -> str:
    """``8 confirmations``, with its sessions where they are known."""
    told = times(note.confirmations, "confirmation")
    return f"{told} {across(note.sessions)}" if note.sessions else told


def _brackets(count: int, dates: Sequence[date], *, sessions: int) -> str:
    told = f"{times(count, 'confirmation')}{f' {across(sessions)}' if sessions else ''}"
    return f" ({told}{f': {listed(dates)}' if dates else ''})"


def details(note: Note) -> Iterator[str]:
    """Yield a note's reason, other wordings and further dates, as fields."""
    if note.why:
        yield f"Why: {note.why}"
    for text in note.also:
        yield f"Also noted: {text}"
    if note.seen:
        yield f"Last seen: {listed(note.seen)}"


def quoted(rest: Sequence[str]) -> list[str]:
    """Further lines as a quotation, so that they stay what they are wherever they go."""
    if all(line.startswith(QUOTE) for line in rest):
        return list(rest)
    return [f"{QUOTE} {line}".rstrip() for line in rest]


def as_item(note: Note, *, cells: str = "", mark: str = "-") -> tuple[str, ...]:
    """The note as a list item; ``cells`` is the line after the first."""
    indent = " " * (len(mark) + 1)
    return (
        f"{mark} {headline(note)}",
        *([f"{indent}{cells}"] if cells else []),
        *(f"{indent}- {each}" for each in details(note)),
        *(f"{indent}{line}" for line in quoted(note.rest)),
    )


def as_heading(note: Note, *, level: int) -> tuple[str, ...]:
    """The note as a heading with its details under it."""
    lines = [f"{'#' * level} {headline(note)}"]
    if fields := [f"- {each}" for each in details(note)]:
        lines += ["", *fields]
    if note.rest:
        lines += ["", *quoted(note.rest)]
    return tuple(lines)


def as_paragraph(note: Note) -> tuple[str, ...]:
    """The note, which has a date, as a paragraph with its fields."""
    lines = [f'Observation: "{note.text}"', f"Noted: {note.date}"]
    if note.confirmations:
        days = f" ({listed(note.confirmed)})" if note.confirmed else ""
        lines.append(f"Confirmations: {note.confirmations}{days}")
    return (*lines, *details(note), *note.rest)


def confirming(
    document: Document, note: Note, *, count: int, dates: Sequence[date], also: Sequence[str] = ()
) -> list[Edit]:
    """The edits that confirm ``note`` where it stands.

    Args:
        document: where.
        note: which.
        count: confirmations that are new.
        dates: when these were.
        also: fields and further lines to write under it.
    """
    if note.form == "row":
        return _in_row(document, note, count=count, dates=dates, also=also)
    if not count:
        return _under(document, note, lines=also)
    total, known = note.confirmations + count, (*note.confirmed, *dates)
    sessions = note.sessions + count if note.sessions else 0
    place, line = note.place, document.texts[note.place.line]
    if place.form == "items":
        new = tuple(f"{place.lead or _indent(note) + '  - '}{day.isoformat()}" for day in sorted(set(dates)))
        edits = [Edit(start=place.line + 1, end=place.line + 1, lines=new)]
    else:
        inside = (
            _field_value(total, known, sessions=sessions, note=note)
            if place.form == "field"
            else _in_line(total, known, sessions=sessions, lead=place.lead)
        )
        edits = [
            Edit(
                start=place.line,
                end=place.line + 1,
                lines=(line[: place.start] + inside + line[place.end :],),
            )
        ]
    return edits + _under(document, note, lines=also)


def _in_row(
    document: Document, note: Note, *, count: int, dates: Sequence[date], also: Sequence[str]
) -> list[Edit]:
    """The edit of the line that a row is: its confirmations, and further lines behind breaks in its cell."""
    line, place = document.texts[note.start], note.place
    changes = [(note.cell, note.cell, "".join(f"{BREAK}{escaped(_bare(each))}" for each in also))]
    if count:
        total, known = note.confirmations + count, (*note.confirmed, *dates)
        sessions = note.sessions + count if note.sessions else 0
        told = (
            _field_value(total, known, sessions=sessions, note=note)
            if place.form == "field"
            else _in_line(total, known, sessions=sessions, lead=place.lead)
        )
        is_empty = place.form == "field" and not line[place.start : place.end].strip()
        changes.append((place.start, place.end, f" {told} " if is_empty else told))
    # from the end of the line on, so that the columns before stay; brackets at the end of a cell go before its breaks
    for start, end, told in sorted(changes, key=lambda each: each[0], reverse=True):
        line = line[:start] + told + line[end:]
    return [Edit(start=note.start, end=note.end, lines=(line,))]


def _bare(line: str) -> str:
    """A line of a list or a quotation without its mark."""
    return line.removeprefix("- ").removeprefix(QUOTE).strip()


def as_row(note: Note, table: Table) -> str:
    """The note as a row of ``table``."""
    told = {
        "date": note.date.isoformat() if note.date else "",
        "why": note.why,
        "confirmed": _field_value(note.confirmations, note.confirmed, sessions=note.sessions, note=note)
        if note.confirmations
        else "0",
    }
    bare = replace(
        note,
        date=None if "date" in table.columns else note.date,
        confirmations=0 if "confirmed" in table.columns else note.confirmations,
    )
    own = replace(note, why="") if "why" in table.columns else note
    fields = [*details(own), *(_bare(line) for line in quoted(note.rest))]
    return table.row({"text": headline(bare), **told}, [each for each in fields if each])


def _in_line(count: int, dates: Sequence[date], *, sessions: int, lead: str) -> str:
    brackets = _brackets(count, dates, sessions=sessions)
    return f" ({lead}{brackets[2:]}" if lead else brackets


def _field_value(count: int, dates: Sequence[date], *, sessions: int, note: Note) -> str:
    if sessions:
        return f"{count} ({across(sessions)}{f': {listed(dates)}' if dates else ''})"
    if len(note.confirmed) == note.confirmations and len(set(dates)) == count:
        return listed(dates)
    return f"{count} ({listed(dates)})" if dates else str(count)


def _indent(note: Note) -> str:
    return " " * (len(note.mark) + 1) if note.form == "item" else ""


def _under(document: Document, note: Note, *, lines: Sequence[str]) -> list[Edit]:
    if not lines:
        return []
    indent = _indent(note)
    # In a paragraph a bullet would begin a list.
    lines = [f"{indent}{line.removeprefix('- ') if note.form == 'paragraph' else line}" for line in lines]
    last = document.texts[note.end - 1].lstrip()
    if note.form == "heading" and (note.end - note.start == 1 or not last.startswith(("-", "*", "+"))):
        lines.insert(0, "")
    return [Edit(start=note.end, end=note.end, lines=tuple(lines))]


def block_at(document: Document, at: int, *, lines: Sequence[str]) -> Edit:
    """The edit that adds ``lines`` before line ``at``, with a blank line on each side."""
    before = [""] if at and document.texts[at - 1].strip() else []
    after = [""] if at < len(document.texts) else []
    return Edit(start=at, end=at, lines=(*before, *lines, *after))


def at_end(document: Document, found: Outline, *, lines: Sequence[str]) -> Edit:
    """The edit that adds ``lines`` as a block of their own at the end of the document."""
    return block_at(document, found.end, lines=lines)
