"""The account: a ledger written for a reader who has to go on from it.

In the order that a reader needs: what was asked and what became of it; where the work stands; what was found, decided and
done, in the agent's own words; what changed in each file; how it is built and tested, with the last outcome; what is still
broken or running; and last the names that nothing above explains. Each part has a share of the budget; what one does not
use goes to the words of the agent, and what those leave goes to names.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter as Counted
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from autocompact.core.language import WORDS
from autocompact.core.redacted import EMPTY
from autocompact.core.redaction import Redacted
from autocompact.core.references import reference
from autocompact.core.tokens import Counter
from autocompact.ledger.choice import shortened
from autocompact.ledger.entries import Entry, Kind, Ledger
from autocompact.ledger.lines import is_sentence
from autocompact.ledger.paths import is_temporary
from autocompact.ledger.rendering import inert, language_of, render
from autocompact.ledger.step import clipped

SHARES: Mapping[str, float] = {
    "requests": 0.24, "stands": 0.17, "before": 0.2, "changes": 0.22, "files": 0.05, "commands": 0.06, "errors": 0.05,
    "running": 0.04,
}  # fmt: skip
"""What a part may take of the budget at most; the rest goes to the words of the agent, of that `DETAILS` to names."""

SMALL, SMALL_SHARES = 250, {**SHARES, "requests": 0.45, "stands": 0.35, "changes": 0.2, "files": 0.0}
"""Below so many tokens what was asked and where the work stands has to be enough."""

IN_A_CHAT, LAST_OF_A_CHAT = 0.05, 60
"""What the requests of a chat may take: what people say in it is told as facts."""

DETAILS = 0.12
BESIDE, NEEDED = 8, 0.05
"""Names that are told below a file at most, and how likely they must be needed."""

PER_LINE = 5
"""Tokens that a reference and an item's mark take."""

ORDER = (
    "requests",
    "stands",
    "before",
    "account",
    "said",
    "changes",
    "files",
    "commands",
    "errors",
    "running",
    "details",
)
GROWS = ("requests", "changes", "stands", "errors", "commands", "files")
"""What the words of the agent leave goes to these, in this order, before it goes to names."""

PER_NOTE, PARAGRAPH, _PASSES = 2, 300, 4
"""Tokens that a note takes besides its words, characters after which the next message begins a new line, passes to fill the room."""

_TOO_SHORT = 90
_LITTLE = 40
_LONGEST_ITEM = 200
_LONG_FOLDER = 12
_SAME = 60
"""Characters of a line by which it is known again."""

_WHOLE = re.compile(
    r"(?:[-*•›>]\s+|\d+[.)]\s+)*(?:[\"'`(“‘*_]*[A-ZÀ-ÖØ-Þ0-9`\"]|[^\W\d_a-zA-Z]|[a-z][\w.-]{0,60}[_A-Z/.(]).*[.!?:)。！？”\"'`*]$",
    re.DOTALL,
)
"""A sentence from its beginning, which may be a name in code, to its end: half a wrapped line explains nothing."""

_NAME = re.compile(r"\w[\w./-]*\w")
_OF_A_PROGRAM = re.compile(r"[A-Za-z$]+(?:_\w+|[a-z\d][A-Z]\w*)")
_SPACES = re.compile(r"\s+")
_HIT = re.compile(r"(?P<path>[\w./@+-]+\.\w{1,5})[:-]\d+[:-]\s*(?P<text>\S.*)")
"""A line of a search's result: the file that it stands in, and the line."""

_COMMENT = re.compile(r"\s*(?://+|#+(?!\[)|/?\*+|--|\"{3}|;;)\s*(?P<text>\S.*?)\s*(?:\*/|\"{3})?$")
_ASKS = re.compile(r"[?？][\"'`)*]*$")
_MARK = re.compile(r"\A(?:[-*•›>]\s+|\d+[.)]\s+)+")
_FOCUS_WORD = re.compile(r"[^\s,;:!?\"'`()]{3,}|[\u3040-\u9fff\uac00-\ud7af]{2}")


def account(
    ledger: Ledger,
    *,
    budget: int,
    counter: Counter,
    previous: Redacted = EMPTY,
    focus: str = "",
    language: str = "",
) -> Redacted:
    """The ledger as Markdown sections in at most about ``budget`` tokens.

    Args:
        ledger: what there is to tell; rules are left out, they stand before the account.
        budget: tokens of the whole.
        counter: measures it.
        previous: what stays of an earlier account that is not ours.
        focus: words whose lines are worth more.
        language: of the headings; by default that of the requests.
    """
    words = WORDS[language or language_of(ledger.entries)]
    return Redacted(
        _account(focused(ledger, focus), previous, words=words, budget=budget, counter=counter)
    )  # all redacted


