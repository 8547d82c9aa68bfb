"""The table of clients: how each is found and pointed at a gateway. Real ones run in ``make test-clients``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autocompact.gateway.clients import CLIENTS, Launch, Where, client_of, launch_of, usual

ADDRESS = "http://127.0.0.1:8787"

pytestmark = pytest.mark.requirement("E7")


def launched(*command: str, home: Path = Path("nowhere"), **environ: str) -> Launch:
    where = Where(address=ADDRESS, environment=environ, home=home, folder=Path("folder"))
    return launch_of(command, where)


@pytest.mark.parametrize(
    "command, title, at",
    [
        ("claude -p hi", "Claude Code", 1),
        ("/usr/local/bin/codex exec hi", "Codex", 1),
        (r"C:\tools\codex.exe exec hi", "Codex", 1),
        ("npx -y @openai/codex@0.169.0 exec hi", "Codex", 3),
        ("npx -p node@22 opencode-ai run hi", "OpenCode", 4),
        ("uvx --from aider-chat aider --model gpt-4.1", "aider", 4),
        ("uvx llm==0.36 hi", "llm", 2),
        ("bunx @qwen-code/qwen-code -p hi", "Qwen Code", 2),
    ],
)
def test_a_client_is_found_by_its_program_or_package(command: str, title: str, at: int) -> None:
    found = client_of(command.split())
    assert found is not None
    assert (found[0].title, found[1]) == (title, at)


@pytest.mark.parametrize("command", ["python codex", "codex-like", "npx", "npx cowsay codex", "npx -y"])
def test_another_program_gets_the_variables_of_the_sdks_and_no_more(command: str) -> None:
    assert client_of(command.split()) is None
    assert launched(*command.split()) == Launch(command=tuple(command.split()), variables=usual(ADDRESS))


def test_each_client_has_names_of_its_own() -> None:
    names = [name for client in CLIENTS for name in client.programs]
    assert len(names) == len(set(names)) == len(CLIENTS)


@pytest.mark.parametrize("program", ["claude", "aider", "llm", "goose", "qwen"])
def test_clients_that_read_a_usual_variable_run_as_they_are(program: str) -> None:
    launch = launched(program, "--flag", OPENAI_API_KEY="k")
    assert (launch.command, launch.variables) == ((program, "--flag"), usual(ADDRESS))
    assert (launch.files, launch.notes, launch.obstacle) == ({}, (), "")


def test_codex_gets_its_base_url_as_an_option_before_its_own() -> None:
    launch = launched("codex", "exec", "-m", "gpt-5", "-c", 'model_provider="openai"', "Say hi")
    option = ("-c", f'openai_base_url="{ADDRESS}/v1"')
    assert launch.command == (
        "codex",
        *option,
        "exec",
        "-m",
        "gpt-5",
        "-c",
        'model_provider="openai"',
        "Say hi",
    )
    started = launched("npx", "-y", "@openai/codex", "exec")
    assert started.command == ("npx", "-y", "@openai/codex", *option, "exec")


def test_opencode_gets_both_providers_over_what_the_user_gave() -> None:
    given = {"theme": "nord", "provider": {"anthropic": {"options": {"timeout": 9, "baseURL": "http://x"}}}}
    launch = launched("opencode", OPENCODE_CONFIG_CONTENT=json.dumps(given))
    assert json.loads(launch.variables["OPENCODE_CONFIG_CONTENT"]) == {
        "theme": "nord",
        "provider": {
            "anthropic": {"options": {"timeout": 9, "baseURL": f"{ADDRESS}/v1"}},
            "openai": {"options": {"baseURL": f"{ADDRESS}/v1"}},
        },
    }
    assert (
        "OPENCODE_CONFIG_CONTENT cannot be read" in launched("opencode", OPENCODE_CONFIG_CONTENT="{").obstacle
    )


def test_pi_gets_an_extension_for_this_run() -> None:
    launch = launched("pi", "-p", "hi")
    assert launch.command == ("pi", "-e", str(Path("folder") / "autocompact-gateway.js"), "-p", "hi")
    (text,) = launch.files.values()
    assert b'pi.registerProvider("anthropic", { baseUrl: "http://127.0.0.1:8787" });' in text
    assert b'pi.registerProvider("openai", { baseUrl: "http://127.0.0.1:8787/v1" });' in text


def test_cline_gets_a_copy_of_its_settings_and_its_own_stay(tmp_path: Path) -> None:
    path = tmp_path / ".cline" / "data" / "settings" / "providers.json"
    path.parent.mkdir(parents=True)
    mine = {"provider": "anthropic", "apiKey": "k", "model": "m", "baseUrl": "http://mine"}
    known: dict[str, Any] = {
        "version": 1,
        "lastUsedProvider": "anthropic",
        "providers": {"anthropic": {"settings": mine, "tokenSource": "manual"}, "x": {"settings": {}}},
    }
    path.write_text(json.dumps(known))
    launch = launched("cline", "hi", home=tmp_path)
    assert launch.command == ("cline", "hi")
    assert launch.variables["CLINE_PROVIDER_SETTINGS_PATH"] == str(Path("folder") / "providers.json")
    copy = json.loads(launch.files["providers.json"])
    assert copy["providers"]["anthropic"]["settings"] == mine | {"baseUrl": f"{ADDRESS}/v1"}
    assert copy["providers"]["x"] == {"settings": {}}
    assert json.loads(path.read_text()) == known
    assert "not kept" in launch.notes[0]


def test_cline_without_settings_takes_the_provider_of_the_command(tmp_path: Path) -> None:
    launch = launched("cline", "-P", "anthropic", "-k", "k", "hi", home=tmp_path)
    copy = json.loads(launch.files["providers.json"])
    assert copy["lastUsedProvider"] == "anthropic"
    assert copy["providers"]["anthropic"]["settings"] == {"provider": "anthropic", "baseUrl": f"{ADDRESS}/v1"}
    elsewhere = launched("cline", "--data-dir", str(tmp_path), home=tmp_path)
    assert elsewhere.obstacle.startswith("Cline's provider is 'cline'")


@pytest.mark.parametrize("text", ["{", '{"providers": 3, "lastUsedProvider": "anthropic"}', "[]"])
def test_settings_of_cline_that_cannot_be_read_are_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "providers.json"
    path.write_text(text)
    obstacle = launched("cline", CLINE_PROVIDER_SETTINGS_PATH=str(path)).obstacle
    assert obstacle.startswith(f"Cline's settings {str(path)!r} cannot be read")


def test_crush_gets_the_addresses_of_its_catalogue() -> None:
    variables = launched("crush").variables
    assert variables["OPENAI_API_ENDPOINT"] == f"{ADDRESS}/v1"
    assert variables["ANTHROPIC_API_ENDPOINT"] == ADDRESS


def test_copilot_uses_the_users_own_key() -> None:
    launch = launched("copilot", OPENAI_API_KEY="k", COPILOT_MODEL="gpt-5")
    assert launch.variables["COPILOT_PROVIDER_BASE_URL"] == f"{ADDRESS}/v1"
    assert launch.variables["COPILOT_PROVIDER_TYPE"] == "openai"
    assert launch.variables["COPILOT_PROVIDER_API_KEY"] == "k"
    assert launch.notes == ()
    launch = launched("copilot", ANTHROPIC_API_KEY="k")
    assert launch.variables["COPILOT_PROVIDER_BASE_URL"] == ADDRESS
    assert "COPILOT_MODEL" in launch.notes[0]
    launch = launched("copilot", COPILOT_PROVIDER_BEARER_TOKEN="t", COPILOT_PROVIDER_TYPE="openai")
    assert "COPILOT_PROVIDER_API_KEY" not in launch.variables


@pytest.mark.parametrize(
    "command, environ, reason",
    [
        ("claude", {"CLAUDE_CODE_USE_BEDROCK": "1"}, "CLAUDE_CODE_USE_BEDROCK is set"),
        ("codex -c openai_base_url=http://x", {}, "names openai_base_url itself"),
        ("codex --config=openai_base_url=http://x", {}, "names openai_base_url itself"),
        ("codex --config model_provider='mine'", {}, "another model provider"),
        ("codex --oss", {}, "another model provider"),
        ("gemini -p hi", {}, "Google's API, which the gateway does not serve"),
        ("aider --openai-api-base=http://x", {}, "gives --openai-api-base"),
        ("qwen --openai-base-url http://x", {}, "gives --openai-base-url"),
        ("copilot", {}, "GitHub's own servers"),
        ("copilot", {"COPILOT_PROVIDER_BASE_URL": "http://x"}, "COPILOT_PROVIDER_BASE_URL is set"),
        ("copilot", {"COPILOT_PROVIDER_TYPE": "azure"}, "'azure': the gateway serves openai and anthropic"),
    ],
)
def test_what_cannot_come_through_is_said_before_anything_runs(
    command: str, environ: dict[str, str], reason: str
) -> None:
    where = Where(address=ADDRESS, environment=environ, home=Path("nowhere"), folder=Path("folder"))
    assert reason in launch_of(command.split(), where).obstacle


def test_claude_code_with_a_cloud_switched_off_runs() -> None:
    assert launched("claude", CLAUDE_CODE_USE_VERTEX="0").obstacle == ""


def test_qwen_code_without_a_key_says_whose_requests_come_through() -> None:
    assert "OPENAI_API_KEY" in launched("qwen").notes[0]


@pytest.mark.parametrize(
    "environ, exempt",
    [
        ({}, None),
        ({"NO_PROXY": "example.org"}, None),
        ({"HTTPS_PROXY": "http://proxy:3128"}, "127.0.0.1"),
        (
            {"http_proxy": "http://proxy:3128", "no_proxy": "example.org, .local"},
            "example.org,.local,127.0.0.1",
        ),
        ({"ALL_PROXY": "socks5://proxy", "NO_PROXY": "127.0.0.1"}, "127.0.0.1"),
        ({"HTTP_PROXY": "http://proxy:3128", "NO_PROXY": "*"}, "*"),
    ],
)
def test_a_proxy_is_not_asked_for_the_gateway(environ: dict[str, str], exempt: str | None) -> None:
    where = Where(address=ADDRESS, environment=environ, home=Path("nowhere"), folder=Path("folder"))
    variables = launch_of(("claude",), where).variables
    assert variables.get("NO_PROXY") == variables.get("no_proxy") == exempt
