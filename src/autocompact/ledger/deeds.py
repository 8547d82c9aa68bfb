"""What the agent did: files, commands, the plan, and what is still running."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from autocompact.core.actions import todo_items
from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import EMPTY, RedactedJson, cut, edited, filled, joined, own, pieces
from autocompact.core.redaction import Redacted
from autocompact.ledger.changes import definitions
from autocompact.ledger.clipping import clipped
from autocompact.ledger.commands import folder_of, is_check, is_look, short
from autocompact.ledger.entries import ERROR_TOLD, Entry, State
from autocompact.ledger.outcomes import (
    Outcome,
    committed,
    normal,
    quiet_commit,
    was_not_run,
    without_wrappers,
)
from autocompact.ledger.paths import DOCUMENTS
from autocompact.ledger.scan import Call
from autocompact.ledger.todo_table import Row, rows
from autocompact.ledger.wrapping import background_id, launched, names_background, unnumbered

_NAME_OF = LazyPattern(
    r"^(?:class|interface|struct|enum|trait|type|module|namespace|object|record|protocol|impl) |\(\)$"
)
_COLOURS = LazyPattern(r"\x1b?\[(?:\d{1,3}(?:;\d{1,3}){0,4})?[mK]")
_ENDED = LazyPattern(
    r"<status>(?:completed|failed|killed|stopped)</status>|exited with code|completed with exit code|with exit code"
    r"|\b(?:killed|terminated|stopped|has finished|completed successfully)\b",
    re.IGNORECASE,
)
_STATUS: Mapping[State, str] = {
    "": "", "open": "pending", "done": "completed", "superseded": "cancelled", "withdrawn": "cancelled",
}  # fmt: skip
COMMITS = 12
"""Commits that are told by hash and title."""

UNDERWAY: Final = " ←"
_TODO_STATE: Mapping[str, State] = {
    "completed": "done", "complete": "done", "done": "done", "finished": "done", "closed": "done",
    "cancelled": "withdrawn", "canceled": "withdrawn", "deleted": "withdrawn",
}  # fmt: skip


READ_NEED = 0.2

OUTLINE, LONGEST_OUTLINE = 8, 40_000
"""Definitions that are told of a file that was read, and characters of it in which they are looked for."""


class _Read(Struct):
    seq: int
    defines: dict[Redacted, None] = field(default_factory=dict[Redacted, None])


def find_files(
    calls: Sequence[Call],
    *,
    words: Mapping[str, Redacted],
    same: Mapping[Redacted, Redacted] | None = None,
    needs: Mapping[str, float] | None = None,
) -> list[Entry]:
    """The files the agent read, in order of their last reading; what it changed is told by `find_changes`.

    Args:
        calls: in order; calls that failed read nothing.
        words: the words for what happens to a file.
        same: other spellings of a path (`autocompact.ledger.paths.spellings`).
        needs: how likely each name is needed; of many definitions in a file those that are most are told.
    """
    read: dict[Redacted, _Read] = {}
    for call in calls:
        for spelled, effect in call.action.files if not call.is_error else ():
            if effect == "read":
                path = (same or {}).get(spelled, spelled)
                # out and in again: the order is that of the last reading
                one = read[path] = read.pop(path, None) or _Read(call.seq)
                one.seq = call.seq
                # of several files in one output nobody knows which line is whose
                if len(call.action.files) == 1:
                    one.defines |= dict.fromkeys(pieces(cut(call.output, end=LONGEST_OUTLINE), _outline))
    return [
        Entry(
            kind="file",
            text=filled("{} — {}{}", path, words["read"], _told(path, one.defines, needs=needs or {})),
            seq=one.seq,
            key=path,
            need=READ_NEED,
        )
        for path, one in read.items()
    ]


def _outline(output: str) -> list[str]:
    return list(definitions(unnumbered(output)))


def _told(path: str, defines: Mapping[Redacted, None], *, needs: Mapping[str, float]) -> Redacted:
    """The definitions most needed, in the order of the file; "" for none. Only a document has titles."""
    titles = path.endswith(DOCUMENTS)
    order = [name for name in defines if titles or not name.startswith("section ")]
    if not order:
        return EMPTY
    ranked = sorted(range(len(order)), key=lambda at: (-needs.get(_NAME_OF.sub("", order[at]), 0.0), at))
    listed = joined(", ", (order[at] for at in sorted(ranked[:OUTLINE])))
    more = len(order) - OUTLINE
    return filled(": {} (+{} more)", listed, more) if more > 0 else filled(": {}", listed)


class _Run(Struct, frozen=True, kw_only=True):
    """The last run of a command.

    Attributes:
        command: normalised.
        seq: the message that called it.
        outcome: what came of it.
        times: how often it ran.
        passed: the message of the last run before this one that passed; 0 if none did.
    """

    command: Redacted
    seq: int
    outcome: Outcome
    times: int = 1
    passed: int = 0
    printed: Redacted = EMPTY


_PRINTS = " → "
"""Stands before what a command printed last."""

_LINES, _LINE, _END = 4, 120, 200
"""Lines of what a command printed that are told, characters of each, and of all of them."""


def without_printed(command: str) -> str:
    """What is told of a command without what it printed."""
    line, mark, outcome = command.rpartition("` — ")
    return f"{line}{mark}{outcome.partition(_PRINTS)[0]}"


def _ends_with(output: str) -> str:
    """The last lines that a command printed."""
    output = _COLOURS.sub("", unnumbered(without_wrappers(output[-_LINES * _LONGEST_LINE :])))
    lines = [" ".join(line.split())[:_LINE] for line in output.split("\n") if any(map(str.isalnum, line))]
    return clipped(" / ".join(lines[-_LINES:]), _END, end=True)


_LONGEST_LINE = 1_000

_COMMON = 3
"""Commands that end with the same lines, from which on these are the shell's and tell nothing of a command."""


