"""``--model``: who is asked, with which key, and what happens if that fails."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from anyio import to_thread

from autocompact.cli.models import chosen_model
from autocompact.errors import InvalidInput
from autocompact.testing import FakeProvider
from tests.cli.program import CODING, OPENAI, Ended, Program, started

KEY = "sk-test-0123456789abcdef0123456789"
SUMMARY = "<summary>\n## Summary\nThe rounding of invoices was mended: half to even.\n</summary>"
VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OLLAMA_HOST")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_model_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, "AUTOCOMPACT_MODEL"):
        monkeypatch.delenv(name, raising=False)


async def ran(program: Program, *arguments: str | Path | int) -> Ended:
    """The program in another thread, as the provider needs the event loop of this one."""
    return await to_thread.run_sync(partial(program, *arguments))


@pytest.mark.anyio
@pytest.mark.requirement("B6")
@pytest.mark.parametrize("name", ["any", "openai:any", "anthropic:any"])
async def test_a_model_writes_the_summary(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    out = tmp_path / "out.md"
    async with FakeProvider(SUMMARY, api_key=KEY) as provider:
        options = ("--model", name, "--base-url", provider.url, "--api-key-env", "MY_KEY", "--out", out)
        ended = await ran(program, "compact", CODING, *options)
    assert (ended.code, ended.out) == (0, b""), ended.err
    assert "any summary" in ended.report
    assert "half to even" in out.read_text()
    assert KEY not in ended.err
    assert provider.requests[0].dialect == ("anthropic" if name.startswith("anthropic") else "openai_chat")


@pytest.mark.anyio
async def test_a_model_that_fails_writes_nothing_unless_offline_will_do(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    out = tmp_path / "out.json"
    async with FakeProvider(SUMMARY, api_key="another") as provider:
        options = ("--model", "any", "--base-url", provider.url, "--api-key-env", "MY_KEY")
        options = (*options, "--format", "json", "--out", str(out))
        failed = await ran(program, "compact", CODING, *options)
        done = await ran(program, "compact", CODING, *options, "--fallback", "offline")
    assert (failed.code, failed.out) == (2, b"")
    (line,) = failed.err.splitlines()
    assert "refused the request (401)" in line
    assert "Check the API key" in line
    assert done.code == 0
    assert "problem     'any'" in done.err
    assert KEY not in failed.err + done.err + out.read_text()


@pytest.mark.anyio
async def test_a_preview_asks_nobody(program: Program) -> None:
    async with FakeProvider(SUMMARY) as provider:
        ended = await ran(
            program, "compact", CODING, "--model", "any", "--base-url", provider.url, "--preview"
        )
    assert provider.requests == []
    assert "without --preview any is asked for the summary" in ended.err


def test_a_server_that_is_not_there_is_one_message(tmp_path: Path) -> None:
    out = tmp_path / "out.md"
    ended = started("compact", OPENAI, "--model", "any", "--base-url", "http://127.0.0.1:9", "--out", out)
    assert ended.returncode == 2
    (line,) = ended.stderr.decode().splitlines()
    assert line.startswith("autocompact: 'any' at 127.0.0.1:9 cannot be reached")
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--model", "gpt-5"), "no provider is known for the model 'gpt-5': set OPENAI_BASE_URL"),
        (("--model", " "), "--model is empty"),
        (("--model", "any", "--base-url", "nonsense"), "the base URL must look like https://host"),
        (("--model", "any", "--base-url", "http://h", "--api-key-env", "NO_KEY"), "'NO_KEY' is not set"),
        (("--base-url", "http://h"), "say where a model is: name it with --model"),
        (("--api-key-env", "HOME"), "say where a model is: name it with --model"),
    ],
)
@pytest.mark.parametrize("command", ["compact", "replay"])
def test_what_names_no_model_is_refused(
    program: Program, command: str, options: tuple[str, ...], message: str
) -> None:
    ended = program(command, OPENAI, *options)
    assert (ended.code, ended.out) == (2, b"")
    (line,) = ended.err.splitlines()
    assert message in line


def test_a_summary_of_ones_own_and_a_model_do_not_go_together(program: Program, tmp_path: Path) -> None:
    mine = tmp_path / "mine.md"
    mine.write_text("Mine.")
    ended = program(
        "compact", OPENAI, "--summary", mine, "--model", "any", "--base-url", "http://127.0.0.1:9"
    )
    assert (ended.code, "a summary is given" in ended.err) == (2, True)


def test_a_key_is_given_to_the_provider_that_the_name_belongs_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    names = {"gpt-5": "OpenAICompatible('gpt-5'", "claude-opus-5": "Anthropic('claude-opus-5'"}
    for name, shown in names.items():
        model = repr(chosen_model(model=name, base_url=None, api_key_env="MY_KEY"))
        assert model.startswith(shown)
        assert KEY not in model
    with pytest.raises(InvalidInput, match="no provider"):
        chosen_model(model="gpt-5", base_url=None, api_key_env=None)
    assert chosen_model(model=None, base_url=None, api_key_env=None) is None


@pytest.mark.anyio
async def test_a_key_of_the_environment_is_not_sent_to_another_server(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with FakeProvider(SUMMARY) as provider:
        ended = await ran(
            program, "compact", CODING, "--model", "any", "--base-url", provider.url, "--format", "json"
        )
    assert "half to even" in json.loads(ended.out)["summary"]
    assert "authorization" not in provider.requests[0].headers
