"""Repairing a model's summary: what it does not say is put back, from the ledger, behind it.

What a reader needs most per token comes first, as sentences: open requests; where the work stands; what was found and
why, weighed anew beside each other, since the best of it the summary has; changes by file; commands that failed, with the
reason, and checks with their outcome; open errors; then names with the sentence that explains them. A sentence,
or a part of a change, that the summary says in other words is not repeated, unless it has a number or a name that the
summary has nowhere; what the agent announced or offered is left out. Where summary and additions do not fit together, the summary is
condensed (`autocompact.ledger.condensing`). A summary that cannot be changed gets the same beside it (`beside`).
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial

from msgspec import Struct

from autocompact.core.language import WORDS
from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import edited, filled, joined
from autocompact.core.redaction import Redacted
from autocompact.core.tokens import Counter
from autocompact.ledger.account import account
from autocompact.ledger.condensing import condensed
from autocompact.ledger.deeds import without_printed
from autocompact.ledger.entries import POINTER, Entry, Ledger
from autocompact.ledger.findings import announces, only_intends, ranked_anew
from autocompact.ledger.phrases import ADDED
from autocompact.ledger.rendering import language_of
from autocompact.ledger.rules import rules_section
from autocompact.ledger.shortening import fitted, shortened_text
from autocompact.ledger.statements import Statements, content, exact, said_in
from autocompact.ledger.step import HABITS
from autocompact.ledger.verification import Checked, Verification, change_parts, told_change, verify

ADDED_SHARE = 0.35
"""Share of the budget for which the summary makes room, if that much is missing."""

CONDENSED_TO = 0.55
"""Share of its own size that a summary keeps when it makes room."""

SHARES: Mapping[str, float] = {
    "requests": 0.2, "stands": 0.16, "before": 0.0, "changes": 0.34, "commands": 0.08, "errors": 0.06, "running": 0.04,
    "details": 0.0,
}  # fmt: skip
"""What a part may take of an addition: more for changes than in an account, since a summary tells the story itself."""

IN_OTHER_WORDS, NEARLY_ALL = 0.5, 0.75
"""Weight of the tokens of a sentence that stand together where the summary says it in other words; all but a name or number."""

FILES = 12
"""Files that were only read and are named at most."""

CALLS = 2
"""Last calls that are put back."""

RULES_SHARE = 0.4
"""Share of what stands beside a summary that rules may take before they are shortened."""

HEADINGS = 48
"""Tokens that the headings around an addition take, rounded up."""

_PLANS = LazyPattern(r"\A(?:TodoWrite|update_plan|TaskCreate|TaskUpdate|todo_write|write_todos)\b")
_OFFERS = LazyPattern(
    r"(?:(?:do you )?want me to|would you like|shall I|should I|ready to|let me know|soll ich|voulez-vous|quiere[s]? que)\b|(?:要不要|需要我)",
    re.IGNORECASE,
)
_CALL = LazyPattern(r"[\w.&*]+\(|[\w.\[\]]+,? ?(?::=|[-+]?=) |(?:it|describe|test)\(")
_NUMBERED = LazyPattern(r"\d+-\s")
_NAMED = 0.5
_CHECK, _FAILED = 0.3, 0.5
"""Need of a command that tests, builds or delivers, that any other went well being no news; and of one that failed."""

_LEAST = 25
_PER_LINE = 6
_LONGEST_BEFORE = 120
_GOES_ON = LazyPattern(
    r"(?:it|its|it's|this|that|they|these|those|both|es|das|dies\w*|sie|beide\w*|cela|ceci|ça|c'est|ils|elles|esto|eso|ellos|isso|isto|eles|questo|quello|это|они)\b"
    r"|[这那它]|これ|それ|이것|그것",
    re.IGNORECASE,
)
"""Begins a sentence that says nothing without the one before it, which stays if it has at most so many characters."""

_LEFT_OF_NEED = 0.3


class Repaired(Struct, frozen=True, kw_only=True):
    """A summary with what was missing.

    Attributes:
        text: the whole, within the budget.
        left_out: passages of the summary that made room.
        passages: passages that it had.
    """

    text: Redacted
    left_out: int = 0
    passages: int = 0

    @property
    def notes(self) -> tuple[Redacted, ...]:
        """What of the summary made room, as a sentence for the receipt; empty if nothing."""
        if not self.left_out:
            return ()
        note = "{} of {} passages of the model's summary made room for what it did not say: the log has all"
        return (filled(note, self.left_out, self.passages),)


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
        account(missing, budget=int(budget * ADDED_SHARE), counter=counter, language=language, shares=SHARES)
    )
    wanted += HEADINGS if wanted else 0
    if size + wanted <= budget:
        return Repaired(text=_with(missing, summary, language=language, budget=budget, counter=counter))
    # so much of it stays whatever is missing: it reads better than a list
    goal = max(budget - wanted, int(size * CONDENSED_TO))
    short = condensed(summary, goal, counter=counter, with_code=size > budget)
    left_out, passages = short.left_out, short.passages
    if counter.count(short.text) > budget:
        shorter = shortened_text(
            short.text, budget - min(wanted, int(budget * ADDED_SHARE)), counter=counter, ledger=ledger
        )
        short, left_out, passages = shorter, left_out + shorter.left_out, max(passages, shorter.passages)
    # what made room is missing now
    missing = _missing(short.text, ledger=ledger, verification=verify(short.text, ledger))
    text = _with(missing, short.text, language=language, budget=budget, counter=counter)
    return Repaired(text=text, left_out=left_out, passages=passages)


def beside(seen: Redacted, ledger: Ledger, *, budget: int, counter: Counter) -> Redacted:
    """The most needed of what ``seen`` does not state, for a place beside it; "" if that is nothing.

    Rules come first, since a summary that is not ours has no place for them.

    Args:
        seen: a summary that cannot be changed, and what else of the conversation the model sees.
        ledger: what must survive.
        budget: tokens of the result.
        counter: measures it.
    """
    checked = verify(seen, ledger)
    language = language_of(ledger.entries)
    unstated = (*checked.referenced, *checked.missing)
    heading = WORDS[language]["rules"]
    rules = rules_section(unstated, budget=int(budget * RULES_SHARE), counter=counter, heading=heading)
    others = Ledger(entries=tuple(entry for entry in ledger.entries if entry.kind != "rule"))
    missing = _missing(seen, ledger=others, verification=checked)
    text = _with(missing, rules, language=language, budget=budget, counter=counter)
    return fitted(text, budget, counter=counter)


def _with(missing: Ledger, summary: Redacted, *, language: str, budget: int, counter: Counter) -> Redacted:
    """``summary`` and behind it what of ``missing`` fits."""
    head = edited(filled("{}\n\n**{}**\n\n", summary, ADDED[language]), str.lstrip)
    room = budget - counter.count(head)
    without_files = Ledger(entries=tuple(entry for entry in missing.entries if entry.kind != "file"))
    while room > 0:
        fitting = _in_whole_parts(without_files, int(room * SHARES["changes"]), counter=counter)
        addition = account(fitting, budget=room, counter=counter, language=language, shares=SHARES)
        if not addition:
            break
        repaired = joined("", (head, addition))
        # the account keeps to its budget only about: it is written again, in less, by what was too much
        excess = counter.count(repaired) - budget
        if excess <= 0:
            return _with_files(missing, repaired, language=language, budget=budget, counter=counter)
        room -= excess + 4
    return summary


def _in_whole_parts(ledger: Ledger, budget: int, *, counter: Counter) -> Ledger:
    """The ledger with changes in at most ``budget`` tokens: of the longest the last part goes, then the oldest goes."""
    changes = {at: entry for at, entry in enumerate(ledger.entries) if entry.kind == "change"}
    parts = {at: change_parts(entry.text) for at, entry in changes.items()}
    sizes = {at: _size(changes[at], parts[at], counter=counter) for at in changes}
    total = sum(sizes.values())
    longest = [(-size, at) for at, size in sizes.items() if len(parts[at]) > 2]
    heapq.heapify(longest)
    while longest and total > budget:
        size, at = longest[0]
        parts[at].pop()
        sizes[at] = _size(changes[at], parts[at], counter=counter)
        total += sizes[at] + size
        if len(parts[at]) > 2:
            heapq.heapreplace(longest, (-sizes[at], at))
        else:
            heapq.heappop(longest)
    for at in sorted(sizes, key=lambda at: (changes[at].need, changes[at].seq)):
        if total <= budget:
            break
        total -= sizes.pop(at)
    entries = (
        replace(entry, text=edited(entry.text, partial(_only, parts=parts[at]))) if at in sizes else entry
        for at, entry in enumerate(ledger.entries)
        if at not in changes or at in sizes
    )
    return Ledger(entries=tuple(entries))


def _size(entry: Entry, parts: Sequence[str], *, counter: Counter) -> int:
    return counter.count(f"{entry.key} {told_change(parts)}") + _PER_LINE


def _only(_text: str, *, parts: Sequence[str]) -> str:
    return told_change(parts)


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
    left = [entry for entry in ledger.entries if entry.kind == "todo" and entry.state != "done"]
    whole = any(id(entry) in unstated for entry in left)  # what is left tells little without what is done
    entries = [entry for entry in ledger.entries if id(entry) in unstated or (whole and entry.kind == "todo")]
    checked = Checked(summary, Ledger(entries=tuple(entries)))
    said = exact(summary)
    kept = [_unsaid(entry, checked, plan=bool(left), said=said) for entry in entries]
    put_back = [*_last_calls(entry for entry in kept if entry is not None)]
    put_back = _weighed(put_back, ledger=ledger, statements=checked.statements)
    return Ledger(entries=tuple(sorted(put_back, key=lambda entry: -entry.need)))


def _weighed(left: Sequence[Entry], *, ledger: Ledger, statements: Statements) -> list[Entry]:
    """The entries; findings with what they are worth beside the summary and beside each other."""
    findings = [entry for entry in left if entry.kind == "finding"]
    known: dict[str, float] = {
        entry.key: (1.0 - _LEFT_OF_NEED) * statements.share(entry.text) for entry in findings
    }
    said = [entry for entry in ledger.entries if entry.kind == "finding"]
    worth = ranked_anew(said, findings, known=known)
    return [replace(entry, need=worth[entry.key]) if entry.kind == "finding" else entry for entry in left]


def _last_calls(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries; of the last calls only the very last, and none that writes the plan, whose items are entries.

    How programs are called in general is left to the account: beside a summary that names commands it says little.
    """
    found = [
        entry
        for entry in entries
        if entry.kind != "step" or not (_PLANS.search(entry.text) or entry.key == HABITS)
    ]
    calls = sorted(entry.seq for entry in found if entry.kind == "step" and entry.key.startswith("step call"))
    for entry in found:
        if entry.kind != "step" or not entry.key.startswith("step call") or entry.seq in calls[-CALLS:]:
            yield entry


