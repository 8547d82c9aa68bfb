"""The files of the extension for Qwen Code: its hooks are called as Claude Code's are."""

from __future__ import annotations

from collections.abc import Mapping

from autocompact.agents.claude_plugin import DESCRIPTION, EVENTS
from autocompact.agents.commands import Commands, as_json, silent

NAME = "qwen"


def extension_files(commands: Commands, *, version: str, archives: bool = True) -> Mapping[str, str]:
    """The files by their path in the extension's folder.

    Args:
        commands: how autocompact is run.
        version: of autocompact.
        archives: keep each session in our own store before it is compacted.
    """
    command = silent(commands.hook_of(NAME, archives=archives))
    hooks = {
        event: [{"hooks": [{"type": "command", "command": command, "timeout": seconds}]}]
        for event, seconds in EVENTS.items()
    }
    manifest = {"name": "autocompact", "version": version, "description": DESCRIPTION}
    return {"qwen-extension.json": as_json(manifest), "hooks/hooks.json": as_json({"hooks": hooks})}
