"""What a summary says of a ledger: stated, referenced or missing, and what contradicts it.

The summary may come from anywhere, so nothing is assumed about its form. It is indexed once
(`autocompact.ledger.statements`), and each entry is looked up in it:

- **stated**: said in words, at its present state. Every sentence of the entry's text must stand there, verbatim or with
  four fifths of its tokens close together, numbers, quantifiers and negation included, and none of them as the opposite
  state; an announcement ("Let me push") only verbatim. A file that was read is stated where that is said of it; a change
  by every part of it near the file's name; a command by its words and its last outcome; an identifier by its name and the
  words that explain it; a plan's item or a request only with its state.
- **referenced**: only pointed to, by a reference (``m12``, ``m3–m20``), by a name without the words that explain it, or, of a
  request, by a quotation that does not say what became of it.
- **missing**: neither.

Entries are counted strictly, since a reader relies on "stated" (how that was checked by reading: docs/reference/benchmarks.md).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Literal, TypeAlias

from msgspec import Struct

from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import cut, filled, one_line, pieces
from autocompact.core.redaction import Redacted
from autocompact.ledger.changes import without_values
from autocompact.ledger.claims import Claim, called_off, claim, claims, heading
from autocompact.ledger.entries import Entry, Ledger
from autocompact.ledger.findings import announces
from autocompact.ledger.lines import is_code
from autocompact.ledger.statements import NEAR, SHARE, Statements, content, said_in

Standing: TypeAlias = Literal["stated", "referenced", "missing"]
Span: TypeAlias = tuple[int, int]
"""The first character of a place and the one after its last."""

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

_WISHED = LazyPattern(
    r"\b(?:must|should|shall|will|would|can|could|may|might|until|if|when|whether|once|before|after|unless|sure|ensures?|expect\w*|verify|check|see|confirm"
    r"|muss|soll\w*|wenn|falls|sobald|bis|ob|doit|si|quand|debe\w*|cuando)(?:[ `]+[\w/-]+){0,4}[ `]*\Z|\bto(?: \w+)? ?\Z|(?:必须|应该|如果|确认)\w{0,4}\Z",
    re.IGNORECASE,
)
"""Ends the words before an outcome, or a command, that is only wished for, or asked about."""

_READ = LazyPattern(
    r"\b(?:read|reads|reading|examined|viewed|reviewed|inspected|studied|looked (?:at|into|through)|analy[sz]ed|explored|opened"
    r"|gelesen|lu|lue|lus|lues|leído|leídos|lido|lidos|letto|letti|прочитан\w*)\b|读|読|阅读|읽",
    re.IGNORECASE,
)
_ASKED = LazyPattern(
    r"request|user messages|asked|Anfragen|Aufgabe|demandes|peticiones|请求|依頼|요청", re.IGNORECASE
)
"""Heads what the user said: an order to read a file does not say that it was read."""

_URL = LazyPattern(r"https?://[^\s)>\]\"'`]+")
_BESIDE, _SHORT_CODE, _FEW_EXPLAIN = 40, 4, 3
_WAS_ASKED = LazyPattern(
    r"\b(?:also )?asked\b|\b(?:fragte|a demandé|preguntó|ha chiesto|perguntou)\b|问|聞いた|물었",
    re.IGNORECASE,
)
"""Says that something was asked, at some time, whatever became of it."""

_NEXT = LazyPattern(r"[^\w\n]{0,8}(?:now|next|then|first)\b", re.IGNORECASE)
_SHORT_NEXT = 14
"""Words of a sentence that begins so and says what comes now."""

_AGAIN = LazyPattern(
    r"\b(?:run|test|tests|check|verify|lint|format|build|commit|push|review|deploy|look|read|wait|update)\b",
    re.IGNORECASE,
)
_JOINED = LazyPattern(r"\s*(?:&&|\|\|?|;|\\)")
_JOINED_BEFORE = LazyPattern(r"(?:&&|\|\|?|;|\b(?:cd|sudo|time|env) \S*)\s*\Z")
_READ_AS = ": "
"""Stands between a file that was read and what it defines."""

_CODE_MARK = LazyPattern(r"\A\s*(?:[-+*>]|//|#|\d+[:|→])*\s+")
_CHANGE_PARTS = LazyPattern(
    r"; (?=[+−“] ?|changed |now `|without `|[\w.$]+\(\)(?:: | \{)"
    r"|(?:type|class|interface|struct|enum|trait|module|namespace|object|record|protocol|impl|section|test) ['\"\w])"
)
_CHANGE_MARK = LazyPattern(r"\A(?:[+−]|changed|now|without) ")
_GOES_ON = LazyPattern(r"\s+(?:--?\w|[\"'$<>&./~\\])")
"""Behind a command's last word: there is more of it, so this is another one."""