def _account(
    ledger: Ledger, previous: str, *, words: Mapping[str, Redacted], budget: int, counter: Counter
) -> str:
    kinds = _by_kind(ledger.entries)
    base = _base(entry.key for entry in kinds.get("change") or kinds.get("file", ()))
    shares = SHARES if budget >= SMALL else SMALL_SHARES
    chat = "fact" in kinds and "finding" not in kinds
    write = _writers(kinds, counter=counter, base=base)
    sizes = {name: int(budget * share) for name, share in shares.items()}
    if chat:
        sizes["requests"] = _asked_in_a_chat(budget)
    parts = {name: write[name](size) for name, size in sizes.items() if name in write}
    parts["before"] = previous
    first = "stands" if parts["stands"] else "changes"
    below = f"{words['below']} {base}\n" if base and parts[first] else ""

    def shown(name: str) -> str:
        return _relative(f"{below}{parts[name]}" if name == first else parts[name], base)

    told = {name: shown(name) for name, text in parts.items() if text}
    room = budget - sum(counter.count(text) + 8 for text in told.values()) - 16
    last_words = "\n".join(entry.text for entry in kinds.get("step", ()))
    new = [entry for entry in kinds.get("finding", ()) if entry.text not in last_words]
    told["account"] = _relative(_findings(new, int(room * (1 - DETAILS)), counter=counter), base)
    room -= counter.count(told["account"])
    told["said"] = _facts(kinds.get("fact", ()), room if chat else room // 2, counter=counter)
    room -= counter.count(told["said"])
    if chat:  # there a name without its statement tells nothing
        return _sections(told, words=words)
    for name in GROWS:
        spare = room - int(budget * DETAILS)
        if spare > _LITTLE and parts[name]:
            before = counter.count(told[name])
            parts[name] = write[name](sizes[name] + spare)
            told[name] = shown(name)
            room -= counter.count(told[name]) - before
    names = kinds.get("identifier", ())
    told["details"] = _relative(_details(names, room, counter=counter, told="\n".join(told.values())), base)
    size = counter.count(told["account"]) + room - counter.count(told["details"])
    told["account"] = _relative(_findings(new, size, counter=counter), base)
    room = size - counter.count(told["account"])
    for name, entries in (("changes", kinds.get("change", ())), ("files", kinds.get("file", ()))):
        if room > _LITTLE and told.get(name):
            before = counter.count(told[name])
            known = "\n".join(told.values())
            beside = {_relative(path, base): found for path, found in _names_of(names, known=known).items()}
            paths = [_relative(entry.key, base) for entry in entries]
            told[name] = _with_names(told[name], beside, paths=paths, room=room, counter=counter)
            room -= counter.count(told[name]) - before
    return _sections(told, words=words)


def _sections(told: Mapping[str, str], *, words: Mapping[str, Redacted]) -> str:
    return "\n\n".join(f"## {words[name]}\n{told[name]}" for name in ORDER if told.get(name))


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
        "errors": lambda budget: _items(kinds.get("error", ()), budget, counter=counter, least=0.3),
        "running": lambda budget: _items(kinds.get("running", ()), budget, counter=counter),
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


def _asked_in_a_chat(budget: int) -> int:
    """Tokens for the requests of a chat: enough for the last one, unless that is a large part of the whole."""
    return max(int(budget * IN_A_CHAT), min(LAST_OF_A_CHAT, budget // 6))


def _by_kind(entries: Iterable[Entry]) -> dict[Kind, list[Entry]]:
    kinds: dict[Kind, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.seq, entry.key)):
        kinds.setdefault(entry.kind, []).append(entry)
    return kinds


def _base(paths: Iterable[str]) -> str:
    """The folder, with its slash, without which the absolute paths are shortest; "" where naming it saves nothing."""
    absolute = [path for path in paths if path.startswith("/") and not is_temporary(path)]
    counts = Counted(path[: at + 1] for path in absolute for at, sign in enumerate(path) if sign == "/")
    folder = max(counts, key=lambda one: ((counts[one] - 1) * len(one), len(one)), default="")
    return folder if counts[folder] > 1 and len(folder) > _LONG_FOLDER else ""


def _relative(text: str, base: str) -> str:
    """``text`` with paths below ``base`` told from there; where it says what the base is, it stays."""
    if not base:
        return text
    first, line_end, rest = text.partition("\n")
    if first.endswith(f" {base}"):
        return first + line_end + rest.replace(base, "")
    return text.replace(base, "")


def _requests(kinds: Mapping[Kind, list[Entry]], budget: int, *, counter: Counter) -> str:
    kept = shortened(kinds.get("request", []), budget, counter=counter)
    return render(kept).partition("\n")[2]


def _stands(kinds: Mapping[Kind, list[Entry]], budget: int, *, counter: Counter) -> str:
    """The plan, then the last words and calls; of a long plan what is done goes into one line."""
    todos = [entry for entry in kinds.get("todo", ()) if entry.state != "withdrawn"]
    todos.sort(key=lambda entry: entry.key)
    ranked = [(3, f"- [ ] {entry.text}") for entry in todos if entry.state != "done"]
    if done := [entry.text for entry in todos if entry.state == "done"]:
        ranked.append((1, f"- [x] {clipped('; '.join(done), 500)}"))
    steps = kinds.get("step", [])
    said = [entry for entry in steps if entry.key.startswith("step words")]
    calls = [entry for entry in steps if not entry.key.startswith("step words")]
    ranked += [(2, f"- {reference(entry.seq)} “{entry.text}”") for entry in said]
    ranked += [(0, f"- {reference(entry.seq)} {entry.text}") for entry in calls]
    return _fitting(ranked, budget, counter=counter)


def _fitting(ranked: Sequence[tuple[int, str]], budget: int, *, counter: Counter) -> str:
    """The lines, the longest cut again and again until all fit; then those of the lowest rank go, the first ones first."""
    lines = {at: line for at, (_, line) in enumerate(ranked)}
    sizes = {at: counter.count(line) + 1 for at, line in lines.items()}
    total = sum(sizes.values())
    longest = [(-size, at) for at, size in sizes.items()]
    heapq.heapify(longest)
    lowest = iter(sorted(lines, key=lambda at: (ranked[at][0], at)))
    while lines and total > budget:
        size, at = longest[0]
        if at not in lines:
            heapq.heappop(longest)
        elif len(lines[at]) <= _TOO_SHORT:
            least = next(lowest)
            total -= sizes[least]
            del lines[least]
        else:
            lines[at] = clipped(lines[at], int(len(lines[at]) * 0.8))
            sizes[at] = counter.count(lines[at]) + 1
            total += sizes[at] + size
            heapq.heapreplace(longest, (-sizes[at], at))
    return "\n".join(lines.values())


def _changes(changes: Sequence[Entry], budget: int, *, counter: Counter, base: str) -> str:
    paths = [_relative(entry.key, base) for entry in changes]
    lines = [
        (0, f"- {path} — {entry.text} [{reference(entry.seq)}]")
        for path, entry in zip(paths, changes, strict=True)
    ]
    return _fitting(lines, budget, counter=counter)


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
    stated = set(_NAME.findall(known))
    found: dict[str, list[str]] = {}
    for entry in sorted(identifiers, key=lambda entry: (-entry.need, -entry.seq, entry.key)):
        wanted = entry.where and entry.need >= NEEDED and _OF_A_PROGRAM.fullmatch(entry.key)
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


def _items(entries: Iterable[Entry], budget: int, *, counter: Counter, least: float = 0.0) -> str:
    """The latest of the entries that fit, in order."""
    kept: list[str] = []
    for entry in sorted(entries, key=lambda entry: -entry.seq):
        line = f"- {_item(entry)} ({reference(entry.seq)})"
        size = counter.count(line) + 1
        if entry.need >= least and size <= budget:
            budget -= size
            kept.append(line)
    return "\n".join(reversed(kept))


def _item(entry: Entry) -> str:
    """The entry, of a long one less of the command than of what came of it."""
    command, mark, outcome = entry.text.rpartition("` " if entry.kind == "command" else ": ")
    if len(entry.text) <= _LONGEST_ITEM or not mark:
        return clipped(entry.text, _LONGEST_ITEM)
    outcome = clipped(outcome, _LONGEST_ITEM)
    return f"{clipped(command, max(_TOO_SHORT, _LONGEST_ITEM - len(outcome)))}{mark}{outcome}"


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


def _facts(facts: Iterable[Entry], budget: int, *, counter: Counter) -> str:
    """The notes worth most that fit, in the order of the conversation, those near each other in one paragraph."""
    ranked = sorted(facts, key=lambda entry: (-entry.need, -entry.seq))
    room, told = budget, ""
    for _ in range(_PASSES):
        text = _paragraphs(_affordable(ranked, room, counter=counter))
        left = budget - counter.count(text)
        if left >= 0:
            told = text
        room += left
        if 0 <= left < _LITTLE // 2:
            break
    return told


def _affordable(ranked: Iterable[Entry], budget: int, *, counter: Counter) -> list[Entry]:
    chosen: list[Entry] = []
    for entry in ranked:
        size = counter.count(entry.text) + PER_NOTE
        if size <= budget:
            budget -= size
            chosen.append(entry)
        elif budget < _LITTLE // 2:
            break
    return sorted(chosen, key=lambda entry: (entry.seq, entry.state_seq))


def _paragraphs(notes: Sequence[Entry]) -> str:
    """The notes, a new line where someone else speaks, or after `PARAGRAPH` characters with the next message."""
    paragraphs: list[list[Entry]] = []
    size = 0
    for entry in notes:
        last = paragraphs[-1][-1] if paragraphs else None
        if last is None or last.where != entry.where or (size > PARAGRAPH and last.seq != entry.seq):
            paragraphs.append([])
            size = 0
        paragraphs[-1].append(entry)
        size += len(entry.text)
    lines: list[str] = []
    speaker = paragraphs[0][0].where if len({entry.where for entry in notes}) == 1 else EMPTY
    for paragraph in paragraphs:
        first, last = paragraph[0], paragraph[-1]
        ends = dict.fromkeys((reference(first.seq), reference(last.seq)))
        named = f"{first.where}: " if first.where != speaker else ""
        speaker = first.where
        lines.append(f"- {'–'.join(ends)} {named}{_joined(paragraph)}")
    return "\n".join(lines)


def _joined(notes: Sequence[Entry]) -> str:
    """Notes of one message with a semicolon between them, those of several in sentences: they are apart in time."""
    messages = groupby(notes, key=lambda entry: entry.seq)
    return ". ".join("; ".join(inert(entry.text) for entry in group) for _, group in messages)


def _details(entries: Iterable[Entry], budget: int, *, counter: Counter, told: str) -> str:
    """Names that nothing above states, each with a sentence that explains it, beside the file that it stands in."""
    known = set(_NAME.findall(told))
    said = _SPACES.sub(" ", told.replace("’", "'"))
    places: set[str] = set()
    lines: dict[str, tuple[int, str]] = {}
    for entry in sorted(entries, key=lambda entry: (-entry.need, -entry.seq, entry.key)):
        if entry.key in known:
            continue
        place, text = _explanation(entry)
        if not text or text in lines or text.replace("’", "'")[:_SAME] in said:
            continue
        size = counter.count(text) + PER_LINE
        if place and place not in places:
            size += counter.count(place) + PER_LINE
        if size <= budget:
            budget -= size
            known.update(_NAME.findall(text))
            places.add(place)
            lines[text] = entry.seq, place
        elif budget < _LITTLE // 2:
            break
    return "\n".join(_beside(lines))


def _explanation(entry: Entry) -> tuple[str, str]:
    """The file that the entry's line belongs to, and what the line says of the name; "" where it explains nothing.

    Of a line of code that is its comment, which says something only beside the file.
    """
    place, text = entry.where, entry.text
    if hit := _HIT.match(text):
        place, text = hit["path"], hit["text"]
    if place and (comment := _COMMENT.match(text)):
        text = comment["text"].strip()
    whole = is_sentence(text) and _WHOLE.match(text) is not None and not _ASKS.search(text)
    about = text == entry.text or entry.key in text
    if not (whole and about) or 2 * len(_OF_A_PROGRAM.findall(text)) > len(_NAME.findall(text)):
        return "", ""
    return place, _MARK.sub("", text)


def _beside(lines: Mapping[str, tuple[int, str]]) -> Iterator[str]:
    """The lines, each with its message and file, in order; those of one file together below its path."""
    of: dict[str, list[tuple[int, str]]] = {}
    for text, (seq, place) in sorted(lines.items(), key=lambda pair: pair[1][0]):
        of.setdefault(place or f" {text}", []).append((seq, text))
    for place, group in of.items():
        if place.startswith(" "):
            yield f"- {reference(group[0][0])} {group[0][1]}"
            continue
        yield f"- {reference(group[-1][0])} {place}:"
        yield from (f"  · {text}" for _, text in group)