def find_commands(
    calls: Sequence[Call], *, words: Mapping[str, Redacted], errors: Iterable[Entry] = ()
) -> list[Entry]:
    """The commands with what came of their last run; commands that only look at something are left out.

    Args:
        calls: in order.
        words: of the conversation's language.
        errors: the open ones (`autocompact.ledger.failures`): what these say went wrong is not said again.
    """
    failing = {error.key.removeprefix("error "): error.need for error in errors}
    told = {command for command, need in failing.items() if need >= ERROR_TOLD}
    runs: dict[Redacted, _Run] = {}
    commits: dict[Redacted, int] = {}
    for call in calls:
        outcome = call.outcome
        if outcome is None or was_not_run(call.output):
            continue
        if (made := _committed(call)) and not outcome.failed:
            commits[made] = call.seq
            continue
        key = edited(call.action.command, normal)
        before = runs.pop(key, None)
        if is_look(key):
            continue
        printed = edited(call.output, _ends_with)
        runs[key] = _run_again(before, _Run(command=key, seq=call.seq, outcome=outcome, printed=printed))
    printed_by = Counter(run.printed for run in runs.values())
    found = [
        _command_entry(
            run if printed_by[run.printed] < _COMMON else replace(run, printed=EMPTY),
            words=words,
            with_error=run.command not in told,
        )
        for run in runs.values()
        # of a failure that something later made good nobody needs to know
        if run.command in failing or not (run.outcome.failed and is_check(run.command))
    ]
    return [*found, _commits(commits, words=words)] if commits else found


def _committed(call: Call) -> Redacted:
    """What ``call`` committed, as git prints it or as its quiet command says; "" for nothing."""
    printed = edited(call.outcome.counts, committed) if call.outcome else EMPTY
    return printed or edited(call.action.command, partial(quiet_commit, output=call.output))


def _run_again(before: _Run | None, run: _Run) -> _Run:
    """The last run of a command, with how often it ran and where it passed last before."""
    if before is None:
        return run
    passed = before.passed if before.outcome.failed or not before.outcome.known else before.seq
    return replace(run, times=before.times + 1, passed=passed)


def _commits(commits: Mapping[Redacted, int], *, words: Mapping[str, Redacted]) -> Entry:
    """All commits as one entry: hashes and titles of the last `COMMITS`, the newest first."""
    titles = list(commits)[: -COMMITS - 1 : -1]
    seqs = list(commits.values())
    times = filled(" {}×", len(commits)) if len(commits) > 1 else EMPTY
    return Entry(
        kind="command",
        text=filled("`git commit`{} — {}: {}", times, words["passed"], joined("; ", titles)),
        seq=seqs[-1],
        key=filled("git commit {}", seqs[-1]),
        state="done",
        state_seq=seqs[-1],
        need=0.6,
    )