_TO_ITS_END = LazyPattern(r"[\s…;]*`")
_QUOTED_CODE = LazyPattern(r"`([^`\n]{3,200})`")
_COMMAND = LazyPattern(r"\A(?:[^`]*`(?P<quoted>[^`]+)`|(?P<plain>.+?)(?: \d+×)? — )")
_CODE_NAME = LazyPattern(r"`([^`\n]{2,80})`")
_FLAG = LazyPattern(r"(?<![\w-])--[a-z][a-z0-9-]{2,40}\b")
_FUNCTION = LazyPattern(r"[A-Za-z_][\w.]{3,60}\(\)")
_FILE = LazyPattern(
    r"(?<![\w/])(?:[\w@.-]*/)*[\w@.-]+\.(?:pyi?|ipynb|[cm]?[jt]sx?|vue|svelte|go|rs|java|kts?|scala|swift|rb|php|cs|cc|cpp|hpp|[ch]|lua|r|jl|exs?"
    r"|mdx?|rst|txt|jsonl?|ya?ml|toml|ini|cfg|conf|env|xml|html?|s?css|sql|csv|sh|ps1|proto|lock|log|svg|png|pdf)\b(?![/\w])"
)
_IDENTIFIER = LazyPattern(r"[A-Za-z]+(?:_[A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+|(?:[A-Z][a-z0-9]+){2,}")
_FOLDER_BACKWARDS = LazyPattern(r"/(?:[\w.@~+-]+/)*[\w.@~+-]*|[\w.@~+-]+")
"""The folders before a name, or what it is only the end of; read backwards from the name, each character once."""

_LONGEST_FOLDER = 300
_DEEPER = LazyPattern(r"/[\w.@~+-]")
_WORDS = LazyPattern(r"\w")
_QUOTES = ('"', "'", "`", "“", "”", "‘", "’", "„", "«", "»", "「", "」", "》", "《")
_CHANGED = LazyPattern(r"[\w.]{3,}(?=\(\))")


class Contradiction(Struct, frozen=True, kw_only=True):
    """Where a summary says what the evidence does not.

    Attributes:
        text: a sentence on what it says and what the evidence is.
        entry: the entry whose state it gets wrong; None for a name that stands nowhere in the conversation.
    """

    text: Redacted
    entry: Entry | None = None


