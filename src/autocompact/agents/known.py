"""The coding agents that autocompact has a plugin for, or a word on why not: one table for the program and the documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

from autocompact.agents.claude_plugin import plugin_files
from autocompact.agents.commands import Commands, of_this_installation, silent
from autocompact.agents.hooks_file import HooksFile
from autocompact.agents.installing import Plugin
from autocompact.agents.qwen_extension import extension_files
from autocompact.sessions.places import codex_home, opencode_folder, pi_agent_folder, qwen_home

Environment: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A coding agent.

    Attributes:
        name: as the command line has it.
        title: as its makers call it.
        does: what the plugin does at a compaction; "" where there is none.
        then: what the user does after the installation.
        instead: where there is no plugin: why, and what works.
        folder: where the plugin is; of ``entries``, the file.
        files: those of the plugin, by their path in the folder, with an archive of sessions or without.
        shared: the folder holds files of others, too.
        entries: what is added to a file of hooks of the user's, by event.
    """

    name: str
    title: str
    does: str = ""
    then: str = "loads it when it is started the next time"
    instead: str = ""
    folder: Callable[[Environment, Path], Path] = lambda _, home: home
    files: Callable[[Commands, bool], Mapping[str, str]] = lambda _, __: {}
    shared: bool = False
    entries: Callable[[Commands, bool], Mapping[str, object]] | None = None


def _claude_code(commands: Commands, archives: bool) -> Mapping[str, str]:
    return plugin_files(commands, version=version("autocompact"), archives=archives)


def _qwen(commands: Commands, archives: bool) -> Mapping[str, str]:
    return extension_files(commands, version=version("autocompact"), archives=archives)


def _extension(name: str, *, path: str) -> Callable[[Commands, bool], Mapping[str, str]]:
    """A plugin that is one file of JavaScript, which runs our hook."""

    def files(commands: Commands, archives: bool) -> Mapping[str, str]:
        source = resources.files("autocompact.agents").joinpath("files", f"{name}.js").read_text("utf-8")
        return {path: source.replace("@COMMAND@", json.dumps(commands.hook_of(name, archives=archives)))}

    return files


def _codex(commands: Commands, archives: bool) -> Mapping[str, object]:
    command = silent(commands.hook_of("codex", archives=archives))
    before, after = (
        {"hooks": [{"type": "command", "command": command, "timeout": seconds}]} for seconds in (5, 15)
    )
    return {"PreCompact": before, "SessionStart": {"matcher": "compact", **after}}


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            name="claude-code",
            title="Claude Code",
            does="puts back what the summary of a compaction lost, and checks the summary",
            folder=lambda environment, home: (
                Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "skills" / "autocompact"
            ),
            files=_claude_code,
        ),
        Agent(
            name="pi",
            title="pi",
            does="gives its own account in place of the summary, without a model",
            folder=lambda environment, home: (
                pi_agent_folder(environment, home=home) / "extensions" / "autocompact"
            ),
            files=_extension("pi", path="index.js"),
        ),
        Agent(
            name="opencode",
            title="OpenCode",
            does="adds to the summary of a compaction what it lost, before OpenCode keeps it",
            folder=lambda environment, home: opencode_folder(environment, home=home) / "plugin",
            files=_extension("opencode", path="autocompact.js"),
            shared=True,
        ),
        Agent(
            name="codex",
            title="Codex",
            does="puts rules, requests and findings beside the summary of a compaction, which is encrypted",
            then="asks you to review the hooks (`/hooks`) when it is started the next time, and runs them only after that",
            folder=lambda environment, home: codex_home(environment, home=home) / "hooks.json",
            entries=_codex,
        ),
        Agent(
            name="qwen",
            title="Qwen Code",
            does="puts back what the summary of a compaction lost, and checks the summary",
            folder=lambda environment, home: qwen_home(environment, home=home) / "extensions" / "autocompact",
            files=_qwen,
        ),
        Agent(
            name="cline",
            title="Cline",
            instead=(
                "it runs no hook at a compaction (`PreCompact` is only a name in it); run it through the gateway, which compacts "
                "before Cline has to: `autocompact wrap -- cline ...`"
            ),
        ),
        Agent(
            name="gemini",
            title="Gemini CLI",
            instead=(
                "its hooks cannot put a text into the context at a compression, and the gateway does not serve Google's API; "
                "`autocompact compact SESSION` makes a context to go on from out of its session file"
            ),
        ),
        Agent(
            name="copilot",
            title="Copilot CLI",
            instead=(
                "its hook before a compaction takes no answer; with a key of your own run it through the gateway: "
                "`autocompact wrap -- copilot ...`"
            ),
        ),
    )
}
"""By name."""


def plugin_of(agent: Agent, *, home: Path, environment: Environment, data: Path) -> Plugin | HooksFile:
    """The plugin of an agent that has one.

    Args:
        agent: whose.
        home: the user's home folder.
        environment: of the process, in which agents' folders may be named.
        data: autocompact's folder among the user's data.
    """
    commands, place = of_this_installation(), agent.folder(environment, home)
    if (entries := agent.entries) is not None:
        return HooksFile(
            agent=agent.name, file=place, entries=lambda archives: entries(commands, archives), data=data
        )
    return Plugin(
        agent=agent.name,
        folder=place,
        files=lambda archives: agent.files(commands, archives),
        shared=agent.shared,
        data=data,
    )
