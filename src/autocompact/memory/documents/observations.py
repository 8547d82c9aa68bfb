"""The observation layer: what is noted, confirmed, made a rule, archived.

Every run looks at each observation once. One that says the same as an earlier one (`autocompact.memory.documents.meaning`) is a
confirmation of it; one that says the same as a rule confirms the rule. Enough confirmations make a rule. What was neither
noted nor confirmed for long is archived. All else stays where it stands, byte by byte. Those that are nearly the same are
proposed as pairs; a person or a model judges them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import islice
from operator import itemgetter
from typing import Literal, TypeAlias

from autocompact.errors import InvalidInput
from autocompact.memory.documents.dialects import OF_OBSERVATIONS
from autocompact.memory.documents.document import Edit
from autocompact.memory.documents.meaning import NEAR, WORTH_JUDGING, difference, key_of, near_pairs, near_to
from autocompact.memory.documents.notes import Note
from autocompact.memory.documents.pages import OBSERVATION_ARCHIVE, OBSERVATIONS, RULES, Page, Pages
from autocompact.memory.documents.policy import ObservationPolicy
from autocompact.memory.documents.reading import Place, without_label
from autocompact.memory.documents.removal import removing
from autocompact.memory.documents.rules import Pair, Rule, adding, next_number
from autocompact.memory.documents.tables import table_of
from autocompact.memory.documents.unread import Unread, unread_in
from autocompact.memory.documents.wording import (
    as_heading,
    as_item,
    as_paragraph,
    as_row,
    at_end,
    block_at,
    confirmations_of,
    confirming,
    details,
    one_line,
    quoted,
    times,
)

_MOST_NEAR = 3
LONGEST = 2_000
"""Characters of an observation or its reason."""

ESCALATED, LEGACY = "Escalated → ACTIVE_RULES", "Legacy Observations (archived, not escalated)"
"""The parts of OBSERVATION_ARCHIVE.md."""
MOST_PAIRS = 100
"""Pairs that a run proposes at most."""

Action: TypeAlias = Literal["recorded", "confirmed", "repeated", "revived", "rule"]
Verdict: TypeAlias = Literal["same", "restated", "different", "contradicts"]
"""``restated``: the same, although one has a negation that the other lacks."""
Verdicts: TypeAlias = Mapping[tuple[str, str], Verdict]
"""What was judged of pairs of texts, the earlier text first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The outcome of recording an observation.

    Attributes:
        action: noted anew, taken as a confirmation, noted or confirmed on that day already, brought back from the archive, or a confirmation of a rule.
        text: the words under which it stands in the file.
        confirmations: how many it has now; each day counts once.
        sessions: in how many sessions, where the file says so, else 0.
        file: where it stands.
        rule: the rule's number, if it is one and has one.
        near: texts that may say the same as one that was noted anew.
    """

    action: Action
    text: str
    confirmations: int
    file: str
    sessions: int = 0
    rule: int | None = None
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """An observation that was archived, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationRun:
    """The outcome of a run of the observation layer.

    Attributes:
        stayed: observations that are still in OBSERVATIONS.md.
        escalated: the rules that were made.
        archived: what was archived.
        merged: words that were taken as a confirmation of others.
        undated: observations that stay for want of a date.
        alike: pairs that may say the same, for a person or a model to judge; at most `MOST_PAIRS`.
        distant: further pairs that are only worth a model's look, the nearest first; at most `MOST_PAIRS` with those.
        contradictions: pairs that a model found to contradict each other, and rules that differ in a negation or a figure.
        unread: what looks like an observation or a rule, and is not read as one.
    """

    stayed: int = 0
    escalated: tuple[Rule, ...] = ()
    archived: tuple[Archived, ...] = ()
    merged: tuple[str, ...] = ()
    undated: int = 0
    alike: tuple[Pair, ...] = ()
    distant: tuple[Pair, ...] = ()
    contradictions: tuple[Pair, ...] = ()
    unread: tuple[Unread, ...] = ()


@dataclass(slots=True)
class _Sorted:
    """The observations of a file, sorted by what happens to them."""

    stay: list[tuple[Note, list[Note]]] = field(default_factory=list[tuple[Note, list[Note]]])
    escalate: list[Note] = field(default_factory=list[Note])
    archive: list[Note] = field(default_factory=list[Note])
    known: list[tuple[Note, Note]] = field(default_factory=list[tuple[Note, Note]])
    gone: list[Note] = field(default_factory=list[Note])
    merged: list[str] = field(default_factory=list[str])


