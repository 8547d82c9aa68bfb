"""The current step: the agent's last words, its last calls with the end of their results, and what it was about to do."""

from __future__ import annotations

from collections.abc import Sequence

from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import filled, own
from autocompact.core.redaction import Redacted
from autocompact.ledger.changes import edited_lines
from autocompact.ledger.checkout import git_state
from autocompact.ledger.clipping import clipped
from autocompact.ledger.entries import Entry
from autocompact.ledger.habits import habits
from autocompact.ledger.outcomes import error_lines, was_not_run, without_comments, without_wrappers
from autocompact.ledger.passages import passages
from autocompact.ledger.scan import Call
from autocompact.ledger.sightings import Spoken
from autocompact.ledger.wrapping import unnumbered

CALLS = 4
WORDS, CLOSING = 700, 1_600
"""Characters of the last words at most, and of those that close a turn: what comes next is about them. Longer ones keep
their beginning."""

CODE = 400
"""Characters of a block of code that is told as the user is shown it: what is to be put somewhere, or run."""

_SAYS = LazyPattern(r"\w")
_FENCE = LazyPattern(r"[ \t]*(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)\Z")

HABITS = own("step habits")
"""Key of the entry that says how programs are called."""

ARGUMENT, RESULT, LINES = 150, 280, 3
_ENOUGH = 120
"""Characters below which last words say little, so that the ones before, or the last thought, are told too."""


def find_step(spoken: Sequence[Spoken], calls: Sequence[Call]) -> list[Entry]:
    """What the agent said and did last: its words, the checkout, how programs are called, then one entry for each call."""
    last = _last_words(spoken)
    closes = bool(last) and last[-1].voice == "closing" and len(last[-1].text) > WORDS
    told = ((words.seq, _words(words.text, closes=closes)) for words in last)
    entries = [
        _entry(Redacted(text), seq, key=filled("step words {}", index), need=1.0)
        for index, (seq, text) in enumerate(told)
    ]
    git, seq = git_state(calls)
    if git:
        entries.append(_entry(filled("git, as it last told: {}", git), seq, key=own("step git"), need=0.95))
    often, seq = habits(calls)
    if often:
        entries.append(_entry(filled("often run: {}", often), seq, key=HABITS, need=0.85))
    # of equal calls, as when something is waited for, the last; the plan is told by itself
    asked = [call.begun or call for call in calls[-4 * CALLS :] if call.action.verb != "todo"]
    latest = {_what(call): call for call in asked}
    done = sorted(latest.values(), key=_last_heard)[-(CALLS // 2 if closes else CALLS) :]
    return entries + [
        _entry(Redacted(_done(call)), call.seq, key=filled("step call {} {}", call.seq, index), need=0.9)
        for index, call in enumerate(done)
    ]


def _last_heard(call: Call) -> int:
    return max(call.seq, call.answered)


def _entry(text: Redacted, seq: int, *, key: Redacted, need: float) -> Entry:
    return Entry(kind="step", text=text, seq=seq, key=key, need=need)


def _words(text: str, *, closes: bool) -> str:
    """The last words, at more length and with the code that they show where they close a turn."""
    return clipped(_with_code(text), CLOSING) if closes else clipped(_plain(text), WORDS)


def _with_code(text: str) -> str:
    """The words, and short blocks of code between them in one line each; longer ones are left out."""
    told: list[str] = []
    lines: list[str] = []
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        # a block ends with the mark that began it, and nothing behind: what looks like another's beginning stands in it
        if mark and (not fence or (mark["mark"].startswith(fence) and not mark["info"].strip())):
            told.append(_told(lines, is_code=bool(fence)))
            lines, fence = [], "" if fence else mark["mark"]
        else:
            lines.append(line)
    told.append(_told(lines, is_code=bool(fence)))
    return " ".join(filter(None, told)) or text.strip()


def _told(lines: Sequence[str], *, is_code: bool) -> str:
    if not is_code:
        return _plain("\n".join(lines), most=CLOSING)
    code = " / ".join(line.strip() for line in lines if line.strip())
    return f"`{code}`" if 0 < len(code) <= CODE else ""


def _plain(text: str, *, most: int = WORDS) -> str:
    """The words without their markup; those of nothing but code as they are."""
    told: list[str] = []
    size = 0
    for passage in passages(text):
        told.append(passage.told)
        size += len(told[-1])
        if size > most:
            break
    return " ".join(told) or text.strip()


def _last_words(spoken: Sequence[Spoken]) -> list[Spoken]:
    """The last words; where they say little, what was said or thought before them as well."""
    found: list[Spoken] = []
    size = 0
    for words in reversed(spoken):
        again = found and words.text.strip() == found[-1].text.strip()
        if words.is_own and not again:
            found.append(words)
            size += len(words.text)
        if size >= _ENOUGH or len(found) == 3:
            break
    return found[::-1]


def _what(call: Call) -> str:
    action = call.action
    what = without_comments(action.command) or (action.files[0][0] if action.files else _values(call))
    return f"{action.name} {clipped(what, ARGUMENT)}".strip()


def _done(call: Call) -> str:
    if not call.answered:
        return f"{_what(call)} → …"
    failed = call.outcome.failed if call.outcome else call.is_error
    if failed and not was_not_run(call.output):
        counts = (call.outcome.counts,) if call.outcome and call.outcome.counts else ()
        told = " / ".join(dict.fromkeys((*counts, *error_lines(call.output))))
        return f"{_what(call)} → {clipped(told, RESULT) or '(failed)'}"
    if call.action.verb in ("edit", "create") and not was_not_run(
        call.output
    ):  # that the file was written says every program in its own words
        return f"{_what(call)}: {clipped(edited_lines(call.action), ARGUMENT)}".removesuffix(": ")
    if (
        call.action.verb == "read" and call.action.files
    ):  # the end of a file tells nobody what was looked for in it
        return _what(call)
    output = unnumbered(without_wrappers(call.output))
    lines = [line for line in map(str.strip, output.split("\n")) if _SAYS.search(line)]
    end = clipped(" / ".join(line[:RESULT] for line in lines[-LINES:]), RESULT, end=True)
    return f"{_what(call)} → {end or '(nothing)'}"


def _values(call: Call) -> str:
    values = (value for value in call.action.arguments.values() if isinstance(value, str | int | float))
    return (
        " ".join(str(value) for value in values if value is not True and value is not False)
        or call.action.text
    )
