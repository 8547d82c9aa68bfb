from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import sqlite3
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from autocompact.cli import main
from autocompact.cli.gateway_options import as_settings
from autocompact.cli.serving import logs_shown
from autocompact.cli.wrapping import inherited
from autocompact.errors import InvalidInput
from autocompact.gateway.clients import usual
from autocompact.gateway.from_settings import open_gateway
from autocompact.gateway.server import listening, running
from autocompact.settings import load_settings
from autocompact.stores.sqlite_file import APPLICATION_ID
from autocompact.testing import Answer, FakeProvider
from tests.warm import command

PROGRAM = """
import json, os, urllib.request
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Echo this"}]}).encode()
asked = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", data=body)
asked.add_header("Content-Type", "application/json")
print(json.load(urllib.request.urlopen(asked))["choices"][0]["message"]["content"])
raise SystemExit(7)
"""
LONG = """
import json, os, urllib.request
said = [{"role": "user", "content": "Start"}]
for n in range(60):
    said += [{"role": "assistant", "content": f"Step {n}. " * 60}, {"role": "user", "content": "Go on"}]
body = json.dumps({"model": "m", "max_tokens": 50, "messages": said}).encode()
asked = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", data=body)
asked.add_header("Content-Type", "application/json")
urllib.request.urlopen(asked)
"""
MANAGED = """
import json, os, urllib.request
said = [{"role": "user", "content": "Start"}]
edits = {"edits": [{"type": "compact_20260112"}]}
body = json.dumps({"model": "m", "max_tokens": 50, "messages": said, "context_management": edits}).encode()
asked = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", data=body)
asked.add_header("anthropic-version", "2023-06-01")
print("x-autocompact-conversation" in urllib.request.urlopen(asked).headers)
"""
SHOW = "import os; print(os.environ['OPENAI_BASE_URL'])"
ONE_CAME = "autocompact: 1 request came through the gateway, 0 with a compacted context\n"
NONE_CAME = "autocompact: no request came through the gateway. "
WAIT = """
import signal
awaited = {signal.SIGTERM, signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
print("waiting", flush=True)
print("stopped by", int(signal.sigwait(awaited)), flush=True)
raise SystemExit(5)
"""

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user of its own, in a folder without a project."""
    for name in (*usual(""), *(name for name in os.environ if name.startswith("AUTOCOMPACT_"))):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def free_port() -> int:
    with listening("127.0.0.1", 0) as bound:
        return bound.getsockname()[1]


async def started(
    *arguments: str | Path | int, pipe_in: bool = False, cold: bool = False
) -> asyncio.subprocess.Process:
    """A process of the program; a cold one reads its modules itself."""
    return await asyncio.create_subprocess_exec(
        *((sys.executable, "-m", "autocompact") if cold else command()),
        *map(str, arguments),
        stdin=asyncio.subprocess.PIPE if pipe_in else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def ended(*arguments: str | Path | int, cold: bool = False) -> tuple[int | None, str, str]:
    """Exit code, stdout and stderr."""
    process = await started(*arguments, cold=cold)
    out, err = await process.communicate()
    return process.returncode, out.decode().strip(), err.decode()


@asynccontextmanager
async def serving(
    provider: FakeProvider, *arguments: str | int, cold: bool = False
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """``autocompact serve``; it listens when this block begins. What is done to a process itself needs a cold one."""
    upstream = f"openai={provider.url}"
    process = await started("serve", "--no-page", "--upstream", upstream, *arguments, cold=cold)
    assert process.stderr is not None
    try:
        while b"kept in" not in (line := await process.stderr.readline()):
            assert line, "it ended"
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def test_wrap_points_a_command_at_a_gateway_of_its_own_and_ends_as_it_ends(tmp_path: Path) -> None:
    async with FakeProvider() as provider:
        upstream = f"openai={provider.url}"
        db = tmp_path / "gw.db"
        options = ("--db", db, "--upstream", upstream)
        told = await ended("wrap", *options, "--", sys.executable, "-c", PROGRAM, cold=True)
    assert told == (7, "Echo this", ONE_CAME)
    key = tmp_path / "gw.db.key"
    assert len(key.read_bytes()) == 32
    assert key.stat().st_mode & 0o077 == 0


async def test_memory_tools_are_added_to_compacted_conversations_where_they_are_asked_for() -> None:
    async with FakeProvider("Fine.") as provider:
        options = ("--memory-tools", "--window", "8000", "--upstream", f"openai={provider.url}")
        await ended("wrap", *options, "--", sys.executable, "-c", LONG)
        tools = [tool["function"]["name"] for tool in provider.requests[0].body["tools"]]
    assert tools == ["memory_search", "memory_expand"]


async def test_conversations_that_their_provider_compacts_are_kept_where_that_is_asked_for(
    tmp_path: Path,
) -> None:
    async with FakeProvider("Fine.") as provider:
        options = ("--db", tmp_path / "gw.db", "--upstream", f"anthropic={provider.url}")
        told = [
            (await ended("wrap", *options, *more, "--", sys.executable, "-c", MANAGED))[1]
            for more in (["--check-provider-compaction"], [])
        ]
    assert told == ["True", "False"]


async def test_options_after_the_command_are_the_commands() -> None:
    script = "import sys; print(sys.argv[1:])"
    code, out, err = await ended("wrap", sys.executable, "-c", script, "--window", "9", "--help")
    assert (code, out) == (0, "['--window', '9', '--help']")
    assert err.startswith(NONE_CAME)


async def test_wrap_joins_the_gateway_that_runs_unless_it_is_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port = free_port()
    own = f"http://127.0.0.1:{port}/v1"
    monkeypatch.setenv("AUTOCOMPACT_GATEWAY_PORT", str(port))
    command = ("--", sys.executable, "-c", SHOW)
    assert (await ended("wrap", *command))[1] != own
    async with FakeProvider() as provider, serving(provider):
        assert (await ended("wrap", *command))[:2] == (0, own)
        assert await ended("wrap", "--", sys.executable, "-c", PROGRAM) == (7, "Echo this", ONE_CAME)
        for options in (("--private",), ("--window", "8192")):
            code, out, _ = await ended("wrap", *options, *command)
            assert code == 0
            assert out != own
    assert (await ended("wrap", *command))[1] != own


async def test_wrap_does_not_join_what_another_user_may_have_put_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"status": "ok", "version": "0.1.0"}'
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        writer.close()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setenv("AUTOCOMPACT_GATEWAY_PORT", str(port))
        code, out, _ = await ended("wrap", "--", sys.executable, "-c", SHOW)
    assert code == 0
    assert out != f"http://127.0.0.1:{port}/v1"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_wrap_passes_signals_on_and_ends_as_the_command_does(number: signal.Signals) -> None:
    process = await started("wrap", "--", sys.executable, "-c", WAIT)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"waiting\n"
    process.send_signal(number)
    out, _ = await process.communicate()
    assert out == f"stopped by {int(number)}\n".encode()
    assert process.returncode == 5


async def test_a_command_that_a_signal_killed_ends_as_in_a_shell() -> None:
    script = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert (await ended("wrap", "--", sys.executable, "-c", script))[0] == 137


async def test_a_command_has_the_input_that_wrap_has() -> None:
    process = await started("wrap", "--", sys.executable, "-c", "print(input())", pipe_in=True)
    assert (await process.communicate(b"typed\n"))[0] == b"typed\n"


async def test_the_server_that_a_command_would_have_used_becomes_the_upstream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with FakeProvider([Answer(text="From the user's own server.")]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
        told = await ended("wrap", "--", sys.executable, "-c", PROGRAM)
    assert told == (7, "From the user's own server.", ONE_CAME)


def test_only_a_server_that_no_setting_names_becomes_an_upstream(home: Path) -> None:
    def found(environ: dict[str, str], **options: object) -> dict[str, object]:
        given = {path.replace("__", "."): ("--x", value) for path, value in options.items()}
        loaded = load_settings(home, options=given, environ={}, user=home / "none")
        return {path: url for path, (_, url) in inherited(loaded, environ=environ).items()}

    both = {"OPENAI_BASE_URL": "http://one/v1/", "ANTHROPIC_BASE_URL": "http://two"}
    assert found(both) == {
        "gateway.upstreams.openai": "http://one",
        "gateway.upstreams.anthropic": "http://two",
    }
    assert found(both, gateway__upstreams__openai="http://x", gateway__upstreams__anthropic=None) == {}
    assert found({"OPENAI_BASE_URL": "http://127.0.0.1:8787/v1"}) == {}
    assert found({"OPENAI_BASE_URL": "https://api.openai.com/v1"}) == {}
    with pytest.raises(InvalidInput, match="does not end in /v1: give --upstream openai=URL"):
        found({"OPENAI_BASE_URL": "http://one/api"})


async def test_a_restart_keeps_conversations(home: Path) -> None:
    history = [{"role": role, "content": "word " * 100} for role in ("user", "assistant", "user") * 2]
    body = json.dumps({"model": "m", "messages": history}).encode()
    named: list[str | None] = []
    async with FakeProvider() as provider, aiohttp.ClientSession() as session:
        options = {"upstream": (f"openai={provider.url}",), "window": "2000"}
        settings = load_settings(options=as_settings(options)).settings
        for _ in range(2):
            async with (
                running(open_gateway(settings)) as url,
                session.post(f"{url}/v1/chat/completions", data=body) as response,
            ):
                await response.read()
                named.append(response.headers.get("x-autocompact-conversation"))
    assert named[0] is not None
    assert named[0] == named[1]
    path = home / "data" / "autocompact" / "gateway.db"
    assert path.stat().st_mode & 0o077 == 0


async def test_a_port_that_is_taken_ends_the_second_with_2() -> None:
    port = free_port()
    async with FakeProvider() as provider, serving(provider, "--port", port):
        code, _, err = await ended("serve", "--port", port)
    assert code == 2
    assert f"cannot listen on 127.0.0.1:{port}" in err
    assert "an autocompact gateway of yours is running there already" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
async def test_a_signal_lets_streams_come_to_their_end(number: signal.Signals, code: int) -> None:
    port = free_port()
    answer = Answer(text="one two three four five six seven eight")
    async with (
        FakeProvider([answer]) as provider,
        serving(provider, "--port", port) as process,
        aiohttp.ClientSession() as session,
    ):
        provider.fail("slow")
        said = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Say it."}]}
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        async with session.post(url, data=json.dumps(said).encode()) as response:
            begin = await response.content.readany()
            process.send_signal(number)
            whole = begin + await response.content.read()
        assert await process.wait() == code
    assert whole.endswith(b"data: [DONE]\n\n")


async def test_who_is_told_to_drain_shortly_cuts_a_stream_that_goes_on() -> None:
    """The stream never ends by itself: without its own time limit the process would wait for it."""
    port = free_port()
    async with (
        FakeProvider([Answer(text="one two three")]) as provider,
        serving(provider, "--port", port, "--limit", "drainSeconds=1") as process,
        aiohttp.ClientSession() as session,
    ):
        provider.fail("stalled")
        said = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Say it."}]}
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        async with session.post(url, data=json.dumps(said).encode()) as response:
            await response.content.readany()
            process.terminate()
            with suppress(aiohttp.ClientError):
                assert not (await response.content.read()).endswith(b"data: [DONE]\n\n")
        _, err = await process.communicate()
    assert process.returncode == 0
    assert b"a request was cut off: the time to drain is over  path='/v1/chat/completions'" in err
    assert b"Traceback" not in err


async def told_to_listen(*arguments: str | Path | int) -> asyncio.subprocess.Process:
    process = await started("serve", *arguments, cold=True)
    assert process.stderr is not None
    while b"kept in" not in (line := await process.stderr.readline()):
        assert line, "it ended"
    return process


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
async def test_with_the_page_it_ends_at_a_signal_without_a_further_word(
    number: signal.Signals, code: int
) -> None:
    port = free_port()
    process = await told_to_listen("--port", port)
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/autocompact/health") as response,
    ):
        assert response.status == 200
    process.send_signal(number)
    out, err = await process.communicate()
    assert (process.returncode, out, err.strip()) == (code, b"", b"")


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
async def test_a_signal_while_it_starts_ends_it_as_quietly(number: signal.Signals, code: int) -> None:
    process = await told_to_listen("--port", 0)
    process.send_signal(number)
    out, err = await process.communicate()
    assert (process.returncode, out, err.strip()) == (code, b"", b"")


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["serve", "--upstream", "other=http://x"], "is no upstream"),
        (["serve", "--upstream", "openai=https://api.openai.com/v1"], "leave out /v1"),
        (["serve", "--upstream", "openai=ftp://x"], "must be http(s)://"),
        (["serve", "--upstream", "openai=http://[::1"], "must be http(s)://"),
        (["serve", "--upstream", "openai=http://gpu-box:port"], "must be http(s)://"),
        (["serve", "--port", "x"], "--port: expected int from 0 to 65535, got 'x'"),
        (["serve", "--threshold", "70k"], '--threshold: expected int >= 0 or "100k"'),
        (["serve", "--windows", "qwen"], "--windows: expected NAME=VALUE,NAME=VALUE, got 'qwen'"),
        (
            ["serve", "--limit", "headSecond=1"],
            "--limit: 'headSecond=1' is not NAME=…, NAME one of bodyBytes",
        ),
        (
            ["serve", "--upstream-key", "openai=sk-0"],
            "--upstream-key: expected env:NAME or file:PATH or null",
        ),
        (["serve", "--upstream-key", "sk-0"], "--upstream-key: a value is not NAME=…"),
        (["serve", "--access-token-file", "none"], "cannot be read"),
        (["wrap", "--", "no-such-program-here"], "cannot be started: No such file or directory; install it"),
        (["wrap", "--port", "1", "--", "true"], "No such option '--port'"),
    ],
)
def test_what_cannot_be_used_is_said(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "sk-0" not in err


def test_options_are_settings(capsys: pytest.CaptureFixture[str]) -> None:
    given = as_settings(
        {
            "host": None,
            "port": "0",
            "allow_host": ("a", "b"),
            "limit": ("messages=3",),
            "compact": False,
            "upstream": ("openai=http://x",),
            "upstream_key": ("openai=env:KEY",),
        }
    )
    found = load_settings(options=given).settings
    assert (found.gateway.port, found.gateway.allow_hosts, found.gateway.limits.messages) == (
        0,
        ("a", "b"),
        3,
    )
    assert (found.compaction.enabled, found.gateway.upstream_keys.openai) == (False, "env:KEY")
    assert (found.gateway.upstreams.openai, found.gateway.upstreams.anthropic) == ("http://x", None)


def test_each_of_several_upstreams_is_used_in_one_option_or_more() -> None:
    for given in (("openai=http://x", "anthropic=http://y"), ("openai=http://x,anthropic=http://y",)):
        upstreams = load_settings(options=as_settings({"upstream": given})).settings.gateway.upstreams
        assert (upstreams.openai, upstreams.anthropic) == ("http://x", "http://y")


def another_program(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (what)")
    connection.close()


def newer(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 99")
        connection.execute("CREATE TABLE later (what)")
    connection.close()


def damaged(path: Path) -> None:
    """A header of ours, and then nothing that it speaks of."""
    newer(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()


DATABASES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (lambda path: path.parent.rmdir(), "there is no folder"),
    "a folder": (Path.mkdir, "is not a file"),
    "no database": (lambda path: path.write_bytes(b"\x07" * 8_000), "is not a database"),
    "another program's": (another_program, "of another program"),
    "of a newer version": (newer, "update autocompact"),
    "damaged": (damaged, "no such table"),
}


@pytest.mark.parametrize("name", DATABASES)
@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("wrap", "--private")], ids=["serve", "wrap"])
def test_a_database_that_cannot_be_used_is_said_at_the_start_and_left_as_it_was(
    name: str, command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, said = DATABASES[name]
    folder = tmp_path / "databases"
    folder.mkdir()
    path = folder / "talks.db"
    make(path)
    before = {file.name: file.read_bytes() for file in folder.glob("*") if file.is_file()}
    assert main([*command, "--db", str(path), *(("--", "true") if command[0] == "wrap" else ())]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert str(folder) in told.err
    assert "Traceback" not in told.err
    assert "Listening" not in told.err
    if name != "damaged":  # which is only found by opening it
        assert {file.name: file.read_bytes() for file in folder.glob("*") if file.is_file()} == before


@pytest.mark.parametrize(
    "place, said",
    [
        (("--host", "203.0.113.7", "--port", "0"), "choose another --host"),
        (("--host", "no-such-host.invalid", "--port", "0"), "choose another --host"),
    ],
)
def test_an_address_that_cannot_be_had_leaves_nothing_behind(
    place: tuple[str, ...], said: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *place]) == 2
    assert said in capsys.readouterr().err
    assert not (home / "data").exists()


def test_what_is_logged_is_shown_with_its_data_and_without_words(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("autocompact.gateway")
    with logs_shown():
        log.info("not of interest")
        log.warning("an upstream broke off", extra={"reason": "ClientOSError", "provider": "openai"})
    log.info("nobody listens")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("WARNING an upstream broke off  reason='ClientOSError'  provider='openai'")
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", line)


def test_what_goes_on_is_told_once_a_minute_with_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("autocompact.gateway")

    def record(second: float, **data: object) -> logging.LogRecord:
        made = log.makeRecord(log.name, logging.WARNING, "", 0, "an upstream broke off", (), None, extra=data)
        made.created = second
        return made

    with logs_shown():
        for second in (100.0, 101.0, 159.0, 160.0, 161.0, 300.0):
            log.handle(record(second, reason="ClientOSError"))
        log.handle(record(300.5, reason="TimeoutError"))
    lines = [line.partition("WARNING ")[2] for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "an upstream broke off  reason='ClientOSError'",
        "an upstream broke off  reason='ClientOSError'  left_out=2",
        "an upstream broke off  reason='ClientOSError'  left_out=1",
        "an upstream broke off  reason='TimeoutError'",
    ]
