"""Tool calls in a history of SpecStory: arguments and result, read from the Markdown that it makes of them.

SpecStory has a form for most tools of each agent, and drops what the form has no place for. What stands there is told
apart by its form, not by the tool: a command in a fence or in backquotes, a file behind "Edit file:", parameters as JSON
or as a list, a diff, check boxes, and the result in the last fence.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import msgspec

from autocompact.core.patterns import LazyPattern
from autocompact.sessions.markdown_fences import Fence, fence_at, fenced
from autocompact.sessions.specstory_edits import Edit, patched, replacements

_TAG = LazyPattern(r"<tool-use data-tool-type=\"(?P<kind>[^\"]*)\" data-tool-name=\"(?P<name>[^\"]*)\">")
_SUMMARY = LazyPattern(r"(?s)\s*(?:<details>\s*)?<summary>(?P<text>.*?)</summary>[ \t]*\n?")
_CLOSING = ("</tool-use>", "</details>")
_USE = LazyPattern(r"(?s)Tool use: \*\*(?P<name>[^*\n]+)\*\*[ \t]*(?:•\s*)?(?P<rest>.*)")
_ENTITY = LazyPattern(r"&(?:lt|gt|amp|quot|#\d{2,3}|#x[\da-f]{2,3});")
_SHELLS = frozenset("bash sh shell zsh fish powershell ps1 pwsh cmd bat console".split())
_COUNT = r"(?:[,:]| •) \**\d+\**\s.*"
_DOES = LazyPattern(
    rf"(?s)(?:(?P<run>Run command): |(?P<edit>Edit file|Write file): |(?P<patch>Apply patch) for |(?P<read>Read file): "
    rf"|(?P<delete>Deleted? file): |(?P<list>Listed) (?:directory )?)(?P<what>.*?)(?:{_COUNT})?"
)
_LOOKS = LazyPattern(
    r"(?s)(?P<how>Grep|Searched)(?: [a-z]+){0,2} \"(?P<what>.*?)\"(?: in \"(?P<path>[^\"\n]*)\")?(?: •.*|, \d.*)?"
)
_NAMES = {
    "run": "run_terminal_cmd", "edit": "edit_file", "patch": "apply_patch", "read": "read_file",
    "delete": "delete_file", "list": "list_dir",
}  # fmt: skip
_KEYS = {"run": "command"}
_SORTS = (
    ("shell", LazyPattern(r"(?i)exec|shell|bash|terminal|run_?command")),
    ("write", LazyPattern(r"(?i)edit|write|replace|patch")),
    ("search", LazyPattern(r"(?i)grep|glob|search|list|lints|find")),
    ("read", LazyPattern(r"(?i)read|fetch")),
)
"""Sorts of tools, by a part of the name: for what SpecStory calls by no sort, or did not know."""

_QUOTED = LazyPattern(
    r"(?:(?P<key>path|pattern|include|in|query|url)[ \t]+)?(?P<marks>`+)(?P<value>[^\n]+?)(?P=marks)(?!`)"
)
_KINDS = {
    "shell": "command",
    "bash": "command",
    "read": "file_path",
    "write": "file_path",
    "search": "pattern",
}
_LABEL = LazyPattern(
    r"\**(?P<name>Parameters|Additional data|Result|Error|Input|Status|User decision|Answer|Directory|Path|Query|Explanation)"
    r"(?::\**|\**:)[ \t]*(?P<rest>.*)"
)
_INPUT = LazyPattern(r"(?m)^Input(?: \(truncated\))?: (?=`{3,}$)")
"""Stands on the line that opens a fence."""

_INPUTS = {"Directory": "workdir", "Path": "file_path", "Query": "query", "Explanation": "description"}
_ITEM = LazyPattern(r"- (?P<key>[\w.-]+): `(?P<value>.*)`")
_PARAMETER = LazyPattern(r"  \* (?P<key>[\w.-]+): ?(?P<value>.*)")
_FILE = LazyPattern(r"\*\*(?P<what>Add|Update|Modify|Delete): `(?P<path>[^`\n]+)`\*\*")
_BOX = LazyPattern(r"\s*- \[(?P<mark>.{1,2}?)\][ \t]*(?:[🔥🌡❄]\ufe0f?[ \t]+)?(?P<text>.*)")
_MARKS = {"x": "completed", "X": "completed", " ": "pending"}
_OWN = LazyPattern(
    r"MCP tool call|\*\*Chunk \d+\*\*|Lines added: .*|(?:## )?Todo List:?|\*\*Agent task list:\*\*|Output mode: .*|[ \t]*"
)
"""Lines that SpecStory writes around what it shows."""

_SAVED = LazyPattern(
    r"(?:[\w -]{1,60}: |The file )(?P<path>(?:[A-Za-z]:[\\/]|~?/)[^\n:*?\"<>|]{1,300}?)(?= has been| was | \(|[.,;]?[ \t]*(?:\n|\Z))"
)
_NUMBERED = LazyPattern(r"\s*\d+(?:→|\t)")
_ENDS_IN_COMMAND = LazyPattern(r"(?:\A|\n)(?:`[^\n]+`|```(?:bash|sh)\n(?:[^`]|`(?!``))+```)\Z")
_QUESTION = LazyPattern(r"\*\*(?P<text>[^\n]+?)\*\*(?: _\(select multiple\)_)?")
_FAILED = LazyPattern(
    r"\s*(?:<tool_use_error>|The user doesn't want to proceed|Exit code:? [1-9]|Error(?: calling tool|:)|(?:(?!Output:).*\n){0,4}?Process exited with code (?!0\b)-?\d)"
)
_SAYS_FAILED = LazyPattern(
    r"(?:\A|\n)(?:[\w./-]{1,60}: (?:[^\n]{1,300}: )?(?:No such file or directory|Permission denied|command not found)"
    r"|(?:zsh|bash|sh): command not found: \S+)\s*(?:\n[^\n]{0,120}[%$#]\s*)?\Z"
)
"""What a shell writes last where a command failed: Cursor's terminal has no exit code, and may end with a prompt."""