def _command_entry(run: _Run, *, words: Mapping[str, Redacted], with_error: bool) -> Entry:
    outcome = run.outcome
    if not outcome.known:
        return _ran(run)
    said = words["failed"] if outcome.failed else words["passed"]
    code = filled(" ({})", outcome.exit) if outcome.exit else EMPTY
    detail = outcome.counts or (outcome.errors[0] if outcome.errors and with_error else EMPTY)
    if detail:
        detail = filled(": {}", detail)
    elif run.printed and not outcome.failed:
        detail = filled("{}{}", own(_PRINTS), run.printed)
    times = filled(" {}×", run.times) if run.times > 1 else EMPTY
    before = filled("; m{}: {}", run.passed, words["passed"]) if run.passed and outcome.failed else EMPTY
    return Entry(
        kind="command",
        text=filled("`{}`{} — {}{}{}{}", edited(run.command, short), times, said, code, detail, before),
        seq=run.seq,
        key=run.command,
        state="open" if outcome.failed else "done",
        state_seq=run.seq,
        need=0.4 if is_check(run.command) else 0.05,
    )


def _ran(run: _Run) -> Entry:
    """A command of which nobody knows what came of it: that it ran is all there is to say."""
    times = filled(" {}×", run.times) if run.times > 1 else EMPTY
    return Entry(
        kind="command",
        text=filled("`{}`{}", edited(run.command, short), times),
        seq=run.seq,
        key=run.command,
        need=0.4 if is_check(run.command) else 0.05,
    )


class _Item(NamedTuple):
    """An item of a plan; ``evidence`` is the message that says its status."""

    text: Redacted
    status: str
    seq: int
    evidence: int


def find_todos(calls: Sequence[Call], *, earlier: Sequence[Entry] = ()) -> list[Entry]:
    """The items of the latest todo list or plan, and of tasks created one by one, each with its last status.

    ``earlier`` ones stay until another list replaces them, and tasks go on from them.
    """
    tasks = {str(number): _item(entry) for number, entry in enumerate(earlier, start=1)}
    for call in calls:
        if call.is_error:
            continue
        statement = _string(call.action.arguments, "query")
        if statement and call.action.name.lower() == "sql":
            _tabled(tasks, call, statement=statement)
        if call.action.verb != "todo":
            continue
        items = todo_items(call.action)
        if items:
            tasks = {
                str(number): _Item(
                    text=_todo_text(item), status=str(item.get("status", "")), seq=call.seq, evidence=call.seq
                )
                for number, item in enumerate(items, start=1)
            }
        else:
            _task(tasks, call)
    return [
        Entry(
            kind="todo",
            text=filled("{}{}", item.text, own(UNDERWAY)) if item.status == "in_progress" else item.text,
            seq=item.seq,
            key=filled("todo {:03} {}", index, item.text),
            state=_TODO_STATE.get(item.status, "open" if item.status else ""),
            state_seq=item.evidence if item.status else 0,
            need=0.3 if item.status in _TODO_STATE else 0.8,
        )
        for index, item in enumerate(tasks.values())
        if item.text
    ]


def _tabled(tasks: dict[str, _Item], call: Call, *, statement: Redacted) -> None:
    """Take in what a SQL statement says of todos; the id stands behind the title, so that a later one finds it."""
    names = pieces(statement, lambda text: (_with_id(row) for row in rows(text)))
    for row, text in zip(rows(statement), names, strict=True):
        same = next((number for number, item in tasks.items() if item.text.endswith(f"({row.id})")), "")
        if row.title:
            tasks[same or f"sql {row.id}"] = _Item(
                text=text, status=row.status, seq=call.seq, evidence=call.seq
            )
        elif same:
            tasks[same] = tasks[same]._replace(status=row.status, evidence=call.seq)


def _with_id(row: Row) -> str:
    return f"{row.title} ({row.id})"


