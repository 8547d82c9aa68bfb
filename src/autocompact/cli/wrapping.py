"""Runs a command with its base URLs pointed at a gateway."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shlex
import signal
import sys
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import ProxyHandler, build_opener

from autocompact.core.plurals import plural
from autocompact.core.redaction import redact
from autocompact.errors import InvalidInput
from autocompact.gateway.clients import Launch, Where, launch_of
from autocompact.gateway.from_settings import open_gateway
from autocompact.gateway.running import address as address_at
from autocompact.gateway.running import found as running_at
from autocompact.gateway.server import run, running
from autocompact.runtime.files import replace_file
from autocompact.settings import Loaded, Settings
from autocompact.ui.terminal.output import tell

_SECONDS = 2.0
_OWN = "http://127.0.0.1:PORT"
_FOLDER = "FOLDER-OF-THIS-RUN"
_REQUESTS = re.compile(r'^autocompact_requests_total\{[^}]*action="([^"]*)"[^}]*\} (\S+)', re.MULTILINE)
_OTHERS = re.compile(r"^autocompact_(requests_passed|refusals)_total(?:\{[^}]*\})? (\S+)", re.MULTILINE)
_PASSED, _REFUSED = "requests_passed", "refusals"
_SECRETS = re.compile(r'(?i)("[^"]*(?:key|token|secret|passw|authorization)[^"]*"\s*:\s*)"(?:[^"\\]|\\.)*"')
"""Members of a client's settings that no rule of redaction would find by their values."""

_KILLED = 128
_FORWARDED = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_OF_THE_TERMINAL = ("SIGINT", "SIGQUIT")


def inherited(loaded: Loaded, *, environ: Mapping[str, str] | None = None) -> dict[str, tuple[str, object]]:
    """The servers that the command would have used: upstreams, unless the settings name some.

    Raises:
        InvalidInput: ``OPENAI_BASE_URL`` does not end in /v1, so that there is no base address before it.
    """
    given = os.environ if environ is None else environ
    own = address_at(loaded.settings.gateway.host, loaded.settings.gateway.port)
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


def shown(settings: Settings, command: Sequence[str], *, join: bool) -> str:
    """Describe what `wrapped` would do with ``command``. Nothing is run and nothing is written.

    Raises:
        InvalidInput: the client's requests cannot come through a gateway.
    """
    at = running_at(settings.gateway.host, settings.gateway.port) if join else None
    launch = _launch(command, address=at or _OWN, folder=Path(_FOLDER))
    lines = [
        f"client   {launch.client or 'none that wrap knows: it gets the variables of the official SDKs'}",
        f"gateway  {at or f'one of its own, which ends with the command ({_OWN})'}",
        f"command  {shlex.join(launch.command)}",
        *(f"set      {name}={_visible(name, value)}" for name, value in sorted(launch.variables.items())),
        *(f"file     {Path(_FOLDER) / name}, removed afterwards" for name in launch.files),
        *(f"note     {note}" for note in launch.notes),
    ]
    return "\n".join(lines)


def _visible(name: str, value: str) -> str:
    """The value of a variable without the user's keys."""
    value = _SECRETS.sub(r'\1"***"', value)
    return "***" if name.endswith("_KEY") else shlex.quote(str(redact(value)))


def wrapped(settings: Settings, command: Sequence[str], *, join: bool) -> int:
    """The exit code of ``command``, as a shell would tell it: 128 and the signal if one killed it.

    Args:
        settings: where a running gateway would be, and how one of its own is.
        command: the program and its arguments.
        join: use the user's running gateway if there is one.

    Raises:
        InvalidInput: the command cannot be started, its requests cannot come through a gateway, or the gateway cannot be
            opened.
        StoreError: the gateway's database cannot be used.
    """
    with TemporaryDirectory(prefix="autocompact-wrap-") as name:
        folder = Path(name)
        if join and (address := running_at(settings.gateway.host, settings.gateway.port)):
            launch = _launch(command, address=address, folder=folder)
            return run(_exit_code(launch, address=address, folder=folder))
        _launch(command, address=_OWN, folder=folder)  # so that nothing is opened for what cannot be
        gateway = open_gateway(settings)

        for log in ("autocompact", "uvicorn.error"):
            # The screen is the command's; Python would print warnings to it where nobody listens.
            logging.getLogger(log).addHandler(logging.NullHandler())

        async def with_its_own() -> int:
            await gateway.open()
            async with running(gateway) as address:
                launch = _launch(command, address=address, folder=folder)
                return await _exit_code(launch, address=address, folder=folder)

        return run(with_its_own())


def _launch(command: Sequence[str], *, address: str, folder: Path) -> Launch:
    launch = launch_of(
        command, Where(address=address, environment=os.environ, home=Path.home(), folder=folder)
    )
    if launch.obstacle:
        raise InvalidInput(f"{command[0]!r} cannot be wrapped: {launch.obstacle}")
    return launch


async def _exit_code(launch: Launch, *, address: str, folder: Path) -> int:
    for name, content in launch.files.items():
        replace_file(folder / name, content)
    for note in launch.notes:
        tell(f"autocompact: {note}")
    before = await asyncio.to_thread(_requests_at, address)
    try:
        process = await asyncio.create_subprocess_exec(*launch.command, env=os.environ | launch.variables)
    except OSError as error:
        raise InvalidInput(
            f"{launch.command[0]!r} cannot be started: {error.strerror}; install it, or give its whole path"
        ) from error
    with _forwarding(process):
        code = await process.wait()
    after = await asyncio.to_thread(_requests_at, address)
    if before is not None and after is not None:
        tell(f"autocompact: {_summary(launch, after - before)}")
    return code if code >= 0 else _KILLED - code


def _requests_at(address: str) -> Counter[str] | None:
    """Requests of the gateway there since its start, by what it did with them; None if it does not say."""
    try:
        with build_opener(ProxyHandler({})).open(f"{address}/metrics", timeout=_SECONDS) as response:
            text = response.read().decode()
    except (OSError, ValueError):
        return None
    found: Counter[str] = Counter()
    for action, count in (*_REQUESTS.findall(text), *_OTHERS.findall(text)):
        found[action] += round(float(count))
    return found


def _summary(launch: Launch, requests: Counter[str]) -> str:
    others, refused = requests[_PASSED], requests[_REFUSED]
    total = requests.total() - others - refused
    if total:
        compacted = requests["compacted"] + requests["retried"]
        came = plural(total, "request")
        return f"{came} came through the gateway, {compacted} with a compacted context"
    if others or refused:
        came = plural(others + refused, "other request")
        what = f"{refused:,} of them refused" if refused else "a list of models, for example"
        return f"no model was asked through the gateway, though {came} came ({what}). {_reason(launch)}"
    return f"no request came through the gateway. {_reason(launch)}"


def _reason(launch: Launch) -> str:
    """The likely reason of the failure."""
    if launch.client:
        return (
            f"Did {launch.client} ask a model? It may be signed in to another service, or its own settings name an address; "
            "autocompact wrap --show COMMAND shows what it was given."
        )
    return (
        f"{launch.command[0]!r} is no client that wrap knows, and may not read OPENAI_BASE_URL or ANTHROPIC_BASE_URL: "
        "give it the address of autocompact serve in its own settings."
    )


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
    """True if a terminal's keys send their signals to this process and the command alike."""
    try:
        return os.tcgetpgrp(sys.__stdin__.fileno() if sys.__stdin__ else 0) == os.getpgrp()
    except (OSError, AttributeError, ValueError):
        return False
