"""Changes: what the edits of each file amount to, in its newest state.

An edit says what was there and what is there now. Lines that a later edit removes are no change any more, so the lines
that were added and still stand are what a file's edits amount to. They are told as what a reader looks for: the functions,
types, tests and settings that were added, removed or renamed, a short replacement word for word, and else the first lines.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter as Counted
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, takewhile
from typing import TypeAlias, cast

from msgspec import Struct, field

from autocompact.core.actions import Action, Effect, inserts, with_slashes
from autocompact.core.argument_names import EDITS, NEW, OLD, PATCHES, WHOLE, in_snake_case
from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import EMPTY, RedactedJson
from autocompact.core.redaction import Redacted
from autocompact.core.references import reference
from autocompact.core.text_calls import edits_in
from autocompact.ledger.clipping import clipped
from autocompact.ledger.entries import Entry
from autocompact.ledger.lines import is_code
from autocompact.ledger.passages import prose
from autocompact.ledger.paths import DOCUMENTS, is_temporary
from autocompact.ledger.scan import Call

_PATCHED = LazyPattern(r"^\*\*\* (?:Add|Update|Delete) File: (\S.*)$|^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)

_HUNK = LazyPattern(r"^@@ -\d", re.MULTILINE)
_BEFORE = LazyPattern(r"--- (?:\"?a/|/dev/null)")
"""The name of a file before the change, in a diff: no line that was taken out."""

_WRITTEN_OVER = LazyPattern(
    r"\A\W{0,4}(?:the )?file [^\n]{1,400}? (?:has been updated|was updated|updated successfully|overwritten)|\A(?:successfully )?overw(?:rote|ritten)\b",
    re.IGNORECASE,
)
_NEWLY = LazyPattern(
    r"\A\W{0,4}(?:(?:the |new )?file [^\n]{0,400}?created successfully|successfully created)\b", re.IGNORECASE
)
_ABSENT = LazyPattern(r"\b(?:no such file|not found|does not exist|cannot find)\b", re.IGNORECASE)
_FIRST = 600
"""Characters of the answer to an edit in which a client says what it did, or to a look which file is not there."""

_SAYING = 300
"""Characters of an answer that is a message of the program as a whole: a longer one shows a file, which may speak of files."""

_COMMITS = LazyPattern(r"\bgit (?:-\S+ \S+ )?commit\b")
_RESTORES = LazyPattern(r"\bgit (?:checkout|restore) (?:(?:--\S*|-\w|HEAD) )*(?P<paths>[^\n;&|<>]+)")
_DEFINES = LazyPattern(
    r"^[ \t]*(?:export[ \t]+|default[ \t]+|public[ \t]+|private[ \t]+|protected[ \t]+|internal[ \t]+|static[ \t]+|final[ \t]+|abstract[ \t]+|async[ \t]+|pub(?:\([a-z]+\))?[ \t]+|unsafe[ \t]+|override[ \t]+|virtual[ \t]+|inline[ \t]+|declare[ \t]+|local[ \t]+)*"
    r"(?:def(?:p|macrop?|guardp?|delegate)?[ \t]+(?:self\.)?(?P<plain>[a-z_]\w*[?!=]?)(?![\w.])(?P<given>\((?:\{?:\w+|\"[^\"\n]{1,40}\"))?"
    r"|(?:func|function|def|fn|sub|proc|fun)\b\*?\s*(?:\([^)\n]{0,80}\)\s*)?(?P<func>[A-Za-z_$][\w$.:]*)\s*[(<\[]"
    r"|(?P<what>class|interface|struct|enum|trait|type|(?:def)?module|defprotocol|namespace|object|record|protocol|impl|(?:message|service|actor|extension|mixin)(?=\s+\w+\s*[{:]))\s+(?P<type>[A-Za-z_$][\w$.]*)"
    r"|(?:const|let|var|val)\s+(?P<const>[A-Za-z_$][\w$]*)\s*(?::[^=\n]{1,80})?=\s*(?P<arrow>(?:async\s*)?(?:\([^)\n]{0,200}\)|[\w$]+)\s*(?::[^=\n]{1,60})?=>|function\b)?"
    r"|(?:describe|it|test|context|scenario|feature|specify)(?:\(\s*|[ \t]+)(?P<quote>['\"`])(?P<test>[^\n]{3,90}?)(?P=quote)"
    r"|t\.Run\(\s*\"(?P<gotest>[^\"\n]{3,90})\""
    r"|(?i:create[ \t]+(?:or[ \t]+replace[ \t]+)?(?P<made>table|view|function|procedure|index|trigger|type)[ \t]+(?:if[ \t]+not[ \t]+exists[ \t]+)?)(?P<sql>[\w.\"]{1,80})"
    r"|(?!(?:raise|throw|case|when|alias|return|use|not|and|else|yield|puts|import|require|include|config|goto|def\w*)\b)(?P<macro>[a-z]\w{2,30})[ \t]+:(?P<atom>[a-z]\w{1,60})(?=[ \t]*(?:,|do\b|$))"
    r"|(?:rpc[ \t]+)?(?!(?:if|for|foreach|while|switch|select|try|catch|else|return|new|await|do|go|defer|with|match|throw|yield|case|using|lock|when|until|unless|synchronized|guard|where)\b)"
    r"(?:[A-Za-z_][\w<>\[\],.?*&:]{0,60}[ \t]+[*&]?){0,3}(?!func\b|function\b|fn\b)(?P<method>[A-Za-z_~#][\w$]{1,60})[ \t]*\((?P<taken>[^;{}\n]{0,200})\)[ \t]*(?::[ \t]*[\w<>\[\]|. ]{1,60}|->[^{\n]{1,60}|throws[ \t][\w, .]{1,80}|const|noexcept|override)?[ \t]*\{[ \t]*$"
    r"|(?P<title>#{1,4} \S[^\n]{2,80})$)",
    re.MULTILINE,
)
"""What a line defines, in the languages that agents write most: a function or method, a type, a test, a table, what a macro of
Ruby or Elixir declares ("attribute :state"), a title."""

_WORDS = LazyPattern(r"[^\W\d_]{2,}")
_TRIVIAL = LazyPattern(
    r"(?:[\W_]*|import\b.*|from .+ import .*|package \w+|use [\w:]+;|return|pass|break|continue|end|}? ?else ?[{:]?)$"
)
"""Matched against a line without the white space around it: at its beginning each blank would match in two ways."""

LARGE = 250_000
"""Lines before times lines after, above which an edit is compared without regard to order."""

CHANGED_NEED, TEMPORARY_NEED = 0.9, 0.1

SHOWN = 3
"""Lines of the last edit that are shown."""

LINE = 110
"""Characters of a line that is shown."""

AROUND = 20
"""Characters before and behind what differs in a long line, so that a reader sees where it stands."""


Edit: TypeAlias = "tuple[Redacted, Effect, list[tuple[str | None, str]]]"
"""Path, effect, and what was there before with what is there now; None for a whole file."""


class _File(Struct):
    """What happened to one file: added lines that still stand, removed ones, in order."""

    effects: dict[Effect, int] = field(default_factory=dict[Effect, int])
    added: Counted[str] = field(default_factory=Counted[str])
    removed: Counted[str] = field(default_factory=Counted[str])
    committed: tuple[Counted[str], Counted[str]] = field(
        default_factory=lambda: (Counted[str](), Counted[str]())
    )
    seqs: list[int] = field(default_factory=list[int])
    said: list[str] = field(default_factory=list[str])
    handed_on: int = 0
    tried: str = ""

    def take(self, hunks: Iterable[tuple[str | None, str]]) -> None:
        """Take in what an edit says was there before, and is there now."""
        for old, new in hunks:
            if old is None:
                self.whole(new)
            else:
                self.edit(old, new)

    def hand_on(self, seq: int) -> None:
        """An agent was told of it in message ``seq``: what stands in it now, only that agent's own log would say."""
        self.handed_on = seq
        self.added.clear()
        self.removed.clear()
        self.said.clear()

    def note(self, effect: Effect) -> None:
        """Count one effect; a file that is written after it was deleted is there, and of a deleted one nothing stands."""
        if effect == "deleted":
            self.added.clear()
            self.removed.clear()
        else:
            self.effects.pop("deleted", None)
        self.effects[effect] = self.effects.get(effect, 0) + 1

    def edit(self, old: str, new: str) -> None:
        gone, come = _difference(_lines(old), _lines(new))
        _settle(gone, undone=self.added, noted=self.removed)
        _settle(come, undone=self.removed, noted=self.added)

    def whole(self, text: str) -> None:
        self.added = Counted(_lines(text))
        self.removed = Counted()