def _item(entry: Entry) -> _Item:
    """The item of a plan that an earlier ledger's entry was made from."""
    text = edited(entry.text, _without_mark)
    status = _STATUS[entry.state] if text == entry.text else "in_progress"
    return _Item(text=text, status=status, seq=entry.seq, evidence=entry.state_seq)


def _without_mark(text: str) -> str:
    return text.removesuffix(UNDERWAY)


def _todo_text(item: Mapping[str, RedactedJson]) -> Redacted:
    for key in ("content", "step", "title", "text", "description", "task", "subject", "name"):
        if isinstance(value := item.get(key), str) and value:
            return value
    return EMPTY


def _task(tasks: dict[str, _Item], call: Call) -> None:
    arguments = call.action.arguments
    text = next(
        filter(None, (_string(arguments, key) for key in ("subject", "title", "step", "todo"))), EMPTY
    )
    same = next((number for number, item in tasks.items() if item.text == text), "")
    task = call.action.task or same
    status = _string(arguments, "status")
    if task and task in tasks:
        was = tasks[task]
        tasks[task] = was._replace(text=text or was.text, status=status or was.status, evidence=call.seq)
    elif text:
        status = status or own("pending")
        tasks[task or str(len(tasks) + 1)] = _Item(text=text, status=status, seq=call.seq, evidence=call.seq)


def find_running(calls: Sequence[Call], ended: Set[str], *, earlier: Iterable[Entry] = ()) -> list[Entry]:
    """Sub-agents and background processes that were started, ``earlier`` ones too, and not seen to end.

    Args:
        calls: in order.
        ended: ids of tasks of which the client says that they are through.
        earlier: of an earlier ledger.
    """
    running: dict[str, Entry] = {entry.key.removeprefix("running "): entry for entry in earlier}
    folders: dict[str, str] = {}
    for call in calls:
        about = call.action.task
        if about in running and (
            # how it ended is said at the beginning or at the end; a log between them may have such words of its own
            call.action.verb == "stop" or _ENDED.search(call.output[-2_000:] + call.output[:2_000])
        ):
            del running[about]
        if call.outcome is not None and not call.outcome.failed:
            _forget(running, call.action.command, folders=folders)
        task = _started(call)
        if task and task not in running and call.action.verb != "poll":
            running[task] = _running_entry(call, task)
            folders[task] = folder_of(call.action.command)
        elif not call.answered and call.action.verb == "spawn":
            running[call.id] = _running_entry(call, EMPTY)
    return [entry for task, entry in running.items() if task not in ended]


def _forget(running: dict[str, Entry], command: Redacted, *, folders: Mapping[str, str]) -> None:
    """Leave out what was started before by the same command: whoever starts it anew does not wait for the first one.

    In another folder it starts something else. Of what an earlier ledger tells the folder is not known.
    """
    folder = folder_of(command)
    again = edited(edited(command, normal), short)
    for task, entry in list(running.items()):
        is_same = entry.text == again or entry.text.startswith(f"{again} (id ")
        if is_same and folders.get(task, folder) == folder:
            del running[task]


def _started(call: Call) -> Redacted:
    """The id of what ``call`` leaves running, "" for nothing: an agent's report also has the id by which it could go on."""
    ended = call.outcome is not None and call.outcome.known and background_id(call.output)
    if ended or call.action.verb not in ("run", "spawn", "poll", "other"):
        return EMPTY
    match = names_background(call.output)
    if match is None or (match["agent"] and call.action.verb == "spawn" and not launched(call.output)):
        return EMPTY
    return Redacted(next(filter(None, match.groups()), ""))


def _string(arguments: Mapping[str, RedactedJson], key: str) -> Redacted:
    value = arguments.get(key)
    return value if isinstance(value, str) else EMPTY


def _running_entry(call: Call, task: Redacted) -> Entry:
    what = _string(call.action.arguments, "description") or call.action.command or call.action.name
    what = edited(edited(what, normal), short)
    return Entry(
        kind="running",
        text=filled("{} (id {})", what, task) if task else what,
        seq=call.seq,
        key=filled("running {}", task or call.id),
        state="open",
        state_seq=call.answered or call.seq,
        need=0.9,
    )