def _unsaid(entry: Entry, checked: Checked, *, plan: bool, said: Set[str]) -> Entry | None:
    """The entry with what the summary does not say of it; None if that is nothing."""
    statements = checked.statements
    match entry.kind:
        case "request":
            return None if checked.standing(entry) == "referenced" else _request(entry, statements, said=said)
        case "identifier":
            return _explained(entry, statements, said=said)
        case "finding" | "fact":
            return _shorter(entry, statements, said=said)
        case "change":
            return _changed(entry, checked, said=said)
        case "command":
            return _ran(entry)
        case "file":
            return None if checked.standing(entry) == "referenced" else entry
        case _:
            # a rule is never said "in other words": nearly the same is another rule
            stays = entry.kind == "rule" or (entry.kind == "todo" and plan)
            return entry if stays or _is_new(entry.text, statements, said=said) else None


def _ran(entry: Entry) -> Entry | None:
    """A command that failed, needed more: the reason is nowhere else; one that went well only if it tests or delivers."""
    if entry.state == "open":
        return replace(entry, need=max(entry.need, _FAILED))
    return replace(entry, text=edited(entry.text, without_printed)) if entry.need >= _CHECK else None


def _explained(entry: Entry, statements: Statements, *, said: Set[str]) -> Entry | None:
    """A name with the sentence that explains it, needed less where the summary has the name; None without one."""
    if not (_explains(entry.text) and _is_new(entry.text, statements, said=said)):
        return None
    named = next(statements.named(entry.key), None) is not None
    return replace(entry, need=entry.need * _NAMED) if named else entry


