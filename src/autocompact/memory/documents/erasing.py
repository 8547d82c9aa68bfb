"""Erasing a conversation from CONTEXT_ARCHIVE.md and DONE.md: its entries go, every other line keeps its bytes."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from autocompact.core.patterns import LazyPattern
from autocompact.memory.documents.archive_entries import Archived, entries_in
from autocompact.memory.documents.context_archive import USUAL_NAMESPACE
from autocompact.memory.documents.document import Edit, read_document
from autocompact.memory.documents.notes import Note
from autocompact.memory.documents.pages import DONE, Page
from autocompact.memory.documents.wording import one_line

_FACT = LazyPattern(r"[\s>*+-]*\**(?:Conversation|Original)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """An archive without the entries of a conversation.

    Attributes:
        content: the file.
        entries: how many entries were taken out.
        unread: lines (from 1) that name the conversation, but belong to no entry that can be read.
    """

    content: bytes
    entries: int
    unread: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The conversation that entries are about.

    Attributes:
        conversation: its name.
        namespace: whose it is.
        records: time and id of its compactions, by which entries are known that name no namespace.
        is_example: it is the chat's example, of which only entries of that are taken out.
    """

    conversation: str
    namespace: str = USUAL_NAMESPACE
    records: Collection[tuple[str, str]] = ()
    is_example: bool = False

    def has(self, entry: Archived) -> bool:
        """True if an entry is about it."""
        if self.is_example:
            return entry.is_example
        if entry.conversation != one_line(self.conversation):
            return False
        if entry.namespace:
            return entry.namespace == one_line(self.namespace)
        return self.namespace == USUAL_NAMESPACE or (entry.time, entry.id) in self.records


def erased(content: bytes, subject: Subject, *, name: str) -> Erased:
    """The archive ``content`` without the entries of a conversation.

    Args:
        content: of the file.
        subject: the conversation.
        name: of the file, for the message.

    Raises:
        InvalidInput: the file is no text.
    """
    document = read_document(content, name=name)
    entries = entries_in(document.texts)
    edits = [_cut(document.texts, entry) for entry in entries if subject.has(entry)]
    return Erased(
        content=document.edited(edits) if edits else content,
        entries=len(edits),
        unread=()
        if subject.is_example
        else tuple(_unread(document.texts, entries, name=subject.conversation)),
    )


def erased_tasks(content: bytes, subject: Subject) -> Erased:
    """DONE.md without the tasks that upkeep noted of a conversation, which are in the words of its messages.

    They name no namespace, so only those of the usual one are known.

    Args:
        content: of the file.
        subject: the conversation.

    Raises:
        InvalidInput: the file is no text.
    """
    if subject.is_example or subject.namespace != USUAL_NAMESPACE:
        return Erased(content=content, entries=0)
    page = Page(content, name=DONE)
    texts = page.document.texts
    own = f"- Session: {one_line(subject.conversation)}"
    edits = [
        _cut(texts, note)
        for note in page.notes
        if any(line.strip() == own for line in texts[note.start : note.end])
    ]
    return Erased(content=page.edited(edits) if edits else content, entries=len(edits))


def _cut(texts: Sequence[str], entry: Archived | Note) -> Edit:
    """The entry with the blank lines after it, or those before it where it is the last."""
    start, end = entry.start, entry.end
    while end < len(texts) and not texts[end].strip():
        end += 1
    while end == len(texts) and start and not texts[start - 1].strip():
        start -= 1
    return Edit(start=start, end=end)


def _unread(texts: Sequence[str], entries: Sequence[Archived], *, name: str) -> list[int]:
    read = {line for entry in entries for line in range(entry.start, entry.end)}
    named = re.compile(rf"(?<![\w.-]){re.escape(one_line(name))}(?![\w.-])")
    return [
        line + 1
        for line, text in enumerate(texts)
        if line not in read and _FACT.match(text) and named.search(text)
    ]