def _settle(lines: Iterable[str], *, undone: Counted[str], noted: Counted[str]) -> None:
    """Note the lines, but for those that only take back what was noted on the other side."""
    for line in lines:
        if undone[line] > 0:
            undone[line] -= 1
        else:
            noted[line] += 1


def _difference(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    """The lines that are gone and those that came; of a very large edit without regard to their order."""
    if len(before) * len(after) > LARGE:
        kept = set(before) & set(after)
        return [line for line in before if line not in kept], [line for line in after if line not in kept]
    gone: list[str] = []
    come: list[str] = []
    # autojunk would take lines that occur often, such as a brace, for noise, and tell them as changed
    for tag, a0, a1, b0, b1 in difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if tag != "equal":
            gone += before[a0:a1]
            come += after[b0:b1]
    return gone, come


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def find_changes(
    calls: Sequence[Call],
    *,
    words: Mapping[str, Redacted],
    same: Mapping[Redacted, Redacted],
    said: Mapping[int, str],
) -> list[Entry]:
    """One entry a changed file, in order of its last change.

    Args:
        calls: in order; calls that failed changed nothing, but what the last of them tried is told.
        words: the words for what happens to a file.
        same: other spellings of a path.
        said: by message, the agent's last sentence before it acts.
    """
    files: dict[Redacted, _File] = {}
    tried: dict[Redacted, _File] = {}
    there: set[Redacted] = set()
    for call in calls:
        if call.is_error:
            tried |= {same.get(path, path): _tried(call, hunks) for path, _, hunks in edits_of(call.action)}
            continue
        _follow_git(files, call.action.command)
        _follow_agents(files, call)
        _follow_files(there, call, same=same)
        for path, effect, hunks in edits_of(call.action):
            path = same.get(path, path)
            # the agent tried again, and this is what came of it
            tried.pop(path, None)
            # out and in again: files stand in the order of their last change
            file = files.pop(path, None) or _File()
            files[path] = file
            file.note(_known(effect, was_there=path in there, output=call.output))
            file.seqs.append(call.seq)
            sentence = said.get(call.seq, "")
            if sentence and sentence not in file.said:
                file.said.append(sentence)
            file.take(hunks)
    _say_once(files.values())
    for path, attempt in tried.items():
        if gist := _gist(path, attempt):
            file = files[path] = files.pop(path, None) or attempt
            # the file is not so now, although the gist is worded as if it were
            file.tried = f"not applied {reference(attempt.seqs[0])} {gist.replace('now `', 'with `', 1)}"
    return [_entry(path, file, words=words) for path, file in files.items()]


def _known(effect: Effect, *, was_there: bool, output: str) -> Effect:
    """The effect of a call that writes a whole file: one that was read before, or is said to be written over, was there."""
    was_there = was_there or _WRITTEN_OVER.search(output, 0, _FIRST) is not None
    is_new = (
        _NEWLY.search(output, 0, _FIRST) is not None
    )  # who wrote it knows, whatever was seen of it before
    return "edited" if effect == "created" and was_there and not is_new else effect


def _follow_files(there: set[Redacted], call: Call, *, same: Mapping[Redacted, Redacted]) -> None:
    """Note in ``there`` the files that a call could read, and take out those that it deleted."""
    failed = call.outcome is not None and call.outcome.failed
    for spelled, effect in call.action.files:
        path = same.get(spelled, spelled)
        if effect == "deleted":
            there.discard(path)
        elif effect == "read" and not failed and not _is_absent(path, call.output):
            there.add(path)


def _is_absent(path: str, output: str) -> bool:
    """Whether the answer to a look at a file says that it is not there."""
    name = path.rpartition("/")[2]
    lines = output[:_FIRST].split("\n")
    about = [line for line in lines if name in line] if len(output) > _SAYING else lines
    return any(_ABSENT.search(line) for line in about)


def _tried(call: Call, hunks: list[tuple[str | None, str]]) -> _File:
    """What a call that failed would have changed in a file."""
    file = _File(seqs=[call.seq])
    file.take(hunks)
    return file


def _say_once(files: Iterable[_File]) -> None:
    """Leave a sentence that goes with many files at the first of them."""
    told: set[str] = set()
    for file in files:
        file.said = [sentence for sentence in file.said if sentence not in told]
        told.update(file.said)


def _follow_git(files: dict[Redacted, _File], command: str) -> None:
    """Take back what ``git checkout FILE`` or ``git restore FILE`` takes back: everything since the last commit."""
    if "git " not in command:
        return
    if _COMMITS.found_in(command):
        for file in files.values():
            # copies: later edits go on in the originals
            file.committed = Counted(file.added), Counted(file.removed)
    for match in _RESTORES.finditer(command):
        named = match["paths"].split()
        for path in [
            path for path in files if any(path == name or path.endswith(f"/{name}") for name in named)
        ]:
            file = files[path]
            file.added, file.removed = Counted(file.committed[0]), Counted(file.committed[1])
            file.said.clear()
            if not any((*file.committed[0].values(), *file.committed[1].values())):
                del files[path]


def _follow_agents(files: dict[Redacted, _File], call: Call) -> None:
    """Tell no line as the newest of a file that a sub-agent was told of after the last edit, or reports on."""
    if call.action.verb != "spawn":
        return
    told = f"{call.action.text}\n{call.output}"
    for path, file in files.items():
        if re.search(rf"(?<![\w.-]){re.escape(path.rpartition('/')[2])}(?![\w-])", told):
            file.hand_on(call.seq)


def edits_of(action: Action) -> Iterator[Edit]:
    """Path, effect and (old, new) pairs of a call; old None is a whole file."""
    arguments = action.arguments
    patch = _string(arguments, PATCHES) or ("" if arguments else action.text)
    # other tools are handed a diff to look at
    if "*** " in patch or ((action.verb == "edit" or "apply" in action.name.lower()) and _HUNK.search(patch)):
        yield from _patch(patch, action)
        return
    for path, effect in action.files:
        if effect == "read":
            continue
        yield path, effect, _hunks(action, effect)


def edited_lines(action: Action) -> str:
    """The first lines that an edit added, or where it added none those that it took out; "" where it wrote a whole file."""
    gone: list[str] = []
    come: list[str] = []
    for _, _, hunks in edits_of(action):
        for old, new in hunks:
            if old is not None:
                before, after = _difference(_lines(old), _lines(new))
                gone += before
                come += after
    mark, lines = ("+", come) if come else ("−", gone)
    return f"{mark} " + " / ".join(line.strip() for line in lines[:SHOWN]) if lines else ""


def _hunks(action: Action, effect: Effect) -> list[tuple[str | None, str]]:
    """What a call says was in a file before, and is there now."""
    arguments = action.arguments
    pairs = [_pair(edit) for edit in _edit_list(arguments)] or [_pair(arguments)]
    if pairs != [("", "")]:
        return [pair for pair in pairs if pair != ("", "")]
    whole = _string(arguments, (*PATCHES, *WHOLE))
    blocks: list[tuple[str | None, str]] = [
        (edit["old_string"], edit["new_string"]) for edit in edits_in(whole)
    ]
    if blocks or not whole or effect == "deleted":
        return blocks
    return [("" if inserts(action) else None, whole)]


def _edit_list(arguments: Mapping[str, RedactedJson]) -> list[Mapping[str, RedactedJson]]:
    """The edits of a call that makes several."""
    given = next((value for name in EDITS if isinstance(value := arguments.get(name), list | dict)), None)
    edits = cast("list[object]", given if isinstance(given, list) else [given])
    return [
        in_snake_case(cast("Mapping[str, RedactedJson]", edit)) for edit in edits if isinstance(edit, dict)
    ]


def _pair(arguments: Mapping[str, RedactedJson]) -> tuple[str, str]:
    return _string(arguments, OLD), _string(arguments, NEW)


def _string(arguments: Mapping[str, RedactedJson], names: Iterable[str]) -> str:
    """The first of the arguments ``names`` that is given as a string; "" if none is."""
    return next((value for name in names if isinstance(value := arguments.get(name), str)), "")


def _patch(patch: str, action: Action) -> Iterator[Edit]:
    effects = dict(action.files)
    # of a diff beside the name of its file the name counts
    named = action.files[0][0] if len(action.files) == 1 else EMPTY
    path = named
    old: list[str] = []
    new: list[str] = []

    def done() -> Iterator[Edit]:
        if path and (old or new):
            yield path, effects.get(path, "edited"), [("\n".join(old), "\n".join(new))]

    for line in patch.split("\n"):
        match = _PATCHED.match(line)
        if match:
            yield from done()
            found = with_slashes((match[1] or match[2]).rstrip())
            path, old, new = named or Redacted(found), [], []
        elif not _BEFORE.match(line):
            old += [line[1:]] if line.startswith(("-", " ")) else []
            new += [line[1:]] if line.startswith(("+", " ")) else []
    yield from done()


def _entry(path: Redacted, file: _File, *, words: Mapping[str, Redacted]) -> Entry:
    last = file.seqs[-1]
    told = " ".join(filter(None, (_effect(file, words), _gist(path, file)))) if file.effects else ""
    return Entry(
        kind="change",
        text=Redacted("; ".join(filter(None, (told, file.tried)))),  # made of what was redacted
        seq=last,
        key=path,
        state="done" if file.effects else "open",
        state_seq=file.seqs[0],
        need=TEMPORARY_NEED if is_temporary(path) else CHANGED_NEED,
    )


EARLIER = 240
"""Characters that stay of what an earlier ledger said of a file that was changed again."""


def changed_again(earlier: Entry, later: Entry) -> Entry:
    """One entry for a file that was changed before and after a compaction."""
    before = clipped(earlier.text, EARLIER)
    return replace(later, text=Redacted(f"{later.text}; before that: {before}"), state_seq=earlier.state_seq)


def _effect(file: _File, words: Mapping[str, Redacted]) -> str:
    parts = [
        words[name] + (f" {count}×" if name == "edited" and count > 1 else "")
        for name, count in sorted(
            file.effects.items(), key=lambda pair: ("created", "edited", "deleted").index(pair[0])
        )
    ]
    return ", ".join(parts)


def _gist(path: str, file: _File) -> str:
    """What the edits amount to: definitions that came, went or changed, what they are for, and the agent's words."""
    # unary plus drops lines whose count has gone back to zero
    added, removed = [*+file.added], [*+file.removed]
    new, old = _defined(path, added), _defined(path, removed)
    plus = [name for name in new if name not in old]
    minus = [name for name in old if name not in new]
    parts = [
        *([f"+ {_listed(plus)}"] if plus else ()),
        *([f"− {_listed(minus)}"] if minus else ()),
        *([f"changed {_listed(both)}"] if (both := [name for name in new if name in old]) else ()),
        *_replaced(added, removed, names=bool(plus), in_prose=path.endswith(DOCUMENTS)),
        *_noted(added, plus[:6]),
    ]
    if file.said:
        parts.append("; ".join(f"“{sentence}”" for sentence in file.said[-2:]))
    if file.handed_on:
        when = "before" if file.handed_on > file.seqs[-1] else "after"
        parts.append(f"edited here {when} a sub-agent worked on it, see {reference(file.handed_on)}")
    elif plus and not path.endswith(DOCUMENTS) and (values := _valued(added)):
        parts.append(f"with {', '.join(map(_as_code, values))}")
    return "— " + "; ".join(parts) if parts else ""


def _defined(path: str, lines: Iterable[str]) -> list[str]:
    """The names that the lines define, each once; a title only in a document."""
    titles = path.endswith(DOCUMENTS)
    names = dict.fromkeys(definitions("\n".join(lines)))
    told = [name for name in names if titles == name.startswith("section ")]
    # which module a file is says its path
    return [name for name in told if not name.startswith("module ")] or told


def _replaced(added: Sequence[str], removed: Sequence[str], *, names: bool, in_prose: bool) -> list[str]:
    """A short replacement word for word; where nothing was defined, the lines that say most."""
    now, was = _statements(added), _statements(removed)
    if len(now) == len(was) and len(alike := {_window(*pair) for pair in zip(was, now, strict=True)}) == 1:
        [(before, after)] = alike
        return [f"`{before}` → `{after}`" + (f" {len(now)}×" if len(now) > 1 else "")]
    if names:
        return []
    if now:
        told = _in_sentences(now) if in_prose else _with_whole_comments(now)
        return ["now " + ", ".join(_telling([*dict.fromkeys(told)]))]
    return ["without `" + "`, `".join(_short(line) for line in was[:2]) + "`"] if was else []


_FIGURES = LazyPattern(r"(?<![\w.#])(?![01](?![\d.]))\d[\d_.]*(?![\w.])|\b[A-Z][A-Z\d]*_[A-Z\d_]+\b")
_QUOTED = LazyPattern(r"([\"'`])[^\"'`\n]{3,}\1")
"""Numbers, constants and texts in code: what was decided, where names say what it is about."""

_MOST_VALUES = 3
_WITH_VALUES = LazyPattern(r"; with `.*?(?=; before that: |\Z)")


def _valued(added: Iterable[str]) -> list[str]:
    """The new lines in which most values stand, in order; a text that stands alone says nothing of what it is for."""
    lines = list(dict.fromkeys(_statements(added)))
    worth = [
        2 * min(3, len(_FIGURES.findall(line))) + min(2, len(_QUOTED.findall(line)))
        if len(_WORDS.findall(_QUOTED.sub("", line))) > 1
        else 0
        for line in lines
    ]
    best = sorted(range(len(lines)), key=lambda at: (-worth[at], at))[:_MOST_VALUES]
    return [lines[at] for at in sorted(best) if worth[at]]


def without_values(change: str) -> str:
    """What is told of a change without the lines of values at its end."""
    return _WITH_VALUES.sub("", change)


def _statements(lines: Iterable[str]) -> list[str]:
    """The lines that neither define anything nor are mere syntax."""
    kept: list[str] = []
    for line in lines:
        defines = _DEFINES.match(line)
        if not _TRIVIAL.begins(line.strip()) and (defines is None or defines["title"]):
            kept.append(line.strip())
    return kept


def _as_code(line: str) -> str:
    return f"`{_short(line)}`"


def _in_sentences(lines: Sequence[str]) -> Iterator[str]:
    """The lines of a document as whole sentences, its rows and what is none as they are."""
    for is_prose, run in groupby(map(_unquoted, lines), key=_is_prose):
        written = [*run]
        whole = [text for text in prose("\n".join(written)) if _BEGINS.match(text)] if is_prose else []
        yield from (f"“{clipped(text, _SENTENCE)}”" for text in whole)
        if not whole:
            yield from map(_as_code, written)


def _is_prose(line: str) -> bool:
    return len(_WORDS.findall(line)) >= _PROSE and not is_code(line) and _OF_CODE.search(line) is None


def _unquoted(line: str) -> str:
    return line.removeprefix("> ")


_OF_CODE = LazyPattern(r"^[|\"'({\[<$@]|^[\w.-]+:(?:\s|$)|[\"'][,)\]]|[{}<>;=\[(|]$|[\w)\]] \| \w|\w\(\w")
"""What a line of prose does not have: a cell, a key, a string among others, an open bracket, a call."""


_PROSE = 5
"""Words of a line of prose at least."""


def _with_whole_comments(lines: Sequence[str]) -> Iterator[str]:
    """The lines, those of a comment as its sentences: half of a sentence says nothing."""
    for is_comment, run in groupby(lines, key=lambda line: bool(_comment(line))):
        if not is_comment:
            yield from _in_sentences([*run])
            continue
        written = [*run]
        whole = [text for text in prose("\n".join(map(_comment, written))) if _BEGINS.match(text)]
        yield from (f"“{clipped(text, LINE)}”" for text in whole)
        if not whole:
            yield _as_code(written[0])


_BEGINS = LazyPattern(r"[^\w\s]{0,3}(?![a-z])\w")
"""What a sentence begins with, unlike the rest of one whose first line was there before."""


def _telling(lines: Sequence[str]) -> list[str]:
    """The three lines that say most to a reader, in order: those with the most words."""
    best = sorted(range(len(lines)), key=lambda at: (-min(12, len(_WORDS.findall(lines[at]))), at))[:3]
    return [lines[at] for at in sorted(best)]


def _window(before: str, after: str) -> tuple[str, str]:
    """A line before and after an edit; of long ones what differs, with a little around it."""
    if len(before) <= LINE >= len(after):
        return before, after
    same = _shared(before, after)
    start = max(0, after.rfind(" ", 0, max(0, same - AROUND)) + 1)
    # what both begin with must not be counted at their end once more
    limit = min(len(before), len(after)) - same
    end = max(0, _shared(before[::-1][:limit], after[::-1][:limit]) - AROUND)
    return _middle(before, start, end=end), _middle(after, start, end=end)


def _shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _middle(line: str, start: int, *, end: int) -> str:
    """The line without its first ``start`` and its last ``end`` characters, in at most `LINE`."""
    last = len(line) - end
    if end:
        last = line.find(" ", last) if " " in line[last:] else len(line)
    cut = line[start:last]
    return ("…" if start else "") + (
        _short(cut) if len(cut) > LINE else cut + ("…" if last < len(line) else "")
    )


def _listed(names: Sequence[str], most: int = 8) -> str:
    more = f" (+{len(names) - most} more)" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _short(line: str) -> str:
    return line if len(line) <= LINE else line[: LINE - 1].rsplit(" ", 1)[0] + "…"


def definitions(text: str) -> Iterator[str]:
    """Names that the lines define, as a reader would call them."""
    return filter(None, map(_definition, _DEFINES.finditer(text)))


def _definition(match: re.Match[str]) -> str:
    """What a match of `_DEFINES` is called; "" for a constant, which is told by its line."""
    if name := match["func"] or match["method"]:
        return f"{name}()"
    if match["plain"]:
        return f"{match['plain']}({(match['given'] or '(')[1:].lstrip('{')})"
    if match["type"]:
        return f"{match['what'].removeprefix('def')} {match['type']}"
    if match["const"]:
        return f"{match['const']}()" if match["arrow"] else ""
    if match["sql"]:
        return f"{match['made'].lower()} {match['sql']}"
    return _declared(match)


def _declared(match: re.Match[str]) -> str:
    if match["macro"]:
        return f"{match['macro']} :{match['atom']}"
    test = match["test"] or match["gotest"]
    return f'test "{test}"' if test else f'section "{match["title"].lstrip("# ")}"'


_COMMENT = LazyPattern(r"\s*(?://+|#+(?!\[)|/?\*+(?=[\s/]|$)|--|\"{3}|'{3}|;;)\s*(?P<text>.*)$")
_MARKUP = LazyPattern(r"</?(?:summary|remarks|para|returns|value)\s?/?>")
_FRAME = LazyPattern(r"\s*(?:\*/|///\s*</?(?:summary|remarks|para)\s?/?>)\s*")
"""A line of a comment that has no words: its end, or a mark of C#'s comments."""

_FIELD = LazyPattern(
    r"\s*(?:(?:public|private|protected|readonly|static|pub|mut|const|let|var|val|final)\s+)*(?P<name>[A-Za-z_]\w*)\??\s*(?::|\s[\w*\[\]<>.]+\s*(?:`|$|//)|=)"
)


def _noted(added: Iterable[str], plus: Sequence[str]) -> Iterator[str]:
    """What the comment before, or the members inside, say of definitions that were added."""
    lines = list(added)
    for index, line in enumerate(lines):
        match = _DEFINES.match(line)
        name = next(definitions(line), "") if match else ""
        if not match or name not in plus:
            continue
        comment = _first_comment(lines, index)
        has_fields = match["type"] and not name.startswith("module ")
        fields = _fields(lines[index + 1 : index + 14]) if has_fields else []
        if fields:
            yield f"{name} {{{', '.join(fields)}}}"
        if comment:
            yield f"{name}: {comment}"


_SENTENCE = 180
"""Characters of a comment at most."""


def _first_comment(lines: Sequence[str], index: int) -> str:
    """The first sentence of the comment that ends right above line ``index``, or begins right below it."""
    words: list[str] = []
    for at in range(index - 1, -1, -1):
        line = lines[at]
        text = _comment(line)
        if not text and not _FRAME.fullmatch(line):
            break
        words += [text] if text else []
    below = lines[index + 1] if index + 1 < len(lines) else ""
    if not words and below.lstrip().startswith(('"""', "'''", "///")):
        words.append(_comment(below))
    return clipped(next(prose("\n".join(reversed(words))), ""), _SENTENCE)


def _comment(line: str) -> str:
    """The words of a line that is a comment, without its marks; "" if it is none."""
    match = _COMMENT.match(line)
    text = match["text"].rstrip().removesuffix("*/").removesuffix('"""') if match else ""
    return _MARKUP.sub("", text).strip()


def _fields(lines: Sequence[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if line.lstrip().startswith(("}", ")")) or _DEFINES.match(line):
            break
        if match := _FIELD.match(line):
            found.append(match["name"])
    return [*dict.fromkeys(found)][:10]