def _request(entry: Entry, statements: Statements, *, said: Set[str]) -> Entry | None:
    """The sentences of a request that are new; the reference alone where the summary tells it in other words."""
    new = edited(entry.text, partial(_new_of, about="", statements=statements, said=said, spoken=False))
    return replace(entry, text=new if len(new) >= _LEAST else POINTER)


def _shorter(entry: Entry, statements: Statements, *, said: Set[str]) -> Entry | None:
    """The sentences that are new; what the summary has a part of is needed less."""
    text = edited(
        entry.text, partial(_new_of, about=entry.where, statements=statements, said=said, spoken=True)
    )
    if len(text) < _LEAST:
        return None
    if entry.kind == "finding":  # weighed when all that is left of them is known
        return replace(entry, text=text)
    known = statements.share(text)
    return replace(entry, text=text, need=entry.need * (1.0 - (1.0 - _LEFT_OF_NEED) * known))


def _changed(entry: Entry, checked: Checked, *, said: Set[str]) -> Entry | None:
    """The parts of a change that are new, what happened to the file before them; whole where the file is not named."""
    if not checked.names_file(entry):
        return entry
    what, *parts = change_parts(entry.text)
    new = [part for part in map(partial(_new_names, said=said, checked=checked), parts) if part]
    if not new:
        return None
    need = entry.need * (_NAMED if checked.names_change(entry) else 1.0)
    return replace(entry, text=edited(entry.text, partial(_only, parts=(what, *new))), need=need)


