"""Tool calls that an agent writes as text, and what came of them.

Not every agent uses the tools of its provider's API. SWE-agent and mini-swe-agent write a command into a code block,
OpenHands, Cline, Roo Code, smolagents and ReAct loops write elements or lines of their own, and all of them get the result
back in a message of the user's role. Nobody typed that message, so it is no request (`is_result`), and a reader of the
conversation should see a call and its answer (`with_calls`), as with any other agent.

Only ledger and search see messages this way: what is stored and sent stays as it came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import cast

from msgspec.structs import replace

from autocompact.core.edit_blocks import BEGINS, bare, edit_blocks, is_path, search_texts
from autocompact.core.messages import Message, Part, Text, ToolCall, ToolResult, decoded
from autocompact.core.patterns import LazyPattern
from autocompact.core.spoken import RESULT, is_result

_FUNCTION = LazyPattern(r"<(?:function=(?P<bare>[\w.-]{1,80})|invoke name=\"(?P<quoted>[\w.-]{1,80})\")>")
_PARAMETER = LazyPattern(r"<(?P<tag>parameter)(?:=| name=\")(?P<name>[\w.-]{1,80})\"?>")
_JSON = LazyPattern(r"<(?P<tag>tool_call|tool_code)>\s*(?=\{)")
_ELEMENT = LazyPattern(r"^<(?P<tag>[a-z]{1,30}(?:_[a-z]{1,30}){1,5})>\s*(?=<[a-z_]{1,40}>)", re.MULTILINE)
_CHILD = LazyPattern(r"<(?P<name>[a-z_]{1,40})>")
_REACT = LazyPattern(r"^Action:[ \t]*(?P<name>[\w.-]{1,80})[ \t]*\nAction Input:[ \t]*", re.MULTILINE)
_FENCE = LazyPattern(r"^```(?P<lang>[\w-]{0,30})[ \t]*\n", re.MULTILINE)
_SHELLS = frozenset(("", "bash", "sh", "shell", "console", "zsh", "powershell", "mswea_bash_command"))
_CODE = frozenset(("py", "python", "tool_code"))
_SEARCH, _BETWEEN, _REPLACE = (
    re.compile(mark) for mark in (r"[-<]{3,9} ?SEARCH>?$", r"={3,9}$", r"[+>]{3,9} ?REPLACE>?$")
)
"""Marks in the edits of Cline, Roo Code and aider: what was there, then what is there now."""

_EDIT = LazyPattern(r"edit (?P<lines>\d{1,9}:\d{1,9})\n(?P<new>.*?)(?:\nend_of_edit\b|\Z)", re.DOTALL)
_FILE_COMMAND = LazyPattern(r"(?P<name>create|open) ['\"]?(?P<path>[^\s'\"]{1,300})")
_OPEN_FILE = LazyPattern(r"^\(Open file: (?P<path>[^\n]{1,300})\)$", re.MULTILINE)
_STATUS = LazyPattern(
    r"^\(Open file: [^\n]*\)\n\(Current directory: [^\n]*\)\n(?:bash-)?\$\s{0,9}\Z", re.MULTILINE
)
_LONGEST_STATUS = 1_000
_HEADED = LazyPattern(
    r"(?:OBSERVATION|Observation|Execution logs):[ \t]*\n|exitcode: -?\d{1,5} \([^)\n]{1,40}\)\n"
)
"""What SWE-agent, ReAct loops and AutoGen begin a result with. A person may, too, so it is one only after a call."""

_USAGE = LazyPattern(r"Tokens: [\d.,]+[kM]? sent\b")
"""What aider prints first behind a reply: no result, even where the reply ends with a command to run."""

_REPORTS = LazyPattern(
    r"I committed the changes with git hash [0-9a-f]{7,40} & commit msg: |I updated the files\.\s{0,9}\Z"
    r"|(?P<failed># \d{1,5} SEARCH/REPLACE blocks? failed to match!\n)"
)
"""What aider says in the user's place of the edits in the reply before: blocks in its text, which are calls only then."""

_NO_FILE = "n/a"

_END = Message(seq=0, role="system", parts=())
"""Stands after the last message."""

_Call = tuple[str, Mapping[str, object]]
"""Name and arguments."""


