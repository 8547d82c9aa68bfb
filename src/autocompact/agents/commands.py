"""How a plugin runs autocompact."""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from autocompact.agents.hook import AGENT, NO_ARCHIVE, WITH_TOOLS


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """How a plugin runs autocompact.

    Attributes:
        hook: the command of the hooks.
        program: ``autocompact`` itself.
        tools: the MCP server can be run.
    """

    hook: Sequence[str]
    program: Sequence[str]
    tools: bool

    def hook_of(self, agent: str, *, archives: bool, tools: bool = False) -> list[str]:
        """The command of an agent's hooks; ``tools`` says that its model has our MCP server."""
        named = [] if agent == "claude-code" else [f"{AGENT}{agent}"]
        return [*self.hook, *named, *([] if archives else [NO_ARCHIVE]), *([WITH_TOOLS] if tools else [])]


ON_PATH = Commands(hook=("autocompact-hook",), program=("autocompact",), tools=True)
"""What an installation puts on the PATH."""


def of_this_installation() -> Commands:
    """How this very installation is run, wherever the agent is started.

    Python gets ``-P``: it would take modules from the folder that it is started in, which is the project's.
    """
    python = (sys.executable, "-P", "-m")
    return Commands(
        hook=(*python, "autocompact.agents.hook"),
        program=(*python, "autocompact"),
        tools=importlib.util.find_spec("mcp") is not None,
    )


def silent(command: Sequence[str]) -> str:
    """The command for a shell; where it fails, or is not there any more, the session does not see it."""
    return f"{shlex.join(command)} 2>/dev/null || true"


def as_json(value: object) -> str:
    """The text of a file."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
