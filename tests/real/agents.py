"""The real clients that ``make test-clients`` runs: how each is started, and which of its tools reads a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

MORE = "Now read the rest."
REQUEST = "Read all parts of this project, one after the other, then say done."
KEY = "sk-test-of-no-account"
LAST_WORDS = "All parts are read."
TURNS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client in one way of using it.

    Attributes:
        name: of the test.
        package: as its registry calls it; ``npm:``, ``sdks:`` or ``aider:`` before it says where it is installed.
        api: the API it speaks.
        command: program and arguments; ``@URL@`` in them is the gateway's address.
        then: a second command that goes on with the first one's conversation, after half of the turns; () if there is none.
        variables: of its environment; ``@URL@`` likewise.
        files: files in its home, by path; ``@URL@`` likewise.
        tool: the tool that reads a part; "" for a client without tools, whose user asks for each part.
        arguments: of that tool, from the number of a part.
        window: tokens that the gateway is told.
        volatile: beginnings of system blocks that the client itself changes from request to request.
        side_requests: requests beside the agent's own that are usual: titles, topics.
        probes: requests that may fail: those of a client that tries a web socket first.
        sessions: the files below its home in which it records what was said, as a pattern; "" if it records nothing that
            is read here.
        saves: a shell command that writes its session into such a file, where it keeps that in a database.
    """

    name: str
    package: str
    api: str
    command: tuple[str, ...]
    then: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    tool: str = "read_part"
    arguments: Callable[[int], Any] = lambda part: {"number": part}
    window: int = 30_000
    volatile: tuple[str, ...] = ()
    side_requests: int = 0
    probes: int = 0
    sessions: str = ""
    saves: str = ""


def shell(part: int) -> Any:
    """Arguments of most shell tools."""
    return {"command": f"cat part-{part:02}.txt", "description": "Read a part"}


def _claude_code() -> list[Client]:
    usual = Client(
        name="claude-code",
        package="npm:@anthropic-ai/claude-code",
        api="Anthropic Messages",
        command=(
            *("claude", "-p", REQUEST, "--model", "claude-sonnet-4-5"),
            *("--allowedTools", "Bash", "--output-format", "json"),
        ),
        variables={
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": "@URL@",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_BUG_COMMAND": "1",
        },
        tool="Bash",
        arguments=shell,
        window=60_000,
        volatile=("x-anthropic-billing-header",),
        side_requests=3,
        sessions=".claude/projects/*/*.jsonl",
    )
    without = {**usual.variables, "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1"}
    return [
        usual,
        replace(
            usual,
            name="claude-code-without-betas",
            variables=without,
            then=("claude", "--continue", "-p", MORE, *usual.command[3:]),
        ),
    ]


def _codex() -> list[Client]:
    start = ("codex", "exec", "--skip-git-repo-check", "-s", "danger-full-access")
    usual = Client(
        name="codex",
        package="npm:@openai/codex",
        api="OpenAI Responses",
        command=(*start, "-c", 'openai_base_url="@URL@/v1"', REQUEST),
        variables={"CODEX_HOME": "@HOME@/.codex", "OPENAI_API_KEY": KEY, "CODEX_API_KEY": KEY},
        files={".codex/config.toml": "[analytics]\nenabled = false\n"},
        tool="functions.exec",
        arguments=lambda part: (
            f'const r = await tools.exec_command({{cmd: "cat part-{part:02}.txt"}}); text(r.output);'
        ),
        window=60_000,
        probes=2,
        sessions=".codex/sessions/*/*/*/*.jsonl",
    )

    def simple(part: int) -> Any:
        return {"cmd": f"cat part-{part:02}.txt"}

    gpt_5 = ("-m", "gpt-5", *usual.command[len(start) : -1])
    older = replace(
        usual,
        name="codex-gpt-5",
        command=(*start, *gpt_5, REQUEST),
        then=(*start, *gpt_5, "resume", "--last", MORE),
        tool="exec_command",
        arguments=simple,
    )
    compacting = replace(  # a limit far below what its context has by then: as its user's `/compact`
        older,
        name="codex-compacting",
        then=(*start, *gpt_5, "-c", "model_auto_compact_token_limit=12000", "resume", "--last", MORE),
        window=34_000,
        volatile=(
            "<permissions instructions>",
            "<skills_instructions>",
        ),  # behind its compaction in another order
    )
    return [usual, older, compacting]


