"""The effect of a tool call, whichever agent made it.

Claude Code says ``Edit(file_path)``, Codex ``apply_patch`` with a patch as text or ``exec_command(cmd)``, Gemini
``replace(file_path)``, Copilot ``edit(path)``, OpenHands ``str_replace_editor(command, path)``. They are not
listed one by one: the words in the tool's name and the keys of its arguments say what it does, so that a tool
nobody has seen yet is understood as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from autocompact.core.argument_names import (
    COMMANDS,
    ONLY_EDITS,
    PATCHES,
    PATHS,
    TASKS,
    TODOS,
    WHOLE,
    in_snake_case,
)
from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import (
    EMPTY,
    RedactedCall,
    RedactedJson,
    cut,
    edited,
    filled,
    joined,
)
from autocompact.core.redaction import Redacted

Verb: TypeAlias = Literal[
    "read", "edit", "create", "delete", "run", "search", "todo", "spawn", "poll", "stop", "other"
]
Effect: TypeAlias = Literal["read", "edited", "created", "deleted"]

_PARTS = ["phases", "stages", "milestones", "steps"]
"""Lists of a plan that is made of parts: its items are the innermost."""

_INSIDE = [*_PARTS, "delegations", "tracks", "subtasks", "substeps", "tasks", "items", "todos"]
"""Members of an item that hold further items."""

_STEP = frozenset(["step", "todo"])
_PROGRESS = frozenset("step plan progress status todo task".split())
_NOTES = frozenset("memory memories note notes remember memorize think thought journal".split())
_ASKS_FOR = frozenset("search query find read list get recall delete remove forget".split())
"""Words in the names of tools that keep what an agent knows, and of those that look it up."""

_ENDINGS = frozenset(
    [
        "finish",
        "submit",
        "attempt_completion",
        "task_done",
        "task_complete",
        "yield",
        "submit_result",
        "complete_task",
    ]
)
_TOLD = frozenset("notes note explanation rationale conclusion summary result message".split())
"""Arguments by which an agent says something of a step of its plan, or of the end of its work."""

_SENTENCE = 40
_NAMELESS = frozenset("status priority activeForm active_form output_mode".split())
_WORDS: Mapping[Verb, frozenset[str]] = {
    "edit": frozenset(["edit", "replace", "patch", "insert", "modify", "multiedit"]),
    "create": frozenset(["write", "create", "save"]),
    "delete": frozenset(["delete", "remove", "unlink"]),
    "search": frozenset(["grep", "search", "glob", "find", "ls", "list", "ripgrep"]),
    "read": frozenset(["read", "view", "open", "cat", "get", "fetch"]),
    "stop": frozenset(["kill", "stop", "cancel", "terminate", "close"]),
    "spawn": frozenset(["agent", "subagent", "delegate", "spawn", "dispatch", "task"]),
    "poll": frozenset(["output", "wait", "poll", "stdin"]),
}
_EDITOR: Mapping[str, Verb] = {
    "view": "read",
    "create": "create",
    "str_replace": "edit",
    "insert": "edit",
    "undo_edit": "edit",
}
_WORD = LazyPattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PATCHED = LazyPattern(
    r"^\*\*\* (Add|Update|Delete) File: (.*[^ \n]) *$|^\*\*\* (Move) to: (.*[^ \n]) *$", re.MULTILINE
)
_PATCH_EFFECTS: Mapping[str, Effect] = {
    "Add": "created", "Update": "edited", "Delete": "deleted", "Move": "created"
}  # fmt: skip
# One that is not closed reaches to the end: looking for the end of each of many would take quadratic time.
HEREDOC = LazyPattern(
    r"(?<!<)(<<-?[ \t]*+['\"]?+([A-Za-z_]\w*+)['\"]?+)([^\n]*+)\n.*?(?:(?<=\n)[ \t]*+\2\b|\Z)", re.DOTALL
)
"""A here-document: its mark, its end, what follows on the line of the mark, and its text, which is no command."""

_SHELL_FILE = LazyPattern(
    r"(?:^|[\n;&|][ \t]*+)(?P<verb>(?:git )?(?:rm|mv)|cat|head|tail|less|nl|sed)\s"
    r"(?P<rest>[^\n;&|<>]*)"
    r"|(?:\S\s+|\d)?(?P<to>>>?)\s?(?P<out>[\w~./-]*[\w-]\.\w{1,5})(?=[\s;&|)]|$)"
)
_QUOTED = LazyPattern(
    r"(?P<kept>\\.|'[\w~./@+-]*+'|\"[\w~./@+-]*+\")|'[^']*+(?:'|\Z)|\"(?:\\.|[^\"\\])*+(?:\"|\Z)|(?<!\S)#[^\n]*+",
    re.DOTALL,
)
"""What a shell takes as text, or as a comment: a name in quotes is kept, since it may be a file's."""

