"""The clients that ``autocompact wrap`` knows, one module each: how they are found and pointed at a gateway.

Pure: an entry says which arguments, variables and files a client gets, and `autocompact.cli.wrapping` does it. Nothing of
the user's is changed: files are copies in a folder that is removed afterwards. Start with `launch_of`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from autocompact.gateway.clients.aider import Aider
from autocompact.gateway.clients.claude import ClaudeCode
from autocompact.gateway.clients.cline import Cline
from autocompact.gateway.clients.codex import Codex
from autocompact.gateway.clients.copilot import CopilotCli
from autocompact.gateway.clients.crush import Crush
from autocompact.gateway.clients.gemini import GeminiCli
from autocompact.gateway.clients.goose import GOOSE
from autocompact.gateway.clients.launch import Client, Launch, Where, past_proxies, usual
from autocompact.gateway.clients.llm import LLM
from autocompact.gateway.clients.opencode import OpenCode
from autocompact.gateway.clients.pi import Pi
from autocompact.gateway.clients.qwen import QwenCode

__all__ = ["CLIENTS", "Client", "Launch", "Where", "client_of", "launch_of", "usual"]

CLIENTS: Sequence[Client] = (
    ClaudeCode(),
    Codex(),
    OpenCode(),
    Pi(),
    QwenCode(),
    Cline(),
    GeminiCli(),
    Aider(),
    LLM,
    GOOSE,
    Crush(),
    CopilotCli(),
)

_STARTERS = ("npx", "bunx", "pnpx", "uvx")
_SUFFIXES = re.compile(r"\.(exe|cmd|bat|ps1|js|mjs)$")
_VERSION = re.compile(r"(?<=.)(@|==).*$")
_VALUED = ("-p", "--package", "-c", "--from", "--with", "--python")


def launch_of(command: Sequence[str], where: Where) -> Launch:
    """How ``command`` is started so that its requests come to the gateway.

    A program that is not in the table gets the variables of the official SDKs.
    """
    variables = usual(where.address) | past_proxies(where.address, where.environment)
    launch = Launch(command=tuple(command), variables=variables)
    found = client_of(command)
    if found is None:
        return launch
    client, at = found
    return replace(client.adapt(launch, where, at=at), client=client.title)


def client_of(command: Sequence[str]) -> tuple[Client, int] | None:
    """The client that a command starts, and the place behind its name; None for any other program."""
    name = _plain(command[0])
    for client in CLIENTS:
        if name in client.programs:
            return client, 1
    if name not in _STARTERS:
        return None
    place = _first_word(command)
    package = _VERSION.sub("", command[place]) if place < len(command) else ""
    found = (each for each in CLIENTS if package in each.packages or package in each.programs)
    return next(((client, place + 1) for client in found), None)


def _plain(program: str) -> str:
    # a path of Windows too, whatever system reads it
    return _SUFFIXES.sub("", PurePath(program.replace("\\", "/")).name.lower())


def _first_word(command: Sequence[str]) -> int:
    """The place of the first word behind a starter that is neither an option nor an option's value."""
    place = 1
    while place < len(command) and command[place].startswith("-"):
        place += 2 if command[place] in _VALUED else 1
    return place
