"""The account: a ledger written for a reader who has to go on from it.

In the order that a reader needs: what else the user may want for good; what was asked and what became of it; where the work stands; what was found, decided and
done, in the agent's own words; what changed in each file; how it is built and tested, with the last outcome; what is still
broken or running; and last the names that nothing above explains. Each part has a share of the budget; what one does not
use goes to the words of the agent, and what those leave goes to names.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter as Counted
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from msgspec import Struct

from autocompact.core.language import WORDS
from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import EMPTY, edited
from autocompact.core.redaction import Redacted
from autocompact.core.references import reference
from autocompact.core.tokens import Counter
from autocompact.ledger.changes import without_values
from autocompact.ledger.clipping import clipped
from autocompact.ledger.deeds import without_printed
from autocompact.ledger.details import NAME, OF_A_PROGRAM, PER_LINE, details
from autocompact.ledger.entries import ERROR_TOLD, Entry, Kind, Ledger
from autocompact.ledger.obstacles import is_obstacle
from autocompact.ledger.paths import DOCUMENTS, is_absolute, is_temporary
from autocompact.ledger.rendering import POINTER, inert, language_of, render
from autocompact.ledger.repetition import form, form_of_change, repeated, told_once
from autocompact.ledger.shortening import shortened_requests
from autocompact.ledger.step import HABITS
from autocompact.ledger.wishes import beside_wishes, chosen_wishes, wish_line

SHARES: Mapping[str, float] = {
    "requests": 0.24, "stands": 0.17, "before": 0.2, "changes": 0.22, "files": 0.05, "commands": 0.06, "tried": 0.1,
    "errors": 0.05, "running": 0.04, "details": 0.12,
}  # fmt: skip
"""What a part may take of the budget at most; the rest goes to the words of the agent, of that the share of the details to names."""

OWN_WORDS = 0.2
"""What the words of the agent have of the budget at least, besides the details: the other parts shrink alike for that."""

SMALL, SMALL_SHARES = (
    250,
    {**SHARES, "requests": 0.45, "stands": 0.35, "changes": 0.2, "files": 0.0},
)
"""Below so many tokens what was asked and where the work stands has to be enough."""

HEADING = 6
"""Tokens of a heading."""

IN_A_CHAT = 0.04
"""What the requests of a chat may take: what people say in it is told as facts, and the last request stands in the context."""

BESIDE, NEEDED = 8, 0.05
"""Names that are told below a file at most, and how likely they must be needed."""

ORDER = (
    "wishes",
    "requests",
    "stands",
    "before",
    "account",
    "said",
    "changes",
    "files",
    "commands",
    "tried",
    "errors",
    "running",
    "details",
)
GROWS = ("requests", "changes", "stands", "errors", "commands", "files")
"""What the words of the agent leave goes to these, in this order, before it goes to names."""

_NAMED: tuple[tuple[str, Kind], ...] = (("changes", "change"), ("files", "file"))
"""Parts below whose items names may stand, and the kind of these items."""

PER_NOTE, PARAGRAPH, _PASSES, _NEARLY_FULL = 2, 600, 4, 6
"""Tokens that a note takes besides its words, characters after which the next message begins a new line, passes to fill the
room, and tokens that may be left of it."""

_TOO_SHORT, _CALL, _WORDS = 72, 200, 260
"""Characters below which an item, a call with what came of it, and the agent's last words tell nothing any more."""

_LATEST, _CHANGE = 5, 260
"""Files changed last, and the characters that each of them has before those changed earlier are cut further."""

_GIST = " — "
"""Between what happened to a file and what it amounts to."""

_FEW_EFFECTS = 30
"""Tokens that the effects and references of files that are told in one line for each effect take."""

_TIMES = LazyPattern(r" \d+×")

_SMALL_STEP, _LARGE_STEP, _SPOKEN = 60, 300, 700
"""Tokens below which a stump of what was done last has to do, tokens from which on the words that close a turn are cut less, and
characters from which on words are such words."""