_NO_REGISTRY = {".npmrc": "registry=http://127.0.0.1:9/\nfetch-retries=0\n"}
"""OpenCode installs a package for plugins at its first start, which takes longer than everything else of its test."""


def _opencode() -> list[Client]:
    def using(provider: str, model: str, *, api: str) -> Client:
        config = {
            "permission": "allow",
            "autoupdate": False,
            "share": "disabled",
            "provider": {provider: {"options": {"baseURL": "@URL@/v1", "apiKey": KEY}}},
        }
        return Client(
            name=f"opencode-{provider}",
            package="npm:opencode-ai",
            api=api,
            command=("opencode", "run", "-m", f"{provider}/{model}", REQUEST),
            variables={"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
            files={".config/opencode/opencode.json": json.dumps(config), **_NO_REGISTRY},
            tool="bash",
            arguments=shell,
            window=60_000,
            side_requests=2,
            sessions="session.json",
            saves='opencode export "$(opencode session list --format json | grep -o "ses_[A-Za-z0-9]*" | tail -n 1)" '
            ">../session.json",
        )

    return [
        using("anthropic", "claude-sonnet-4-5", api="Anthropic Messages"),
        using("openai", "gpt-5", api="OpenAI Responses"),
    ]


def _pi() -> list[Client]:
    def using(api: str, *, name: str, base: str) -> Client:
        model = {
            "id": "some-model",
            "name": "Some model",
            "reasoning": False,
            "input": ["text"],
            "contextWindow": 200_000,
            "maxTokens": 8_000,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        }
        provider = {"baseUrl": base, "api": api, "apiKey": KEY, "models": [model]}
        return Client(
            name=f"pi-{api}",
            package="npm:@earendil-works/pi-coding-agent",
            api=name,
            command=("pi", "--provider", "gateway", "--model", "some-model", "-p", REQUEST),
            variables={"PI_OFFLINE": "1"},
            files={".pi/agent/models.json": json.dumps({"providers": {"gateway": provider}})},
            tool="bash",
            arguments=lambda part: {"command": f"cat part-{part:02}.txt"},
            sessions=".pi/agent/sessions/*/*.jsonl",
        )

    return [
        using("anthropic-messages", name="Anthropic Messages", base="@URL@"),
        using("openai-completions", name="OpenAI Chat Completions", base="@URL@/v1"),
        using("openai-responses", name="OpenAI Responses", base="@URL@/v1"),
    ]


def _qwen_code() -> Client:
    settings = {
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": "openai"}},
    }
    return Client(
        name="qwen-code",
        package="npm:@qwen-code/qwen-code",
        api="OpenAI Chat Completions",
        command=("qwen", "--yolo", "-p", REQUEST),
        variables={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "@URL@/v1", "OPENAI_MODEL": "qwen3-coder-plus"},
        files={".qwen/settings.json": json.dumps(settings)},
        tool="run_shell_command",
        arguments=lambda part: shell(part) | {"is_background": False},
        window=60_000,
        side_requests=2,
        sessions=".qwen/projects/*/chats/*.jsonl",
    )


def _cline() -> Client:
    settings = {
        "provider": "anthropic",
        "apiKey": KEY,
        "model": "claude-sonnet-4-5",
        "baseUrl": "@URL@/v1",
    }
    known = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
    providers = {
        "version": 1,
        "lastUsedProvider": "anthropic",
        "modes": {},
        "providers": {"anthropic": known},
    }
    return Client(
        name="cline",
        package="npm:cline",
        api="Anthropic Messages",
        command=("cline", REQUEST),
        files={".cline/data/settings/providers.json": json.dumps(providers)},
        tool="run_commands",
        arguments=lambda part: {"commands": [f"cat part-{part:02}.txt"]},
        window=60_000,
        side_requests=2,
        sessions=".cline/data/sessions/*/*.messages.json",
    )


def _aider() -> Client:
    return Client(
        name="aider",
        package="aider:aider-chat",
        api="OpenAI Chat Completions",
        command=(
            *(
                "aider",
                "--model",
                "openai/gpt-4.1",
                "--edit-format",
                "ask",
                "--no-fancy-input",
                "--no-pretty",
            ),
            *("--yes-always", "--no-check-update", "--no-show-model-warnings", "--analytics-disable"),
            *("--no-show-release-notes", "--map-tokens", "0", "--max-chat-history-tokens", "1000000"),
            *("--read", "AGENTS.md", "--no-gitignore"),
        ),
        variables={
            "OPENAI_API_KEY": KEY,
            "OPENAI_API_BASE": "@URL@/v1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
        tool="",
        sessions="project/.aider.chat.history.md",
    )


def _sdk(name: str, package: str, *, api: str, script: str = "") -> Client:
    anthropic = api.startswith("Anthropic")
    variables = {"ANTHROPIC_BASE_URL": "@URL@"} if anthropic else {"OPENAI_BASE_URL": "@URL@/v1"}
    file, *arguments = (script or f"{name.replace('-', '_')}.py").split()
    return Client(
        name=name,
        package=f"sdks:{package}",
        api=api,
        command=("python", f"@LOOPS@/{file}", *arguments),
        variables={"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, **variables},
    )


def _sdks() -> list[Client]:
    chat, responses, messages = "OpenAI Chat Completions", "OpenAI Responses", "Anthropic Messages"
    return [
        _sdk("openai-chat", "openai", api=chat),
        _sdk("openai-responses", "openai", api=responses),
        _sdk("anthropic-messages", "anthropic", api=messages),
        _sdk("langchain-openai", "langchain-openai", api=chat, script="langchain_tools.py openai"),
        _sdk(
            "langchain-anthropic", "langchain-anthropic", api=messages, script="langchain_tools.py anthropic"
        ),
        _sdk(
            "pydantic-ai-openai", "pydantic-ai-slim", api=chat, script="pydantic_agent.py openai-chat:gpt-4.1"
        ),
        _sdk(
            "pydantic-ai-anthropic",
            "pydantic-ai-slim",
            api=messages,
            script="pydantic_agent.py anthropic:claude-sonnet-4-5",
        ),
        _sdk("openai-agents", "openai-agents", api=responses),
        Client(
            name="llm",
            package="sdks:llm",
            api=chat,
            command=(
                *("llm", "-m", "gpt-4.1", "--functions", "@LOOPS@/llm_tools.py", "--cl", "0"),
                *("-s", "@RULES@", REQUEST),
            ),
            variables={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "@URL@/v1", "LLM_USER_PATH": "@HOME@/llm"},
        ),
    ]


CLIENTS = [
    *_claude_code(),
    *_codex(),
    *_opencode(),
    *_pi(),
    _qwen_code(),
    _cline(),
    _aider(),
    *_sdks(),
]


def _by_wrap() -> list[Client]:
    """The programs as their users start them, without a word of a base URL."""
    known = {each.name: each for each in CLIENTS}
    claude, codex, cline = known["claude-code"], known["codex"], known["cline"]
    without = {name: value for name, value in claude.variables.items() if "URL" not in name}
    pi = replace(
        known["pi-openai-responses"],
        command=("pi", "--provider", "openai", "--model", "gpt-5", "-p", REQUEST),
        variables={"PI_OFFLINE": "1", "OPENAI_API_KEY": KEY},
        files={},
    )
    keys = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    switches = known["opencode-anthropic"].variables
    opencode = {"permission": "allow", "autoupdate": False, "share": "disabled"}
    files = {".config/opencode/opencode.json": json.dumps(opencode), **_NO_REGISTRY}
    qwen = known["qwen-code"]
    return [
        replace(claude, variables=without),
        replace(
            codex, command=tuple(each for each in codex.command if "base_url" not in each and each != "-c")
        ),
        replace(known["opencode-anthropic"], files=files, variables={**switches, **keys}),
        replace(known["opencode-openai"], files=files, variables={**switches, **keys}),
        replace(pi, name="pi-openai"),
        replace(
            pi,
            name="pi-anthropic",
            command=("pi", "--provider", "anthropic", "--model", "claude-sonnet-4-5", "-p", REQUEST),
            variables={"PI_OFFLINE": "1", "ANTHROPIC_API_KEY": KEY},
        ),
        replace(qwen, variables={name: value for name, value in qwen.variables.items() if "URL" not in name}),
        cline,
        replace(
            cline,
            name="cline-by-options",
            command=("cline", "-P", "anthropic", "-k", KEY, "-m", "claude-sonnet-4-5", REQUEST),
            files={},
        ),
        replace(
            known["llm"],
            variables={
                name: value for name, value in known["llm"].variables.items() if "BASE_URL" not in name
            },
        ),
        replace(
            known["aider"],
            variables={name: value for name, value in known["aider"].variables.items() if "BASE" not in name},
        ),
    ]


BY_WRAP = _by_wrap()