def plan_observations(
    pages: Pages, *, today: date, policy: ObservationPolicy, verdicts: Verdicts | None = None
) -> tuple[dict[str, bytes], ObservationRun]:
    """Plan a run of the layer: the new contents of files, and the outcome.

    Args:
        pages: the folder.
        today: the day of the run.
        policy: its figures.
        verdicts: what a model judged of pairs that an earlier look proposed.

    Returns:
        The files that are other than before, and what happened.

    Raises:
        InvalidInput: one of the files is no text.
    """
    page, rules, archive = (pages[name] for name in (OBSERVATIONS, RULES, OBSERVATION_ARCHIVE))
    judged = verdicts or {}
    found = _sort(page.notes, rules.notes, today=today, policy=policy, judged=judged)
    staying = [edit for note, others in found.stay for edit in _merging(page, note, others=others)]
    changed = {
        OBSERVATIONS: page.edited([*staying, *removing(page, found.gone)]),
        RULES: rules.edited([*_confirmed(rules, found.known), *adding(rules, found.escalate, today=today)]),
    }
    first = next_number(rules)
    parts = [
        (ESCALATED, [_as_escalated(note, n, today=today) for n, note in enumerate(found.escalate, first)]),
        (LEGACY, [_as_archived(note, today=today, policy=policy) for note in found.archive]),
    ]
    changed[OBSERVATION_ARCHIVE] = archive.edited(_adding(archive, parts))
    escalated = tuple(Rule(number=n, text=note.text) for n, note in enumerate(found.escalate, first))
    current = [*(Rule(number=note.number, text=note.text) for note in rules.notes), *escalated]
    alike, distant, contradictions = _pairs(current, [note.text for note, _ in found.stay], judged=judged)
    run = ObservationRun(
        stayed=len(found.stay),
        escalated=escalated,
        archived=tuple(
            Archived(text=note.text, reason=_reason(note, today, policy=policy)) for note in found.archive
        ),
        merged=tuple(found.merged),
        undated=sum(note.last is None for note, _ in found.stay),
        alike=alike,
        distant=distant,
        contradictions=contradictions,
        unread=(*unread_in(page), *unread_in(rules)),
    )
    return {name: content for name, content in changed.items() if content != pages.files.get(name, b"")}, run


class _Same:
    """Relation of texts that say the same: equal in normal form, or judged the same."""

    def __init__(self, judged: Verdicts) -> None:
        self._first: dict[str, str] = {}
        for (one, other), verdict in judged.items():
            # Whatever a model says: another figure is another observation, and so is a negation that it did not weigh.
            taken = ("", "negation") if verdict == "restated" else ("",) if verdict == "same" else ()
            if taken and difference(one, other) in taken:
                # sorted, so that two verdicts never point at each other
                first, second = sorted((self.key(one), self.key(other)))
                self._first[second] = first

    def key(self, text: str) -> str:
        """Equal for texts that say the same."""
        key = key_of(text)
        # a chain: a is b, b is c
        while (first := self._first.get(key, key)) != key:
            key = first
        return key

    def groups(self, notes: Iterable[Note]) -> list[list[Note]]:
        """The notes of which one says, in any of its wordings, what another says; each group in the order of the file."""
        found: dict[int, list[tuple[int, Note]]] = {}
        by_key: dict[str, int] = {}
        for place, note in enumerate(notes):
            keys = {self.key(words) for words in note.wordings}
            known = sorted({by_key[key] for key in keys if key in by_key})
            group = known[0] if known else place
            # a note with several wordings may join groups that were apart
            joined = [(place, note), *(each for other in known[1:] for each in found.pop(other))]
            found.setdefault(group, []).extend(joined)
            for _, member in joined:
                by_key |= {self.key(words): group for words in member.wordings}
        return [[note for _, note in sorted(group, key=lambda each: each[0])] for group in found.values()]