_LOST = LazyPattern(r"(?i)\**(?:error|failed|cancell?ed|rejected)\**")
_CALL_FAILED = LazyPattern(r"Error calling tool '(?P<name>[\w.-]+)'\.?")


NAMED = "Tool use: **"
"""Begins the line that names a tool, in text without a tag for it."""


@dataclass(slots=True)
class Call:
    """A tool call: ``kind`` is SpecStory's word for the sort of tool, "" where it has none."""

    name: str
    kind: str = ""
    arguments: dict[str, object] = field(default_factory=dict[str, object])
    result: str = ""
    failed: bool = False

    @property
    def is_empty(self) -> bool:
        """True if nothing but its name is known."""
        return not self.arguments and not self.result


def read_call(lines: Sequence[str]) -> Call:
    """Read the lines of a ``<tool-use>``."""
    text = "\n".join(lines)
    tag = _TAG.match(text)
    if tag is None:
        return _filled(Call("tool"), text)
    return _filled(Call(html.unescape(tag["name"]), kind=tag["kind"]), text[tag.end() :])


def untagged_call(text: str) -> Call | None:
    """Read a part of a reply as a call, as SpecStory wrote them before it had tags for them; None if it is none."""
    if use := _USE.match(text):
        return _filled(Call(use["name"].strip()), text)
    if failed := _CALL_FAILED.fullmatch(text):
        return Call(failed["name"], result=failed.group(), failed=True)
    if text.startswith("<details>") and (summary := _SUMMARY.match(text)):
        name = _name_of(_plain(summary["text"]).strip())
        return _filled(Call(name), text) if name else None
    if "\n" not in text and (does := _DOES.fullmatch(text)) and does["read"]:
        return _filled(Call("read_file"), text)
    return _of_fences(text)


def resumed_call(text: str) -> Call | None:
    """Read a message as a call of the agent whose session another one resumed; None if it is none.

    SpecStory hands such a session over as text: of a call only what stood inside of its tag is left.
    """
    head, mark, output = text.partition("```text\n")
    if not mark or not output.endswith("```"):
        return None
    head = head.strip()
    if _SAVED.match(output) and (not head or fence_at(head.partition("\n")[0])):
        name, kind = ("write" if head else "edit"), "write"
    elif _QUOTED.fullmatch(head) and _NUMBERED.match(output):
        name, kind = "read", "read"
    elif _ENDS_IN_COMMAND.search(head):
        name, kind = "shell", "shell"
    elif head.startswith(("path `", "pattern `")):
        name, kind = "grep", "search"
    else:
        return None
    return _filled(Call(name, kind=kind), text)