class Verification(Struct, frozen=True, kw_only=True):
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
        self._alike = Counter(
            " ".join(entry.text.split()) for entry in ledger.entries if entry.kind == "request"
        )
        """How many requests are in the same words: one "ok" is not the other."""
        self._paths: dict[str, set[str]] = {}
        for entry in ledger.entries:
            if entry.kind in ("file", "change"):
                self._paths.setdefault(entry.key.rsplit("/", 1)[-1], set()).add(entry.key)

    def standing(self, entry: Entry) -> Standing:
        """Whether the text states ``entry``, only points to it, or does not have it."""
        if self.places(entry):
            return "stated"
        return "referenced" if self._points_to(entry) else "missing"

    def places(self, entry: Entry) -> tuple[Span, ...]:
        """Where ``entry`` is stated, a span of ``statements.text`` for each of its parts; none if it is not."""
        match entry.kind:
            case "rule":
                return self._said(entry.text, share=RULE_SHARE, near=RULE_NEAR)
            case "request" | "todo" | "error":
                said = self._said(entry.text)
                return said if said and self._state_is_right(entry) else ()
            case "file":
                return self._one(self._read(entry), entry.key)
            case "change":
                return self._changed(entry)
            case "command":
                return self._one(self._outcome_told(entry), _command_of(entry))
            case "identifier":
                return self._one(self._explanations(entry), entry.key)
            case _:
                return self._said(entry.text)

    def _one(self, found: Iterator[int], name: str) -> tuple[Span, ...]:
        """The first of the places of ``name`` as the only span; none if there is none."""
        return tuple((at, at + len(name)) for at in islice(found, 1))

    def _points_to(self, entry: Entry) -> bool:
        if self.statements.refers_to(entry.seq):
            return True
        match entry.kind:
            case "change" | "file":
                return next(self._file(entry.key), None) is not None
            case "identifier":
                return next(self.statements.named(entry.key), None) is not None
            case "request":  # quoted, but not what became of it
                return bool(self._said(entry.text))
            case _:
                return False

    def _said(self, text: str, *, share: float = SHARE, near: int = NEAR) -> tuple[Span, ...]:
        """Where each sentence of ``text`` is said, or all of it as it is; none if one of them is not.

        A few words prove nothing where others stand around them: "yes" and the like must be quoted.
        """
        flat = " ".join(text.split())
        if not flat.strip(" …"):
            return ()
        verbatim = self.statements.named(flat)
        # "yes" stands in any text, so it counts as often as it is quoted: two requests of it need two quotations
        if len(content(text)) < FEW:
            quoted = [at for at in verbatim if self._quoted(at, at + len(flat))]
            return self._one(iter(quoted), flat) if len(quoted) >= self._alike[flat] else ()
        if whole := self._one(verbatim, flat):
            return whole
        spans: list[Span] = []
        for part in said_in(text):
            span = self._part_said(part, share=share, near=near)
            if span is None:
                return ()
            spans.append(span)
        return tuple(spans)

    def _part_said(self, part: str, *, share: float, near: int) -> Span | None:
        """Where one sentence is said: an announcement word for word, any other not as its opposite."""
        flat = " ".join(part.split())
        for at in self.statements.named(flat):
            return at, at + len(flat)
        if _is_announced(part):
            return None
        if len(content(part)) < SHORT:
            # four fifths of a few tokens may lack the one that matters
            share, near = max(share, LINE_SHARE), RULE_NEAR
        urls, code = _URL.findall(part), _QUOTED_CODE.findall(part)
        for names, pattern in ((urls, _URL), (code, _QUOTED_CODE)):
            if names and len(content(pattern.sub(" ", part))) >= FEW:
                part = pattern.sub(" ", part)  # one name, however many words it has
        half = near + len(part) // 2
        # a common phrase has thousands of places: the first ones have to show it
        for at in islice(self.statements.all_said(part, share=share, near=near), _PLACES):
            there = self.statements.text[max(0, at - len(part)) : at + len(part)]
            wide = self.statements.text[max(0, at - half - len(flat)) : at + half + len(flat)]
            # what was cut off there may have turned the sense
            whole = "…" in part or "…" not in there
            named = all(url in self.statements.text for url in urls) and all(each in wide for each in code)
            if whole and named and self._is_not_denied(part, at=at):
                return max(0, at - half), min(len(self.statements.text), at + half)
        return None

    def _is_not_denied(self, sentence: str, *, at: int) -> bool:
        """Whether the line at ``at`` does not say another state than ``sentence`` does."""
        return next(claims(self.statements, iter((at,)))) in (said := claim(sentence), "") or not said

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
        places = chain(self._where(entry.text), self._marked(entry))
        return set(claims(self.statements, places, of=entry.text)) - {""}

    def _marked(self, entry: Entry) -> Iterator[int]:
        """Where an item gives a request's state beside its reference: its words may stand below (``- m3 [done m9]: …``)."""
        mark = f"m{entry.seq}"
        for at in self.statements.named(mark) if entry.kind == "request" else ():
            first = self.statements.start_of(self.statements.line_of(at))
            is_item = not _WORDS.search(self.statements.text[first:at])
            if is_item and self.statements.text.startswith(" [", at + len(mark)):
                yield at

    def _state_is_right(self, entry: Entry) -> bool:
        """True if the text tells the state of ``entry``, where there is evidence of one, and not the opposite.

        A list of what the user said quotes every request, whatever became of it: a quotation there tells no state.
        """
        if entry.state in ("superseded", "withdrawn"):
            return called_off(self.statements, self._where(entry.text), of=entry.text)
        if entry.state not in ("open", "done"):
            return True
        said = self._claims(entry)
        if said or entry.kind == "todo":
            return entry.state in said
        return entry.kind != "request" or (entry.state == "open" and not self._only_listed(entry))

    def _only_listed(self, entry: Entry) -> bool:
        """True if the text has ``entry`` only where it tells what the user said, in a list or in passing."""
        lines, own = self.statements.lines, " ".join(entry.text.split())
        found = [self.statements.line_of(at) for at in self._where(entry.text)]
        return all(
            _ASKED.search(heading(lines, line)) or _WAS_ASKED.search(lines[line].replace(own, ""))
            for line in found
        )

    def contradiction(self, entry: Entry) -> Contradiction | None:
        """What the text says against the state of ``entry``; None if nothing."""
        if entry.state not in ("open", "done") or entry.kind not in ("request", "todo", "command"):
            return None
        opposite: Claim = "done" if entry.state == "open" else "open"
        if entry.kind == "command":
            wrong = self._outcomes(entry) == {opposite}
        else:
            told = entry.state == "open" or self._is_one_thing(entry)
            wrong = told and bool(self._said(entry.text)) and self._claims(entry) == {opposite}
        if not wrong:
            return None
        seq = entry.state_seq or entry.seq
        quote = one_line(entry.text)
        quote = filled("{}…", cut(quote, end=_LONGEST_QUOTE)) if len(quote) > _LONGEST_QUOTE else quote
        template = _SAYS_DONE if entry.state == "open" else _SAYS_OPEN
        return Contradiction(text=filled(template, quote, seq), entry=entry)

    def _is_one_thing(self, entry: Entry) -> bool:
        """Whether what is done is no work that comes again: a few words ("run the tests") may be to be done once more."""
        tokens = content(entry.text)
        if len(tokens) >= TELLING:
            return True
        flat = " ".join(entry.text.split())
        stands = (self._quoted(at, at + len(flat)) for at in self.statements.named(flat))
        return len(tokens) > FEW and _AGAIN.search(flat) is None and any(stands)

    def _outcome_told(self, entry: Entry) -> Iterator[int]:
        """Where the command stands with its last outcome near it."""
        if entry.state not in ("open", "done"):
            yield from (start for start, _ in self._said(entry.text)[:1])
        elif self._outcomes(entry) and next(self._ran(entry, entry.state), None) is not None:
            yield from self._ran(entry, entry.state)

    def _outcomes(self, entry: Entry) -> set[Claim]:
        """What the text says of how the command ended."""
        outcomes: tuple[Claim, Claim] = ("done", "open")
        return {each for each in outcomes if next(self._ran(entry, each), None) is not None}

    def _ran(self, entry: Entry, outcome: str) -> Iterator[int]:
        """Where the command stands as one that ended with ``outcome``; not where it is part of another command."""
        name, text = _command_of(entry), self.statements.text
        for at in islice(self.statements.named(name), _PLACES):
            before = text[max(0, at - 80) : at]
            if _JOINED_BEFORE.search(before) or _WISHED.search(before) or self._goes_on(at + len(name)):
                continue
            line = self.statements.line_of(at)
            end = self.statements.start_of(line) + len(self.statements.lines[line])
            if _outcome(text[at + len(name) : min(end, at + len(name) + OUTCOME_NEAR)]) == outcome:
                yield at

    def _goes_on(self, end: int) -> bool:
        """Whether the command whose words end at ``end`` has more of them there: then it is another command."""
        text, line = self.statements.text, self.statements.line_of(end)
        if _JOINED.match(text, end) or _GOES_ON.match(text, end):
            return True
        start = self.statements.start_of(line)
        is_inside = text.count("`", start, end) % 2 == 1
        return is_inside and _TO_ITS_END.match(text, end) is None

    def _file(self, path: str) -> Iterator[int]:
        """Where the file is named: by its path, by an end of it that no other file has.

        A name at the end or the beginning of another path is that of another file.
        """
        parts = path.split("/")
        names = ("/".join(parts[first:]) for first in range(len(parts)))
        for name in dict.fromkeys(name for name in names if name):
            for at in self.statements.named(name):
                end = at + len(name)
                before = self.statements.text[max(0, at - _LONGEST_FOLDER) : at]
                folder = _FOLDER_BACKWARDS.match(before[::-1])
                written = (folder[0][::-1] if folder else "") + name
                longer = _DEEPER.match(self.statements.text, end) is not None
                if not longer and self._is_meant(path, written=written):
                    yield at

    def _is_meant(self, path: str, *, written: str) -> bool:
        """Whether ``written`` is an end of ``path`` and of no other file's."""
        if written == path or (written.endswith(path) and written.startswith(("~", "/"))):
            return True
        same = self._paths.get(written.rsplit("/", 1)[-1], ())
        return path.endswith(f"/{written}") and sum(f"/{one}".endswith(f"/{written}") for one in same) < 2

    def _read(self, entry: Entry) -> Iterator[int]:
        """Where it is said of the file that it was read, beside its name or by the heading above it, and what it defines."""
        defines = content(entry.text.partition(_READ_AS)[2])
        for at in islice(self._file(entry.key), _PLACES):
            line = self.statements.line_of(at)
            start, above = self.statements.start_of(line), heading(self.statements.lines, line)
            before = self.statements.text[max(start, at - NEAR) : at]
            after = self.statements.lines[line][at - start + len(entry.key) :][:_BESIDE]
            if _ASKED.search(above) or not any(_READ.search(words) for words in (before, after, above)):
                continue
            if self.statements.holds(defines, at=at, size=len(entry.key), near=CHANGE_NEAR):
                yield at

    def _changed(self, entry: Entry) -> tuple[Span, ...]:
        """Where the file is named with every part of what was changed near it, as something that was done."""
        flat = without_values(" ".join(entry.text.split()))
        parts = change_parts(flat)[1:]
        for at in islice(self._file(entry.key), _PLACES):
            end = min(len(self.statements.text), at + len(entry.key) + max(CHANGE_NEAR, len(flat) + NEAR))
            if flat in self.statements.text[at:end]:
                return ((at, at + len(entry.key) + len(flat) + NEAR),)
            if parts and next(claims(self.statements, iter((at,)), of=entry.key)) != "open":
                near = self._about_file(at)
                if all(_tells(near, part) for part in parts):
                    return ((at, at + len(near)),)
        return ()

    def _about_file(self, at: int) -> str:
        """The words from a file's name at ``at`` to the next line that names a file, at most `CHANGE_NEAR` characters."""
        first = self.statements.line_of(at)
        end = at + CHANGE_NEAR
        for line in range(first + 1, len(self.statements.lines)):
            start = self.statements.start_of(line)
            if start >= end or _FILE.search(self.statements.lines[line]):
                return self.statements.text[at : min(start, end)]
        return self.statements.text[at:end]

    def names_file(self, entry: Entry) -> bool:
        """True if the text names the file of a change."""
        return next(self._file(entry.key), None) is not None

    def names_change(self, entry: Entry) -> bool:
        """True if the text names the file, and all functions that the change names: what changed is told in other words."""
        functions = set(_CHANGED.findall(entry.text))
        return self.names_file(entry) and all(
            next(self.statements.named(name), None) is not None for name in functions
        )

    def _explanations(self, entry: Entry) -> Iterator[int]:
        """The places where the name stands with the words that explain it; with none, where it stands for itself."""
        places = [
            at
            for at in islice(self.statements.named(entry.key), _PLACES)
            if not _DEEPER.match(self.statements.text, at + len(entry.key))
        ]
        if not places:  # as of most names
            return
        wanted = content(entry.text.replace(entry.key, " ")) - content(entry.key)
        # few words stand near a name by chance, and code is said by its very line
        if wanted and (len(wanted) < _FEW_EXPLAIN or _is_literal(entry.text)):
            yield from self._within(_CODE_MARK.sub("", entry.text).strip("… "), places)
        elif wanted:
            yield from (
                at
                for at in places
                if self.statements.holds(wanted, at=at, size=len(entry.key), near=LINE_NEAR, share=LINE_SHARE)
                and self._is_not_denied(entry.text, at=at)
            )
        elif entry.text.strip() == entry.key:
            yield from places

    def _within(self, line: str, places: Iterable[int]) -> Iterator[int]:
        """Those of the places of a name that stand in ``line`` as it is."""
        flat = " ".join(line.split())
        whole = [*self.statements.named(flat)]
        yield from (at for at in places if any(start <= at < start + len(flat) for start in whole))


