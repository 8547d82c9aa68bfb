"""``autocompact wrap`` with stand-ins that do what the real clients do; real ones run in ``make test-clients``."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from autocompact.testing import FakeProvider
from tests.warm import command

REQUEST = """
import json, os, sys, urllib.request
def ask(base, path="/chat/completions"):
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Echo this"}]}
    asked = urllib.request.Request(base + path, data=json.dumps(body).encode())
    asked.add_header("Content-Type", "application/json")
    asked.add_header("anthropic-version", "2023-06-01")
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked).read()
"""
CODEX = """
options = dict(word.split("=", 1) for before, word in zip(sys.argv, sys.argv[1:]) if before == "-c")
ask(json.loads(options["openai_base_url"]))
"""
OPENCODE = """
provider = json.loads(os.environ["OPENCODE_CONFIG_CONTENT"])["provider"]["anthropic"]
ask(provider["options"]["baseURL"], "/messages")
"""
PI = """
import re
text = open(sys.argv[sys.argv.index("-e") + 1]).read()
ask(re.search('"openai", . baseUrl: "([^"]*)"', text)[1])
"""
CLINE = """
path = os.environ["CLINE_PROVIDER_SETTINGS_PATH"]
assert os.stat(path).st_mode & 0o077 == 0
settings = json.load(open(path))["providers"]["anthropic"]["settings"]
print(path)
ask(settings["baseUrl"], "/messages")
"""
CRUSH = 'ask(os.environ["OPENAI_API_ENDPOINT"])'
COPILOT = 'ask(os.environ["COPILOT_PROVIDER_BASE_URL"])'

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def wrap(
    home: Path, *arguments: str, programs: dict[str, str] | None = None, **environ: str
) -> tuple[int | None, str, str]:
    """Exit code, stdout and stderr of ``autocompact wrap``, its user's programs being these scripts."""
    folder = home / "bin"
    folder.mkdir(exist_ok=True)
    for name, script in (programs or {}).items():
        (folder / name).write_text(f"#!{sys.executable}\n{REQUEST}{script}\n")
        (folder / name).chmod(0o755)
    usual = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(home), "TMPDIR": str(home)}
    process = await asyncio.create_subprocess_exec(
        *(*command(), "wrap", *arguments),
        cwd=home,
        env=usual | {"XDG_DATA_HOME": str(home / "data"), "AUTOCOMPACT_GATEWAY_PORT": "1"} | environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode, out.decode().strip(), err.decode().strip()


@pytest.mark.parametrize(
    "name, script, path",
    [
        ("codex", CODEX, "/v1/chat/completions"),
        ("opencode", OPENCODE, "/v1/messages"),
        ("pi", PI, "/v1/chat/completions"),
        ("cline", CLINE, "/v1/messages"),
        ("crush", CRUSH, "/v1/chat/completions"),
        ("copilot", COPILOT, "/v1/chat/completions"),
    ],
)
async def test_a_client_that_reads_no_usual_variable_comes_through(
    tmp_path: Path, name: str, script: str, path: str
) -> None:
    async with FakeProvider() as provider:
        upstream = f"openai={provider.url},anthropic={provider.url}"
        command = (name, "-P", "anthropic") if name == "cline" else (name,)
        code, out, err = await wrap(
            tmp_path,
            *("--upstream", upstream, "--db", ":memory:", *command),
            programs={name: script},
            OPENAI_API_KEY="k",
            COPILOT_MODEL="m",
        )
        assert code == 0, err
        assert [asked.path for asked in provider.requests] == [path]
    assert (
        err.splitlines()[-1] == "autocompact: 1 request came through the gateway, 0 with a compacted context"
    )
    if name == "cline":
        assert out.startswith(f"{tmp_path}/autocompact-wrap-")
    assert not any(entry.startswith("autocompact-wrap-") for entry in os.listdir(tmp_path))


async def test_a_client_that_never_asked_is_told_of_with_what_may_be_the_reason(tmp_path: Path) -> None:
    none = "autocompact: no request came through the gateway. "
    options = ("--db", ":memory:", "--private")
    _, _, err = await wrap(tmp_path, *options, "codex", programs={"codex": ""})
    assert err.startswith(f"{none}Did Codex ask a model?")
    _, _, err = await wrap(tmp_path, *options, "mine", programs={"mine": ""})
    assert err.startswith(f"{none}'mine' is no client that wrap knows")


async def test_a_client_that_asked_for_the_list_of_models_alone_is_told_of(tmp_path: Path) -> None:
    script = """
for path in ("/models", "/models", "/../files"):
    try:
        urllib.request.urlopen(os.environ["OPENAI_BASE_URL"] + path).read()
    except urllib.error.HTTPError:
        pass
"""
    async with FakeProvider() as provider:
        options = ("--db", ":memory:", "--private", "--upstream", f"openai={provider.url}")
        only = script.replace(', "/../files"', "")
        _, _, err = await wrap(tmp_path, *options, "mine", programs={"mine": REQUEST + only})
        assert "no model was asked through the gateway, though 2 other requests came (a list of models" in err
        _, _, err = await wrap(tmp_path, *options, "mine", programs={"mine": REQUEST + script})
        assert "though 3 other requests came (1 of them refused). 'mine' is no client that wrap knows" in err


async def test_a_client_behind_a_proxy_asks_the_gateway_without_it(tmp_path: Path) -> None:
    script = """
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Echo this"}]}).encode()
address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
urllib.request.urlopen(urllib.request.Request(address, body, {"Content-Type": "application/json"})).read()
"""
    async with FakeProvider() as provider:
        options = ("--db", ":memory:", "--private", "--upstream", f"openai={provider.url}")
        proxies = {"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "example.org"}
        code, _, err = await wrap(tmp_path, *options, "mine", programs={"mine": REQUEST + script}, **proxies)
        assert (code, len(provider.requests)) == (0, 1), err


async def test_show_runs_nothing_and_writes_nothing(tmp_path: Path) -> None:
    script = 'open("ran", "w")'
    code, out, err = await wrap(tmp_path, "--show", "codex", "exec", "Say hi", programs={"codex": script})
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "client   Codex"
    assert "command  codex -c 'openai_base_url=\"http://127.0.0.1:PORT/v1\"' exec 'Say hi'" in out
    assert "set      ANTHROPIC_BASE_URL=http://127.0.0.1:PORT" in out
    _, out, _ = await wrap(tmp_path, "--show", "cline", "-P", "anthropic", "-k", "sk-secret")
    assert "file     FOLDER-OF-THIS-RUN/providers.json, removed afterwards" in out
    _, out, _ = await wrap(tmp_path, "--show", "ls")
    assert "none that wrap knows" in out
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "data").exists()


async def test_show_does_not_show_the_keys_of_a_clients_settings(tmp_path: Path) -> None:
    path = tmp_path / "providers.json"
    settings = {"provider": "anthropic", "apiKey": "sk-of-the-user"}
    path.write_text(
        json.dumps({"lastUsedProvider": "anthropic", "providers": {"anthropic": {"settings": settings}}})
    )
    given = json.dumps({"provider": {"openai": {"options": {"apiKey": "sk-of-the-user"}}}})
    for program in ("cline", "copilot", "opencode"):
        code, out, err = await wrap(
            tmp_path,
            *("--show", program),
            CLINE_PROVIDER_SETTINGS_PATH=str(path),
            OPENCODE_CONFIG_CONTENT=given,
            OPENAI_API_KEY="sk-of-the-user",
        )
        assert code == 0, err
        assert "sk-of-the-user" not in out


@pytest.mark.parametrize("show", [True, False])
async def test_a_client_that_cannot_come_through_is_not_started(tmp_path: Path, show: bool) -> None:
    options = ("--show",) if show else ("--private",)
    code, out, err = await wrap(tmp_path, *options, "gemini", programs={"gemini": 'open("ran", "w")'})
    assert (code, out) == (2, "")
    assert "'gemini' cannot be wrapped: Gemini CLI speaks Google's API" in err
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "data").exists()
