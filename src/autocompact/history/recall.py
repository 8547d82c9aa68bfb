"""Recall: ``memory_search`` and ``memory_expand``, for the model and the user, over everything that left the context.

A search gives bounded excerpts, each with a reference; `Recall.expand` opens a reference and gives the original,
word for word but for secrets, page by page:

    m123                 message 123 of this conversation
    m12-m15              messages 12 to 15 of it
    other:m123           message 123 of the conversation ``other``, where that is allowed
    MEMORY.md#4          section 4 of a memory file

Whose words an excerpt is stands above it: what a tool printed or a model said is never shown as the user's words.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec

from autocompact.compaction.record import Compaction
from autocompact.core.excerpts import excerpt, marked, page
from autocompact.core.filters import (
    Asked,
    Filters,
    Sort,
    Speaker,
    fits,
    is_on,
    is_relative,
    make_filters,
    read_query,
)
from autocompact.core.messages import (
    Dialect,
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    text_message,
)
from autocompact.core.originals import call_text
from autocompact.core.plurals import plural
from autocompact.core.redacted import Redactor, redacted_call, without_secrets
from autocompact.core.redaction import KnownSecrets, hide, redact
from autocompact.core.references import parse_range, reference
from autocompact.core.search import Kind, Passage, parse_query, part_kind, part_text, passages
from autocompact.core.terms import terms
from autocompact.core.tokens import Counter, Estimator
from autocompact.errors import InvalidInput, StoreCorrupt
from autocompact.history.results import Candidate, Group, candidate, grouped, ranked
from autocompact.ledger.outcomes import without_wrappers
from autocompact.memory.documents.archive_entries import Archived
from autocompact.memory.documents.archive_recall import archived_in, full_references, words_of
from autocompact.memory.documents.context_archive import CONTEXT_ARCHIVE
from autocompact.memory.documents.erasing import Subject
from autocompact.ports import NO_MESSAGES, Hit, Index, Key, Snapshot, Store
from autocompact.runtime.off_loop import LARGE, off_loop, off_loop_if
from autocompact.stores.memory_index import MemoryIndex

Scope: TypeAlias = Literal["compacted", "conversation", "all"]
"""What left the context of this conversation; all of this conversation; all conversations of the namespace."""

Documents: TypeAlias = Callable[[], Sequence[tuple[str, str]]]
"""Gives the memory files as they are now: names and texts."""

RESULTS = 5
MOST_RESULTS = 20
EXCERPT_TOKENS = 120
FIRST_TOKENS = 240
"""The best result has room for what it is about, so that nobody has to open it (``benchmarks/recall_answers.py``)."""

BESIDE_TOKENS = 40
"""What belongs to a result, or of a call that was made to learn something the call itself: there its output is the result."""

GOOD = 0.25
"""Match of the best result below which nothing fits well; chosen with ``benchmarks/recall_answers.py``."""
PAGE_TOKENS = 4_000
MOST_AROUND = 10
MOST_OPENED = 50
"""Messages of a range such as m12-m299 that are opened at once; the next range goes on."""
DEPTH, DEPTH_FILTERED = 30, 100
"""Messages that are looked at for the results; with filters or preferences more of them."""
LISTED = 2_000
"""Newest messages that are listed where a search has filters and no words."""


_SPEAKERS: Mapping[Kind, str] = {
    "request": "the user",
    "words": "the assistant",
    "reasoning": "the assistant's thinking",
    "call": "tool call",
    "output": "tool output",
    "document": "document",
}
_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
_CALL_BEFORE = 3
_LONGEST_CALL = 160
_NAMED_ALIKE = 3
_MEMORY = "memory files"
_SWITCHED_OFF = "{} is in another conversation, and those are switched off here"

_W = TypeVar("_W")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One search result.

    Attributes:
        reference: what `Recall.expand` opens.
        source: whose words the excerpt is, and the call that a tool output answers.
        time: ISO 8601 stamp of the message, "" if unknown.
        excerpt: the lines around the best match, at most `EXCERPT_TOKENS`, of the first result `FIRST_TOKENS`.
        match: share of the query's weight (rare words weigh more) that the passage holds, 0 to 1.
        beside: what belongs to it: a call's output, with as much room as an excerpt, or the answer to a question, at most `BESIDE_TOKENS`.
        note: that the same stands elsewhere, or that there is a later version of the file.
    """

    reference: str
    source: str
    excerpt: str
    time: str = ""
    match: float = 1.0
    beside: str = ""
    note: str = ""

    @property
    def is_archived(self) -> bool:
        """True if it is a summary of CONTEXT_ARCHIVE.md, and no original."""
        return self.reference.startswith(f"{CONTEXT_ARCHIVE}#")

    def render(self, wanted: Collection[str] = ()) -> str:
        """Render the result as Markdown; words that match the terms ``wanted`` are marked."""
        shown = marked(self.excerpt, wanted) if wanted else self.excerpt
        head = ", ".join(filter(None, [self.source, self.time, self.note]))
        return "\n".join(filter(None, [f"[{self.reference}] {head}", shown, self.beside]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """A page of an original.

    Attributes:
        reference: what was opened.
        text: word for word, secrets replaced unless they were asked for; several messages have a line ``[m12] speaker`` before each.
        offset: first character of the page.
        next_offset: where the next page begins, None at the end.
        characters: length of the whole.
        rest: what is left of a range that was too long to open at once, "" if nothing.
    """

    reference: str
    text: str
    offset: int
    next_offset: int | None
    characters: int
    rest: str = ""

    def render(self) -> str:
        """Render the page as the model reads it, with the call that continues it."""
        if self.next_offset is None:
            more = f'\n[memory_expand("{self.rest}") goes on]' if self.rest else ""
            return self.text + more
        return (
            f"{self.text}\n[characters {self.offset:,} to {self.next_offset:,} of {self.characters:,}; "
            f'memory_expand("{self.reference}", offset={self.next_offset}) goes on]'
        )


class Recall:
    """Search and expansion for one conversation.

    Args:
        store: holds the log.
        index: the index that the store keeps up to date.
        key: the conversation.
        documents: memory files, read at each search.
        across: whether other conversations of the namespace may be searched and opened. Leave it off where several
            people share a namespace.
        hidden: conversations that a search of all leaves out, unless it is made in them.
        compaction: the active compaction, where the caller knows it; else the store is asked at each search.
        counter: measures excerpts and pages.
        reveal: show secrets, to the person who asked for them; else they are replaced wherever text is given out.
        known: secrets of the conversation that its messages do not give away where they are found.
    """

    def __init__(
        self,
        store: Store,
        index: Index,
        *,
        key: Key,
        documents: Documents | None = None,
        across: bool = False,
        hidden: Collection[str] = (),
        compaction: Callable[[], Compaction | None] | None = None,
        counter: Counter | None = None,
        reveal: bool = False,
        known: KnownSecrets | None = None,
    ) -> None:
        self.key = key
        self._store = store
        self._index = index
        self._documents: Documents = documents or _none
        self._across = across
        self._hidden = frozenset(hidden) - {key.conversation}
        self._compaction = compaction
        self._counter = counter or Estimator()
        self._reveal = reveal
        self._known = KnownSecrets() if known is None else known

    async def search(
        self,
        query: str,
        k: int = RESULTS,
        *,
        scope: Scope = "compacted",
        filters: Filters | None = None,
    ) -> tuple[Found, ...]:
        """The likeliest places, best first. A call and its output are one result; what repeats a result is only named there.

        Memory files are searched in every scope, unless a filter leaves them out. Of the summaries in CONTEXT_ARCHIVE.md
        only those are that belong to a conversation in the scope; they come last, one for each conversation.

        Args:
            query: words, names, a path, a question; filters such as ``kind:output`` (`autocompact.core.filters`).
            k: results at most, 1 to `MOST_RESULTS`.
            scope: what is searched.
            filters: what a result has to be.

        Raises:
            InvalidInput: an empty query, a filter that cannot be, or a scope that is not allowed here.
        """
        filters = filters or Filters()
        if not query.strip() and not filters:
            raise InvalidInput("the query is empty: say what to look for, e.g. a name, a path or a question")
        if scope == "all" and not self._across:
            raise InvalidInput('scope "all" is switched off here: use "compacted" or "conversation"')
        k = min(max(k, 1), MOST_RESULTS)
        asked = read_query(query, filters=filters, now=await self._now() if is_relative(query) else "")
        found = await self._among_messages(asked, scope=scope, k=k)
        if asked.filters:
            return tuple(found)
        wanted = dict.fromkeys(parse_query(asked.text).terms, 1.0)
        from_files, from_archive = await self._beside(asked.text, wanted, scope=scope, k=k)
        return (*_merged(found, from_files, k=k), *from_archive)[:k]

    async def _now(self) -> str:
        """Time of the last message, which words like "yesterday" refer to."""
        snapshot = await self._store.load(self.key, after=NO_MESSAGES)
        last = await self._store.read(self.key, from_seq=snapshot.last_seq)
        return last[-1].time if last else ""

    async def _among_messages(self, asked: Asked, *, scope: Scope, k: int) -> list[Found]:
        kinds, admit = asked.filters.kinds, await self._admitted(scope)
        narrow = bool(asked.filters or asked.preferred)
        hits = await self._index.search(
            self.key.namespace,
            # the index knows no filter by file: its name finds the messages that hold it, and the filter then looks at what they did
            " ".join(filter(None, [asked.text, asked.filters.file])),
            k=max(DEPTH_FILTERED if narrow else DEPTH, k),
            conversation=None if scope == "all" else self.key.conversation,
            admit=admit,
            kinds=kinds,
        )
        wanted = asked.filters
        if not hits and narrow:
            wanted = wanted or Filters(days=asked.preferred.days)
            hits = await self._listed(wanted, admit=admit)
        read = [one for hit in hits if (one := await self._candidate(hit)) is not None]
        fitting = [one for one in read if fits(wanted, one.message, call=one.call, text=one.text)]
        fitting = ranked(fitting, preferred=asked.preferred)
        return [
            await self._found(group, tokens=FIRST_TOKENS if not at else EXCERPT_TOKENS)
            for at, group in enumerate(grouped(fitting, k=k))
        ]

    async def _listed(self, filters: Filters, *, admit: Callable[[Key, int], bool] | None) -> list[Hit]:
        """The newest messages that the filters leave, where there are no words to look for."""
        if not filters:
            return []
        last = (await self._store.load(self.key, after=NO_MESSAGES)).last_seq
        log = await self._store.read(self.key, from_seq=max(1, last - LISTED + 1), through_seq=last)
        hits: list[Hit] = []
        for message in reversed(log):
            if not is_on(message.time, filters.days) or (admit and not admit(self.key, message.seq)):
                continue
            kinds = filters.kinds
            held = tuple(one for one, _ in passages(message) if kinds is None or one.kind in kinds)
            if held:
                hits.append(Hit(key=self.key, seq=message.seq, score=1.0, passages=held, weights={}))
            if len(hits) == DEPTH_FILTERED:
                break
        return hits

    async def _admitted(self, scope: Scope) -> Callable[[Key, int], bool] | None:
        """Filter on the messages that may be found, None for all."""
        if scope == "compacted":
            return await self._left()
        hidden = self._hidden if scope == "all" else None
        return (lambda key, _: key.conversation not in hidden) if hidden else None

    async def _left(self) -> Callable[[Key, int], bool]:
        """Filter on the messages of this conversation that the context no longer shows in full."""
        if self._compaction is not None:
            gone = _gone(self._compaction())
            return lambda _, seq: gone(seq)
        snapshot = await self._store.load(self.key)
        gone, replaced = _gone(snapshot.active), _replaced(snapshot)
        return lambda _, seq: gone(seq) or seq in replaced

    async def _candidate(self, hit: Hit) -> Candidate | None:
        """The hit with its message; None where its conversation was deleted since the index was asked."""
        log = await self._store.read(
            hit.key,
            from_seq=max(1, hit.seq - _CALL_BEFORE),
            through_seq=hit.seq + 1,
        )
        if not log and not (await self._store.load(hit.key, after=NO_MESSAGES)).last_seq:
            return None
        at = next((index for index, message in enumerate(log) if message.seq == hit.seq), None)
        # index and log are written in one transaction, so this is damage and no race
        if at is None or hit.passages[0].part >= len(log[at].parts):
            raise StoreCorrupt(
                f"the search index names a part of message {hit.seq} of {hit.key.conversation!r} that is not there: "
                "`autocompact doctor` says what to do"
            )
        return candidate(hit, log, at=at)

    async def _found(self, group: Group, *, tokens: int) -> Found:
        one = group.best
        passage = one.passage
        shown = await self._shown(one.message)
        start, end = await _run(_place, one.message, shown=shown, passage=passage)
        return Found(
            reference=self._reference(one.hit.key, one.hit.seq),
            source=self._clean(_source(one, reveal=self._reveal)),
            excerpt=self._excerpt(
                part_text(shown.parts[passage.part])[start:end],
                one.hit.weights,
                tokens=BESIDE_TOKENS if one.is_asking else tokens,
            ),
            time=one.message.time,
            match=one.match,
            beside=await self._neighbour(one, tokens=tokens),
            note=self._note(group),
        )

    def _reference(self, key: Key, seq: int) -> str:
        """The reference of a message, with its conversation unless that is this one."""
        return reference(seq) if key == self.key else f"{key.conversation}:{reference(seq)}"

    def _note(self, group: Group) -> str:
        notes: list[str] = []
        if group.same:
            names = [self._reference(one.hit.key, one.hit.seq) for one in group.same[:_NAMED_ALIKE]]
            more = f" and {len(group.same) - _NAMED_ALIKE} more" if len(group.same) > _NAMED_ALIKE else ""
            notes.append(f"much the same in {', '.join(names)}{more}")
        if group.best.outdated_by is not None:
            newer = group.best.outdated_by.hit
            notes.append(f"older: {self._reference(newer.key, newer.seq)} has this file later")
        return "; ".join(notes)

    async def _neighbour(self, one: Candidate, *, tokens: int) -> str:
        """One line of the neighbour of a result: the output of a call, the answer to what the user said."""
        place = one.answer
        if place is None:
            return ""
        message, part = place
        shown = (await self._shown(message)).parts[part]
        tokens = tokens if one.is_asking else BESIDE_TOKENS
        words = without_wrappers(part_text(shown)) if one.is_asking else part_text(shown)
        text = self._excerpt(words, one.hit.weights, tokens=tokens).strip()
        return (
            f"→ [{self._reference(one.hit.key, message.seq)}] {_speaker(message, shown)}: {text}"
            if text
            else ""
        )

    async def _shown(self, message: Message) -> Message:
        return (
            message if self._reveal else await _run(without_secrets, message, redactor=Redactor(self._known))
        )

    def _clean(self, text: str) -> str:
        return text if self._reveal else hide(redact(text), self._known)

    def _excerpt(self, text: str, wanted: Mapping[str, float], *, tokens: int = EXCERPT_TOKENS) -> str:
        return excerpt(text, wanted, max_tokens=tokens, counter=self._counter)

    async def _beside(
        self, query: str, wanted: Mapping[str, float], *, scope: Scope, k: int
    ) -> tuple[list[Found], list[Found]]:
        """Search memory files and archive; they are read from the disk and indexed, which is too slow for the loop."""
        if self._documents is _none:
            return [], []
        return await off_loop(
            lambda: (
                self._search_files(query, wanted, k=k),
                self._search_archive(query, wanted, scope=scope, k=k),
            )
        )

    def _search_files(self, query: str, wanted: Mapping[str, float], *, k: int) -> list[Found]:
        """Sections of the memory files that hold at least half of the query's terms."""
        sections = [
            (name, number, text)
            for name, whole in self._documents()
            for number, text in enumerate(_sections(whole), start=1)
            if archived_in(name, text) is None
        ]
        key = Key(conversation=_MEMORY)
        index = MemoryIndex()
        index.index(key, [text_message(seq, "user", text) for seq, (_, _, text) in enumerate(sections, 1)])
        found: list[Found] = []
        for hit in index.find(key.namespace, query, k=k):
            name, number, text = sections[hit.seq - 1]
            if 2 * len(wanted.keys() & terms(text)) >= len(wanted):
                source = f"memory file {name}"
                shown = self._excerpt(self._clean(text), wanted)
                found.append(Found(reference=f"{name}#{number}", source=source, excerpt=shown))
        return found

    def _search_archive(
        self, query: str, wanted: Mapping[str, float], *, scope: Scope, k: int
    ) -> list[Found]:
        """The best summary of each conversation in the scope that CONTEXT_ARCHIVE.md has."""
        entries = [
            (number, entry, words)
            for number, entry, words in self._archive()
            # another conversation's summary may be shown only where its messages may
            if not entry.is_example and (self._is_own(entry) or (scope == "all" and self._may_open(entry)))
        ]
        index = MemoryIndex()
        key = Key(conversation=_MEMORY)
        index.index(key, [text_message(seq, "user", words) for seq, (_, _, words) in enumerate(entries, 1)])
        found: dict[str, Found] = {}
        # more than are wanted: several entries are of one conversation, of which the best is shown
        for hit in index.find(key.namespace, query, k=3 * k):
            number, entry, words = entries[hit.seq - 1]
            if entry.conversation in found or 2 * len(wanted.keys() & terms(words)) < len(wanted):
                continue
            shown = self._excerpt(self._clean(words), wanted)
            found[entry.conversation] = Found(
                reference=f"{CONTEXT_ARCHIVE}#{number}",
                source=f"summary of the conversation {entry.conversation}",
                excerpt=shown,
                time=entry.time,
            )
        return list(found.values())

    def _archive(self) -> Iterator[tuple[int, Archived, str]]:
        """The entries of CONTEXT_ARCHIVE.md: number of the section, the entry, its words with references in full."""
        whole = dict(self._documents()).get(CONTEXT_ARCHIVE, "")
        for number, text in enumerate(_sections(whole), start=1):
            if (entry := archived_in(CONTEXT_ARCHIVE, text)) is not None:
                words = words_of(entry, text)
                yield number, entry, words if self._is_own(entry) else full_references(entry, words)

    def _is_own(self, entry: Archived) -> bool:
        return Subject(conversation=self.key.conversation, namespace=self.key.namespace).has(entry)

    def _may_open(self, entry: Archived) -> bool:
        """True if the entry is of a conversation that may be searched and opened here."""
        of = Subject(conversation=entry.conversation, namespace=self.key.namespace)
        return self._across and of.has(entry)

    async def expand(
        self, ref: str, *, around: int = 0, offset: int = 0, max_tokens: int = PAGE_TOKENS
    ) -> Expansion:
        """The original that a reference names, or a page of it.

        Args:
            ref: as a search result, a summary or a stub names it; brackets around it are allowed.
            around: messages before and after it that are shown too, at most `MOST_AROUND`.
            offset: first character of the page.
            max_tokens: size of the page.

        Raises:
            InvalidInput: there is no such thing; the message says what there is.
        """
        bare = ref.strip()
        bare = bare.removeprefix("[").removesuffix("]") if bare.count("[") == 1 else bare
        if "#" in bare:
            text = self._clean(await self._section(bare))
        else:
            text = await self._messages(bare, around=around)
        if not 0 <= offset <= len(text):
            raise InvalidInput(f"offset {offset} is outside of {ref!r}, which has {len(text):,} characters")
        part = page(text, offset=offset, max_tokens=max(1, max_tokens), counter=self._counter)
        return Expansion(
            reference=bare,
            text=part.text,
            offset=offset,
            next_offset=part.end,
            characters=len(text),
            rest="" if "#" in bare else _rest(bare),
        )

    async def _messages(self, ref: str, *, around: int) -> str:
        conversation, _, name = ref.rpartition(":")
        key = Key(conversation=conversation, namespace=self.key.namespace) if conversation else self.key
        # before anything is read: whether the other conversation exists is not told either
        if key != self.key and not self._across:
            raise InvalidInput(_SWITCHED_OFF.format(repr(ref)))
        first, last = parse_range(name)
        around = min(max(around, 0), MOST_AROUND)
        last = min(last, first + MOST_OPENED - 1)
        messages = await self._store.read(key, from_seq=max(1, first - around), through_seq=last + around)
        if all(message.seq != first for message in messages):
            raise await self._unknown(key, first)
        return "\n\n".join([_original(await self._shown(message)) for message in messages])

    async def _unknown(self, key: Key, seq: int) -> InvalidInput:
        known = {info.key: info for info in await self._store.conversations(key.namespace)}
        info = known.get(key)
        if info is not None and info.last_seq:
            return InvalidInput(
                f"there is no message {reference(seq)}: the conversation goes from m1 to "
                f"{reference(info.last_seq)}. memory_search finds the right one."
            )
        elsewhere = [
            entry.original
            for _, entry, _ in self._archive()
            if entry.conversation == key.conversation and self._may_open(entry) and entry.original
        ]
        if elsewhere:
            return InvalidInput(
                f"the messages of {key.conversation!r} are not kept here; its original is {elsewhere[-1]}"
            )
        names = [other.conversation for other in known] if self._across else []
        near = difflib.get_close_matches(key.conversation, names, n=3)
        hint = f" Near it: {', '.join(map(repr, near))}." if near else ""
        return InvalidInput(f"the conversation {key.conversation!r} holds no messages.{hint}")

    async def _section(self, ref: str) -> str:
        name, _, number = ref.rpartition("#")
        texts = dict(self._documents())
        if name not in texts:
            names = ", ".join(map(repr, texts)) or "none"
            raise InvalidInput(f"there is no memory file {name!r}. There is: {names}.")
        sections = _sections(texts[name])
        if not number.isdecimal() or not 1 <= int(number) <= len(sections):
            raise InvalidInput(f"{name!r} has sections {name}#1 to {name}#{len(sections)}, not {ref!r}")
        section = sections[int(number) - 1]
        entry = archived_in(name, section)
        if entry is None or self._is_own(entry):
            return section
        if not self._may_open(entry):
            raise InvalidInput(_SWITCHED_OFF.format(repr(ref)))
        return full_references(entry, section)

    def tools(self, dialect: Dialect = "openai_chat") -> list[dict[str, Any]]:
        """The two tools as a request of that API names them."""
        return tool_schemas(dialect, across=self._across)

    async def call(self, name: str, arguments: str | Mapping[str, object]) -> str:
        """Answer a tool call of the model; what is wrong with it is the answer, so that the model can mend it."""
        try:
            if name == "memory_search":
                return await self._answer_search(_converted(arguments, SearchArguments))
            if name == "memory_expand":
                asked = _converted(arguments, ExpandArguments)
                return (await self.expand(asked.ref, around=asked.around, offset=asked.offset)).render()
        except InvalidInput as error:
            # an exception would end the turn; as an answer the model can correct its call
            return f"Error: {error}"
        return f"Error: there is no tool {name!r}. There are memory_search and memory_expand."

    async def _answer_search(self, asked: SearchArguments) -> str:
        filters = make_filters(
            speaker=asked.speaker or "",
            kind=asked.kind or "",
            file=asked.file,
            after=asked.after,
            before=asked.before,
        )
        found = await self.search(asked.query, asked.k, scope=asked.scope, filters=filters)
        if not found:
            is_narrow = self._across and asked.scope != "all"
            wider = ' scope "all" searches the other conversations, too.' if is_narrow else ""
            less = " with these filters" if filters else ""
            return (
                f"Nothing found for {asked.query!r}{less}. Try fewer, other or rarer words, or a name.{wider}"
            )
        wanted = parse_query(asked.query).terms
        # marks in an original would not be its words any more; summaries are no original
        shown = [one.render(wanted if one.is_archived else ()) for one in found]
        return "\n\n".join([_head(asked.query, found), *shown])


def _head(query: str, found: Sequence[Found]) -> str:
    """The line above the results: how many, and how well the best one fits."""
    if doubted := doubt(query, found):
        return doubted
    best = max(one.match for one in found)
    return (
        f"{plural(len(found), 'result')} for {query!r}, likeliest first, best match {best:.0%}. "
        "memory_expand opens a reference."
    )


def doubt(query: str, found: Sequence[Found]) -> str:
    """The warning above results of which none fits well, with the score of the best one; "" if one does, or there is none."""
    best = max((one.match for one in found), default=1.0)
    if best >= GOOD:
        return ""
    return (
        f"No good match for {query!r}: the best result holds {best:.0%} of the query by weight. It may never have "
        "been said; if it was, other words find it. The nearest:"
    )


class SearchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Search everything that left the context: earlier messages, tool calls, tool outputs, and the memory files.

    Use it before you ask again, read again or guess. One search mostly shows the answer: ask with the whole question, or
    with its names, paths and rare words. Open a reference such as m123 only if its excerpt is not enough. Where the answer
    says "No good match", try other words once.
    """

    query: Annotated[str, msgspec.Meta(description="The question, or names, paths and rare words of it")]
    k: Annotated[int, msgspec.Meta(ge=1, le=MOST_RESULTS, description="Results at most")] = RESULTS
    scope: Annotated[
        Scope,
        msgspec.Meta(
            description="compacted: what left the context; conversation: all of this one; all: every one"
        ),
    ] = "compacted"
    speaker: Annotated[Speaker | None, msgspec.Meta(description="Only what they said or gave")] = None
    kind: Annotated[
        Sort | None,
        msgspec.Meta(description="Only this: words = what people and you said; edit = changes of files"),
    ] = None
    file: Annotated[
        str, msgspec.Meta(description="Only calls that touch this file (path or its end) and what they gave")
    ] = ""
    after: Annotated[str, msgspec.Meta(description="Only from this day or month on, e.g. 2022-09-14")] = ""
    before: Annotated[str, msgspec.Meta(description="Only before this day or month")] = ""


class ExpandArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Show the original that a reference such as m123 names: word for word, an edit as a diff.

    Long ones come in pages; their end says how to go on. around=1 or 2 shows what led to it and what came of it.
    """

    ref: Annotated[str, msgspec.Meta(description="A reference, e.g. m123, m12-m15 or MEMORY.md#2")]
    around: Annotated[
        int, msgspec.Meta(ge=0, le=MOST_AROUND, description="Messages before and after it to show too")
    ] = 0
    offset: Annotated[int, msgspec.Meta(ge=0, description="First character, to go on in a long original")] = 0


def tool_schemas(dialect: Dialect = "openai_chat", *, across: bool = False) -> list[dict[str, Any]]:
    """The two tools as a request of that API names them.

    Args:
        dialect: the API.
        across: whether the search may go to other conversations.
    """
    tools = [_tool(SearchArguments), _tool(ExpandArguments)]
    if not across:
        tools[0]["parameters"]["properties"]["scope"]["enum"].remove("all")
    if dialect == "openai_chat":
        return [{"type": "function", "function": tool} for tool in tools]
    if dialect == "openai_responses":
        return [{"type": "function", **tool} for tool in tools]
    return [
        {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}
        for tool in tools
    ]


_T = TypeVar("_T", SearchArguments, ExpandArguments)

_NAMES: Mapping[type, str] = {SearchArguments: "memory_search", ExpandArguments: "memory_expand"}


def _tool(kind: type[SearchArguments | ExpandArguments]) -> dict[str, Any]:
    (schema,) = msgspec.json.schema_components([kind])[1].values()
    parameters = {key: schema[key] for key in ("type", "properties", "required", "additionalProperties")}
    return {
        "name": _NAMES[kind],
        "description": inspect.cleandoc(kind.__doc__ or ""),
        "parameters": parameters,
    }


def _converted(arguments: str | Mapping[str, object], kind: type[_T]) -> _T:
    try:
        if isinstance(arguments, str):
            # not strict: models write numbers as texts
            return msgspec.json.decode(arguments or "{}", type=kind, strict=False)
        return msgspec.convert(arguments, kind, strict=False)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise InvalidInput(f"{_NAMES[kind]} cannot be called like that: {error}") from error


def _none() -> Sequence[tuple[str, str]]:
    return ()


def _gone(compaction: Compaction | None) -> Callable[[int], bool]:
    if compaction is None:
        return lambda _: False
    through, kept = compaction.through_seq, frozenset((*compaction.keep, *compaction.standing_whole))
    masked = {mask.seq for mask in compaction.masks}
    return lambda seq: seq in masked or (seq <= through and seq not in kept)


def _replaced(snapshot: Snapshot) -> set[int]:
    """Messages after the compaction that an edit took the place of."""
    return {
        seq
        for message in snapshot.messages
        if message.replaces is not None
        for seq in range(message.replaces, message.seq)
    }


def _merged(found: Sequence[Found], files: Sequence[Found], *, k: int) -> list[Found]:
    """Both lists in turn, the conversation's first: their scores come from different texts and do not compare."""
    return [one for pair in zip_longest(found, files) for one in pair if one is not None][:k]


def _sections(text: str) -> list[str]:
    """A Markdown text cut before each heading."""
    starts = sorted({0, *(match.start() for match in _HEADING.finditer(text))})
    pieces = (text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True))
    return [piece for piece in pieces if piece.strip()]


def _place(message: Message, *, shown: Message, passage: Passage) -> tuple[int, int]:
    """Approximate position of the passage in ``shown``: secrets before it shift what follows."""
    if shown is message:
        return passage.start, passage.end
    text = part_text(message.parts[passage.part])
    return len(redact(text[: passage.start])), len(redact(text[: passage.end]))


async def _run(work: Callable[..., _W], message: Message, **rest: Any) -> _W:
    """Apply ``work`` to ``message``; off the event loop if it is large."""
    size = sum(len(part_text(part)) for part in message.parts)
    return await off_loop_if(size > LARGE, lambda: work(message, **rest))


def _source(one: Candidate, *, reveal: bool) -> str:
    part = one.message.parts[one.passage.part]
    source = _speaker(one.message, part)
    if not isinstance(part, ToolResult) or one.call is None:
        return source
    return f"{source} of {_call(one.call, reveal=reveal)}"


def _rest(ref: str) -> str:
    """Reference of the rest of a range after the `MOST_OPENED` messages that are opened at once."""
    conversation, colon, name = ref.rpartition(":")
    first, last = parse_range(name)
    start = first + MOST_OPENED
    return f"{conversation}{colon}{reference(start)}-{reference(last)}" if start <= last else ""


def _call(call: ToolCall, *, reveal: bool) -> str:
    shown = call if reveal else redacted_call(call)
    text = f"{shown.name} {' '.join(shown.arguments.split())}".strip()
    return text if len(text) <= _LONGEST_CALL else text[: _LONGEST_CALL - 1] + "…"


def _original(message: Message) -> str:
    """A message verbatim, each part under a line that says whose words it is."""
    head = f"[{reference(message.seq)}]"
    parts: list[str] = []
    for part in message.parts:
        speaker = _speaker(message, part)
        match part:
            case ToolCall():
                parts.append(f"{head} {speaker} {part.name}\n{call_text(part)}")
            case Text() | Reasoning() | ToolResult() | Document():
                parts.append(f"{head} {speaker}\n{part.text}")
            case Image() | Opaque():
                parts.append(f"{head} {type(part).__name__.lower()}, which cannot be shown as text")
    return "\n".join(parts)


def _speaker(message: Message, part: Part) -> str:
    if isinstance(part, Text) and message.role in ("system", "user") and not message.is_request:
        return "a note of the program"
    return _SPEAKERS[part_kind(part, message)]