def change_parts(text: str) -> list[str]:
    """What happened to a file, and then each part of what that amounts to, but for the lines of values."""
    what, _, gist = without_values(" ".join(text.split())).partition(_EDITED)
    return [what, *(part for part in _CHANGE_PARTS.split(gist) if part)]


def told_change(parts: Sequence[str]) -> str:
    """The text of a change with these parts."""
    return _EDITED.join(filter(None, (parts[0], "; ".join(parts[1:]))))


def _is_announced(sentence: str) -> bool:
    """True if ``sentence`` says what comes next: that a summary has the same words later proves nothing."""
    return announces(sentence) or (_NEXT.match(sentence) is not None and len(sentence.split()) <= _SHORT_NEXT)


def _is_literal(line: str) -> bool:
    """True if only the very words of ``line`` say what it says: code, half a line, an announcement."""
    return "…" in line or is_code(line) or _is_announced(line)


def _tells(near: str, part: str) -> bool:
    """True if ``near`` has one part of a change: all of its functions, or its words, a short line of code as it is."""
    functions = _CHANGED.findall(part)
    if _CHANGE_MARK.match(part) and functions:
        return all(name in near for name in functions)
    wanted, there = content(_CHANGE_MARK.sub("", part)), content(near)
    if len(wanted) < _SHORT_CODE:
        return bool(wanted) and _CHANGE_MARK.sub("", part).strip("` ,;") in near
    # a number is most often what was changed, so it may not be the tenth that is missing
    return len(wanted & there) >= LINE_SHARE * len(wanted) and not any(
        token.isdecimal() for token in wanted - there
    )


def _outcome(near: str) -> Claim:
    """What the words behind a command say first of how it ended; what is only wished for says nothing."""
    said: Claim = ""
    first = len(near)
    for outcome, pattern in _OUTCOMES:
        found = (found.start() for found in pattern.compiled.finditer(near[:first]))
        at = next((at for at in found if not _WISHED.search(near[:at])), first)
        if at < first:
            said, first = outcome, at
    return said


_OUTCOMES: tuple[tuple[Claim, LazyPattern], ...] = (("open", _FAILED), ("done", _SUCCEEDED))
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
        # what we cut out of a name stands in no conversation, and would be told as invented
        found.update(dict.fromkeys(name for name in names if _REDACTED not in name))
    for match in _CODE_NAME.finditer(text):
        found.update(dict.fromkeys(_IDENTIFIER.findall(match[1])))
    return islice(found, _MOST_NAMES)


def _bare(name: str) -> str:
    """What must stand somewhere if ``name`` was there: of a path its last part, of a function its name."""
    return name.removesuffix("()").rsplit("/", 1)[-1]