_LITTLE = 40
_LONGEST_ITEM, _OBSTACLE, _COMMAND = 200, 420, 90
_NEEDED, _LIKELY = 0.5, 0.3
_LONG_FOLDER = 12
_FOCUS_WORD = LazyPattern(r"[^\s,;:!?\"'`()]{3,}|[\u3040-\u9fff\uac00-\ud7af]{2}")


def account(
    ledger: Ledger,
    *,
    budget: int,
    counter: Counter,
    previous: Redacted = EMPTY,
    focus: str = "",
    language: str = "",
    shares: Mapping[str, float] = SHARES,
) -> Redacted:
    """The ledger as Markdown sections in at most about ``budget`` tokens.

    Args:
        ledger: what there is to tell; rules are left out, they stand before the account.
        budget: tokens of the whole.
        counter: measures it.
        previous: what stays of an earlier account that is not ours.
        focus: words whose lines are worth more.
        language: of the headings; by default that of the requests.
        shares: what a part may take of the budget at most.
    """
    words = WORDS[language or language_of(ledger.entries)]
    return Redacted(
        _account(focused(ledger, focus), previous, words=words, budget=budget, counter=counter, shares=shares)
    )  # all redacted


def _account(
    ledger: Ledger,
    previous: str,
    *,
    words: Mapping[str, Redacted],
    budget: int,
    counter: Counter,
    shares: Mapping[str, float],
) -> str:
    kinds = _by_kind(ledger.entries)
    is_chat = _is_chat(kinds)
    owed = previous or _owes(kinds)
    draft = _Draft(kinds, words=words, budget=budget, counter=counter)
    if is_chat and not owed and budget < SMALL:
        draft.tell_wishes()
        draft.tell_facts(draft.room - HEADING, plain=True)
        return draft.text()
    shares = shares if budget >= SMALL else SMALL_SHARES
    draft.begin({**shares, "requests": IN_A_CHAT} if is_chat and not owed else shares, previous=previous)
    draft.tell_findings(int(draft.room * (1 - shares["details"])))
    facts = draft.room if is_chat else draft.room // 2
    draft.tell_facts(facts)
    if is_chat:  # what was held back for sections that a chat does not have
        draft.tell_facts(facts + budget - counter.count(draft.text()))
        draft.refer_to_requests()
    else:  # in a chat a name without its statement tells nothing
        draft.grow()
        draft.tell_printed()
        draft.tell_details()
        draft.tell_names()
        draft.tell_repeated()
    return draft.text()


def _is_chat(kinds: Mapping[Kind, list[Entry]]) -> bool:
    return "fact" in kinds and "finding" not in kinds


def _owes(kinds: Mapping[Kind, list[Entry]]) -> bool:
    """Whether something is to be done besides the last request, which stands in the context."""
    asked = [entry for entry in kinds.get("request", ())[:-1] if entry.state == "open"]
    return bool(asked or kinds.get("error") or kinds.get("todo") or kinds.get("running"))


