"""Notes: observations and rules, as they stand in a document.

A note is a list item or a heading with what belongs to it. Its date stands in front (``- 2026-10-03: …``), behind
(``… (2026-10-03)``), in a field (``Date: 2026-10-03``) or in the heading above. Its confirmations are a figure
(``(8 confirmations)``, ``Confirmations: 8``) or a list of dates. What is none of this belongs to its ``rest`` and goes
wherever the note goes.

A heading below the title is a note, with everything under it, if it says one of these things itself; else it is a
group, and the items under it are notes. Headings with a date of their own at the end of such a note are notes as well.
An item is a group if it is only a date over others, or a label of a few words over nothing but dated or confirmed ones;
the label then belongs to what they say.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, TypeAlias

from autocompact.core.patterns import LazyPattern
from autocompact.memory.documents.dates import ambiguous_dates, find_dates, read_month, without_dates
from autocompact.memory.documents.dialects import OF_OBSERVATIONS, Dialect
from autocompact.memory.documents.outline import Section, outline
from autocompact.memory.documents.reading import (
    MARK,
    NESTED,
    Found,
    Place,
    begins_field,
    is_labelled,
    read_body,
    read_cell,
    read_head,
    unclosed,
)
from autocompact.memory.documents.tables import BREAKS, Cell, Table, tables_in

Form: TypeAlias = Literal["item", "heading", "paragraph", "row"]

_BULLET = LazyPattern(r"(\s*(?:[-*+]|\d{1,9}[.)]))\s+(?:\[[ xX]\]\s+)?")
_ESCALATED = "escalated"
"""How the heading over observations that became rules begins; these are rules now."""
_LABEL = 3
"""Words of a label at most."""
_NARROW = 60
"""Nobody who lets an editor wrap lines has it at fewer columns."""
_HASHES = LazyPattern(r"\s*#{1,6}\s+")
_RULE_WORD = r"(?:rule|regel|règle|regla|regola|правило|规则|ルール|r)"
_RULE = LazyPattern(rf"(?:{_RULE_WORD}\s*[#№-]?\s*|#)?(\d{{1,6}})\s*[:.)–—-]+\s+", re.IGNORECASE)
BARE_RULE = LazyPattern(
    rf"(#{{1,6}}\s+(?:{_RULE_WORD}\s*[#№-]?|[#№])\s*)(\d{{1,6}})[.:]?[\s#]*\Z", re.IGNORECASE
)
"""The heading of a rule whose words stand below it, "## Rule #2": what stands before the number, and that."""
_GROUP = frozenset(
    "week of day session sessions notes observation observations updated last log sprint the month on from to until"
    " done tasks completed number no new old recent".split()
)


@dataclass(slots=True, kw_only=True)
class Note:
    """An observation or a rule; nobody changes one. A large folder has thousands, and frozen they take thrice the time.

    Attributes:
        start: its first line in the document.
        end: the line after its last.
        form: list item, heading, a paragraph that begins with a label, or a row of a table.
        mark: how it begins: indentation and bullet, or the hashes of the heading.
        text: what it says, without dates and confirmations.
        number: of a rule or of an item in an ordered list.
        date: when it was noted, None if nobody wrote it down.
        confirmations: how often it was confirmed since.
        sessions: in how many sessions that was, 0 where nobody says.
        confirmed: the dates known of these, in order.
        seen: further dates, in order, that say when it held.
        last: when it was last noted or confirmed, None if no date is known.
        why: its reason.
        also: the same in other words.
        fields: other fields that its dialect knows, as name and value.
        rest: further lines, as they stand, without common indentation.
        unread: what may be confirmations or a date, and is not read as such.
        place: where its confirmations stand.
        cell: of a row, the column after the words that it notes.
    """

    start: int
    end: int
    form: Form
    mark: str
    text: str
    number: int | None
    date: date | None
    confirmations: int
    sessions: int
    confirmed: tuple[date, ...]
    seen: tuple[date, ...]
    last: date | None
    why: str
    also: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]
    rest: tuple[str, ...]
    unread: tuple[str, ...]
    place: Place
    cell: int = 0

    @property
    def is_marked(self) -> bool:
        """True if it has what only notes have: a date, confirmations, a reason."""
        return bool(self.date or self.confirmations or self.why or self.fields or self.place.form != "none")

    @property
    def wordings(self) -> tuple[str, ...]:
        """All wordings of the note."""
        return (self.text, *self.also)


def notes_in(texts: Sequence[str], root: Section, *, dialect: Dialect) -> list[Note]:
    """The notes of a document in the order in which they stand there.

    Args:
        texts: its lines.
        root: its outline.
        dialect: what notes look like in it.
    """
    return list(_notes(texts, root, above=None, dialect=dialect))


def _notes(texts: Sequence[str], section: Section, *, above: date | None, dialect: Dialect) -> Iterator[Note]:
    if day := date_of_group(section.title):
        above = day if dialect.grouped else None
    elif section.level and (found := _as_note(texts, section, dialect=dialect)):
        whole, apart = found
        yield _dated(whole, above)
        for inner in apart:
            yield from _notes(texts, inner, above=None, dialect=dialect)
        return
    if section.title.lower().startswith(_ESCALATED) and not dialect.grouped:
        return
    blocks = [(item.start, _of_list(texts, item, above=above, dialect=dialect)) for item in section.items]
    blocks += _blocks(texts, section, above=above, dialect=dialect)
    for _, notes in sorted(blocks, key=lambda pair: pair[0]):
        yield from notes
    for inner in section.sections:
        yield from _notes(texts, inner, above=above, dialect=dialect)


def _blocks(
    texts: Sequence[str], section: Section, *, above: date | None, dialect: Dialect
) -> Iterator[tuple[int, list[Note]]]:
    """The notes of a section that are paragraphs or rows, each block with its first line."""
    for block in _labelled(texts, section) if dialect.labelled else ():
        yield block.start, [_dated(_of_paragraph(texts, block, dialect=dialect), above)]
    for table in tables_in(texts, _body(section), dialect=dialect):
        rows = [
            _of_row(texts, line, said=said, table=table, dialect=dialect)
            for line in table.rows
            if (said := table.text(texts[line])) and said.text
        ]
        yield table.rows.start, [_dated(row, above) for row in rows]


def _body(section: Section) -> range:
    """The lines of a section before the first heading within."""
    return range(section.body, section.sections[0].start if section.sections else section.end)


def _labelled(texts: Sequence[str], section: Section) -> Iterator[range]:
    """The paragraphs of a section, outside of its lists, fences and comments, that begin with a label."""
    if not any(is_labelled(texts[line]) for line in _body(section)):
        return
    listed = {line for item in section.items for line in item}
    start, is_fenced, is_comment = -1, False, False
    for line in _body(section):
        text = texts[line]
        is_fence = text.lstrip().startswith(("```", "~~~"))
        is_fenced ^= is_fence
        is_comment = (is_comment or text.lstrip().startswith("<!--")) and "-->" not in text
        is_other = not text.strip() or line in listed or is_fenced or is_fence or is_comment
        if start >= 0 and (is_other or is_labelled(text)):
            yield range(start, line)
            start = -1
        if not is_other and is_labelled(text):
            start = line
    if start >= 0:
        yield range(start, _body(section).stop)


def _of_paragraph(texts: Sequence[str], block: range, *, dialect: Dialect) -> Note:
    found = Found()
    lines = [(block.start, 0)]
    for line in block[1:]:
        if begins_field(texts[line], dialect):
            break
        lines.append((line, 0))
    read_head(found, texts, lines=lines, dialect=dialect)
    read_body(found, texts, lines=range(lines[-1][0] + 1, block.stop), dialect=dialect)
    return _note(
        found, start=block.start, end=block.stop, form="paragraph", mark="", lines=lines, texts=texts
    )


def _of_row(texts: Sequence[str], line: int, *, said: Cell, table: Table, dialect: Dialect) -> Note:
    found = Found()
    head, *more = BREAKS.split(texts[line][said.start : said.end])
    # as if the words stood on a line of their own that ends with them
    end = said.start + len(head)
    read_head(found, [texts[line][:end]], lines=[(0, said.start)], dialect=dialect)
    found.place = replace(found.place, line=line) if found.place else None
    found.text = found.text.replace("\\|", "|")
    for name, column, cell in table.cells(texts[line]):
        if column != "text":
            read_cell(found, cell, name=name, column=column, line=line, dialect=dialect)
    more = [part.replace("\\|", "|") for part in more]
    read_body(found, more, lines=range(len(more)), dialect=dialect)
    if found.place and found.place.line != line:
        found.place = None
    found.place = found.place or Place(line=line, start=end, end=end, form="none")
    note = _note(found, start=line, end=line + 1, form="row", mark="", lines=[(line, 0)], texts=texts)
    return replace(note, cell=said.end)


def _of_list(texts: Sequence[str], item: range, *, above: date | None, dialect: Dialect) -> list[Note]:
    """The note that a list item is, or the notes in it if it is a group."""
    note = _of_item(texts, item, dialect=dialect)
    if note.date and not note.text:
        inner = [_of_item(texts, each, dialect=dialect) for each in _items_in(texts, item)]
        return [_dated(each, note.date) for each in inner if each.text]
    if not note.is_marked and _is_label(note, dialect):
        inner = _items_in(texts, item)
        notes = [_of_item(texts, each, dialect=dialect) for each in inner]
        blank = sum(not texts[line].strip() for line in item)
        is_all = len(item) <= 1 + blank + sum(map(len, inner))
        if is_all and notes and all(each.text and (each.date or each.confirmations) for each in notes):
            return [replace(each, text=f"{note.text.rstrip(':')}: {each.text}") for each in notes]
    return [_dated(note, above)] if note.text else []


def _is_label(note: Note, dialect: Dialect) -> bool:
    is_entry = (dialect.numbered and note.number is not None) or (
        dialect.titled and any(map(str.isdigit, note.text))
    )
    return not is_entry and (note.text.endswith(":") or len(note.text.split()) <= _LABEL)


def _items_in(texts: Sequence[str], item: range) -> list[range]:
    """The items of the list in an item."""
    match = MARK.match(texts[item.start])
    if match is None or not any(MARK.match(texts[line]) for line in item[1:]):
        return []
    offset = len(match[0])
    inner = [texts[item.start][offset:]]
    inner += [
        line[min(offset, len(line) - len(line.lstrip())) :] for line in texts[item.start + 1 : item.stop]
    ]
    found = outline(inner).root.items
    return [range(item.start + each.start, item.start + each.stop) for each in found]


def _dated(note: Note, above: date | None) -> Note:
    """The note with the date of the heading above where it has none of its own."""
    if note.date or above is None:
        return note
    return replace(note, date=above, last=max(note.last or above, above))


def reads_as(line: str, note: Note) -> bool:
    """True if ``line`` behind a bullet would be read as the date, text and confirmations of ``note``."""
    read = _of_item([f"- {line}"], range(1), dialect=OF_OBSERVATIONS)
    return (read.date, read.text, read.confirmations) == (note.date, note.text, note.confirmations)


def date_of_group(title: str) -> date | None:
    """The date or month that a title consists of, ``Week of 2026-10-03`` included."""
    dates = find_dates(title)
    if not dates:
        return read_month(title.strip(" :"))
    words = re.findall(r"[^\W\d_]+", without_dates(title).lower())
    return dates[-1] if _GROUP.issuperset(words) else None


def _as_note(
    texts: Sequence[str], section: Section, *, dialect: Dialect
) -> tuple[Note, Sequence[Section]] | None:
    """The section as one note, and the headings in it that are notes of their own; None if it is a group."""
    found = Found()
    # The last line of a heading that takes several is its underline.
    last = section.body - (section.body - section.start > 1)
    lines = [
        (line, len(match[0]) if (match := _HASHES.match(texts[line])) else 0)
        for line in range(section.start, last)
    ]
    if dialect.numbered and (match := _RULE.match(texts[section.start][lines[0][1] :])):
        found.number = int(match[1])
        lines[0] = (section.start, lines[0][1] + match.end())
    elif dialect.numbered and (match := BARE_RULE.match(texts[section.start])):
        found.number = int(match[2])
        lines = _first_paragraph(texts, section, dialect=dialect) or lines
    read_head(found, texts, lines=lines, dialect=dialect)
    if dialect.labelled and next(_labelled(texts, section), None):
        return None
    inner = section.sections[0].start if section.sections else section.end
    # What is indented belongs to an item, and so may be a field of that.
    body = max(section.body, lines[-1][0] + 1)
    read_body(found, texts, lines=range(body, inner), dialect=dialect, indented=False)
    mark = "#" * section.level
    note = _note(
        found, start=section.start, end=section.end, form="heading", mark=mark, lines=lines, texts=texts
    )
    is_note = note.number is not None or (note.is_marked and section.level > 1)
    if not note.text or not is_note:
        return None
    if not section.sections:
        return note, ()
    apart = _apart(texts, section, dialect=dialect)
    end = _trimmed(texts, section.body, end=apart[0].start) if apart else section.end
    return replace(note, end=end, rest=_rest([*found.rest, *texts[inner:end]])), apart


def _first_paragraph(
    texts: Sequence[str], section: Section, *, dialect: Dialect
) -> Sequence[tuple[int, int]]:
    """The lines, each with its first column, of the paragraph that a section begins with; none if it begins otherwise."""
    body = _body(section)
    start = next((line for line in body if texts[line].strip()), body.stop)
    lines: list[tuple[int, int]] = []
    for line in range(start, body.stop):
        text = texts[line]
        if (
            not text.strip()
            or NESTED.match(text)
            or begins_field(text, dialect)
            or text.lstrip().startswith("<!--")
        ):
            break
        lines.append((line, len(text) - len(text.lstrip())))
    return lines


def _apart(texts: Sequence[str], section: Section, *, dialect: Dialect) -> Sequence[Section]:
    """The headings at the end of a section, as far as each has a date of its own and is no group."""
    first = len(section.sections)
    for inner in reversed(section.sections):
        found = None if date_of_group(inner.title) else _as_note(texts, inner, dialect=dialect)
        if found is None or found[0].date is None:
            break
        first -= 1
    return section.sections[first:]


def _trimmed(texts: Sequence[str], start: int, *, end: int) -> int:
    while end > start and not texts[end - 1].strip():
        end -= 1
    return end


def _of_item(texts: Sequence[str], item: range, *, dialect: Dialect) -> Note:
    first = texts[item.start]
    match = _BULLET.match(first)
    mark, column = (match[1], len(match[0])) if match else (first.rstrip(), len(first))
    figure = mark.strip(" .)")
    found = Found(number=int(figure) if figure.isdigit() else None)
    lines = [(item.start, column)]
    for line in item[1:]:
        text = texts[line]
        if not text.strip() or NESTED.match(text) or begins_field(text, dialect):
            break
        if dialect.titled and _is_broken(texts[line - 1], text):
            break
        lines.append((line, len(text) - len(text.lstrip())))
    read_head(found, texts, lines=lines, dialect=dialect)
    read_body(found, texts, lines=range(lines[-1][0] + 1, item.stop), dialect=dialect)
    return _note(found, start=item.start, end=item.stop, form="item", mark=mark, lines=lines, texts=texts)


def _is_broken(before: str, line: str) -> bool:
    """True if somebody ended the line ``before``, not the margin: ``line`` begins anew, and its first word had room."""
    words = line.split(maxsplit=1)
    room = _NARROW - len(before.rstrip()) - len(words[0])
    return room > 0 and words[0][0].isupper() and not before.rstrip().endswith((",", ";", "-", "("))


def _note(
    found: Found,
    *,
    start: int,
    end: int,
    form: Form,
    mark: str,
    lines: Sequence[tuple[int, int]],
    texts: Sequence[str],
) -> Note:
    if found.place is None:
        at = lines[-1][0]
        column = len(unclosed(texts[at]))
        found.place = Place(line=at, start=column, end=column, form="none")
    known = [*found.dates, *found.confirmed, *found.seen]
    return Note(
        start=start,
        end=end,
        form=form,
        mark=mark,
        text=found.text,
        number=found.number,
        date=found.dates[0] if found.dates else None,
        confirmations=max(found.count, len(found.confirmed)),
        sessions=found.sessions,
        confirmed=tuple(sorted(found.confirmed)),
        seen=_seen(found),
        last=max(known, default=None),
        why=found.why,
        also=tuple(found.also),
        fields=tuple(found.fields),
        rest=_rest(found.rest),
        unread=(
            *(found.unread if not (found.count or found.confirmed) else ()),
            *(each for line in texts[start:end] for each in ambiguous_dates(line)),
        ),
        place=found.place,
    )


def _seen(found: Found) -> tuple[date, ...]:
    """The dates that are neither the note's own nor those of its confirmations."""
    if not found.seen and len(found.dates) < 2:
        return ()
    return tuple(sorted({*found.dates[1:], *found.seen}.difference(found.dates[:1], found.confirmed)))


def _rest(lines: Sequence[str]) -> tuple[str, ...]:
    """``lines`` without common indentation, and without the blank ones around them."""
    if not lines:
        return ()
    lines = [line if line.strip() else "" for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    if lines and lines[0].startswith((" ", "\t")):
        lines = textwrap.dedent("\n".join(lines)).split("\n")
    return tuple(lines)