def _pairs(
    rules: Sequence[Rule], texts: Sequence[str], *, judged: Verdicts
) -> tuple[tuple[Pair, ...], tuple[Pair, ...], tuple[Pair, ...]]:
    """The pairs that may say the same, those that only a model should look at, and those that contradict each other."""
    every = [*rules, *(Rule(number=None, text=text) for text in texts)]
    alike: list[Pair] = []
    distant: list[tuple[float, Pair]] = []
    contradictions: list[Pair] = []
    for one, other, share in near_pairs([each.text for each in every], least=WORTH_JUDGING):
        pair = Pair(
            first=every[one], second=every[other], differ=difference(every[one].text, every[other].text)
        )
        verdict = judged.get((every[one].text, every[other].text))
        # What was judged the same and is still here are two rules, or differs: that is for a person.
        is_open, is_near = verdict in (None, "same", "restated"), share >= NEAR
        if verdict == "contradicts" or (is_near and is_open and pair.differ and other < len(rules)):
            contradictions.append(pair)
        elif is_open and (is_near or verdict):
            alike.append(pair)
        elif is_open:
            distant.append((share, pair))
    distant.sort(key=itemgetter(0), reverse=True)
    left = max(0, MOST_PAIRS - len(alike))
    return (
        tuple(alike[:MOST_PAIRS]),
        tuple(pair for _, pair in distant[:left]),
        tuple(contradictions[:MOST_PAIRS]),
    )


def _sort(
    notes: Iterable[Note],
    rules: Iterable[Note],
    *,
    today: date,
    policy: ObservationPolicy,
    judged: Verdicts,
) -> _Sorted:
    found, same = _Sorted(), _Same(judged)
    known: dict[str, Note] = {}
    for rule in rules:
        for words in rule.wordings:
            known.setdefault(same.key(words), rule)
    for first, *others in same.groups(notes):
        found.merged += [other.text for other in others]
        whole = merged(first, others)
        # what is a rule already does not become a second one; it confirms that
        if rule := next(filter(None, (known.get(same.key(words)) for words in whole.wordings)), None):
            found.known.append((rule, whole))
            found.merged.append(first.text)
        elif whole.confirmations >= policy.escalate_after:
            found.escalate.append(in_order(whole))
        elif (
            whole.last
            # a figure that could not be read may be a high count: then nothing is archived
            and not any(note.unread for note in (first, *others))
            and (today - whole.last).days > policy.archive_after_days
        ):
            found.archive.append(in_order(whole))
        else:
            found.stay.append((first, others))
            found.gone += others
            continue
        found.gone += [first, *others]
    return found


def merged(first: Note, others: Sequence[Note]) -> Note:
    """``first`` with ``others`` as its confirmations."""
    if not others:
        return first
    known = [note.date for note in (first, *others) if note.date]
    count, dates = _counted(first, others)
    return replace(
        first,
        date=first.date or min(known, default=None),
        confirmations=first.confirmations + count,
        confirmed=tuple(sorted((*first.confirmed, *dates))),
        seen=tuple(sorted({day for note in (first, *others) for day in note.seen})),
        last=max((note.last for note in (first, *others) if note.last), default=None),
        why=next((note.why for note in (first, *others) if note.why), ""),
        also=tuple(
            dict.fromkeys((*first.also, *(text for note in others for text in _new_words(note, first))))
        ),
        rest=(*first.rest, *(line for note in others for line in _new_rest(note, first))),
    )


def in_order(note: Note) -> Note:
    """``note`` with its earliest day as when it was noted, and the others as its confirmations.

    A file with its newest notes on top has the confirmations above what they confirm.
    """
    if note.date is None or not note.confirmed or note.confirmed[0] >= note.date:
        return note
    first, *later = sorted({note.date, *note.confirmed})
    return replace(note, date=first, confirmed=tuple(later))


def _counted(first: Note, others: Sequence[Note]) -> tuple[int, list[date]]:
    """Count the confirmations that ``others`` are of ``first``, with the days that are new.

    Each day counts once, however often it was noted then: five notes of one loop are one. Without a date each counts.
    """
    known: set[date | None] = {first.date, *first.confirmed}
    count, dates = 0, list[date]()
    for other in others:
        # confirmations without a day cannot be told apart, so each counts
        count += max(0, other.confirmations - len(other.confirmed)) + (other.date is None)
        for day in (*other.confirmed, other.date):
            if day is not None and day not in known:
                known.add(day)
                dates.append(day)
    return count + len(dates), sorted(dates)


def _new_words(note: Note, first: Note) -> list[str]:
    return [text for text in note.wordings if text not in first.wordings]


