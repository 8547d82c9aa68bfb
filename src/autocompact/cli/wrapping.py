"""Runs a command with its base URLs pointed at a gateway."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from autocompact.errors import InvalidInput

if TYPE_CHECKING:
    from autocompact.settings import Loaded, Settings

_KILLED = 128
_FORWARDED = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_OF_THE_TERMINAL = ("SIGINT", "SIGQUIT")


def variables(address: str) -> dict[str, str]:
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


def inherited(loaded: Loaded, *, environ: Mapping[str, str] | None = None) -> dict[str, tuple[str, object]]:
    """The servers that the command would have used: upstreams, unless the settings name some.

    Raises:
        InvalidInput: ``OPENAI_BASE_URL`` does not end in /v1, so that there is no base address before it.
    """
    from autocompact.gateway.running import address

    given = os.environ if environ is None else environ
    own = address(loaded.settings.gateway.host, loaded.settings.gateway.port)
    found: dict[str, tuple[str, object]] = {}
    for provider, name in (("openai", "OPENAI_BASE_URL"), ("anthropic", "ANTHROPIC_BASE_URL")):
        path = f"gateway.upstreams.{provider}"
        url = given.get(name, "").strip().rstrip("/")
        if not url or loaded.origins[path].source != "default" or url.removesuffix("/v1") == own:
            continue
        if provider == "openai" and not url.endswith("/v1"):
            raise InvalidInput(
                f"{name} is {url!r}, which does not end in /v1: give --upstream {provider}=URL"
            )
        if url.removesuffix("/v1") != loaded.value(path):
            found[path] = (name, url.removesuffix("/v1"))
    return found


def wrapped(settings: Settings, command: Sequence[str], *, join: bool) -> int:
    """The exit code of ``command``, as a shell would tell it: 128 and the signal if one killed it.

    Args:
        settings: where a running gateway would be, and how one of its own is.
        command: the program and its arguments.
        join: use the user's running gateway if there is one.

    Raises:
        InvalidInput: the command cannot be started, or the gateway cannot be opened.
        StoreError: the gateway's database cannot be used.
    """
    from autocompact.gateway.from_settings import open_gateway
    from autocompact.gateway.running import found
    from autocompact.gateway.server import run, running

    if join and (address := found(settings.gateway.host, settings.gateway.port)):
        return run(_exit_code(command, address=address))
    gateway = open_gateway(settings)

    for name in ("autocompact", "uvicorn.error"):
        # The screen is the command's; Python would print warnings to it where nobody listens.
        logging.getLogger(name).addHandler(logging.NullHandler())

    async def with_its_own() -> int:
        await gateway.open()
        async with running(gateway) as address:
            return await _exit_code(command, address=address)

    return run(with_its_own())


async def _exit_code(command: Sequence[str], *, address: str) -> int:
    try:
        process = await asyncio.create_subprocess_exec(*command, env=os.environ | variables(address))
    except OSError as error:
        raise InvalidInput(f"{command[0]!r} cannot be started: {error.strerror}") from error
    with _forwarding(process):
        code = await process.wait()
    return code if code >= 0 else _KILLED - code


@contextmanager
def _forwarding(process: asyncio.subprocess.Process) -> Generator[None]:
    """Pass signals on. Those of a terminal's keys reach the command without us: it is in the same group."""
    loop = asyncio.get_running_loop()
    taken: list[signal.Signals] = []

    def forward(number: signal.Signals) -> None:
        if process.returncode is None and not (number.name in _OF_THE_TERMINAL and _is_in_front()):
            process.send_signal(number)

    for name in _FORWARDED:
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            loop.add_signal_handler(number, forward, number)
        except (NotImplementedError, RuntimeError):
            break  # Windows, or not the main thread: the command hears its own signals only
        taken.append(number)
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)


def _is_in_front() -> bool:
    """Whether a terminal's keys send their signals to this process and the command alike."""
    try:
        return os.tcgetpgrp(sys.__stdin__.fileno() if sys.__stdin__ else 0) == os.getpgrp()
    except (OSError, AttributeError, ValueError):
        return False
