"""Records of a month from a memory folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date

from autocompact.memory.documents.archive_entries import Archived, entries_in
from autocompact.memory.documents.context_archive import CONTEXT_ARCHIVE
from autocompact.memory.documents.dates import find_dates
from autocompact.memory.documents.notes import Note
from autocompact.memory.documents.pages import (
    DONE,
    OBSERVATION_ARCHIVE,
    OBSERVATIONS,
    RULES,
    TASK_ARCHIVE,
    Pages,
)
from autocompact.memory.documents.task_table import ONLY_ID, rows_in
from autocompact.memory.documents.tasks import row_of
from autocompact.memory.report.records import CompactionRecord, Month, Records

_FIELD = re.compile(r"[\s>]*(?:[-*+] |\|.*\| *)?\**(archived|rule since)\**:\**\s*(.*)", re.IGNORECASE)


def records_of_folder(files: Mapping[str, bytes], month: Month) -> Records:
    """Collect the records of ``month`` from the files.

    Args:
        files: the folder, by name.
        month: which.

    Raises:
        InvalidInput: a file is no text.
    """
    pages = Pages(files)
    entries = [entry for entry in entries_in(pages[CONTEXT_ARCHIVE].texts) if month.has(entry.day)]
    rules, old = pages[RULES].notes, pages[OBSERVATION_ARCHIVE].notes
    everything = (*pages[OBSERVATIONS].notes, *old, *rules)
    return Records(
        month=month,
        sessions=tuple(dict.fromkeys(entry.conversation for entry in entries)),
        compactions=tuple(_record(entry) for entry in entries),
        noted=tuple(note.text for note in everything if month.has(note.date)),
        escalated=tuple(note.text for note in rules if month.has(_day(note, "rule since"))),
        archived=tuple(note.text for note in old if month.has(_day(note, "archived"))),
        tasks=tuple(_tasks(pages, month)),
        archived_tasks=sum(month.has(row.date) for row in rows_in(pages[TASK_ARCHIVE].texts)),
    )


def _record(entry: Archived) -> CompactionRecord:
    return CompactionRecord(
        conversation=entry.conversation,
        id=entry.id,
        # A session that was archived in a later month counts in its own.
        time=entry.time if entry.time[:7] == entry.day[:7] else f"{entry.day}T00:00",
        tokens_before=entry.tokens_before,
        tokens_after=entry.tokens_after,
        peak=entry.peak,
        stated=entry.stated,
        referenced=entry.referenced,
        missing=entry.missing,
        seconds=entry.seconds,
        model=entry.model,
    )


def _day(note: Note, name: str) -> date | None:
    """The first date in the field ``name`` of a note."""
    for line in note.rest:
        match = _FIELD.match(line)
        if match and match[1].lower() == name and (found := find_dates(match[2])):
            return found[0]
    return None


def _tasks(pages: Pages, month: Month) -> Iterable[str]:
    for note in pages[DONE].notes:
        if month.has(note.date):
            yield row_of(note).task
    for row in rows_in(pages[TASK_ARCHIVE].texts):
        if month.has(row.date):
            # by its id alone nobody knows it
            title = row.outcome.partition(";")[0] if ONLY_ID.fullmatch(row.task) else ""
            yield f"{row.task}: {title}" if title else row.task