def _new_rest(note: Note, first: Note) -> list[str]:
    """Lines of ``note`` to add to ``first``; its reason too where ``first`` has one of its own."""
    reason = [f"Why: {note.why}"] if note.why and first.why and note.why != first.why else []
    return [*reason, *note.rest]


def _merging(page: Page, note: Note, *, others: Sequence[Note]) -> list[Edit]:
    """The edits that confirm ``note`` by ``others``, which go."""
    if not others:
        return []
    count, dates = _counted(note, others)
    return confirming(page.document, note, count=count, dates=dates, also=_added(note, merged(note, others)))


def _added(note: Note, whole: Note) -> list[str]:
    """The lines that ``whole`` has beyond ``note``."""
    before = list(details(note))
    fields = [f"- {each}" for each in details(whole) if each not in before]
    return [*fields, *quoted(whole.rest[len(note.rest) :])]


def _confirmed(rules: Page, known: Sequence[tuple[Note, Note]]) -> list[Edit]:
    """The edits that confirm rules by observations that say the same."""
    by_rule: dict[int, tuple[Note, list[Note]]] = {}
    for rule, note in known:
        by_rule.setdefault(rule.start, (rule, []))[1].append(note)
    return [edit for rule, notes in by_rule.values() for edit in _merging(rules, rule, others=notes)]


def _as_escalated(note: Note, number: int, *, today: date) -> tuple[str, ...]:
    return (
        f"- Pattern: {note.text} ({confirmations_of(note)})",
        f"  → Added as Rule #{number} on {today}",
    )


def _as_archived(note: Note, *, today: date, policy: ObservationPolicy) -> tuple[str, ...]:
    reason = _reason(note, today, policy=policy)
    return as_item(
        note, cells=f"| Confirmations: {note.confirmations} | Archived: {today} | Reason: {reason} |"
    )


def _adding(archive: Page, parts: Sequence[tuple[str, Sequence[tuple[str, ...]]]]) -> list[Edit]:
    """The edits that add items to the parts of the archive; a part that is missing is made, in the order of ``parts``."""
    sections = [*archive.outline.root.sections]
    for section in sections:
        sections += section.sections
    edits: list[Edit] = []
    for title, items in parts:
        lines = [line for item in items for line in item]
        name = title.split()[0].lower()
        there = next((each for each in sections if each.title.lower().startswith(name)), None)
        if lines and there is not None:
            # a list goes on without a blank line, a paragraph needs one
            lead = [] if there.items and there.items[-1].stop == there.end else [""]
            edits.append(Edit(start=there.end, end=there.end, lines=(*lead, *lines)))
        elif lines:
            later = (each.start for each in sections if each.title.startswith(LEGACY.split()[0]))
            # the part of escalated ones stands before that of legacy ones
            at = min(later, default=archive.outline.end)
            edits.append(block_at(archive.document, at, lines=[f"## {title}", "", *lines]))
    return _apart(edits)


def _apart(edits: Sequence[Edit]) -> list[Edit]:
    """The edits, with a blank line between two that are made at one place."""
    apart: list[Edit] = []
    for edit in edits:
        is_beside = bool(apart) and apart[-1].start == edit.start
        lead = ("",) if is_beside and edit.lines[0] else ()
        apart.append(Edit(start=edit.start, end=edit.end, lines=(*lead, *edit.lines)))
    return apart


def _reason(note: Note, today: date, *, policy: ObservationPolicy) -> str:
    days = (today - note.last).days if note.last else 0
    return (
        f"{times(days, 'day')} since it was last noted or confirmed (more than {policy.archive_after_days}), "
        f"with {note.confirmations} of {policy.escalate_after} confirmations"
    )


# Recording


