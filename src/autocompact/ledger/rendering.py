"""A ledger for a reader: grouped by kind, in the language of the conversation, each line with its reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from autocompact.core.language import WORDS, detect
from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction import Redacted
from autocompact.core.references import reference
from autocompact.ledger.entries import ASKERS, FOLLOWS, POINTER, Entry, Kind

SECTIONS: tuple[tuple[Kind, str], ...] = (
    ("rule", "rules"),
    ("wish", "wishes"),
    ("request", "requests"),
    ("error", "errors"),
    ("todo", "todos"),
    ("step", "stands"),
    ("running", "running"),
    ("finding", "account"),
    ("fact", "said"),
    ("change", "changes"),
    ("file", "files"),
    ("command", "commands"),
    ("identifier", "details"),
)
_STRUCTURE = LazyPattern(r"[#>*+|=~`-]|\d+[.)]|\[|m\d")
_FORGED = LazyPattern(r"\[[ x-]?\]|m\d|#{1,6} |[-*+>] |\d+[.)] |```")
FEW = 6
"""References that are told one by one."""

LONGEST_ALONE = 4_000
"""Characters of a request that is told in a summary which is read alone; its reference leads to the rest."""

MARKS: Mapping[str, str] = {"done": "[x]", "withdrawn": "[-]"}


def render(entries: Sequence[Entry], *, language: str = "") -> Redacted:
    """The entries for a reader: grouped, chronological where order matters; "" for none.

    Args:
        entries: of a ledger.
        language: of the program's words; by default that of the requests.
    """
    return Redacted(
        _rendered(entries, words=WORDS[language or language_of(entries)])
    )  # made of what is redacted


def _rendered(entries: Sequence[Entry], *, words: Mapping[str, Redacted]) -> str:
    by_kind: dict[Kind, list[Entry]] = {}
    for entry in sorted(entries, key=_place):
        by_kind.setdefault(entry.kind, []).append(entry)
    files = {entry.key for kind in ("change", "file") for entry in by_kind.get(kind, ())}
    inside: dict[str, list[Entry]] = {}
    loose: list[Entry] = []
    for entry in by_kind.pop("identifier", []):
        if entry.where in files:
            inside.setdefault(entry.where, []).append(entry)
        else:
            loose.append(entry)
    by_kind["identifier"] = loose
    blocks: list[str] = []
    for kind, heading in SECTIONS:
        found = by_kind.get(kind)
        if found:
            lines = _files(found, inside) if kind in ("change", "file") else _LINES[kind](found, words)
            blocks.append("\n".join([f"## {words[heading]}", *lines]))
    return "\n\n".join(blocks)


def _place(entry: Entry) -> tuple[int, str]:
    """By message; the items of a plan, which all come from one, in their order."""
    return entry.seq, entry.key if entry.kind == "todo" else ""


def language_of(entries: Iterable[Entry]) -> str:
    """The language of the user's requests among ``entries``."""
    entries = [*entries]
    asked = [
        entry.text for entry in entries if entry.kind == "request" and entry.text not in (POINTER, FOLLOWS)
    ]
    # of requests that stand elsewhere the answers tell
    return detect(asked or (entry.text for entry in entries if entry.kind == "finding"))


