"""The observation layer: what is noted, confirmed, made a rule, archived.

Every run looks at each observation once. One that says the same as an earlier one, but for order, endings and
synonyms, is a confirmation of it; one that says the same as a rule confirms the rule. Enough confirmations make a rule.
What was neither noted nor confirmed for long is archived. All else stays where it stands, byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal, TypeAlias

from autocompact.errors import InvalidInput
from autocompact.memory.document import Edit
from autocompact.memory.meaning import Alike, meaning, same
from autocompact.memory.notes import Note
from autocompact.memory.pages import OBSERVATION_ARCHIVE, OBSERVATIONS, RULES, Page, Pages
from autocompact.memory.policy import ObservationPolicy
from autocompact.memory.reading import Place
from autocompact.memory.removal import removing
from autocompact.memory.rules import Contradiction, Rule, adding, contradictions, next_number
from autocompact.memory.unread import Unread, unread_in
from autocompact.memory.wording import (
    as_heading,
    as_item,
    at_end,
    confirming,
    details,
    one_line,
    quoted,
    times,
    under_heading,
)

LONGEST = 2_000
"""Characters of an observation or its reason."""

Action: TypeAlias = Literal["recorded", "confirmed", "revived", "rule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What became of an observation that was handed in.

    Attributes:
        action: noted anew, taken as a confirmation, brought back from the archive, or a confirmation of a rule.
        text: the words under which it stands in the file.
        confirmations: how many it has now.
        file: where it stands.
        rule: the rule's number, if it is one and has one.
    """

    action: Action
    text: str
    confirmations: int
    file: str
    rule: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """An observation that was archived, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationRun:
    """What a run of the observation layer did.

    Attributes:
        stayed: observations that are still in OBSERVATIONS.md.
        escalated: the rules that were made.
        archived: what was archived.
        merged: words that were taken as a confirmation of others.
        undated: observations that stay for want of a date.
        contradictions: pairs of rules for a person to look at.
        unread: what looks like an observation or a rule, and is not read as one.
    """

    stayed: int = 0
    escalated: tuple[Rule, ...] = ()
    archived: tuple[Archived, ...] = ()
    merged: tuple[str, ...] = ()
    undated: int = 0
    contradictions: tuple[Contradiction, ...] = ()
    unread: tuple[Unread, ...] = ()


@dataclass(slots=True)
class _Sorted:
    """Where the observations of a file go."""

    stay: list[tuple[Note, list[Note]]] = field(default_factory=list[tuple[Note, list[Note]]])
    escalate: list[Note] = field(default_factory=list[Note])
    archive: list[Note] = field(default_factory=list[Note])
    known: list[tuple[Note, Note]] = field(default_factory=list[tuple[Note, Note]])
    gone: list[Note] = field(default_factory=list[Note])
    merged: list[str] = field(default_factory=list[str])


def plan_observations(
    pages: Pages, *, today: date, policy: ObservationPolicy
) -> tuple[dict[str, bytes], ObservationRun]:
    """What a run of the layer makes of the folder.

    Args:
        pages: the folder.
        today: the day of the run.
        policy: its figures.

    Returns:
        The files that are other than before, and what happened.

    Raises:
        InvalidInput: one of the files is no text.
    """
    page, rules, archive = (pages[name] for name in (OBSERVATIONS, RULES, OBSERVATION_ARCHIVE))
    found = _sort(page.notes, rules.notes, today=today, policy=policy)
    staying = [edit for note, others in found.stay for edit in _merging(page, note, others=others)]
    changed = {
        OBSERVATIONS: page.edited([*staying, *removing(page, found.gone)]),
        RULES: rules.edited([*_confirmed(rules, found.known), *adding(rules, found.escalate, today=today)]),
        OBSERVATION_ARCHIVE: archive.edited(_archiving(archive, found.archive, today=today, policy=policy)),
    }
    first = next_number(rules)
    escalated = tuple(Rule(number=n, text=note.text) for n, note in enumerate(found.escalate, first))
    standing = [Rule(number=note.number, text=note.text) for note in rules.notes]
    run = ObservationRun(
        stayed=len(found.stay),
        escalated=escalated,
        archived=tuple(
            Archived(text=note.text, reason=_reason(note, today, policy=policy)) for note in found.archive
        ),
        merged=tuple(found.merged),
        undated=sum(note.last is None for note, _ in found.stay),
        contradictions=contradictions([*standing, *escalated]),
        unread=(*unread_in(page), *unread_in(rules)),
    )
    return {name: content for name, content in changed.items() if content != pages.files.get(name, b"")}, run


def _sort(notes: Iterable[Note], rules: Iterable[Note], *, today: date, policy: ObservationPolicy) -> _Sorted:
    found = _Sorted()
    known, groups = Alike[Note](), Alike[list[Note]]()
    for rule in rules:
        known.setdefault(rule.text, rule)
    for note in notes:
        groups.setdefault(note.text, []).append(note)
    for first, *others in groups:
        found.merged += [other.text for other in others]
        whole = merged(first, others)
        if rule := known.get(first.text):
            found.known.append((rule, whole))
            found.merged.append(first.text)
        elif whole.confirmations >= policy.escalate_after:
            found.escalate.append(whole)
        elif whole.last and (today - whole.last).days > policy.archive_after_days:
            found.archive.append(whole)
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
    return replace(
        first,
        date=first.date or min(known, default=None),
        confirmations=first.confirmations + sum(note.confirmations + 1 for note in others),
        confirmed=tuple(sorted(day for note in (first, *others) for day in _confirmed_on(note, first))),
        seen=tuple(sorted({day for note in (first, *others) for day in note.seen})),
        last=max((note.last for note in (first, *others) if note.last), default=None),
        why=next((note.why for note in (first, *others) if note.why), ""),
        also=tuple(
            dict.fromkeys((*first.also, *(text for note in others for text in _new_words(note, first))))
        ),
        rest=(*first.rest, *(line for note in others for line in _new_rest(note, first))),
    )


def _confirmed_on(note: Note, first: Note) -> Sequence[date]:
    return note.confirmed if note is first or not note.date else (*note.confirmed, note.date)


def _new_words(note: Note, first: Note) -> list[str]:
    return [text for text in note.wordings if text not in first.wordings]


def _new_rest(note: Note, first: Note) -> list[str]:
    """What else ``note`` says, for ``first``; its reason too where that has one of its own."""
    reason = [f"Why: {note.why}"] if note.why and first.why and note.why != first.why else []
    return [*reason, *note.rest]


def _merging(page: Page, note: Note, *, others: Sequence[Note]) -> list[Edit]:
    """The edits that confirm ``note`` by ``others``, which go."""
    if not others:
        return []
    dates = [day for other in others for day in _confirmed_on(other, note)]
    count = sum(other.confirmations + 1 for other in others)
    return confirming(page.document, note, count=count, dates=dates, also=_added(note, merged(note, others)))


def _added(note: Note, whole: Note) -> list[str]:
    """The lines that ``whole`` has beyond ``note``."""
    before = list(details(note))
    fields = [f"- {each}" for each in details(whole) if each not in before]
    return [*fields, *quoted(whole.rest[len(note.rest) :])]


def _confirmed(rules: Page, known: Sequence[tuple[Note, Note]]) -> list[Edit]:
    """The edits that confirm rules by observations that say the same; each observation is one confirmation more."""
    by_rule: dict[int, tuple[Note, list[Note]]] = {}
    for rule, note in known:
        by_rule.setdefault(rule.start, (rule, []))[1].append(note)
    return [edit for rule, notes in by_rule.values() for edit in _merging(rules, rule, others=notes)]


def _archiving(archive: Page, notes: Sequence[Note], *, today: date, policy: ObservationPolicy) -> list[Edit]:
    if not notes:
        return []
    lines = [
        line
        for note in notes
        for line in as_item(note, fields=[f"Archived: {today}: {_reason(note, today, policy=policy)}"])
    ]
    return [under_heading(archive.document, archive.outline, title=f"{today:%Y-%m}", lines=lines)]


def _reason(note: Note, today: date, *, policy: ObservationPolicy) -> str:
    days = (today - note.last).days if note.last else 0
    return (
        f"{times(days, 'day')} since it was last noted or confirmed (more than {policy.archive_after_days}), "
        f"with {note.confirmations} of {policy.escalate_after} confirmations"
    )


# Recording


def plan_observe(pages: Pages, text: str, *, why: str = "", today: date) -> tuple[dict[str, bytes], Observed]:
    """What an observation makes of the folder.

    If a rule, an observation or an archived one says the same, it is a confirmation of that.

    Args:
        pages: the folder.
        text: the observation.
        why: its reason.
        today: when it was made.

    Raises:
        InvalidInput: the text is empty or longer than `LONGEST`, or a file is no text.
    """
    text, why = _checked(text, what="an observation"), _checked(why, what="the reason", needed=False)
    for name, action in ((RULES, "rule"), (OBSERVATIONS, "confirmed"), (OBSERVATION_ARCHIVE, "revived")):
        page = pages[name]
        note = _find(page, text)
        if note is None:
            continue
        new = new_note(text, why=why, today=today)
        if action == "revived":
            return _revive(pages, page, note=note, whole=merged(note, [new]))
        edits = _merging(page, note, others=[new])
        told = Observed(
            action="rule" if action == "rule" else "confirmed",
            text=note.text,
            confirmations=note.confirmations + 1,
            file=name,
            rule=note.number if action == "rule" else None,
        )
        return {name: page.edited(edits)}, told
    page = pages[OBSERVATIONS]
    told = Observed(action="recorded", text=text, confirmations=0, file=OBSERVATIONS)
    return {OBSERVATIONS: page.edited([recording(page, new_note(text, why=why, today=today))])}, told


def _checked(text: str, *, what: str, needed: bool = True) -> str:
    line = one_line(text)
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
        confirmed=(),
        seen=(),
        last=today,
        why=why,
        also=(),
        fields=(),
        rest=(),
        place=Place(line=0, start=0, end=0, form="none"),
    )


def _find(page: Page, text: str) -> Note | None:
    told = meaning(text)
    alike = (note for note in page.notes if any(same(told, meaning(words)) for words in note.wordings))
    return next((note for note in page.notes if text in note.wordings), None) or next(alike, None)


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
    if beside.form == "heading":
        blocks = [as_heading(note, level=len(beside.mark)) for note in notes]
        lines = [line for block in blocks for line in (("", *block) if not is_newest_first else (*block, ""))]
    else:
        bullet = beside.mark if beside.number is None else "-"
        lines = [line for note in notes for line in as_item(note, mark=bullet)]
    return Edit(start=at, end=at, lines=tuple(lines))