class _Draft:
    """An account while it is written: its parts by name, and the tokens that are left."""

    def __init__(
        self,
        kinds: Mapping[Kind, list[Entry]],
        *,
        words: Mapping[str, Redacted],
        budget: int,
        counter: Counter,
    ) -> None:
        self.kinds, self.words, self.budget, self.counter = kinds, words, budget, counter
        self.base = _base(entry.key for entry in kinds.get("change") or kinds.get("file", ()))
        self.write = _writers(kinds, counter=counter, base=self.base)
        self.brief = _writers(_in_brief(kinds), counter=counter, base=self.base)
        self.wishes: list[Entry] = []
        self.sizes: dict[str, int] = {}
        self.parts: dict[str, str] = {}
        self.below_base, self.base_line = "", ""
        self.for_details = 0.0
        self.room = budget
        last_words = "\n".join(entry.text for entry in kinds.get("step", ()))
        found = [entry for entry in kinds.get("finding", ()) if not is_obstacle(entry)]
        said = [entry for entry in found if entry.text not in last_words]
        self.findings, self.often = told_once(said), repeated(form(entry.text) for entry in said)
        self.every_finding = told_once(said, by=str)

    def begin(self, shares: Mapping[str, float], *, previous: str) -> None:
        """Write each part that has a share of the budget."""
        self.sizes = {name: int(self.budget * share) for name, share in shares.items()}
        self.for_details = shares["details"]
        written = self._written()
        used = {name: self.counter.count(text) for name, text in written.items()}
        most = self.budget * (1 - shares["details"] - OWN_WORDS) - self.counter.count(previous)
        if self.budget >= SMALL and sum(used.values()) > most:
            self.sizes |= {name: int(size * most / sum(used.values())) for name, size in used.items()}
            written = self._written()
        written["before"] = previous
        self.below_base = "stands" if written["stands"] else "changes"
        if self.base and written[self.below_base]:
            self.base_line = f"{self.words['below']} {self.base}\n"
        self.parts = {name: self._shown(name, text) for name, text in written.items() if text}
        self.room -= sum(self.counter.count(text) + 8 for text in self.parts.values()) + 16
        self.tell_wishes()

    def _written(self) -> dict[str, str]:
        return {name: self.brief[name](size) for name, size in self.sizes.items() if name in self.brief}

    def _shown(self, name: str, text: str) -> str:
        """``text`` of a part with paths below the base, which the first part says; requests are the user's own words."""
        if name == "requests":
            return text
        return _relative(f"{self.base_line}{text}" if name == self.below_base else text, self.base)

    def _set(self, name: str, text: str) -> None:
        self.room -= self.counter.count(text) - self.counter.count(self.parts.get(name, ""))
        self.parts[name] = text

    def tell_wishes(self) -> None:
        """What the user may want for good, but for what the requests have word for word."""
        told = self.parts.get("requests", "")
        self.wishes = chosen_wishes(self.kinds.get("wish", ()), self.budget, counter=self.counter, told=told)
        if self.wishes:
            self._set("wishes", "\n".join(map(wish_line, self.wishes)))
            self.room -= HEADING

    def tell_findings(self, size: int) -> None:
        """The words of the agent, in ``size`` tokens."""
        self._set("account", _relative(_findings(self.findings, size, counter=self.counter), self.base))

    def tell_facts(self, size: int, *, plain: bool = False) -> None:
        """What people said, in ``size`` tokens."""
        facts = beside_wishes(self.kinds.get("fact", ()), self.wishes)
        self._set("said", _facts(facts, size, counter=self.counter, plain=plain))

    def refer_to_requests(self) -> None:
        """A bare reference to the requests of a chat, where none is stated and there is room for it."""
        requests = _pointers(self.kinds.get("request", ()))
        size = self.counter.count(requests) + HEADING
        if not self.parts.get("requests") and self.counter.count(self.text()) + size <= self.budget:
            self.parts["requests"] = requests

    def grow(self) -> None:
        """Give what the words of the agent leave to the other parts, but for the share of the details."""
        for name in GROWS:
            spare = self.room - int(self.budget * self.for_details)
            write = self.brief if name == "commands" else self.write
            if spare > _LITTLE and name in self.parts:
                self._set(name, self._shown(name, write[name](self.sizes[name] + spare)))

    def tell_printed(self) -> None:
        """What the commands printed, of the last ones first, in the room that is left but for the share of the details."""
        commands = self.kinds.get("command", ())
        spare = self.room - int(self.budget * self.for_details)
        if spare > _LITTLE and self.parts.get("commands"):
            told = _items(
                _as_printed(commands, spare, counter=self.counter), self.budget, counter=self.counter
            )
            self._set("commands", _relative(told, self.base))

    def tell_details(self) -> None:
        """The names whose sentences nothing has said; what these leave goes to the words of the agent."""
        names = self.kinds.get("identifier", ())
        told = details(
            names,
            self.room,
            counter=self.counter,
            told="\n".join(self.parts.values()),
            often=self.often,
        )
        self._set("details", _relative(told, self.base))
        self.tell_findings(self.counter.count(self.parts["account"]) + self.room)

    def tell_names(self) -> None:
        """Names beside the changed and read files that they belong to, in the room that is left."""
        for name, kind in _NAMED:
            if self.room > _LITTLE and self.parts.get(name):
                known = "\n".join(self.parts.values())
                names = _names_of(self.kinds.get("identifier", ()), known=known)
                beside = {_relative(path, self.base): found for path, found in names.items()}
                paths = [_relative(entry.key, self.base) for entry in self.kinds.get(kind, ())]
                self._set(
                    name,
                    _with_names(self.parts[name], beside, paths=paths, room=self.room, counter=self.counter),
                )

    def tell_repeated(self) -> None:
        """The sentences that one of their form stood for, after all others, in the room that is left."""
        once = {entry.key for entry in self.findings}
        # need is 0 to 1, so these come after all others
        last = [replace(entry, need=entry.need - 1) for entry in self.every_finding if entry.key not in once]
        if last and self.room > _LITTLE:
            self.findings += last
            self.tell_findings(self.counter.count(self.parts["account"]) + self.room)

    def text(self) -> str:
        """The sections, in their order."""
        return "\n\n".join(
            f"## {self.words[name]}\n{self.parts[name]}" for name in ORDER if self.parts.get(name)
        )