def _requests(entries: Sequence[Entry], words: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    pointers: list[str] = []
    after = {earlier.seq: later.seq for earlier, later in pairwise(entries)}
    last = max(max(entry.seq, entry.state_seq) for entry in entries)
    for entry in entries:
        if entry.text == POINTER:
            pointers.append(reference(entry.seq))
            continue
        state = _state(entry, words)
        if entry.state == "superseded" and after.get(entry.seq) == entry.state_seq:
            state = f" [{words['corrected']} {reference(entry.state_seq)} ↓]"
        text = _hanging(entry.text)
        if entry.text == FOLLOWS:
            text = f"{words['follows']} ↓"
            state = _with_work(entry, words, last=last) or state
        lines.append(f"- {reference(entry.seq)}{state}: {_question(entry)}{text}")
    earlier = [f"- {words['earlier']}: {_listed(pointers)}"] if pointers else []
    return [*earlier, *lines]


def _with_work(entry: Entry, words: Mapping[str, str], *, last: int) -> str:
    """The state of the request that stands last in the context, with the messages since; "" where there are none.

    Without them a short one ("merged") is taken for the newest word, said of what was done after it.
    """
    if last <= entry.seq + 1:
        return ""
    work = f"{words['since']} {reference(entry.seq + 1)}–{reference(last)}"
    return f" [{words['open']}; {work}]" if entry.state == "open" else f" [{work}]"


def _question(entry: Entry) -> str:
    """The question that a request answers, as it stands before its words; "" if it answers none."""
    question = "" if entry.where in ASKERS.values() else entry.where
    return f"“{question}” → " if question else ""


def told_alone(summary: Redacted, entries: Iterable[Entry]) -> Redacted:
    """``summary`` for a reader who sees no context after it: a request that "stands below" there is told in it.

    Args:
        summary: as the model is shown it.
        entries: of its ledger, with the words of its requests.
    """
    follows = {f"{words['follows']} ↓" for words in WORDS.values()}
    own = {
        reference(entry.seq): entry.text
        for entry in entries
        if entry.kind == "request" and entry.text != FOLLOWS
    }

    def told(line: str) -> str:
        begin, _, text = line.partition(": ")
        question, arrow, last = text.rpartition(" → ")
        words = own.get(begin.removeprefix("- ").split(" [")[0]) if last in follows else None
        if words is None:
            return line
        short = words if len(words) <= LONGEST_ALONE else f"{words[:LONGEST_ALONE]}…"
        return f"{begin}: {question}{arrow}{_hanging(short)}"

    return Redacted("\n".join(map(told, summary.split("\n"))))  # made of the summary and its entries


def _hanging(text: str) -> str:
    return "\n  ".join(text.splitlines())


def _listed(pointers: Sequence[str]) -> str:
    """A few references one by one, of many the first and the last: what lies between is found there."""
    return ", ".join(pointers) if len(pointers) <= FEW else f"{pointers[0]}–{pointers[-1]}"


def _state(entry: Entry, words: Mapping[str, str]) -> str:
    """What became of a request; of one of which only the reply is known, where that stands."""
    state = entry.state or ("answered" if entry.state_seq else "")
    evidence = f" {reference(entry.state_seq)}" if entry.state_seq and state != "open" else ""
    return f" [{words[state]}{evidence}]" if state else ""


def _todos(entries: Sequence[Entry], words: Mapping[str, str]) -> list[str]:
    last = max(max(entry.seq, entry.state_seq) for entry in entries)
    return [
        *(f"- {MARKS.get(entry.state, '[ ]')} {entry.text}" for entry in entries),
        f"({words['resumed']} {reference(last)})",
    ]


def inert(text: str) -> str:
    """``text`` marked as a quotation where at the start of an item it would pass for structure of the ledger."""
    return f"› {text}" if _FORGED.match(text) else text


def _plain(entries: Sequence[Entry], _words: Mapping[str, str]) -> list[str]:
    return [
        f"- {inert(entry.text)} ({reference(entry.seq)})" if entry.seq else f"- {inert(entry.text)}"
        for entry in entries
    ]


def _files(entries: Sequence[Entry], inside: Mapping[str, list[Entry]]) -> list[str]:
    lines: list[str] = []
    for entry in entries:
        path = f"{entry.key} — " if entry.kind == "change" else ""
        lines.append(f"- {path}{entry.text} {reference(entry.seq)}")
        lines += [f"  {line}" for line in excerpts(inside.get(entry.key, ()), at=entry.seq)]
    return lines


def _details(entries: Sequence[Entry], _words: Mapping[str, str]) -> list[str]:
    return excerpts(entries)


def excerpts(entries: Iterable[Entry], *, at: int = 0) -> list[str]:
    """The distinct lines of identifier entries; a reference where the message is no longer ``at``.

    A line without a reference that would pass for a heading, an item or a reference of the ledger is quoted.
    """
    lines: list[str] = []
    shown: set[str] = set()
    for entry in entries:
        if entry.text in shown:
            continue
        shown.add(entry.text)
        if entry.seq not in (0, at):
            lines.append(f"{reference(entry.seq)} {entry.text}")
        else:
            lines.append(f" > {entry.text}" if _STRUCTURE.match(entry.text) else f" {entry.text}")
        at = entry.seq
    return lines


_LINES: Mapping[Kind, Callable[[Sequence[Entry], Mapping[str, str]], list[str]]] = {
    "request": _requests,
    "todo": _todos,
    "error": _plain,
    "running": _plain,
    "rule": _plain,
    "wish": _plain,
    "step": _plain,
    "finding": _plain,
    "fact": _plain,
    "command": _plain,
    "identifier": _details,
}
