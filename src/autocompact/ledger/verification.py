"""What a summary says of a ledger: stated, referenced or missing, and what contradicts it.

The summary may come from anywhere, so nothing is assumed about its form. It is indexed once
(`autocompact.ledger.statements`), and each entry is looked up in it:

- **stated**: said in words, at its present state. Every sentence of the entry's text must stand there, verbatim or with
  four fifths of its tokens close together, numbers and negation included. A file is stated by its name; a change by
  the file's name and what was changed near it; a command by its words and its last outcome; an identifier by its name
  and the words that explain it; a plan's item or a request only where the summary does not say another state of it.
- **referenced**: only pointed to, by a reference (``m12``, ``m3–m20``), or by a name without the words that explain it.
- **missing**: neither.

Entries are counted strictly, since a reader relies on "stated" (how that was checked by reading: docs/reference/benchmarks.md).
"""

from __future__ import annotations

import re
from collections import Counter as Counted
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import cut, filled, one_line, pieces
from autocompact.core.redaction import Redacted
from autocompact.ledger.claims import Claim, claims
from autocompact.ledger.entries import Entry, Kind, Ledger
from autocompact.ledger.statements import NEAR, SHARE, Statements, content, said_in

Standing: TypeAlias = Literal["stated", "referenced", "missing"]

RULE_SHARE, RULE_NEAR = 0.9, 40
"""A rule must stand in nearly its own words, close together."""

LINE_SHARE, LINE_NEAR = 0.9, 100
"""What must stand around a name of the line that explains it."""

CHANGE_NEAR = 500
"""Characters after a file's name in which the change of it must be said."""

FEW, TELLING, SHORT = 2, 5, 8
"""Tokens: fewer must be quoted; are no one thing that is done once; must nearly all stand there."""

OUTCOME_NEAR = 160
_PLACES = 24
_LONGEST_QUOTE = 100
_MOST_NAMES = 200
_REDACTED = "REDACTED"

_SUCCEEDED = LazyPattern(
    r"\b(?:ok|pass(?:es|ed|ing)?|succe\w+|clean|green|works?|worked|0 (?:issues|errors|failures)|no (?:issues|errors)|done|exit (?:code )?0"
    r"|erfolgreich|bestanden|réussi\w*|correct\w*|éxito|пройден\w*)\b|✅|✓|通过|成功|성공",
    re.IGNORECASE,
)
_FAILED = LazyPattern(
    r"\b(?:fail\w*|errors?|broken|exit (?:code )?[1-9]\d*|crash\w*|timed? ?out|fehlgeschlagen|fehler\w*|échou\w*|erreurs?|falló|fall\w*|ошибк\w*)\b|❌|✗|失败|失敗|실패",
    re.IGNORECASE,
)
_EDITED = " — "
"""Stands between how often a file was edited and what that amounts to."""