def with_calls(messages: Iterable[Message]) -> Iterator[Message]:
    """``messages``, those in which an agent wrote its calls as text with a part for each call and each result.

    A code block is a call only if a result follows: the same may be written for a person to read, and an agent that has
    called tools by its API writes blocks for nobody else (what follows is a notice then, that "/exit" was typed say). A
    result that looks like a person's words is one only after a call.
    """
    opened = ""
    pending = ""
    by_api = False
    edits: tuple[ToolCall, ...] = ()
    for message, following in pairwise(chain(messages, (_END,))):
        if edits:
            message = _edited(message, calls=edits)
            edits = ()
        elif pending and _is_answer(message):
            opened = _opened(message.text, opened)
            message = _result(message, call=pending)
        pending = ""
        by_api = by_api or bool(message.calls)
        if message.role == "assistant" and not message.calls:
            message = _editing(message, following)
            edits = message.calls
        if message.role == "assistant" and not message.calls:
            answered = not by_api and _is_answer(following)
            prose, calls = _parsed(message.text, answered=answered, opened=opened)
            if calls:
                message = _calling(message, prose=prose, calls=calls)
                pending = message.calls[-1].id
        yield message


def _editing(message: Message, following: Message) -> Message:
    """``message`` with a call for each edit in its text, where ``following`` says what came of them."""
    if BEGINS not in message.text or following.role != "user" or not _REPORTS.match(following.text):
        return message
    prose, blocks = edit_blocks(message.text.split("\n"))
    if not blocks or not all(is_path(path) for path, _, _ in blocks):
        return message
    calls: list[_Call] = [
        ("edit", {"file_path": path, "old_string": old, "new_string": new}) for path, old, new in blocks
    ]
    return _calling(message, prose="\n".join(prose).strip(), calls=calls)


def _edited(message: Message, *, calls: Iterable[ToolCall]) -> Message:
    """What came of edits, as their results: those that did not match the file failed, the others were made."""
    failed: set[str] = set()
    if (report := _REPORTS.match(message.text)) and report["failed"]:
        failed = {bare(text) for text in search_texts(message.text.split("\n"))}
    said = message.text.partition("\n")[0]
    parts = tuple(
        ToolResult(
            call_id=call.id, text=said, is_error=bare(str(decoded(call.arguments)["old_string"])) in failed
        )
        for call in calls
    )
    return replace(message, role="tool", parts=parts, raw=None)


def _is_answer(message: Message) -> bool:
    """True if a message after a call brings its result."""
    if message.role != "user" or message.results or not (text := message.text):
        return False
    if message.synthetic:
        return _USAGE.match(text) is None
    return is_result(text) or _HEADED.match(text) is not None


def _opened(text: str, before: str) -> str:
    """The file that SWE-agent's editor has open, which its edits do not name."""
    found = _OPEN_FILE.search(text, max(0, len(text) - _LONGEST_STATUS))
    return "" if found and found["path"] == _NO_FILE else found["path"] if found else before


def _result(message: Message, *, call: str) -> Message:
    text = message.text
    mark = RESULT.match(text) or _HEADED.match(text)
    said = text[mark.end() :] if mark else text
    status = _STATUS.search(said, max(0, len(said) - _LONGEST_STATUS))
    parts = (ToolResult(call_id=call, text=said[: status.start()].rstrip() if status else said),)
    return replace(message, role="tool", parts=parts, raw=None)


def _calling(message: Message, *, prose: str, calls: list[_Call]) -> Message:
    parts: list[Part] = [part for part in message.parts if not isinstance(part, Text)]
    if prose:
        parts.append(Text(text=prose))
    parts += (
        ToolCall(
            id=f"text {message.seq}.{number}", name=name, arguments=json.dumps(arguments, ensure_ascii=False)
        )
        for number, (name, arguments) in enumerate(calls)
    )
    return replace(message, parts=tuple(parts), raw=None)


def _parsed(text: str, *, answered: bool, opened: str) -> tuple[str, list[_Call]]:
    """The words of a message, and the calls in it; none where it holds none."""
    if not (answered or "</" in text or "\nAction Input:" in text):
        return text, []
    for opening, read in _FORMS.items():
        calls: list[_Call] = []
        words: list[str] = []
        at = 0
        for found in opening.finditer(text):
            if found.start() < at:
                continue
            taken = read(text, found)
            if taken is None:
                break
            call, end = taken
            words.append(text[at : found.start()])
            calls.append(call)
            at = end
        if calls:
            return "".join((*words, text[at:])).strip(), calls
    return _fenced(text, opened=opened) if answered else (text, [])


