from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from autocompact.cli import main
from autocompact.testing import FakeProvider

PROGRAM = """
import json, os, urllib.request
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Echo this"}]}).encode()
asked = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", data=body)
asked.add_header("Content-Type", "application/json")
print(json.load(urllib.request.urlopen(asked))["choices"][0]["message"]["content"])
raise SystemExit(7)
"""


def test_wrap_points_a_command_at_a_gateway_of_its_own_and_ends_as_it_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "autocompact", "wrap", "--db", str(tmp_path / "gw.db"), "--upstream"]

    async def wrapped() -> subprocess.CompletedProcess[bytes]:
        async with FakeProvider() as provider:
            wanted = [*command, f"openai={provider.url}", "--", sys.executable, "-c", PROGRAM]
            return await anyio.run_process(wanted, check=False)

    done = anyio.run(wrapped)
    assert (done.returncode, done.stdout.strip()) == (7, b"Echo this"), done.stderr
    key = tmp_path / "gw.db.key"
    assert len(key.read_bytes()) == 32
    assert key.stat().st_mode & 0o077 == 0


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


def test_memory_tools_are_added_to_compacted_conversations_where_they_are_asked_for() -> None:
    command = [sys.executable, "-m", "autocompact", "wrap", "--memory-tools", "--window", "8000"]

    async def wrapped() -> list[str]:
        async with FakeProvider("Fine.") as provider:
            wanted = [*command, "--upstream", f"openai={provider.url}", "--", sys.executable, "-c", LONG]
            await anyio.run_process(wanted)
            return [tool["function"]["name"] for tool in provider.requests[0].body["tools"]]

    assert anyio.run(wrapped) == ["memory_search", "memory_expand"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["serve", "--upstream", "other=http://x"], "is no upstream"),
        (["serve", "--upstream", "openai=https://api.openai.com/v1"], "leave out /v1"),
        (["serve", "--upstream", "openai=ftp://x"], "must be http(s)://"),
        (["wrap", "--", "no-such-program-here"], "cannot be started"),
    ],
)
def test_what_cannot_be_used_is_said(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
