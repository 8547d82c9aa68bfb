"""The tool that runs a command: only where it is switched on, by rules, with a limit on time and output.

It needs process groups and so a POSIX system; elsewhere it is not offered.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, TypeAlias

import msgspec

from autocompact.chat.config import CommandRules
from autocompact.chat.tools.box import AskPermission, Tool, ToolError, tool

NAME = "run_command"
DRAIN_SECONDS = 1.0
"""Seconds to wait for output that a process left in the pipe."""

Verdict: TypeAlias = Literal["run", "ask", "refuse"]

_SHELL = re.compile(r"[;&|<>()`$\r\n\\*?\[\]{}~#!]")
"""Shell syntax that makes a line more than one plain command."""
_SEPARATORS = re.compile(r"[;&|()`\n{}]|\$\(")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_STARTERS = frozenset(
    "builtin chroot command doas env eval exec nice nohup setsid stdbuf sudo time timeout xargs".split()
)
"""Programs that run what their words say,"""
_SHELLS = frozenset("ash bash dash env eval fish ksh sh su watch xargs zsh".split())
"""and those that take a whole line as one word."""
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|DSN|DATABASE", re.IGNORECASE)
_CHUNK = 65_536


class CommandArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Run a command in the workspace, through the shell. The person may be asked first."""

    command: Annotated[str, msgspec.Meta(min_length=1, max_length=10_000, description="A line for the shell")]


def verdict(command: str, rules: CommandRules) -> Verdict:
    """The decision of the rules on a command.

    ``deny`` is looked for in each command of a line, whatever stands around it: assignments before it, programs that
    start others (``env``, ``sudo``, ``sh -c``), options between its words (``git -c a=b push``). A shell has more ways
    to say a thing than can be listed, so it is a net below the question, not a wall: what no rule knows is asked.
    ``allow`` only counts for a line that is one command and nothing else, begins with the very words of the rule, and
    holds nothing that a shell makes more of.
    """
    if _is_denied(command, rules.deny):
        return "refuse"
    words = _words(command)
    if not _SHELL.search(command) and any(_begins(words, rule.split()) for rule in rules.allow):
        return "run"
    return "ask"


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote that does not end
        return command.split()


def _begins(words: list[str], rule: list[str]) -> bool:
    """True if the command begins with the words of the rule; ``./git`` is not ``git``."""
    return (
        bool(rule)
        and len(words) >= len(rule)
        and all(fnmatchcase(word, pattern) for word, pattern in zip(words, rule, strict=False))
    )


def _is_denied(line: str, rules: Sequence[str]) -> bool:
    for words in (_words(line), *map(_words, _SEPARATORS.split(line))):
        started = _started_by(words)
        if any(_holds(started, rule.split()) for rule in rules):
            return True
        shell = any(word.rpartition("/")[2] in _SHELLS for word in words[: len(words) - len(started) + 1])
        if shell and any(_is_denied(word, rules) for word in words if len(word.split()) > 1):
            return True
    return False


def _started_by(words: list[str]) -> list[str]:
    """The command behind assignments and programs that start it, with their options and numbers."""
    after = False
    for at, word in enumerate(words):
        if _ASSIGNMENT.match(word) or (after and (word.startswith("-") or word[:1].isdigit())):
            continue
        if word.rpartition("/")[2] not in _STARTERS:
            return words[at:]
        after = True
    return []


def _holds(words: list[str], rule: list[str]) -> bool:
    """True if the command runs the rule's program, by any path, and has the rule's further words in order."""
    if not words or not rule or not fnmatchcase(_program(words[0], rule[0]), rule[0]):
        return False
    rest = iter(words[1:])
    return all(any(fnmatchcase(word, pattern) for word in rest) for pattern in rule[1:])


def _program(word: str, pattern: str) -> str:
    return word if "/" in pattern else word.rpartition("/")[2]


def command_tool(folder: Path, rules: CommandRules) -> Tool:
    """``run_command`` in ``folder``."""

    async def run(asked: CommandArguments, asking: AskPermission) -> str:
        match verdict(asked.command, rules):
            case "refuse":
                raise ToolError(
                    "this command is forbidden by the person's rules: find another way, or ask them"
                )
            case "ask":
                if not await asking(NAME, asked.command):
                    raise ToolError("the person said no: do not try again, ask what they want instead")
            case "run":
                pass
        return await _run(asked.command, folder=folder, rules=rules)

    return tool(NAME, CommandArguments, run=run)


async def _run(command: str, *, folder: Path, rules: CommandRules) -> str:
    output = _Output(rules.output_bytes)
    timed_out = False
    async with _pipe() as (stream, end):
        process = await _started(command, folder=folder, output=end)
        reading = asyncio.create_task(output.read(stream))
        try:
            await asyncio.wait_for(process.wait(), rules.seconds)
        except TimeoutError:
            timed_out = True
        finally:
            _kill(process)
            await process.wait()
            await asyncio.wait([reading], timeout=DRAIN_SECONDS)
            reading.cancel()
    if timed_out:
        raise ToolError(f"stopped after {rules.seconds:g} seconds.\n{output.text()}")
    return f"Exit code {process.returncode}.\n{output.text()}".rstrip()


@asynccontextmanager
async def _pipe() -> AsyncGenerator[tuple[asyncio.StreamReader, BinaryIO]]:
    """A pipe of our own: with one of asyncio's, a process counts as running while a child of it holds the other end."""
    reading, writing = os.pipe()
    end = os.fdopen(writing, "wb", 0)
    stream = asyncio.StreamReader()
    transport: asyncio.ReadTransport | None = None
    try:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(reading, "rb", 0)
        )
        yield stream, end
    finally:
        end.close()
        if transport is not None:
            transport.close()


async def _started(command: str, *, folder: Path, output: BinaryIO) -> asyncio.subprocess.Process:
    """The process; a cancellation while it is being started ends it."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_shell(
            command,
            cwd=folder,
            env=_environment(os.environ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    )
    try:
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        process = await starting
        _kill(process)
        await process.wait()
        raise
    output.close()
    return process


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what looks like a credential: a model's command has no business with it."""
    return {name: value for name, value in environ.items() if not _SECRET.search(name)}


def _kill(process: asyncio.subprocess.Process) -> None:
    """End the command and all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


class _Output:
    """The beginning and the end of what a command says, however much that is."""

    def __init__(self, most: int) -> None:
        self._half = max(1, most // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    async def read(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(_CHUNK):
            room = self._half - len(self._head)
            self._head += chunk[:room]
            self._tail += chunk[room:]
            if len(self._tail) > self._half:
                self._left_out += len(self._tail) - self._half
                del self._tail[: -self._half]

    def text(self) -> str:
        middle = f"\n[{self._left_out:,} bytes left out]\n".encode() if self._left_out else b""
        return bytes(self._head + middle + self._tail).decode("utf-8", errors="replace")