def _writers(
    kinds: Mapping[Kind, list[Entry]], *, counter: Counter, base: str
) -> dict[str, Callable[[int], str]]:
    """For each part that has a share: what writes it in so many tokens."""
    changes = [entry for entry in kinds.get("change", ()) if not is_temporary(entry.key)]
    return {
        "requests": lambda budget: _requests(kinds, budget, counter=counter),
        "stands": lambda budget: _stands(kinds, budget, counter=counter),
        "changes": lambda budget: _changes(changes, budget, counter=counter, base=base),
        "files": lambda budget: _files(kinds.get("file", ()), budget, counter=counter),
        "commands": lambda budget: _items(kinds.get("command", ()), budget, counter=counter),
        "tried": lambda budget: _items(
            filter(is_obstacle, kinds.get("finding", ())), budget, counter=counter, longest=_OBSTACLE
        ),
        "errors": lambda budget: _items(kinds.get("error", ()), budget, counter=counter, least=ERROR_TOLD),
        "running": lambda budget: _items(kinds.get("running", ()), budget, counter=counter),
    }


def _in_brief(kinds: Mapping[Kind, list[Entry]]) -> dict[Kind, list[Entry]]:
    """The entries without what is told of changes and commands only where there is room."""
    shorter: dict[Kind, Callable[[str], str]] = {"change": without_values, "command": without_printed}
    return {
        kind: [replace(entry, text=edited(entry.text, shorter[kind])) for entry in entries]
        if kind in shorter
        else entries
        for kind, entries in kinds.items()
    }


def focused(ledger: Ledger, focus: str) -> Ledger:
    """The ledger with more need where the words of ``focus`` occur, the more of them the more."""
    wanted = set(_FOCUS_WORD.findall(focus.lower()))
    if not wanted:
        return ledger
    entries: list[Entry] = []
    for entry in ledger.entries:
        text = f"{entry.key} {entry.text}".lower()
        share = sum(word in text for word in wanted) / len(wanted)
        entries.append(replace(entry, need=entry.need + (1 - entry.need) * share))
    return Ledger(entries=tuple(sorted(entries, key=lambda entry: -entry.need)))


def _by_kind(entries: Iterable[Entry]) -> dict[Kind, list[Entry]]:
    kinds: dict[Kind, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.seq, entry.key)):
        kinds.setdefault(entry.kind, []).append(entry)
    return kinds