_NAMED: frozenset[Kind] = frozenset(("file", "change", "command", "identifier"))
_COMMAND = re.compile(r"\A(?:[^`]*`(?P<quoted>[^`]+)`|(?P<plain>.+?)(?: \d+×)? — )")
_CODE_NAME = re.compile(r"`([^`\n]{2,80})`")
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]{2,40}\b")
_FUNCTION = re.compile(r"[A-Za-z_][\w.]{3,60}\(\)")
_FILE = re.compile(
    r"(?<![\w/])(?:[\w@.-]*/)*[\w@.-]+\.(?:pyi?|ipynb|[cm]?[jt]sx?|vue|svelte|go|rs|java|kts?|scala|swift|rb|php|cs|cc|cpp|hpp|[ch]|lua|r|jl|exs?"
    r"|mdx?|rst|txt|jsonl?|ya?ml|toml|ini|cfg|conf|env|xml|html?|s?css|sql|csv|sh|ps1|proto|lock|log|svg|png|pdf)\b(?![/\w])"
)
_IDENTIFIER = re.compile(r"[A-Za-z]+(?:_[A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,}")
_FOLDER = re.compile(r"[\w.@~+-]*(?:/[\w.@~+-]+)*/\Z|[\w.@~+-]+\Z")
_LONGEST_FOLDER = 300
_DEEPER = re.compile(r"/\w")
_WORDS = re.compile(r"\w")
_QUOTES = ('"', "'", "`", "“", "”", "‘", "’", "„", "«", "»", "「", "」", "》", "《")
_CHANGED = re.compile(r"[\w.]{3,}(?=\(\))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Where a summary says what the evidence does not.

    Attributes:
        text: a sentence on what it says and what the evidence is.
        entry: the entry whose state it gets wrong; None for a name that stands nowhere in the conversation.
    """

    text: Redacted
    entry: Entry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What a text says of a ledger.

    Attributes:
        stated: said in words, at its present state.
        referenced: only pointed to.
        missing: neither.
        contradictions: what the text says against the evidence.
    """

    stated: tuple[Entry, ...] = ()
    referenced: tuple[Entry, ...] = ()
    missing: tuple[Entry, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()


def verify(summary: str, ledger: Ledger) -> Verification:
    """Check ``summary``, or a whole context that holds it, against ``ledger``; rules first."""
    checked = Checked(summary, ledger)
    found: dict[Standing, list[Entry]] = {"stated": [], "referenced": [], "missing": []}
    wrong: list[Contradiction] = []
    for entry in sorted(ledger.entries, key=lambda entry: entry.kind != "rule"):
        found[checked.standing(entry)].append(entry)
        if against := checked.contradiction(entry):
            wrong.append(against)
    return Verification(
        stated=tuple(found["stated"]),
        referenced=tuple(found["referenced"]),
        missing=tuple(found["missing"]),
        contradictions=tuple(wrong),
    )


class Checked:
    """One text, indexed for the entries of one ledger."""

    def __init__(self, text: str, ledger: Ledger) -> None:
        self.statements = Statements(text, wanted=(entry.text for entry in ledger.entries))
        paths = (entry.key for entry in ledger.entries if entry.kind in ("file", "change"))
        files = Counted(path.rsplit("/", 1)[-1] for path in paths)
        self._shared = {name for name, count in files.items() if count > 1}

    def standing(self, entry: Entry) -> Standing:
        """Whether the text states ``entry``, only points to it, or does not have it."""
        if self._states(entry):
            return "stated"
        return "referenced" if self._points_to(entry) else "missing"

    def place(self, entry: Entry) -> int:
        """Where in ``statements.text`` a stated entry is said: the character around which its words stand."""
        named = self._named_with_meaning(entry) if entry.kind in _NAMED else self._where(entry.text)
        return next(named, 0)

    def _states(self, entry: Entry) -> bool:
        match entry.kind:
            case "rule":
                return self._says(entry.text, share=RULE_SHARE, near=RULE_NEAR)
            case "finding" | "fact" | "step" | "running":
                return self._says(entry.text)
            case "request" | "todo" | "error":
                return self._says(entry.text) and self._state_is_right(entry)
            case _:
                return next(self._named_with_meaning(entry), None) is not None

    def _named_with_meaning(self, entry: Entry) -> Iterator[int]:
        """Where a thing that has a name is named with what the entry says of it."""
        match entry.kind:
            case "file":
                yield from self._file(entry.key)
            case "change":
                yield from self._file(entry.key) if self._tells_change(entry) else ()
            case "command":
                yield from self.statements.named(_command_of(entry)) if self._tells_outcome(entry) else ()
            case _:
                yield from self._explanations(entry)

    def _points_to(self, entry: Entry) -> bool:
        if self.statements.refers_to(entry.seq):
            return True
        match entry.kind:
            case "change":
                return next(self._file(entry.key), None) is not None
            case "identifier":
                return next(self.statements.named(entry.key), None) is not None
            case _:
                return False

    def _says(self, text: str, *, share: float = SHARE, near: int = NEAR) -> bool:
        """Whether each sentence of ``text`` is said, or all of it stands there as it is.

        A few words prove nothing where others stand around them: "yes" and the like must be quoted.
        """
        flat = " ".join(text.split())
        if not flat.strip(" …"):
            return False
        verbatim = self.statements.named(flat)
        if len(content(text)) < FEW:
            return any(self._quoted(at, at + len(flat)) for at in verbatim)
        if next(verbatim, None) is not None:
            return True
        parts = said_in(text)
        if len(parts) == 1 and len(content(text)) < SHORT:
            share, near = max(share, LINE_SHARE), RULE_NEAR
        return all(self.statements.said(part, share=share, near=near) for part in parts)

    def _quoted(self, start: int, end: int) -> bool:
        """Whether the characters from ``start`` to ``end`` are a quotation or a line of their own, but for its mark."""
        text, line = self.statements.text, self.statements.line_of(start)
        first = self.statements.start_of(line)
        last = first + len(self.statements.lines[line])
        before, after = text[first:start], text[end:last]
        opened = not _WORDS.search(before) or before.endswith(_QUOTES)
        return opened and (not _WORDS.search(after) or after.startswith(_QUOTES))

    def _where(self, text: str) -> Iterator[int]:
        """The places where ``text`` is said: verbatim, or where most of its first sentence is."""
        verbatim = list(islice(self.statements.named(" ".join(text.split())), _PLACES))
        if verbatim:
            yield from verbatim
        else:
            yield from islice(self.statements.all_said(said_in(text)[0]), _PLACES)

    def _claims(self, entry: Entry) -> set[Claim]:
        return set(claims(self.statements, self._where(entry.text))) - {""}

    def _state_is_right(self, entry: Entry) -> bool:
        """Whether nothing, or not only the opposite, is claimed of an entry whose state has evidence."""
        if entry.state not in ("open", "done"):
            return True
        said = self._claims(entry)
        return entry.state in said or (not said and entry.kind != "todo")

    def contradiction(self, entry: Entry) -> Contradiction | None:
        """What the text says against the state of ``entry``; None if nothing."""
        if entry.state not in ("open", "done") or entry.kind not in ("request", "todo", "command"):
            return None
        opposite: Claim = "done" if entry.state == "open" else "open"
        if entry.kind == "command":
            wrong = self._outcomes(entry) == {opposite}
        else:
            # a few words ("run the tests") are done and to be done again
            told = entry.state == "open" or len(content(entry.text)) >= TELLING
            wrong = told and self._says(entry.text) and self._claims(entry) == {opposite}
        if not wrong:
            return None
        seq = entry.state_seq or entry.seq
        quote = one_line(entry.text)
        quote = filled("{}…", cut(quote, end=_LONGEST_QUOTE)) if len(quote) > _LONGEST_QUOTE else quote
        template = _SAYS_DONE if entry.state == "open" else _SAYS_OPEN
        return Contradiction(text=filled(template, quote, seq), entry=entry)

    def _tells_outcome(self, entry: Entry) -> bool:
        """Whether the command stands there with its last outcome near it."""
        if entry.state not in ("open", "done"):
            return self._says(entry.text)
        return entry.state in self._outcomes(entry)

    def _outcomes(self, entry: Entry) -> set[Claim]:
        found: set[Claim] = set()
        name = _command_of(entry)
        for at in islice(self.statements.named(name), _PLACES):
            line = self.statements.lines[self.statements.line_of(at)]
            near = self.statements.text[at + len(name) : at + len(name) + OUTCOME_NEAR]
            near = near[: len(line)] if len(near) > len(line) else near
            failed, succeeded = _FAILED.search(near), _SUCCEEDED.search(near)
            if succeeded and (not failed or succeeded.start() < failed.start()):
                found.add("done")
            elif failed:
                found.add("open")
        return found

    def _file(self, path: str) -> Iterator[int]:
        """Where the file is named: by its path, by an end of it with a folder, by its name if no other file has it.

        A name at the end or the beginning of another path is that of another file.
        """
        parts = path.split("/")
        names = ["/".join(parts[first:]) for first in range(len(parts) - 1)] if len(parts) > 1 else []
        if parts[-1] not in self._shared:
            names.append(parts[-1])
        for name in dict.fromkeys(names):
            for at in self.statements.named(name):
                end = at + len(name)
                folder = _FOLDER.search(self.statements.text[max(0, at - _LONGEST_FOLDER) : at])
                written = (folder[0] if folder else "") + name
                longer = _DEEPER.match(self.statements.text, end) is not None
                if not longer and (path.endswith(written) or written.endswith(path)):
                    yield at

    def _tells_change(self, entry: Entry) -> bool:
        """Whether near the file's name what was changed in it is said: the functions, or most of the words."""
        functions = set(_CHANGED.findall(entry.text))
        for at in islice(self._file(entry.key), _PLACES):
            there = self.statements.text[at : at + CHANGE_NEAR]
            if functions and all(name in there for name in functions):
                return True
        what = entry.text.partition(_EDITED)[2]
        return not functions and bool(what) and self._says(what)

    def names_change(self, entry: Entry) -> bool:
        """True if the text names the file, and all functions that the change names: what changed is told in other words."""
        functions = set(_CHANGED.findall(entry.text))
        if next(self._file(entry.key), None) is None:
            return False
        return all(next(self.statements.named(name), None) is not None for name in functions)

    def _explanations(self, entry: Entry) -> Iterator[int]:
        """The places where the name stands with the words that explain it; with none, where it stands for itself."""
        places = list(islice(self.statements.named(entry.key), _PLACES))
        if not places:
            return
        wanted = content(entry.text.replace(entry.key, " ")) - content(entry.key)
        if wanted:
            held = self.statements.holds
            yield from (
                at
                for at in places
                if held(wanted, at=at, size=len(entry.key), near=LINE_NEAR, share=LINE_SHARE)
            )
        elif entry.text.strip() == entry.key:
            yield from (at for at in places if not _DEEPER.match(self.statements.text, at + len(entry.key)))


_SAYS_DONE = "the summary says done, but the last evidence (m{1}) says open or failed: {0}"
_SAYS_OPEN = "the summary says open or failed, but m{1} shows it done: {0}"


def _command_of(entry: Entry) -> str:
    """The command line of an entry, without what its text says of the outcome."""
    found = _COMMAND.match(entry.text)
    return (found["quoted"] or found["plain"]) if found else entry.key


def unknown_names(summary: Redacted, exists: Callable[[str], bool]) -> tuple[Redacted, ...]:
    """Files, flags, functions and code names of ``summary`` that stand nowhere in the conversation.

    Args:
        summary: a model's summary.
        exists: whether the conversation has these characters anywhere.
    """
    return tuple(pieces(summary, lambda text: (name for name in _names(text) if not exists(_bare(name)))))


def _names(text: str) -> Iterator[str]:
    """Names of files, flags, functions and things in code, each once, the first `_MOST_NAMES`."""
    found: dict[str, None] = {}
    for pattern in (_FILE, _FLAG, _FUNCTION):
        names = (match[0] for match in pattern.finditer(text))
        found.update(dict.fromkeys(name for name in names if _REDACTED not in name))
    for match in _CODE_NAME.finditer(text):
        found.update(dict.fromkeys(_IDENTIFIER.findall(match[1])))
    return islice(found, _MOST_NAMES)


def _bare(name: str) -> str:
    """What must stand somewhere if ``name`` was there: of a path its last part, of a function its name."""
    return name.removesuffix("()").rsplit("/", 1)[-1]
