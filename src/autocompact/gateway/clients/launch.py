"""What a table entry gets and returns: pure values, so that they can be shown before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What a client is started with.

    Attributes:
        address: the gateway's base address, without ``/v1``.
        environment: the environment that the client would have had.
        home: the user's home.
        folder: a folder for this run alone; it is removed when the client has ended.
    """

    address: str
    environment: Mapping[str, str]
    home: Path
    folder: Path

    @property
    def versioned(self) -> str:
        """The base address with ``/v1``."""
        return f"{self.address}/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a client is started.

    Attributes:
        client: its name; "" if it is none of the table.
        command: program and arguments.
        variables: added to its environment.
        files: written into the folder of this run, by name; they may hold keys.
        notes: what the user should know.
        obstacle: why its requests cannot come through the gateway; "" if they can.
    """

    client: str = ""
    command: tuple[str, ...]
    variables: Mapping[str, str]
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    notes: tuple[str, ...] = ()
    obstacle: str = ""

    def with_variables(self, **variables: str) -> Launch:
        """The same with further variables."""
        return replace(self, variables={**self.variables, **variables})


class Client(Protocol):
    """One entry of the table."""

    @property
    def title(self) -> str:
        """Its name for users."""
        ...

    @property
    def programs(self) -> Sequence[str]:
        """Names of its executable."""
        ...

    @property
    def packages(self) -> Sequence[str]:
        """Names for ``npx`` and the like."""
        ...

    def adapt(self, launch: Launch, where: Where, *, at: int) -> Launch:
        """The launch through the gateway.

        Args:
            launch: with the variables that everything gets.
            where: the gateway and the user's surroundings.
            at: the place in the command behind the program's name.
        """
        ...


def usual(address: str) -> dict[str, str]:
    """The variables that clients read their base URLs from, pointed at a gateway.

    ``OPENAI_BASE_URL`` and ``ANTHROPIC_BASE_URL`` are the official clients' (and Claude Code's), ``OPENAI_API_BASE`` and
    ``ANTHROPIC_API_BASE`` LiteLLM's (aider) and LangChain's, ``ANTHROPIC_API_URL`` LangChain's, ``…_HOST`` goose's.
    """
    versioned = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
    plain = (
        "OPENAI_HOST",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_API_BASE",
        "ANTHROPIC_API_URL",
        "ANTHROPIC_HOST",
    )
    return {**dict.fromkeys(versioned, f"{address}/v1"), **dict.fromkeys(plain, address)}


_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def past_proxies(address: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables with which a client asks the gateway itself, not the user's proxy for it; none without a proxy.

    Some clients ask a proxy for everything: Claude Code and Qwen Code that of ``HTTPS_PROXY`` for plain HTTP as well.
    """
    if not any(environment.get(name) or environment.get(name.lower()) for name in _PROXIES):
        return {}
    host = urlsplit(address).hostname or address
    exempt = [
        each.strip() for each in (environment.get("NO_PROXY") or environment.get("no_proxy", "")).split(",")
    ]
    if host not in exempt and "*" not in exempt:
        exempt.append(host)
    return dict.fromkeys(("NO_PROXY", "no_proxy"), ",".join(filter(None, exempt)))


def option_of(command: Sequence[str], *names: str) -> str:
    """The value of the last of these options in the command; "" if there is none."""
    found = ""
    for place, word in enumerate(command):
        name, equals, value = word.partition("=")
        if name in names and equals:
            found = value
        elif word in names and place + 1 < len(command):
            found = command[place + 1]
    return found