_IN_PLACE = LazyPattern(r"(?<!\S)(?:-[Ernsuz]*i|--in-place)")
_ARGUMENT = LazyPattern(r"(?<!\S)['\"]?([\w~./@+-]*[\w@+-]/?[\w.@+-]*)['\"]?(?!\S)")
_LOOKS_LIKE_FILE = LazyPattern(r".*[\w-](?:\.[A-Za-z]\w{0,5}|/[\w.-]+)\Z|[A-Z]\w+file\Z")
_SUBSTITUTES = LazyPattern(r"[sy]/|/[^/\s]+/(?:I?[pdq]|!d)\Z")
"""A step of sed, which may look like a path."""

_PLACE = LazyPattern(r"(?<=[\w)\]]):\d{1,7}(?:-\d{1,7})?(?:,\d{1,7}(?:-\d{1,7})?)*\Z")
LONGEST_PATH = 300


class Action(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The effect of one tool call.

    Attributes:
        verb: the kind of thing it does.
        name: the tool's name.
        text: every string in the arguments, one after the other, for identifiers to be found in.
        files: the files it touches, with what it does to them.
        command: the shell command line, if it runs one.
        task: the id of the sub-agent, shell or task it is about.
        arguments: the decoded arguments, by their names in snake case; empty if they are not a JSON object.
    """

    verb: Verb
    name: Redacted
    text: Redacted
    files: tuple[tuple[Redacted, Effect], ...] = ()
    command: Redacted = EMPTY
    task: Redacted = EMPTY
    arguments: Mapping[str, RedactedJson]


def interpret(call: RedactedCall) -> Action:
    """Interpret ``call``; arguments that are free text are read as a patch or as a command line."""
    arguments = in_snake_case(call.values)
    words = _words_of(call.name)
    if not arguments:
        # what is in a script is read once: a script may write itself
        return interpret(call.inner) if call.inner is not None and words & _RUN else _of_text(call, words)
    path = edited(cut(_first(arguments, PATHS), end=LONGEST_PATH), _as_path)
    command = _command(arguments, is_run=not path and bool(words & _RUN))
    verb = _verb(words, arguments, path=path, command=command)
    if verb == "run":
        files = patched_files(command) or shell_files(command)
    else:
        files = patched_files(_first(arguments, PATCHES)) or _files(verb, path)
    return Action(
        verb="edit" if verb == "other" and files else verb,
        name=call.name,
        text=joined("\n", strings(arguments)),
        files=files,
        command=command if verb == "run" else EMPTY,
        task=_first(arguments, TASKS),
        arguments=arguments,
    )


def _as_path(given: str) -> str:
    """The file that an argument names, without the lines of it that some tools take behind a colon."""
    return _PLACE.sub("", with_slashes(given))


def with_slashes(path: str) -> str:
    """``path`` of Windows in the spelling that both systems read: one file is then one, and stands in its folder."""
    return path.replace("\\", "/") if "\\" in path and "://" not in path else path


@lru_cache(maxsize=256)
def _words_of(name: str) -> frozenset[str]:
    """The words of a tool's name; there are few tools, and many calls."""
    return frozenset(word.lower() for word in _WORD.findall(name))


def strings(value: RedactedJson) -> Iterator[Redacted]:
    """Every string inside a JSON value that could name something: a status or priority does not."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key not in _NAMELESS:
                yield from strings(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from strings(item)


def todo_items(action: Action) -> list[Mapping[str, RedactedJson]]:
    """The items of a todo list or plan that the call sets; empty if it sets none."""
    for key in TODOS:
        value = action.arguments.get(key)
        if isinstance(value, Sequence) and not isinstance(value, str) and value:
            return list(_innermost(value))
    if action.verb != "todo":
        return []
    return [item for key in _PARTS for item in _innermost(action.arguments.get(key))]


def _innermost(value: RedactedJson) -> Iterator[Mapping[str, RedactedJson]]:
    """The items of a list, and in place of one that is a part of the plan, those inside of it."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return
    for item in value:
        if isinstance(item, Mapping):
            inside = [each for key in _INSIDE if key in item for each in _innermost(item[key])]
            if "status" in item or not inside:
                yield item
            yield from inside


def told(action: Action) -> Redacted:
    """What the agent says in the arguments of a call: what it keeps for later, how a step went, what came of the work."""
    words = _words_of(action.name)
    keeps = words & _NOTES and not words & _ASKS_FOR and not action.files
    if not keeps and action.verb != "todo" and action.name.lower() not in _ENDINGS:
        return EMPTY
    said = (
        text
        for key, value in action.arguments.items()
        if keeps or key in _TOLD
        for text in strings(value)
        if len(text) >= _SENTENCE and " " in text
    )
    return joined("\n\n", said)


def inserts(action: Action) -> bool:
    """True for a call that puts text into a file, and leaves what else stands in it."""
    return bool(_words_of(action.name) & _INSERTS)


def ends(action: Action) -> bool:
    """True for a call by which an agent says that it is done."""
    return action.name.lower() in _ENDINGS


def patched_files(text: Redacted) -> tuple[tuple[Redacted, Effect], ...]:
    """The files of an ``apply_patch`` patch, with what it does to each."""
    if "*** " not in text:
        return ()
    return tuple(
        (Redacted(with_slashes(path or moved)), _PATCH_EFFECTS[what or "Move"])
        for what, path, _, moved in _PATCHED.findall(text)
    )


def shell_files(command: Redacted) -> tuple[tuple[Redacted, Effect], ...]:
    """The files that a command line plainly reads, writes or removes, with what came of each in the end."""
    found: dict[str, Effect] = {}
    line = _QUOTED.sub(lambda match: match["kept"] or "''", HEREDOC.sub(r"\1\3", command[:2000]))
    for match in _SHELL_FILE.finditer(line):
        if match["out"]:
            if not match["out"].startswith("/dev/"):
                _note(found, {match["out"]: "edited" if match["to"] == ">>" else "created"})
        else:
            _note(found, dict(_shell_effects(match["verb"], match["rest"])))
    return tuple((Redacted(path), effect) for path, effect in found.items())


def _note(found: dict[str, Effect], effects: Mapping[str, Effect]) -> None:
    """Add what a command does to files; one that is read after it was changed was changed."""
    for path, effect in effects.items():
        before = found.get(path, "read")
        if before == "read" or effect == "deleted":
            found[path] = effect
        elif before == "deleted" and effect != "read":
            found[path] = "created"


def _shell_effects(verb: str, rest: str) -> Iterator[tuple[str, Effect]]:
    """Path and effect for each file among the arguments ``rest`` of a command."""
    words = (word for word in _ARGUMENT.findall(rest) if not word.startswith("-"))
    paths = [word for word in words if _LOOKS_LIKE_FILE.match(word) and not _SUBSTITUTES.match(word)]
    if verb.endswith("mv"):
        yield from _moved(rest, paths)
        return
    effect: Effect = "read"
    if verb.endswith("rm"):
        effect = "deleted"
    elif verb == "sed" and _IN_PLACE.search(rest):
        effect = "edited"
    for path in paths:
        yield path, effect


def _moved(rest: str, paths: Sequence[str]) -> Iterator[tuple[str, Effect]]:
    """What ``mv`` does to the files ``paths`` among its arguments: into a folder each goes under its own name."""
    words = [word.strip("'\"") for word in rest.split() if not word.startswith("-")]
    target = words[-1] if words else ""
    into = target if len(words) > 2 or target.endswith("/") else ""
    for path in paths:
        if path == target:
            if not into:
                yield path, "created"
            continue
        yield path, "deleted"
        if _ARGUMENT.fullmatch(into):
            yield f"{into.rstrip('/')}/{path.rpartition('/')[2]}", "created"


def _of_text(call: RedactedCall, words: frozenset[str]) -> Action:
    files = patched_files(call.arguments)
    verb: Verb = "edit" if files else "run" if words & _RUN else _named(words)
    command = call.arguments if verb == "run" else EMPTY
    return Action(
        verb=verb,
        name=call.name,
        text=call.arguments if call.arguments != "{}" else EMPTY,
        files=files or shell_files(command),
        command=command,
        arguments={},
    )


_CODE = frozenset(["code", "script"])
_RUN = frozenset(
    [
        "bash",
        "shell",
        "exec",
        "terminal",
        "run",
        "command",
        "cmd",
        "powershell",
        "execute",
        "console",
        "python",
        "interpreter",
        "repl",
        "script",
    ]
)


def _first(arguments: Mapping[str, RedactedJson], keys: Sequence[str]) -> Redacted:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return filled("{}", value)
    return EMPTY


def _command(arguments: Mapping[str, RedactedJson], *, is_run: bool) -> Redacted:
    for key in COMMANDS:
        # code is run only where the tool says so: it can be what is to stand in a file, or steps for other agents
        if key not in arguments or (key in _CODE and not is_run):
            continue
        value = arguments[key]
        if isinstance(value, str):
            return value
        if isinstance(value, Sequence) and value:
            if lines := [_first(each, COMMANDS) for each in value if isinstance(each, Mapping)]:
                return joined("\n", filter(None, lines))
            words = [_word(word) for word in value]
            return words[-1] if len(words) == 3 and words[1] in ("-c", "-lc") else joined(" ", words)
    return EMPTY


def _word(value: RedactedJson) -> Redacted:
    if isinstance(value, str):
        return value
    return filled("{}", value) if isinstance(value, int | float) else EMPTY


def _verb(
    words: frozenset[str], arguments: Mapping[str, RedactedJson], *, path: Redacted, command: Redacted
) -> Verb:
    if path and command in _EDITOR:
        return _EDITOR[command]
    if _is_todo(words, arguments):
        return "todo"
    if words & {"poll", "output", "stdin"}:
        return "poll"
    if command:
        return "run"
    if path and (arguments.keys() & ONLY_EDITS or words & _INSERTS):
        return "edit"
    if path and arguments.keys() & _WRITES:
        return "create"
    return _named(words)


def _is_todo(words: frozenset[str], arguments: Mapping[str, RedactedJson]) -> bool:
    return (
        any(_is_list(arguments[key]) for key in TODOS if key in arguments)
        or bool(words & {"todo", "todos", "plan"})
        or ("task" in words and bool(words & {"create", "update"}))
        or ("status" in arguments and bool(arguments.keys() & _STEP and words & _PROGRESS))
    )


_INSERTS = frozenset(["insert", "append"])
_WRITES = frozenset(WHOLE) - {"text"}


def _named(words: frozenset[str]) -> Verb:
    for verb, known in _WORDS.items():
        if words & known:
            return verb
    return "other"


_EFFECTS: Mapping[Verb, Effect] = {
    "read": "read", "edit": "edited", "create": "created", "delete": "deleted"
}  # fmt: skip


def _is_list(value: RedactedJson) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _files(verb: Verb, path: Redacted) -> tuple[tuple[Redacted, Effect], ...]:
    return ((path, _EFFECTS[verb]),) if path and verb in _EFFECTS else ()