def _name_of(summary: str) -> str:
    """The tool that a summary tells of; "" if it tells of none."""
    if looks := _LOOKS.fullmatch(summary):
        return "grep" if looks["how"] == "Grep" else "codebase_search"
    does = _DOES.fullmatch(summary)
    return next((name for key, name in _NAMES.items() if does[key]), "") if does else ""


def _of_fences(text: str) -> Call | None:
    """A command with its output, or a diff, where nothing else stands."""
    languages: list[str] = []
    for piece in _pieces(text.split("\n")):
        if piece.language is None:
            if piece.text.strip():
                return None
        else:
            languages.append(piece.language)
    if len(languages) == 2 and languages[0] in _SHELLS and languages[1] == "":
        return _filled(Call("run_terminal_cmd", kind="shell"), text)
    return (
        _filled(Call("edit_file", kind="write"), text) if languages and set(languages) == {"diff"} else None
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    """Text of a call; ``language`` is that of its fence, None if it stands in none."""

    text: str
    language: str | None


def _pieces(lines: Sequence[str]) -> Iterator[_Piece]:
    plain: list[str] = []
    unclosed: list[Fence] = []
    at = 0
    while at < len(lines):
        fence = fence_at(lines[at])
        # what would close it would have closed one before, which nothing does
        hopeless = fence is None or any(fence.is_within(each) for each in unclosed)
        found = None if hopeless else _whole_fence(lines, at)
        if found is None:
            unclosed += [fence] if fence and not hopeless else []
            plain.append(lines[at])
            at += 1
            continue
        yield _Piece("\n".join(plain), None)
        language, end = found
        yield _Piece("\n".join(lines[at + 1 : end]), language)
        plain, at = [], end + 1
    yield _Piece("\n".join(plain), None)


def _whole_fence(lines: Sequence[str], at: int) -> tuple[str, int] | None:
    """The language of the fence that a line opens, and where it ends; None if it opens none.

    Output is the last part of a call, and put into a fence as it is, with the fences that may stand in it.
    """
    found = fenced(lines, at)
    if found is None:
        return None
    fence, end = found
    language = fence.language.lower()
    behind = next((lines[below] for below in range(end + 1, len(lines)) if lines[below].strip()), "```text")
    asked = at > 0 and lines[at - 1] == "Input:"
    if language == "text" or (language == "" and behind != "```text" and not asked):
        last = fenced(lines, at, last=True)
        end = last[1] if last else end
    return language, end


def _filled(call: Call, text: str) -> Call:
    """``call`` with what a text says of it."""
    if call.kind in ("", "unknown", "generic"):
        call.kind = next((kind for kind, words in _SORTS if words.search(call.name)), call.kind)
    text = _INPUT.sub("Input:\n", text.strip())
    for mark in _CLOSING:
        text = text.removesuffix(mark).rstrip()
    reading = _Reading(call)
    if use := _USE.match(text):
        told, _, text = use["rest"].partition("\n")
        reading.summary(told)
    if summary := _SUMMARY.match(text):
        told, text = summary["text"].strip(), text[summary.end() :].rstrip().removesuffix("</details>")
        use = _USE.fullmatch(told)
        reading.summary(use["rest"] if use else told)
    if "*Parameters*:" in text or "*Called tool*:" in text:
        reading.of_server(text)
    else:
        reading.body(text)
    return reading.done()


class _Reading:
    """One call while it is read."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.label = ""
        self.told: list[str] = []
        self.edits: list[Edit] = []
        self.patch: list[str] = []
        self.todos: list[dict[str, str]] = []
        self.status = ""
        self.placed = False
        """The path stands above the text, which is the content and not the result."""
        self.answer = ""

    # What it is called with

    def _argue(self, key: str, value: object) -> None:
        if value not in ("", "undefined"):
            self.call.arguments.setdefault(key, value)

    def summary(self, told: str) -> None:
        """Read the line above a call."""
        told = _plain(told).strip()
        if not self._does(told) and not self._quotes(told) and told and not _OWN.fullmatch(told):
            self._argue("summary", told)

    def _does(self, told: str) -> bool:
        """Read a line that says what the call does; False if it is no such line."""
        if looks := _LOOKS.fullmatch(told):
            self._argue("pattern" if looks["how"] == "Grep" else "query", looks["what"])
            self._argue("path", looks["path"] or "")
            return True
        does = _DOES.fullmatch(told)
        if does is None:
            return False
        kind = next(key for key in _NAMES if does[key])
        self._argue(_KEYS.get(kind, "path" if kind == "list" else "file_path"), does["what"].strip())
        return True

    def _quotes(self, told: str) -> bool:
        """Read a line that has arguments in backquotes, and nothing but their names beside them."""
        key = _KINDS.get(self.call.kind, "")
        if key == "command":
            inner = told[1:-1] if len(told) > 2 and told[0] == told[-1] == "`" else ""
            self._argue("command", inner)
            return bool(inner)
        if _QUOTED.sub("", told).strip():
            return False
        for quoted in _QUOTED.finditer(told):
            value = quoted["value"].strip()
            self._argue("url" if "://" in value else quoted["key"] or key or "input", value)
        return bool(told)

    # What stands below

    def of_server(self, text: str) -> None:
        """Read a call of an MCP server: a list of parameters, and the result as it came."""
        head, _, result = text.partition("\n*Result*:")
        self.call.result = _plain(result.strip())
        key, values = "", dict[str, list[str]]()
        for line in _plain(head).split("\n"):
            if parameter := _PARAMETER.match(line):
                key = parameter["key"]
                values[key] = [parameter["value"]]
            elif key:
                values[key].append(line)
        for name, lines in values.items():
            self._argue(name, _value("\n".join(lines).rstrip()))

    def body(self, text: str) -> None:
        """Read what stands below a call's summary."""
        found = [
            piece for piece in _pieces(text.split("\n")) if piece.text.strip() or piece.language is not None
        ]
        last = max((at for at, piece in enumerate(found) if piece.language is not None), default=-1)
        for at, piece in enumerate(found):
            if piece.language is None:
                for line in piece.text.split("\n"):
                    self._line(line)
            else:
                self._fence(piece.language, piece.text, last=at == last)

    def _line(self, line: str) -> None:
        label = _LABEL.fullmatch(line)
        if label and (label["name"] != "Directory" or label["rest"].startswith("`")):
            self._labelled(label["name"], label["rest"].strip())
        elif self.label == "Input" and (item := _ITEM.fullmatch(line)):
            self._argue(item["key"], _value(item["value"]))
        elif file := _FILE.fullmatch(line):
            self.patch.append(f"*** {file['what'].replace('Modify', 'Update')} File: {file['path']}")
        elif box := _BOX.fullmatch(line):
            status = _MARKS.get(box["mark"], "in_progress")
            self.todos.append({"content": _plain(box["text"].strip()), "status": status})
        elif not _OWN.fullmatch(line) and not self._does(_plain(line)) and not self._quotes(line.strip()):
            self.told.append(line)

    def _labelled(self, name: str, rest: str) -> None:
        if name in ("Status", "User decision"):
            self.status = f"{self.status}\n{name}: {rest.strip('*')}".strip()
            self.call.failed |= _LOST.fullmatch(rest) is not None
        elif name == "Answer":
            self.answer = rest
        elif name in _INPUTS:
            self.placed |= name == "Path"
            self._argue(_INPUTS[name], _plain(rest.strip("`")))
        else:
            self.label = name
            self.call.failed |= name == "Error"
            self._result(rest)

    def _fence(self, language: str, text: str, *, last: bool) -> None:
        if self.label in ("Parameters", "Input", "Additional data"):
            self._parameters(text)
        elif self.label in ("Result", "Error"):
            self._result(self._reported(text) if language == "json" else _plain(text))
        elif language == "diff":
            self._diff(_plain(text))
        elif language in _SHELLS and self.call.kind != "write":
            self.call.arguments["command"] = _plain(text)
        elif self.call.kind == "write" and (not last or self.placed):
            self._argue("content", _plain(text))
        elif language == "json" and not self.call.arguments:
            self._parameters(text)
        else:
            self._result(_plain(text))
            alone = language == "" and self.call.kind in ("shell", "bash")
            self.call.failed |= alone and _SAYS_FAILED.search(text) is not None
        self.label = ""

    def _result(self, text: str) -> None:
        self.call.result = "\n".join(filter(None, (self.call.result, text.strip("\n"))))

    def _parameters(self, text: str) -> None:
        value = _value(text)
        if not isinstance(value, dict):
            self._argue("input", text)
            return
        value = cast("dict[str, object]", value)
        for key, each in value.items():
            self._argue(key, each)
        line = _member(value, "commandLine")
        self._argue("command", _string(line, "toolEdited") or _string(line, "original"))
        self._argue("file_path", _named_file(value))
        self.call.failed |= bool(_member(_member(value, "terminalCommandState"), "exitCode"))
        self._result(_string(_member(value, "terminalCommandOutput"), "text"))

    def _reported(self, text: str) -> str:
        """What the model was told of a result as JSON; an edit's diff is taken in."""
        value = _value(text)
        chunks = _member(_member(value, "diff"), "chunks")
        for chunk in cast("list[object]", chunks) if isinstance(chunks, list) else []:
            self.edits += replacements(_string(chunk, "diffString"))
        final = _member(value, "finalTodos")
        if isinstance(final, list):
            # a call that only names what changed leaves the rest of the list as it is
            self.call.arguments["todos"] = cast("list[object]", final)
        return (
            _string(value, "resultForModel")
            or _string(value, "output")
            or _string(value, "error")
            or _plain(text)
        )

    def _diff(self, text: str) -> None:
        if self.patch:
            self.patch.append(text)
        elif "*** Begin Patch" in text:
            self._argue("patch", text)
        else:
            self._argue("file_path", patched(text))
            self.edits += replacements(text)

    # What came of it

    def done(self) -> Call:
        """The call, with all that was found."""
        call = self.call
        if self.patch:
            self._argue("patch", "\n".join(("*** Begin Patch", *self.patch, "*** End Patch")))
        if self.todos:
            self._argue("todos", self.todos)
        if len(self.edits) == 1:
            call.arguments |= self.edits[0]
        elif self.edits:
            self._argue("edits", self.edits)
        if not self._asked():
            told = "\n".join(self.told).strip()
            shown = call.arguments and not call.result and call.kind in ("search", "read", "generic", "task")
            call.result, told = (told, "") if shown else (call.result, told)
            self._argue("description", told)
        call.result = call.result or self.status
        call.failed |= _FAILED.match(call.result) is not None
        if (
            call.kind == "write"
            and "file_path" not in call.arguments
            and (saved := _SAVED.match(call.result))
        ):
            self._argue("file_path", saved["path"])
        return call

    def _asked(self) -> bool:
        """Read questions to the user, with the answer as Claude Code gives it to the model; False if there are none."""
        if "Options:" not in self.told and not self.answer:
            return False
        questions = [each["text"] for line in self.told if (each := _QUESTION.fullmatch(line))]
        self._argue("questions", [{"question": question} for question in questions])
        self._argue("options", "\n".join(line for line in self.told if line.startswith("- ")))
        if self.answer:
            asked = questions[0] if len(questions) == 1 else " / ".join(questions)
            self._result(f'User has answered your questions: "{asked}"="{self.answer}".')
        return True


def _plain(text: str) -> str:
    """A text without the entities for which SpecStory's extension escapes it; one with raw tags was not escaped."""
    return html.unescape(text) if _ENTITY.search(text) and "<" not in text and ">" not in text else text


def _value(text: str) -> object:
    """JSON with its strings unescaped; a text that is no JSON object or list as it is."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        value: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text
    return _unescaped(value) if _plain(text) != text else value


def _unescaped(value: object) -> object:
    if isinstance(value, str):
        return html.unescape(value)
    if isinstance(value, list):
        return [_unescaped(each) for each in cast("list[object]", value)]
    if isinstance(value, dict):
        return {key: _unescaped(each) for key, each in cast("dict[str, object]", value).items()}
    return value


def _named_file(arguments: object) -> str:
    """The file that Cursor's tools, or those of Copilot, are called with."""
    keys = ("relativeWorkspacePath", "targetFile", "filePath")
    return next(filter(None, (_string(arguments, key) for key in keys)), "")


def _member(value: object, key: str) -> object:
    return cast("dict[str, object]", value).get(key) if isinstance(value, dict) else None


def _string(value: object, key: str) -> str:
    found = _member(value, key)
    return found if isinstance(found, str) else ""