def _base(paths: Iterable[str]) -> str:
    """The folder, with its slash, without which the absolute paths are shortest; "" where naming it saves nothing."""
    absolute = [path for path in paths if is_absolute(path) and not is_temporary(path)]
    counts = Counted(path[: at + 1] for path in absolute for at, sign in enumerate(path) if sign == "/")
    folder = max(counts, key=lambda one: ((counts[one] - 1) * len(one), len(one)), default="")
    return folder if counts[folder] > 1 and len(folder) > _LONG_FOLDER else ""


def _relative(text: str, base: str) -> str:
    """``text`` with paths below ``base`` told from there; where it says what the base is, it stays, as do texts in code."""
    windows = base.replace("/", "\\")
    if not base or (base not in text and windows not in text):
        return text
    first, line_end, rest = text.partition("\n")
    said, rest = (first + line_end, rest) if first.endswith(f" {base}") else ("", text)
    return said + re.sub(rf"(?<![\"'])(?:{re.escape(base)}|{re.escape(windows)})", "", rest)


def _requests(kinds: Mapping[Kind, list[Entry]], budget: int, *, counter: Counter) -> str:
    kept = shortened_requests(kinds.get("request", []), budget, counter=counter)
    if _is_chat(kinds) and all(entry.text == POINTER for entry in kept):
        return ""  # what was said says more, and has references of its own
    # of requests that all stand elsewhere, what was found tells the language
    language = language_of([*kinds.get("request", ()), *kinds.get("finding", ())])
    return render(kept, language=language).partition("\n")[2]


def _pointers(requests: Iterable[Entry]) -> str:
    """The line that refers to all of these requests and states none; "" for none."""
    return render([replace(entry, text=POINTER) for entry in requests]).partition("\n")[2]


def _stands(kinds: Mapping[Kind, list[Entry]], budget: int, *, counter: Counter) -> str:
    """The plan, then the last words and calls; of a long plan what is done goes into one line."""
    todos = [entry for entry in kinds.get("todo", ()) if entry.state != "withdrawn"]
    todos.sort(key=lambda entry: entry.key)
    ranked = [_Line(f"- [ ] {entry.text}", rank=3) for entry in todos if entry.state != "done"]
    if done := [entry.text for entry in todos if entry.state == "done"]:
        ranked.append(_Line(f"- [x] {clipped('; '.join(done), 500)}", rank=1))
    steps = kinds.get("step", [])
    said = [entry for entry in steps if entry.key.startswith("step words")]
    calls = [entry for entry in steps if not entry.key.startswith("step words")]
    words, call = (_WORDS, _CALL) if budget >= _SMALL_STEP else (_TOO_SHORT, _TOO_SHORT)
    if said and len(said[-1].text) > _SPOKEN and budget >= _LARGE_STEP:
        words = 2 * _WORDS
    ranked += [_Line(f"- {reference(entry.seq)} “{entry.text}”", rank=2, least=words) for entry in said]
    ranked += [
        _Line(f"- {entry.text}", rank=4)
        if entry.key in ("step git", HABITS)
        else _Line(f"- {reference(entry.seq)} {entry.text}", least=call)
        for entry in calls
    ]
    return _fitting(ranked, budget, counter=counter)


class _Line(Struct, frozen=True):
    """A line that may be cut.

    Attributes:
        text: the whole.
        rank: of lines that cannot all stand the lowest go first.
        least: characters below which it tells nothing any more, so that it rather goes.
    """

    text: str
    rank: int = 0
    least: int = _TOO_SHORT


def _fitting(ranked: Sequence[_Line], budget: int, *, counter: Counter) -> str:
    """The lines, the longest cut again and again until all fit; then those of the lowest rank go, the first ones first."""
    lines = {at: line.text for at, line in enumerate(ranked)}
    sizes = {at: counter.count(line) + 1 for at, line in lines.items()}
    total = sum(sizes.values())
    longest = [(-size, at) for at, size in sizes.items() if len(lines[at]) > ranked[at].least]
    # sizes are negative, since the smallest of a heap is the first
    heapq.heapify(longest)
    lowest = iter(sorted(lines, key=lambda at: (ranked[at].rank, at)))
    while lines and total > budget:
        if not longest:
            least = next(lowest)
            total -= sizes[least]
            del lines[least]
            continue
        size, at = longest[0]
        # by a fifth at a time: many long lines lose a little each before one loses much
        lines[at] = _cut(lines[at], max(ranked[at].least, int(len(lines[at]) * 0.8)))
        sizes[at] = counter.count(lines[at]) + 1
        total += sizes[at] + size
        if len(lines[at]) > ranked[at].least:
            heapq.heapreplace(longest, (-sizes[at], at))
        else:
            heapq.heappop(longest)
    return "\n".join(lines.values())


