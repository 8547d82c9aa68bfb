"""The task layer: the last tasks stay in DONE.md in detail, older ones become rows of TASK_ARCHIVE.md.

A row keeps what one asks for later: what the task was, when, how it ended, how many files and tokens it took, its
pattern; in the outcome also passed and failed tests, coverage, duration, commits and decisions with their reasons.
Raw tool output, steps, logs by the minute and diffs go (the backup of the run has them).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from autocompact.core.patterns import LazyPattern
from autocompact.memory.documents.dates import DATE
from autocompact.memory.documents.decisions import decisions_in
from autocompact.memory.documents.meaning import key_of_label
from autocompact.memory.documents.notes import Note
from autocompact.memory.documents.observations import new_note, recording
from autocompact.memory.documents.pages import (
    DONE,
    OBSERVATION_ARCHIVE,
    OBSERVATIONS,
    RULES,
    TASK_ARCHIVE,
    Pages,
)
from autocompact.memory.documents.policy import TaskPolicy
from autocompact.memory.documents.removal import removing
from autocompact.memory.documents.task_table import Row, adding_rows, rows_in
from autocompact.memory.documents.unread import Unread, unread_in
from autocompact.memory.documents.wording import one_line, times

_ID = LazyPattern(r"(?:[A-Z][A-Z0-9]{0,9}-|#)\d+\b")
_DIGITS = "0123456789"
_ENTRY = LazyPattern(
    rf"\s*(?:#{{1,6}}|[-*+]|\d{{1,9}}[.)])\s+(?:\[([ xX])\]\s+)?(?:({DATE})\W+)?({_ID.source})?(.*)",
    re.IGNORECASE,
)
_TAIL = LazyPattern(r"\s*\(([^()]*)\)\s*\Z|\s+(?:[—–→]|->)\s+([^—–→]+)\Z")
_FILES = LazyPattern(r"(\d+)\s+files?\b", re.IGNORECASE)
_TOKENS = LazyPattern(r"~?\s*(\d[\d.,]*\s*[kKmM]?)\s+tokens?\b")
_ACTUAL = LazyPattern(r"(\d[\d.,]*\s?[kKmM]?)\s+(?:tokens?\s+)?actual|\bactual:?\s+(\d[\d.,]*\s?[kKmM]?)")
_PATTERN = LazyPattern(r"patterns?\s*[:=]\s*(.+)", re.IGNORECASE)
_TIME = r"\d+(?:[.,]\d+)?\s*(?:h|hours?|min|minutes?|m|s|sec|seconds?)\b"
_DURATION = LazyPattern(rf"{_TIME}(?:\s*{_TIME})*", re.IGNORECASE)
_TOOK = LazyPattern(rf"\b(?:took|lasted|within)\s+(?:about\s+)?({_TIME}(?:\s*{_TIME})*)", re.IGNORECASE)
_ENDED = LazyPattern(
    r"\b(?:done|completed?|finished|success(?:ful)?|succeeded|fail(?:ed)?|partial(?:ly)?|aborted|abandoned|cancell?ed"
    r"|blocked|merged|shipped|fixed|released|reverted|passed|ok)\b",
    re.IGNORECASE,
)
_PASSED = LazyPattern(
    r"\b\d+\s+(?:tests?\s+)?(?:passed|failed|passing|failing|skipped|errors?)\b", re.IGNORECASE
)
_COVERAGE = LazyPattern(
    r"coverage\D{0,12}(\d{1,3}(?:\.\d+)?\s?%)|(\d{1,3}(?:\.\d+)?\s?%)\s+(?:\w+\s+)?coverage", re.IGNORECASE
)
_COMMIT = LazyPattern(
    r"\bcommit(?:ted|s)?\b\D{0,12}?\b([0-9a-f]{7,40})\b|^\[[\w./-]+ ([0-9a-f]{7,12})\] ",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = LazyPattern(r"\s*(?:```|~~~)")
_DIGIT = LazyPattern(r"\d")
_FIGURE = LazyPattern(r"\s*(\d+)\b(?!\.)")
_AND = LazyPattern(r"[;,]\s*|\s+and\s+")
_COMMA = LazyPattern(r"\s*[;,]\s*")
_CHECKED = LazyPattern(r"\[[ xX]\]\s+")
# What is not worth a place in a row: steps of a numbered list, times of day in front, lines of a diff.
_STEP = LazyPattern(
    r"\s*(?:\d{1,3}[.)]\s|[-*+]?\s*\[?\d{1,2}:\d{2}(?::\d{2})?\]?\s|(?:diff --git|@@ |\+\+\+ |--- |[+-](?![-+\s])))"
)


_NOTED = (RULES, OBSERVATIONS, OBSERVATION_ARCHIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRun:
    """The outcome of a run of the task layer.

    Attributes:
        kept: tasks that are still in DONE.md.
        archived: names of the tasks that became rows.
        proposed: patterns that were noted as observations.
        unclear: names of tasks that stay because open or other tasks stand in them, as an item or a heading below.
        unread: what looks like a task, and is not read as one.
    """

    kept: int = 0
    archived: tuple[str, ...] = ()
    proposed: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()


def plan_tasks(pages: Pages, *, today: date, policy: TaskPolicy) -> tuple[dict[str, bytes], TaskRun]:
    """Plan a run of the layer: the new contents of files, and the outcome.

    Args:
        pages: the folder.
        today: the day of the run.
        policy: its figures.

    Returns:
        The files that are other than before, and what happened.

    Raises:
        InvalidInput: one of the files is no text.
    """
    page, archive = pages[DONE], pages[TASK_ARCHIVE]
    old: list[Note] = []
    unclear: list[Note] = []
    for note in _older(page.notes, policy=policy):
        if not note.unread:
            (unclear if _holds_others(note) else old).append(note)
    rows = [row_of(note) for note in old]
    known = rows_in(archive.texts)
    changed: dict[str, bytes] = {}
    if old:
        changed[TASK_ARCHIVE] = archive.edited(
            adding_rows(archive, rows, archive_format=policy.archive_format)
        )
        changed[DONE] = page.edited(removing(page, old))
    left = {note.start for note in old}
    seen = [*known, *rows, *(row_of(note) for note in page.notes if note.start not in left)]
    proposed = _proposals(pages, seen, today=today, policy=policy)
    if proposed:
        observations = pages[OBSERVATIONS]
        changed[OBSERVATIONS] = observations.edited([recording(observations, *proposed)])
    run = TaskRun(
        kept=len(page.notes) - len(old),
        archived=tuple(row.task for row in rows),
        proposed=tuple(note.text for note in proposed),
        unclear=tuple(_title(note.text)[0] for note in unclear),
        unread=tuple(unread_in(page)),
    )
    return changed, run


def _older(notes: Sequence[Note], *, policy: TaskPolicy) -> list[Note]:
    """The tasks that leave, oldest first."""
    ordered = _by_age(notes)
    return ordered[: max(0, len(ordered) - policy.keep_recent)]


def _holds_others(note: Note) -> bool:
    """True if tasks stand in it that a row would lose.

    These are open ones; those with a date that are checked or have an outcome; and those with a number of the kind that
    the task has.
    """
    entries = [match for line in _unfenced(note.rest) if line and (match := _ENTRY.match(line))]
    own = _ID.search(note.text) if entries else None
    number = own[0] if own and note.form == "heading" else ""
    return any(_is_task(match, own=number) for match in entries)


def _is_task(found: re.Match[str], *, own: str) -> bool:
    """True if an item or a heading in the task ``own`` is a task."""
    box, day, number, rest = found.groups()
    if box == " ":
        return True
    if day and (box or "outcome" in _title(rest)[1]):
        return True
    is_like = bool(own) and (number or "").rstrip(_DIGITS).upper() == own.rstrip(_DIGITS)
    return is_like and number.upper() != own


def _by_age(notes: Sequence[Note]) -> list[Note]:
    """Oldest first. A task without a date is as old as the one before it."""
    dates = [note.date for note in notes if note.date]
    ordered = list(notes)
    if dates and dates[0] > dates[-1]:
        ordered.reverse()
    aged: list[tuple[date, Note]] = []
    at = min(dates[0], dates[-1]) if dates else date.min
    for note in ordered:
        at = note.date or at
        aged.append((at, note))
    return [note for _, note in sorted(aged, key=lambda pair: pair[0])]


def _fields(note: Note) -> dict[str, str]:
    """The values of its fields by name, several of one name joined."""
    fields: dict[str, str] = {}
    for name, value in note.fields:
        if value:
            fields[name] = f"{fields[name]}; {value}" if name in fields else value
    return fields


def row_of(note: Note) -> Row:
    """The row that a task becomes."""
    title, told = _title(note.text)
    fields = _fields(note)
    name = fields.get("id", "")
    if name and name not in title:
        title = f"{name} {title}"
    prose, output = _split(note.rest)
    # what a row says in columns of its own is as short as ours
    others = note.rest if note.form == "row" else ()
    outcome = (*_outcome(fields, told, prose=prose, output=output), *others)
    return Row(
        task=title,
        date=note.date,
        outcome="; ".join(dict.fromkeys(filter(None, outcome))),
        files=_count_files(fields.get("files", "")) or told.get("files", ""),
        tokens=_actual(fields.get("tokens") or told.get("tokens", "")),
        pattern=fields.get("pattern") or told.get("pattern", ""),
    )


def _title(text: str) -> tuple[str, dict[str, str]]:
    """The task without what stands behind it in brackets or after a dash, and what that says."""
    text = _CHECKED.sub("", text, count=1) if _CHECKED.match(text) else text
    match = _TAIL.search(text)
    if match is None:
        return text, {}
    told: dict[str, str] = {}
    for part in re.split(r"\s*[;,]\s*(?!\d{3}\b)", (match[1] or match[2]).strip()):
        kind, value = _part(part)
        told[kind] = f"{told[kind]}, {value}" if kind in told else value
    return (text, {}) if told.keys() == {"other"} else (text[: match.start()], told)


def _part(part: str) -> tuple[str, str]:
    """Kind and value of a part of the brackets."""
    for kind, found in (
        ("pattern", _PATTERN.match(part)),
        ("files", _FILES.fullmatch(part)),
        ("tokens", _TOKENS.fullmatch(part)),
    ):
        if found:
            return kind, found[1].strip()
    if _DURATION.fullmatch(part):
        return "duration", part
    return ("outcome" if _ENDED.search(part) else "other"), part


def _split(rest: Sequence[str]) -> tuple[str, str]:
    """Split the rest of a task into prose and raw output."""
    prose: list[str] = []
    output: list[str] = []
    is_fenced = False
    for line in rest:
        if _FENCE.match(line):
            is_fenced = not is_fenced
        elif is_fenced or _STEP.match(line):
            output.append(line)
        else:
            prose.append(line)
    return "\n".join(prose), "\n".join(output)


def _unfenced(lines: Iterable[str]) -> Iterator[str]:
    is_fenced = False
    for line in lines:
        if _FENCE.match(line):
            is_fenced = not is_fenced
        elif not is_fenced:
            yield line


def _outcome(fields: Mapping[str, str], told: Mapping[str, str], *, prose: str, output: str) -> Iterator[str]:
    """Yield everything that is kept about the outcome of a task."""
    yield fields.get("outcome") or told.get("outcome", "")
    yield told.get("other", "")
    yield fields.get("tests") or _last_figures(prose) or _last_figures(output)
    yield from _prefixed("coverage", fields.get("coverage") or _coverage(f"{output}\n{prose}"))
    yield fields.get("duration") or told.get("duration", "") or _last(_TOOK, prose)
    yield from _prefixed("commit", fields.get("commit") or _commits(f"{prose}\n{output}"))
    issues = fields.get("issues", "")
    yield from _prefixed("issues", "" if issues.lower().strip(" .") in ("none", "0", "-") else issues)
    yield from _prefixed(
        "decided", "; ".join(filter(None, (fields.get("decision", ""), *decisions_in(prose))))
    )


def _prefixed(name: str, value: str) -> Iterator[str]:
    if value:
        yield value if value.lower().startswith(name) else f"{name} {value}"


def _last_figures(text: str) -> str:
    """The figures of the last line that says how many tests passed or failed."""
    lines = reversed(text.split("\n")) if _DIGIT.search(text) else ()
    return next((", ".join(found) for line in lines if (found := _PASSED.findall(line))), "")


def _last(pattern: LazyPattern, text: str) -> str:
    """The last match of ``pattern``, which needs a figure."""
    if not _DIGIT.search(text):
        return ""
    found = [next(filter(None, match.groups())) for match in pattern.finditer(text)]
    return found[-1] if found else ""


def _coverage(text: str) -> str:
    return _last(_COVERAGE, text) if "overage" in text or "OVERAGE" in text else ""


def _commits(text: str) -> str:
    if "comm" not in text.lower() and "[" not in text:
        return ""
    return ", ".join(dict.fromkeys(next(filter(None, match.groups())) for match in _COMMIT.finditer(text)))


def _actual(tokens: str) -> str:
    """The actual figure where an estimate stands beside it."""
    match = _ACTUAL.search(tokens)
    return next(filter(None, match.groups())) if match else tokens


def _count_files(value: str) -> str:
    """Number of files that a field names."""
    if not value:
        return ""
    if match := _FIGURE.match(value):
        return match[1]
    return str(len([name for name in _AND.split(value) if name.strip()]))


# Patterns


def _proposals(pages: Pages, rows: Iterable[Row], *, today: date, policy: TaskPolicy) -> list[Note]:
    """The patterns of enough tasks that nobody noted yet, as observations."""
    seen: dict[str, list[tuple[str, Row]]] = {}
    for row in rows:
        for key, pattern in _patterns(row.pattern).items():
            seen.setdefault(key, []).append((pattern, row))
    often = [found for found in seen.values() if len(found) >= policy.propose_after]
    if not often:
        return []
    noted = {key_of_label(text) for name in _NOTED for note in pages[name].notes for text in note.wordings}
    proposed: list[Note] = []
    for found in often:
        text = Counter(pattern for pattern, _ in found).most_common(1)[0][0]
        if key_of_label(text) not in noted:
            proposed.append(new_note(text, why=_seen_in([row for _, row in found]), today=today))
    return proposed


def _seen_in(rows: Sequence[Row]) -> str:
    names = [(_ID.search(row.task) or [row.task])[0] for row in rows[:5]]
    return f"a pattern of {times(len(rows), 'task')}: {', '.join(names)}{', …' if len(rows) > 5 else ''}"


@lru_cache(maxsize=1 << 10)
def _patterns(value: str) -> Mapping[str, str]:
    """The patterns that a field names, each once."""
    parts = (one_line(part).strip(" .✓✔☑") for part in _COMMA.split(value))
    named = (part for part in parts if any(map(str.isalpha, part)) and part.lower() not in ("none", "n/a"))
    return {key_of_label(part): part for part in named}