def _function(text: str, found: re.Match[str]) -> tuple[_Call, int] | None:
    """``<function=name><parameter=key>value</parameter></function>``; the end may be missing."""
    closing = "</function>" if found["bare"] else "</invoke>"
    end = text.find(closing, found.end())
    inside = text[found.end() : end if end >= 0 else len(text)]
    arguments = _children(inside, opening=_PARAMETER)
    return (found["bare"] or found["quoted"], arguments), end + len(closing) if end >= 0 else len(text)


def _json(text: str, found: re.Match[str]) -> tuple[_Call, int] | None:
    closing = f"</{found['tag']}>"
    end = text.find(closing, found.end())
    told = decoded(text[found.end() : end if end >= 0 else len(text)].strip())
    name, arguments = told.get("name"), told.get("arguments", told.get("parameters"))
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    return (name, cast("dict[str, object]", arguments)), end + len(closing) if end >= 0 else len(text)


def _element(text: str, found: re.Match[str]) -> tuple[_Call, int] | None:
    """``<read_file><path>x</path></read_file>``."""
    closing = f"</{found['tag']}>"
    end = text.find(closing, found.end())
    if end < 0:
        return None
    return (found["tag"], _children(text[found.end() : end], opening=_CHILD)), end + len(closing)


def _react(text: str, found: re.Match[str]) -> tuple[_Call, int] | None:
    """``Action: name``, then ``Action Input:`` with JSON or plain words to the end."""
    told = text[found.end() :].partition("\nObservation:")[0].strip()
    return (found["name"], decoded(told) or {"input": told}), len(text)


_FORMS: Mapping[LazyPattern, Callable[[str, re.Match[str]], tuple[_Call, int] | None]] = {
    _FUNCTION: _function,
    _JSON: _json,
    _ELEMENT: _element,
    _REACT: _react,
}


def _children(inside: str, *, opening: LazyPattern) -> dict[str, object]:
    """The values by their names; one that is never closed reaches to the end."""
    values: dict[str, object] = {}
    at = 0
    while found := opening.search(inside, at):
        closing = f"</{found.groupdict().get('tag') or found['name']}>"
        end = inside.find(closing, found.end())
        value = inside[found.end() : end if end >= 0 else len(inside)].strip("\n")
        at = end + len(closing) if end >= 0 else len(inside)
        edits = list(edits_in(value))
        values["edits" if edits else found["name"]] = edits or value
    return values


def edits_in(diff: str) -> Iterator[Mapping[str, str]]:
    """The edits of a diff of blocks that say what to search for and what to put there; none if it has another form."""
    if "SEARCH" not in diff:
        return
    sides: tuple[list[str], list[str]] = ([], [])
    side = -1
    for line in diff.split("\n"):
        if _SEARCH.match(line):
            sides[0].clear()
            sides[1].clear()
            side = 0
        elif side == 0 and _BETWEEN.match(line):
            side = 1
        elif side == 1 and _REPLACE.match(line):
            yield {"old_string": "\n".join(sides[0]), "new_string": "\n".join(sides[1])}
            side = -1
        elif side >= 0:
            sides[side].append(line)


def _fenced(text: str, *, opened: str) -> tuple[str, list[_Call]]:
    """The command in the code block that ends ``text``; SWE-agent's own commands as the calls they are.

    smolagents ends a block with ``<end_code>``, or puts the code into an element.
    """
    end = text.rstrip().removesuffix("<end_code>").rstrip()
    if end.endswith("</code>") and "<code>" in end:
        prose, _, code = end.removesuffix("</code>").rpartition("<code>")
        return prose.strip(), [("python", {"code": code.strip()})]
    openings = [found for found in _FENCE.finditer(end) if found["lang"] in _SHELLS or found["lang"] in _CODE]
    if not end.endswith("\n```") or not openings:
        return text, []
    block = openings[-1]
    code = end[block.end() : -3].strip()
    if not code:
        return text, []
    prose = end[: block.start()].strip()
    if block["lang"] in _CODE:
        return prose, [("python", {"code": code})]
    if (edit := _EDIT.match(code)) and opened:
        arguments = {"path": opened, "lines": edit["lines"], "new_string": edit["new"]}
        return prose, [("edit", arguments)]
    if own := _FILE_COMMAND.match(code):
        return prose, [(own["name"], {"path": own["path"]})]
    return prose, [("submit", {}) if code == "submit" else ("bash", {"command": code})]