_DANGLING = LazyPattern(r"(?: —|; [^;…]{0,12})? (?:[+−—]|now|with|without|changed)…\Z")
"""What says at the end of a cut line that there is something, and not what."""


_SAID = re.compile(r"- m\d+ “")
"""Begins what was said, in which an arrow is one between two values."""


def _cut(line: str, length: int) -> str:
    """A line in ``length`` characters: less of what was called than of what came of it."""
    called, mark, outcome = line.rpartition(" → ")
    if not mark or not line.startswith("- m") or _SAID.match(line):
        return _DANGLING.sub("…", clipped(line, length))
    outcome = clipped(outcome, length // 2)
    return f"{clipped(called, length - len(outcome) - len(mark))}{mark}{outcome}"


def _changes(changes: Sequence[Entry], budget: int, *, counter: Counter, base: str) -> str:
    """A line for each file, the later the longer; of the earliest, and where no more is known, only the effect.

    Files to which the same happened, in the same words, have one line together.
    """
    whole, forms = budget, [*map(form_of_change, changes)]
    often = repeated(forms)
    alike = [entry for entry, found in zip(changes, forms, strict=True) if found in often]
    changes = [entry for entry, found in zip(changes, forms, strict=True) if found not in often]
    together = _in_one_line(alike, base, by=form_of_change, told=str)
    budget -= sum(counter.count(clipped(line.text, line.least)) + 1 for line in together)
    lines = [
        _Line(
            f"- {_relative(entry.key, base)} — {entry.text} [{reference(entry.seq)}]",
            least=_CHANGE
            if at >= len(changes) - _LATEST and not _is_prose(entry)
            else _TOO_SHORT + len(_relative(entry.key, base)) // 2,
        )
        for at, entry in enumerate(changes)
    ]
    sizes = [counter.count(clipped(line.text, line.least)) + 1 for line in lines]
    over = sum(sizes) - budget
    brief: set[int] = set()
    for at in sorted(range(len(lines)), key=lambda at: (_weight(changes[at]), at)):
        if over <= 0:
            break
        over += _FEW_EFFECTS * (not brief) + counter.count(_relative(changes[at].key, base)) + 1 - sizes[at]
        brief.add(at)
    effects = _in_one_line(
        [changes[at] for at in sorted(brief)], base, by=lambda entry: _effect(entry.text), told=_effect
    )
    told = [line for at, line in enumerate(lines) if at not in brief]
    return _fitting([*effects, *together, *told], whole, counter=counter)


def _weight(change: Entry) -> int:
    """How much is lost where only the effect is told: what a new file of code is made of stands nowhere else."""
    if _GIST not in change.text:
        return 0
    if _is_prose(change):
        return 1
    return 3 if _DEFINES.match(change.text) else 2


def _is_prose(change: Entry) -> bool:
    """Whether words of a document changed, and not what it is made of."""
    return change.key.endswith(DOCUMENTS) and _SECTION not in change.text


_SECTION = "+ section "
_DEFINES = LazyPattern(r"created\b[^—]{0,60} — \+ ")


def _effect(text: str) -> str:
    """What happened to a file, without what it amounts to and how often."""
    return _TIMES.sub("", text.partition(_GIST)[0])


def _in_one_line(
    changes: Iterable[Entry], base: str, *, by: Callable[[Entry], str], told: Callable[[str], str]
) -> list[_Line]:
    """A line for each group of changes.

    Args:
        changes: in order.
        base: the folder that paths are told from.
        by: what those of a group have in common.
        told: what is told of the last one's text, before all their files.
    """
    groups: dict[str, list[Entry]] = {}
    for entry in changes:
        groups.setdefault(by(entry), []).append(entry)
    return [
        _Line(
            f"- {told(_relative(entries[-1].text, base))} {_between(entries)}: "
            f"{', '.join(_relative(entry.key, base) for entry in entries)}",
            rank=1,
            least=_CHANGE,
        )
        for entries in groups.values()
    ]


def _between(entries: Sequence[Entry]) -> str:
    """The messages of the entries, or from the first to the last."""
    return "–".join(dict.fromkeys((reference(entries[0].seq), reference(entries[-1].seq))))


def _files(files: Sequence[Entry], budget: int, *, counter: Counter) -> str:
    """The files that were read, with what they define, the most needed that fit; in the order of their last reading."""
    kept: dict[int, str] = {}
    for at in sorted(range(len(files)), key=lambda at: (-files[at].need, -files[at].seq)):
        line = f"- {files[at].text} [{reference(files[at].seq)}]"
        size = counter.count(line) + 1
        if size <= budget and not is_temporary(files[at].key):
            budget -= size
            kept[at] = line
    return "\n".join(kept[at] for at in sorted(kept))


def _names_of(identifiers: Iterable[Entry], *, known: str) -> dict[str, list[str]]:
    """By file, the names most likely needed of those that stand in it and are not ``known``."""
    stated = set(NAME.findall(known))
    found: dict[str, list[str]] = {}
    for entry in sorted(identifiers, key=lambda entry: (-entry.need, -entry.seq, entry.key)):
        wanted = entry.where and entry.need >= NEEDED and OF_A_PROGRAM.fullmatch(entry.key)
        if wanted and entry.key not in stated and len(names := found.setdefault(entry.where, [])) < BESIDE:
            names.append(entry.key)
    return found


def _with_names(
    text: str, beside: Mapping[str, Sequence[str]], *, paths: Sequence[str], room: int, counter: Counter
) -> str:
    """``text`` with names set below the item of their file, as many of them as there is ``room`` for."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines.append(line)
        path = line.removeprefix("- ").partition(" — ")[0]
        names = beside.get(path, ()) if path in paths else ()
        below = f"  · {', '.join(names)}"
        size = counter.count(below) + 1
        if names and size <= room:
            room -= size
            lines.append(below)
    return "\n".join(lines)


def _items(
    entries: Iterable[Entry],
    budget: int,
    *,
    counter: Counter,
    least: float = 0.0,
    longest: int = _LONGEST_ITEM,
) -> str:
    """The entries that fit, in order: those most needed, then the latest."""
    kept: list[tuple[int, str]] = []
    # what tests, builds or delivers will be run again, a loop that looked at something will not
    for entry in sorted(entries, key=lambda entry: (entry.need < _NEEDED, entry.need < _LIKELY, -entry.seq)):
        line = f"- {_item(entry, longest)} ({reference(entry.seq)})"
        size = counter.count(line) + 1
        if entry.need >= least and size <= budget:
            budget -= size
            kept.append((entry.seq, line))
    return "\n".join(line for _, line in sorted(kept, key=itemgetter(0)))


def _as_printed(commands: Sequence[Entry], spare: int, *, counter: Counter) -> list[Entry]:
    """The commands, the last ones with what they printed, as far as ``spare`` tokens go."""
    entries: list[Entry] = []
    for entry in sorted(commands, key=lambda entry: -entry.seq):
        brief = replace(entry, text=edited(entry.text, without_printed))
        size = counter.count(entry.text) - counter.count(brief.text)
        spare -= size
        entries.append(entry if spare >= 0 else brief)
    return entries


def _item(entry: Entry, longest: int) -> str:
    """The entry, of a long one less of the command than of what came of it."""
    command, mark, outcome = entry.text.rpartition("` " if entry.kind == "command" else ": ")
    if len(entry.text) <= longest or not mark:
        return clipped(entry.text, longest)
    outcome = clipped(outcome, longest)
    return f"{clipped(command, max(_COMMAND, longest - len(outcome)))}{mark}{outcome}"


def _findings(findings: Sequence[Entry], budget: int, *, counter: Counter) -> str:
    """Those worth most that fit, in order; what one message says under one heading stands together."""
    chosen: list[Entry] = []
    for entry in sorted(findings, key=lambda entry: (-entry.need, -entry.seq)):
        size = counter.count(entry.text) + PER_LINE
        if size <= budget:
            budget -= size
            chosen.append(entry)
        elif budget < _LITTLE:
            break
    lines: list[str] = []
    before: Entry | None = None
    for entry in sorted(chosen, key=lambda entry: (entry.seq, entry.state_seq)):
        same = before is not None and before.seq == entry.seq
        if same and entry.where and before is not None and before.where == entry.where:
            lines[-1] += f"\n  · {inert(entry.text.removeprefix(f'{entry.where}: '))}"
        else:
            lines.append(f"{'  ' if same else f'- {reference(entry.seq)} '}{inert(entry.text)}")
        before = entry
    return "\n".join(lines)


def _facts(facts: Iterable[Entry], budget: int, *, counter: Counter, plain: bool = False) -> str:
    """The notes worth most that fit, in the order of the conversation, those near each other in one paragraph.

    Args:
        facts: of the whole conversation.
        budget: tokens.
        counter: measures it.
        plain: whether they stand without references, which are a large part of a short text.
    """
    ranked = sorted(facts, key=lambda entry: (-entry.need, -entry.seq))
    room, told = budget, ""
    # what speakers and references weigh is known of the written text only; each pass corrects the room by what was
    # left
    for _ in range(_PASSES):
        text = _paragraphs(_affordable(ranked, room, counter=counter), plain=plain)
        left = budget - counter.count(text)
        if left >= 0:
            told = text
        room += left
        if 0 <= left < _NEARLY_FULL:
            break
    return told


def _affordable(ranked: Iterable[Entry], budget: int, *, counter: Counter) -> list[Entry]:
    chosen: list[Entry] = []
    for entry in ranked:
        size = counter.count(entry.text) + PER_NOTE
        if size <= budget:
            budget -= size
            chosen.append(entry)
        # else a shorter one further down may still fit
        elif budget < _NEARLY_FULL:
            break
    return sorted(chosen, key=lambda entry: (entry.seq, entry.state_seq))


def _paragraphs(notes: Sequence[Entry], *, plain: bool) -> str:
    """The notes, those of each speaker in lines of about `PARAGRAPH` characters: who says what is told once a line.

    A line begins in the order of its first note, and ends with the whole of a message.
    """
    paragraphs: list[list[Entry]] = []
    current: dict[str, tuple[list[Entry], int]] = {}
    for entry in notes:
        paragraph, size = current.get(entry.where, (list[Entry](), 0))
        if not paragraph or (size > PARAGRAPH and paragraph[-1].seq != entry.seq):
            paragraph, size = list[Entry](), 0
            paragraphs.append(paragraph)
        paragraph.append(entry)
        current[entry.where] = paragraph, size + len(entry.text)
    lines: list[str] = []
    several = len(current) > 1
    for paragraph in paragraphs:
        first, last = paragraph[0], paragraph[-1]
        ends = dict.fromkeys((reference(first.seq), reference(last.seq)))
        named = f"{first.where}: " if several else ""
        mark = "" if plain else f"- {'–'.join(ends)} "
        lines.append(f"{mark}{named}{_joined(paragraph)}")
    return "\n".join(lines)


def _joined(notes: Sequence[Entry]) -> str:
    """Notes of one message with a semicolon between them, those of several with a dot: they may be about other matters."""
    messages = groupby(notes, key=lambda entry: entry.seq)
    return " · ".join("; ".join(inert(entry.text) for entry in group) for _, group in messages)