def _new_names(part: str, *, checked: Checked, said: Set[str]) -> str:
    """One part of a change with the functions that the summary does not name; "" if it says the part."""
    mark = _LISTS.match(part)
    if mark is None:
        plain = part.strip("“”")
        if plain != part and (len(content(plain)) < _LEAST_SAID or _HASTE.match(plain)):
            return ""
        return part if _is_new(plain, checked.statements, said=said) else ""
    names = [name for name in part[mark.end() :].split(", ") if exact(name) - said or not exact(name)]
    unknown = [name for name in names if exact(name) or _is_new(name, checked.statements, said=said)]
    return mark[0] + ", ".join(unknown) if unknown else ""


_HASTE = LazyPattern(r"(?:now|next|then|also|let me)\b", re.IGNORECASE)
_LEAST_SAID = 5
"""Tokens of what the agent said of an edit that tell more than that it was made."""

_LISTS = LazyPattern(r"(?:[+−]|changed) ")


def _explains(line: str) -> bool:
    """True if ``line`` is a sentence, not a call, half of one, or what leads to something else."""
    return (
        _CALL.match(line) is None and not announces(line) and not line.rstrip().endswith((":", ",", "…", "("))
    )


def _new_of(text: str, *, about: str, statements: Statements, said: Set[str], spoken: bool) -> str:
    """The sentences of ``text`` that are new, with what they are about before them; "" if there are none."""
    lead = f"{about}: " if about and text.startswith(f"{about}: ") else ""
    parts = said_in(text.removeprefix(lead))
    found = [
        _is_new(part, statements, said=said)
        and not (spoken and (only_intends(part) or _OFFERS.match(part) is not None))
        for part in parts
    ]
    for at in range(len(parts) - 1):
        if found[at + 1] and _GOES_ON.match(parts[at + 1]) and len(parts[at]) <= _LONGEST_BEFORE:
            found[at] = True
    new = [part for part, is_new in zip(parts, found, strict=True) if is_new]
    if len(new) == len(parts):
        return text
    separator = "\n" if "\n" in text else "; " if "; " in text else " "
    return lead + separator.join(new) if new else ""


def _is_new(sentence: str, statements: Statements, *, said: Set[str]) -> bool:
    """True if the summary says ``sentence`` nowhere, or nearly so but without one of its numbers and names."""
    known = statements.share(sentence)
    return known < IN_OTHER_WORDS or (known < NEARLY_ALL and not exact(sentence) <= said)
