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
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, TypeAlias

import msgspec

from autocompact.chat.config import CommandRules
from autocompact.chat.tools.box import Asking, Tool, ToolError, tool

NAME = "run_command"
DRAIN_SECONDS = 1.0
"""How long to wait for output that a process left behind in the pipe."""

Verdict: TypeAlias = Literal["run", "ask", "refuse"]

_SHELL = re.compile(r"[;&|<>()`$\n\\*?\[\]{}~#!]")
"""What makes more of a line than the words of one command."""
_SEPARATORS = re.compile(r"[;&|()`\n{}]|\$\(")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_CHUNK = 65_536


class CommandArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Run a command in the workspace, through the shell. The person may be asked first."""

    command: Annotated[str, msgspec.Meta(min_length=1, max_length=10_000, description="A line for the shell")]


def verdict(command: str, rules: CommandRules) -> Verdict:
    """What the rules say of a command.

    ``deny`` is looked for in each command of a line. ``allow`` only counts for a line that is one command and nothing
    else: what a shell makes of more than that no pattern can tell, so that is for the person to decide.
    """
    pieces = [_words(piece) for piece in _SEPARATORS.split(command)]
    if any(_fits(words, rule) for words in pieces for rule in rules.deny):
        return "refuse"
    if not _SHELL.search(command) and any(_fits(_words(command), rule) for rule in rules.allow):
        return "run"
    return "ask"


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote that does not end
        return command.split()


def _fits(words: list[str], rule: str) -> bool:
    """Whether the command begins with the words of the rule; its program may be given with its folder."""
    wanted = rule.split()
    if not wanted or len(words) < len(wanted):
        return False
    given = [words[0] if "/" in wanted[0] else words[0].rpartition("/")[2], *words[1:]]
    return all(fnmatchcase(word, pattern) for word, pattern in zip(given, wanted, strict=False))


def command_tool(folder: Path, rules: CommandRules) -> Tool:
    """``run_command`` in ``folder``."""

    async def run(asked: CommandArguments, asking: Asking) -> str:
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