def plan_observe(
    pages: Pages, text: str, *, why: str = "", same_as: str = "", today: date
) -> tuple[dict[str, bytes], Observed]:
    """Plan the recording of an observation: the new contents of files, and the outcome.

    If a rule, an observation or an archived one says the same, it is a confirmation of that.

    Args:
        pages: the folder.
        text: the observation.
        why: its reason.
        same_as: the words of a known one that it confirms, "" where its own words say which.
        today: when it was made.

    Raises:
        InvalidInput: nothing known says ``same_as``, the text is empty or longer than `LONGEST`, or a file is no text.
    """
    text, why = _checked(text, what="an observation"), _checked(why, what="the reason", needed=False)
    # in this order: a rule counts most, the archive is looked at last
    for name, action in ((RULES, "rule"), (OBSERVATIONS, "confirmed"), (OBSERVATION_ARCHIVE, "revived")):
        page = pages[name]
        note = _find(page, same_as or text)
        if note is None:
            continue
        new = new_note(text, why=why, today=today)
        # seen again, so it was archived too early
        if action == "revived":
            return _revive(pages, page, note=note, whole=merged(note, [new]))
        edits, count = _merging(page, note, others=[new]), _counted(note, [new])[0]
        told = Observed(
            action="rule" if action == "rule" else "confirmed" if count else "repeated",
            text=note.text,
            confirmations=note.confirmations + count,
            sessions=note.sessions + count if note.sessions else 0,
            file=name,
            rule=note.number if action == "rule" else None,
        )
        return ({name: page.edited(edits)} if edits else {}), told
    if same_as:
        raise InvalidInput(f"no rule and no observation says {same_as!r}: give its words as they stand there")
    page = pages[OBSERVATIONS]
    known = (note.text for each in (pages[RULES], page) for note in each.notes)
    near = tuple(islice(_may_be_same(text, known), _MOST_NEAR))
    told = Observed(action="recorded", text=text, confirmations=0, file=OBSERVATIONS, near=near)
    return {OBSERVATIONS: page.edited([recording(page, new_note(text, why=why, today=today))])}, told


def _checked(text: str, *, what: str, needed: bool = True) -> str:
    line = without_label(one_line(text))
    if needed and not any(char.isalnum() for char in line):
        raise InvalidInput(f"{what} needs words: {text!r} has none")
    if len(line) > LONGEST:
        raise InvalidInput(
            f"{what} has {len(line):,} characters, at most {LONGEST:,} are kept: say it shorter"
        )
    return line


def new_note(text: str, *, why: str, today: date) -> Note:
    """An observation of today."""
    return Note(
        start=0,
        end=0,
        form="item",
        mark="-",
        text=text,
        number=None,
        date=today,
        confirmations=0,
        sessions=0,
        confirmed=(),
        seen=(),
        last=today,
        why=why,
        also=(),
        fields=(),
        rest=(),
        unread=(),
        place=Place(line=0, start=0, end=0, form="none"),
    )


def _may_be_same(text: str, known: Iterable[str]) -> Iterator[str]:
    return (other for other in near_to(text, known) if not difference(text, other))


def _find(page: Page, text: str) -> Note | None:
    key = key_of(text)
    found = [note for note in page.notes if any(key_of(words) == key for words in note.wordings)]
    return next((note for note in found if text in note.wordings), found[0] if found else None)


def _revive(pages: Pages, archive: Page, *, note: Note, whole: Note) -> tuple[dict[str, bytes], Observed]:
    page = pages[OBSERVATIONS]
    told = Observed(action="revived", text=whole.text, confirmations=whole.confirmations, file=OBSERVATIONS)
    changed = {
        OBSERVATION_ARCHIVE: archive.edited(removing(archive, [note])),
        OBSERVATIONS: page.edited([recording(page, whole)]),
    }
    return changed, told


def recording(page: Page, *notes: Note) -> Edit:
    """The edit that adds ``notes`` to a file of observations, in the form and order that it has."""
    if not page.notes or page.notes[-1].mark[:1].isspace():
        return at_end(page.document, page.outline, lines=[line for note in notes for line in as_item(note)])
    first, last = page.notes[0], page.notes[-1]
    is_newest_first = bool(first.date and last.date and first.date > last.date)
    beside = first if is_newest_first else last
    at = first.start if is_newest_first else last.end
    table = table_of(page.texts, beside.start, dialect=OF_OBSERVATIONS) if beside.form == "row" else None
    if table is not None:
        return Edit(start=at, end=at, lines=tuple(as_row(note, table) for note in notes))
    if beside.form != "item":
        level = len(beside.mark)
        blocks = [as_heading(note, level=level) if level else as_paragraph(note) for note in notes]
        lines = [line for block in blocks for line in (("", *block) if not is_newest_first else (*block, ""))]
    else:
        bullet = beside.mark if beside.number is None else "-"
        lines = [line for note in notes for line in as_item(note, mark=bullet)]
    return Edit(start=at, end=at, lines=tuple(lines))
