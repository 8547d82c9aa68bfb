"""The tool calls inside of a script that an agent wrote as one call.

Codex can hand its model one tool that runs JavaScript, in which all others are functions: ``const r = await
tools.exec_command({cmd: "make test"}); text(r.output)``. What such a call does is what the calls in it do, so it is read as
one call of the tool that they call: of a patch where there is one, else of a shell with all command lines, else of the first.

The arguments are read as literals, names of constants with them. Nothing is run: what is worked out elsewhere is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

from autocompact.core.messages import ToolCall
from autocompact.core.patterns import LazyPattern

LONGEST = 200_000
"""Characters of a script that is read."""

_CALL = LazyPattern(r"(?<![\w.$])tools\.(?P<name>[A-Za-z_]\w{0,80})\(")
_CONSTANT = LazyPattern(r"(?<![\w.$])(?:const|let|var)\s{1,9}(?P<name>[A-Za-z_$][\w$]{0,80})\s{0,9}=\s{0,9}")
_BLANK = LazyPattern(r"(?:\s+|//[^\n]*|/\*.*?(?:\*/|\Z))+", re.DOTALL)
_KEY = LazyPattern(r"[A-Za-z_$][\w$]*")
_BARE = LazyPattern(r"-?\d[\w.]*|[A-Za-z_$][\w$]*")
_JOIN = LazyPattern(r"\s*\.join\(\s*")
_STRING = {
    '"': LazyPattern(r'"(?P<in>(?:[^"\\\n]|\\.)*+)"', re.DOTALL),
    "'": LazyPattern(r"'(?P<in>(?:[^'\\\n]|\\.)*+)'", re.DOTALL),
    "`": LazyPattern(r"`(?P<in>(?:[^`\\]|\\.)*+)`", re.DOTALL),
}
_ESCAPE = LazyPattern(
    r"\\(?:u\{(?P<point>[0-9a-fA-F]{1,6})\}|u(?P<unit>[0-9a-fA-F]{4})|x(?P<byte>[0-9a-fA-F]{2})|(?P<one>.))",
    re.DOTALL,
)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_WORDS: Mapping[str, Value] = {"true": True, "false": False, "null": None, "undefined": None}
_DEPTH = 12
"""Lists and objects in each other beyond which nothing is read."""

_COMMANDS = ("cmd", "command")
_PATCH = "*** Begin Patch"

Value: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value] | None"


class _Unreadable(Exception):
    """What stands there is worked out when the script runs."""


class _Inner(NamedTuple):
    name: str
    argument: Value


class _Budget:
    """Characters that may still be taken: what a script spells once can be used, or looked at, thousands of times."""

    def __init__(self, script: str) -> None:
        self._left = 4 * len(script) + 10_000

    def charge(self, characters: int) -> None:
        """Raises `_Unreadable` where ``characters`` are more than is left."""
        if characters > self._left:
            raise _Unreadable
        self._left -= characters


def code_call(script: str) -> ToolCall | None:
    """The call that ``script`` amounts to; None where it calls no tool."""
    found = [*_calls(script)] if len(script) <= LONGEST and not script.lstrip().startswith(_PATCH) else []
    if not found:
        return None
    if patches := [
        inner.argument for inner in found if isinstance(inner.argument, str) and _PATCH in inner.argument
    ]:
        return _call("apply_patch", "\n".join(patches))
    if commands := [*filter(None, map(_command, found))]:
        arguments = json.dumps({_COMMANDS[0]: _in_turn(commands)}, ensure_ascii=False)
        return _call(next(inner.name for inner in found if _command(inner)), arguments)
    first = found[0]
    given = first.argument if isinstance(first.argument, dict | str) else {}
    arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return _call(first.name, arguments)


def _call(name: str, arguments: str) -> ToolCall:
    return ToolCall(id="", name=name, arguments=arguments)


def _command(inner: _Inner) -> str:
    fields = inner.argument if isinstance(inner.argument, dict) else {}
    given = (fields.get(name) for name in _COMMANDS)
    return next((each.strip() for each in given if isinstance(each, str)), "")


def _in_turn(commands: list[str]) -> str:
    """The command lines as one: on lines of their own where one has several, as a here-document does."""
    return ("\n" if any("\n" in command for command in commands) else "; ").join(dict.fromkeys(commands))


def _calls(script: str) -> Iterator[_Inner]:
    """The calls in the script, in order, each with its first argument."""
    known: dict[str, Value] = {}
    used, looked_at = _Budget(script), _Budget(script)
    marks = sorted((*_CALL.finditer(script), *_CONSTANT.finditer(script)), key=lambda mark: mark.start())
    end = 0
    for mark in marks:
        if mark.start() < end:
            continue  # words of a string
        reading = _Reading(script, mark.end(), known=known, budget=used)
        try:
            value = reading.value()
        except _Unreadable:
            value = None
            try:
                # the marks in it are read as well, each perhaps to the end of the script
                looked_at.charge(reading.at - mark.end())
            except _Unreadable:
                return
        else:
            end = reading.at
        if script.startswith("tools.", mark.start()):
            yield _Inner(mark["name"], value)
        else:
            # lists that hold lists that hold lists are small in the script, and beyond any memory when they are written
            known[mark["name"]] = None if isinstance(value, list | dict) else value


class _Reading:
    """A literal that is read from a place in a script."""

    def __init__(self, script: str, at: int, *, known: Mapping[str, Value], budget: _Budget) -> None:
        self._script, self.at, self._known, self._budget = script, at, known, budget

    def value(self, depth: int = 0) -> Value:
        """The value that stands here; strings that are added to each other are one."""
        value = self._one(depth)
        if not isinstance(value, str):
            return value
        said = [value]
        while self._takes("+"):
            try:
                more = self._one(depth)
            except _Unreadable:
                break  # what was said before it is worth more than nothing
            said.append(more if isinstance(more, str) else "")
        return "".join(said)

    def _one(self, depth: int) -> Value:
        if depth > _DEPTH:
            raise _Unreadable
        self._blanks()
        first = self._script[self.at : self.at + 1]
        if first in _STRING and first:
            return self._string(first)
        if first == "{":
            return self._object(depth)
        if first == "[":
            return self._list(depth)
        return self._bare()

    def _string(self, mark: str) -> str:
        found = _STRING[mark].match(self._script, self.at)
        if found is None:
            raise _Unreadable
        self.at = found.end()
        return _ESCAPE.sub(_unescaped, found["in"])

    def _object(self, depth: int) -> dict[str, Value]:
        self.at += 1
        found: dict[str, Value] = {}
        try:
            while not self._takes("}"):
                name = self._name()
                # "{cmd}" is short for "{cmd: cmd}"
                found[name] = self.value(depth + 1) if self._takes(":") else self._constant(name)
                self._takes(",")
        except _Unreadable:
            pass  # the first members, which name what is done, are told
        return found

    def _name(self) -> str:
        self._blanks()
        first = self._script[self.at : self.at + 1]
        if first in _STRING and first:
            return self._string(first)
        found = _KEY.match(self._script, self.at)
        if found is None:
            raise _Unreadable
        self.at = found.end()
        return found[0]

    def _list(self, depth: int) -> Value:
        self.at += 1
        found: list[Value] = []
        while not self._takes("]"):
            found.append(self.value(depth + 1))
            self._takes(",")
        join = _JOIN.match(self._script, self.at)
        if join is None:
            return found
        self.at = join.end()
        separator = self._one(depth + 1)
        if not isinstance(separator, str) or not self._takes(")"):
            raise _Unreadable
        items = [item for item in found if isinstance(item, str)]
        self._budget.charge(len(separator) * len(items))
        return separator.join(items)

    def _bare(self) -> Value:
        found = _BARE.match(self._script, self.at)
        if found is None:
            raise _Unreadable
        self.at = found.end()
        word = found[0]
        if word in _WORDS:
            return _WORDS[word]
        if word in self._known:
            return self._constant(word)
        try:
            return float(word) if "." in word else int(word.replace("_", ""))
        except ValueError:
            raise _Unreadable from None

    def _constant(self, name: str) -> Value:
        """The value of a constant, None where it is not known; each use of it counts."""
        value = self._known.get(name)
        self._budget.charge(len(str(value)))
        return value

    def _takes(self, mark: str) -> bool:
        """Go past ``mark`` if it stands here."""
        self._blanks()
        if not self._script.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def _blanks(self) -> None:
        if blanks := _BLANK.match(self._script, self.at):
            self.at = blanks.end()


def _unescaped(found: re.Match[str]) -> str:
    code = found["point"] or found["unit"] or found["byte"]
    if code:
        number = int(code, 16)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    return _ESCAPED.get(found["one"], found["one"])


def script_results(output: str) -> str | None:
    """What the calls of a script printed, where ``output`` is what Codex tells of its run; None for anything else.

    Their exit codes stand below it as one: the first bad one, and 0 only where all that was printed has a code. What is still
    running is told before anything else as Codex tells it, and so is that a script was completed which leaves out how its
    commands ended.
    """
    head = _HEAD.match(output)
    if head is None:
        return None
    said = [*_printed(output[head.end() :].strip("\n"))]
    text = "\n".join(each.words for each in said)
    bad = next(filter(None, (each.code for each in said)), 0)
    if not bad and said[-1].code is None and (session := _SESSION.search(text, max(0, len(text) - _LAST))):
        return f"{_RUNNING}{session[1]}\n{text[: session.start()]}"
    if head["running"]:
        return f"Script running with cell ID {head['running']}\n{text}"
    goes_on = [each for each in said if each.goes_on]
    if goes_on and not bad:
        return "\n".join(each.words for each in (*goes_on, *(each for each in said if not each.goes_on)))
    if head["failed"] or bad:
        return f"{text}\nExit code {bad or 1}"
    return _completed(said, text)


def _completed(said: Sequence[_Printed], text: str) -> str:
    """What a script printed in which no call is known to have failed or to go on."""
    if any(each.code is None and each.words.strip() for each in said):
        return f"{COMPLETED}\n{text}"
    return f"{text}\nExit code 0" if any(each.code == 0 for each in said) else ""


COMPLETED = "Script completed"
_RUNNING = "Process running with session ID "
_LAST = 200
_SESSION = LazyPattern(r"^session_id(?:=|: ?)(\d{1,20})\s{0,4}\Z", re.IGNORECASE | re.MULTILINE)
"""What a script says in its own words of a command that goes on: Codex tells the id to it alone. Programs print ids of
sessions as well, which are spelled for people."""

_GOES_ON = LazyPattern(rf"(?:(?:Command|Chunk ID|Wall time): [^\n]{{0,2000}}\n){{0,4}}{_RUNNING}\d")
"""What Codex itself says of a command that goes on, where a script prints that as it is."""

_HEAD = LazyPattern(
    r"Script (?:completed|(?P<failed>failed|errored)|running with cell ID (?P<running>\w{1,40}))[^\n]{0,200}\n"
    r"Wall time [^\n]{1,60}\n(?:Error: [^\n]{0,500}\n)?Output:\n"
)


class _Printed(NamedTuple):
    """Words of one thing that a script printed, with the exit code of the command, where it tells one."""

    words: str
    code: int | None = None
    goes_on: bool = False


def _printed(output: str) -> Iterator[_Printed]:
    """The things that a script printed; at least one."""
    plain: list[str] = []
    for line in output.split("\n"):
        found = _of_line(line) if line.startswith("{") and line.endswith("}") else None
        if found is None:
            plain.append(line)
            continue
        if plain:
            yield _plain(plain)
            plain = []
        yield found
    if plain:
        yield _plain(plain)


def _plain(lines: Sequence[str]) -> _Printed:
    words = "\n".join(lines)
    return _Printed(words, goes_on=_GOES_ON.match(words) is not None)


def _of_line(line: str) -> _Printed | None:
    """What a line of JSON tells of a call; None where it tells of none."""
    try:
        fields = cast("Mapping[str, object]", json.loads(line))
    except (ValueError, RecursionError):
        return None
    code, words, session = (fields.get(name) for name in ("exit_code", "output", "session_id"))
    if not isinstance(words, str):
        return None if fields else _Printed("")  # of a patch there is nothing to say
    if type(code) is int:
        return _Printed(words, code)
    if isinstance(session, int | str):
        return _Printed(f"{_RUNNING}{session}\n{words}", goes_on=True)
    return _Printed(words)
