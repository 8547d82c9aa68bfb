"""Repairing a model's summary: what it does not say is put back, from the ledger, behind it.

What a reader needs most per token comes first, as sentences: open requests; where the work stands; what was found and
why; changes by file; commands with their outcome; open errors; names with the sentence that explains them. A sentence
that the summary says in other words is not repeated. Where summary and additions do not fit together, the summary is
condensed (`autocompact.ledger.condensing`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from autocompact.core.language import WORDS
from autocompact.core.redacted import edited, filled, joined, own
from autocompact.core.redaction import Redacted
from autocompact.core.tokens import Counter
from autocompact.ledger.account import account
from autocompact.ledger.condensing import condensed
from autocompact.ledger.entries import Entry, Ledger
from autocompact.ledger.phrases import ADDED
from autocompact.ledger.rendering import language_of
from autocompact.ledger.shortening import shortened_text
from autocompact.ledger.statements import Statements, said_in
from autocompact.ledger.verification import Checked, Verification, verify

ADDED_SHARE = 0.35
"""Share of the budget for which the summary makes room, if that much is missing."""

CONDENSED_TO = 0.55
"""Share of its own size that a summary keeps when it makes room."""

IN_OTHER_WORDS = 0.5
"""Weight of the tokens of a sentence that stand together where the summary says it in other words."""

FILES = 12
"""Files that were only read and are named at most."""

CALLS = 2
"""Last calls that are put back."""

HEADINGS = 48
"""Tokens that the headings around an addition take, rounded up."""

_PLANS = re.compile(r"\A(?:TodoWrite|update_plan|TaskCreate|TaskUpdate|todo_write|write_todos)\b")
_NAMED = 0.5
_LEAST = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """A summary with what was missing.

    Attributes:
        text: the whole, within the budget.
        left_out: passages of the summary that made room.
        passages: passages that it had.
    """

    text: Redacted
    left_out: int = 0
    passages: int = 0


def repair_summary(
    summary: Redacted, ledger: Ledger, *, verification: Verification, budget: int, counter: Counter
) -> Repaired:
    """``summary`` with the most needed of what it does not state.

    Args:
        summary: the text that was verified.
        ledger: what it was verified against.
        verification: the result.
        budget: tokens of the whole.
        counter: measures it.
    """
    summary = edited(summary, str.strip)
    size = counter.count(summary)
    missing = _missing(summary, ledger=ledger, verification=verification)
    language = language_of(ledger.entries)
    wanted = counter.count(
        account(missing, budget=int(budget * ADDED_SHARE), counter=counter, language=language)
    )
    wanted += HEADINGS if wanted else 0
    if size + wanted <= budget:
        return Repaired(text=_with(missing, summary, language=language, budget=budget, counter=counter))
    goal = max(budget - wanted, int(size * CONDENSED_TO))
    short = condensed(summary, goal, counter=counter, with_code=size > budget)
    left_out, passages = short.left_out, short.passages
    if counter.count(short.text) > budget:
        shorter = shortened_text(
            short.text, budget - min(wanted, int(budget * ADDED_SHARE)), counter=counter, ledger=ledger
        )
        short, left_out, passages = shorter, left_out + shorter.left_out, max(passages, shorter.passages)
    missing = _missing(short.text, ledger=ledger, verification=verify(short.text, ledger))
    text = _with(missing, short.text, language=language, budget=budget, counter=counter)
    return Repaired(text=text, left_out=left_out, passages=passages)


def _with(missing: Ledger, summary: Redacted, *, language: str, budget: int, counter: Counter) -> Redacted:
    """``summary`` and behind it what of ``missing`` fits."""
    head = edited(filled("{}\n\n**{}**\n\n", summary, ADDED[language]), str.lstrip)
    room = budget - counter.count(head)
    without_files = Ledger(entries=tuple(entry for entry in missing.entries if entry.kind != "file"))
    while room > 0:
        addition = account(without_files, budget=room, counter=counter, language=language)
        if not addition:
            break
        repaired = joined("", (head, addition))
        excess = counter.count(repaired) - budget
        if excess <= 0:
            return _with_files(missing, repaired, language=language, budget=budget, counter=counter)
        room -= excess + 4
    return summary


def _with_files(
    missing: Ledger, repaired: Redacted, *, language: str, budget: int, counter: Counter
) -> Redacted:
    """``repaired`` with the names of files that were only read, where there is room left for some."""
    files = [entry.key for entry in missing.entries if entry.kind == "file"]
    words = WORDS[language]
    for count in (FILES, FILES // 4):
        listed = joined(", ", files[:count])
        longer = filled("{}\n\n## {}\n- {}: {}", repaired, words["files"], words["read"], listed)
        if listed and counter.count(longer) <= budget:
            return longer
    return repaired


def _missing(summary: str, *, ledger: Ledger, verification: Verification) -> Ledger:
    """What to put back, without the sentences that the summary has in other words."""
    unstated = {id(entry) for entry in (*verification.referenced, *verification.missing)}
    plan = any(entry.kind == "todo" and id(entry) in unstated for entry in ledger.entries)
    entries = [entry for entry in ledger.entries if id(entry) in unstated or (plan and entry.kind == "todo")]
    checked = Checked(summary, Ledger(entries=tuple(entries)))
    kept = [_unsaid(entry, checked) for entry in entries]
    left = _last_calls(entry for entry in kept if entry is not None)
    return Ledger(entries=tuple(sorted(left, key=lambda entry: -entry.need)))


def _last_calls(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries; of the last calls only the very last, and none that writes the plan, whose items are entries."""
    found = [entry for entry in entries if entry.kind != "step" or not _PLANS.search(entry.text)]
    calls = sorted(entry.seq for entry in found if entry.kind == "step" and entry.key.startswith("step call"))
    for entry in found:
        if entry.kind != "step" or not entry.key.startswith("step call") or entry.seq in calls[-CALLS:]:
            yield entry


def _unsaid(entry: Entry, checked: Checked) -> Entry | None:
    """The entry with what the summary does not say of it; None if that is nothing."""
    statements = checked.statements
    match entry.kind:
        case "request":
            return _request(entry, statements)
        case "identifier":
            named = next(statements.named(entry.key), None) is not None
            return replace(entry, need=entry.need * _NAMED) if named else entry
        case "finding" | "fact":
            return _shorter(entry, statements)
        case "change":
            return None if checked.names_change(entry) else entry
        case "command" | "rule" | "file" | "todo":
            return entry
        case _:
            return entry if _is_new(entry.text, statements) else None


def _request(entry: Entry, statements: Statements) -> Entry | None:
    """An open request as it is; of one that was done, and that the summary tells, the reference."""
    short = _shorter(entry, statements)
    if short is None:
        return None if statements.refers_to(entry.seq) else replace(entry, text=own("…"))
    return short


def _shorter(entry: Entry, statements: Statements) -> Entry | None:
    text = edited(entry.text, partial(_new_of, about=entry.where, statements=statements))
    return replace(entry, text=text) if len(text) >= _LEAST else None


def _new_of(text: str, *, about: str, statements: Statements) -> str:
    """The sentences of ``text`` that are new, with what they are about before them; "" if there are none."""
    lead = f"{about}: " if about and text.startswith(f"{about}: ") else ""
    parts = said_in(text.removeprefix(lead))
    new = [part for part in parts if _is_new(part, statements)]
    if len(new) == len(parts):
        return text
    separator = "\n" if "\n" in text else "; " if "; " in text else " "
    return lead + separator.join(new) if new else ""


def _is_new(sentence: str, statements: Statements) -> bool:
    return statements.share(sentence) < IN_OTHER_WORDS
