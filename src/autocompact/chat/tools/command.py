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
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, TypeAlias

import msgspec

from autocompact.chat.config import CommandRules
from autocompact.chat.tools.box import REFUSED, Asked, AskPermission, Tool, ToolError, tool
from autocompact.chat.tools.sandbox import Sandbox, sandboxed
from autocompact.core.secret_files import may_hold_secrets

NAME = "run_command"
DRAIN_SECONDS = 1.0
"""Seconds to wait for output that a process left in the pipe."""

Verdict: TypeAlias = Literal["run", "ask", "refuse"]

_SHELL = re.compile(r"[;&|<>()`$\r\n\\*?\[\]{}~#!]")
"""Shell syntax that makes a line more than one plain command."""
_SEPARATORS = re.compile(r"[;&|()`\n{}]|\$\(")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_STARTERS = frozenset(
    "! ash bash builtin busybox bwrap caffeinate chroot chrt command coproc dash dbus-run-session do doas elif else entr env "
    "eval exec fakeroot firejail fish flock if ionice ksh ltrace nice nohup nsenter numactl parallel perf pkexec proxychains "
    "runuser screen script setarch setpriv setsid sh stdbuf strace su sudo systemd-run taskset then time timeout tmux "
    "torsocks toybox trap unbuffer unshare until valgrind watch while xargs xvfb-run zsh".split()
)
"""Programs, and words of the shell, that run what their words say: each word behind them may be the command that is meant."""
_SHELLS = frozenset("ash bash dash fish ksh sh zsh".split())
_PROGRAMMED = frozenset(
    "awk bsdtar dc ed ex gawk gdb gsed gtar m4 mawk mysql nawk psql sed sqlite3 ssh tar vi vim".split()
)
"""Programs whose words are programs, or name one without a dash in front (``sed e``, ``tar xfI a b``)."""
_RUNNERS = frozenset(
    "bun bundle cargo deno docker gmake go gradle invoke just kubectl lua make mvn ninja node nox npm npx perl php pnpm "
    "podman poetry python rake ruby task tox uv uvx yarn".split()
)
"""Programs whose words name what is run: a rule covers those that it says, with ``*`` if it likes."""
_VERSION = "0123456789."
_FIND_STARTS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_REMOVES = ("rm", "-r", "-f", "-rf")
"""What ``find -delete`` does, in the words of a rule."""
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|DSN|DATABASE", re.IGNORECASE)
_CHUNK = 65_536


class CommandArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Run a command in the workspace, through the shell. The person may be asked first."""

    command: Annotated[str, msgspec.Meta(min_length=1, max_length=10_000, description="A line for the shell")]


def verdict(command: str, rules: CommandRules, *, folder: Path | None = None) -> Verdict:
    """The decision of the rules on a command.

    ``deny`` is looked for in each command of a line, whatever stands around it: assignments before it, programs that
    start others (``env``, ``sudo -u x``, ``timeout 5``, ``busybox``, ``find -exec``, ``sh -c``), options between its words
    (``git -c a=b push``). A shell has more ways to say a thing than can be listed, so it is a net below the question, not
    a wall: what no rule knows is asked.

    ``allow`` only counts for a line that is one command and nothing else, and holds nothing that a shell makes more of.
    The command begins with the very words of the rule; its options must be named by the rule (``git log --oneline -n*``;
    ``-*`` names them all), and what follows besides must be words or paths within ``folder`` that hold no secrets:
    ``git log`` allows no ``--output=…``, and ``cat`` no ``/proc/…``.

    Args:
        command: a line for the shell.
        rules: of the person.
        folder: that it would run in; None is the current one.
    """
    if _is_denied(command.replace("\\\n", ""), rules.deny):
        return "refuse"
    words = _words(command)
    if not _SHELL.search(command) and any(
        _allows(rule.split(), words, folder=folder or Path.cwd()) for rule in rules.allow
    ):
        return "run"
    return "ask"


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote that does not end
        return command.split()


def _allows(rule: list[str], words: list[str], *, folder: Path) -> bool:
    """True if the rule covers every word of the command; ``./git`` is not ``git``."""
    named = [word for word in rule if not word.startswith("-")]
    options = [word for word in rule if word.startswith("-")]
    plain = [word for word in words if not word.startswith("-")]
    given = [word for word in words if word.startswith("-") and word != "--"]
    if not named or len(plain) < len(named) or words[:1] != plain[:1]:
        return False
    if not all(fnmatchcase(word, pattern) for word, pattern in zip(plain, named, strict=False)):
        return False
    if not all(any(fnmatchcase(option, pattern) for pattern in options) for option in given):
        return False
    rest = plain[len(named) :]
    program = plain[0].rstrip(_VERSION)
    if rest and program in _RUNNERS:
        return False
    rest += [word for word, pattern in zip(plain, named, strict=False) if pattern == "*"]
    # behind a program that starts others any word may be a command
    return not (rest and program in _STARTERS | _PROGRAMMED) and all(
        _is_harmless(word, folder=folder) for word in rest
    )


def _is_harmless(word: str, *, folder: Path) -> bool:
    """True for a plain word, or a path in the folder that may not hold secrets; links are followed."""
    if "=" in word or "://" in word:
        return False
    root = folder.resolve()
    try:
        path = (root / word).resolve()
    except (OSError, RuntimeError, ValueError):
        return False
    return path.is_relative_to(root) and not may_hold_secrets(path.relative_to(root).parts)


def _is_denied(line: str, rules: Sequence[str]) -> bool:
    commands = [_words(line), *map(_words, _SEPARATORS.split(line))]
    for words in commands:
        for started in _started_by(words):
            if any(_holds(started, rule.split()) for rule in rules):
                return True
    # a word that is a line for a shell: sh -c "…", or any one beside a shell that reads it: echo "…" | sh
    fed = any(words and words[0].rpartition("/")[2] in _SHELLS for words in commands)
    said = (words if fed else [started[0] for started in _started_by(words)] for words in commands)
    return any(_is_denied(word, rules) for each in said for word in each if len(word.split()) > 1)


def _started_by(words: list[str]) -> Iterator[list[str]]:
    """The command behind assignments, and whatever it may start in turn."""
    at = next((n for n, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))
    words = words[at:]
    if not words:
        return
    yield words
    program = words[0].rpartition("/")[2]
    if program in _STARTERS:
        # which word is the command depends on the options of the program, so each may be
        for n in range(1, len(words)):
            yield words[n:]
    elif program == "find":
        if "-delete" in words:
            yield [*_REMOVES, *words[1:]]
        for n, word in enumerate(words):
            if word in _FIND_STARTS:
                yield from _started_by(words[n + 1 :])


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
    sandbox = Sandbox(wanted=rules.sandbox)

    async def run(asked: CommandArguments, asking: AskPermission) -> str:
        match await asyncio.to_thread(verdict, asked.command, rules, folder=folder):
            case "refuse":
                raise ToolError(
                    "this command is forbidden by the person's rules: find another way, or ask them"
                )
            case "ask":
                about = Asked(
                    tool=NAME,
                    text=asked.command,
                    subject=f"the command runs: {asked.command}",
                    note=await sandbox.words(),
                )
                if not await asking(about):
                    raise ToolError(REFUSED)
            case "run":
                pass
        program = await sandbox.program()
        words = sandboxed(program, asked.command, folder=folder, home=Path.home()) if program else None
        return await _run(words or ["/bin/sh", "-c", asked.command], folder=folder, rules=rules)

    return tool(NAME, CommandArguments, run=run)


async def _run(command: Sequence[str], *, folder: Path, rules: CommandRules) -> str:
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


async def _started(command: Sequence[str], *, folder: Path, output: BinaryIO) -> asyncio.subprocess.Process:
    """The process; a cancellation while it is being started ends it."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command,
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
