"""``autocompact serve`` and ``autocompact wrap``: the gateway on the command line."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

import click

from autocompact.cli.terminal import tell
from autocompact.cli.values import count
from autocompact.errors import InvalidInput

if TYPE_CHECKING:
    from autocompact.gateway import Gateway

F = TypeVar("F", bound=Callable[..., Any])

_PORT = 8787


class Settings(TypedDict):
    """The options that `serve` and `wrap` share."""

    db: Path | None
    window: int | None
    summary_model: str
    upstream: str
    fail_closed: bool
    memory_tools: bool


_SHARED = (
    click.option(
        "--upstream",
        default="openai=https://api.openai.com,anthropic=https://api.anthropic.com",
        show_default=True,
        envvar="AUTOCOMPACT_UPSTREAM",
        metavar="NAME=URL,…",
        help="Where requests go: base addresses without /v1.",
    ),
    click.option(
        "--db",
        type=click.Path(path_type=Path, dir_okay=False),
        envvar="AUTOCOMPACT_GATEWAY_DB",
        metavar="FILE",
        help="Where conversations are kept; made if there is none.  [default: in memory]",
    ),
    click.option(
        "--window",
        type=count(least=1),
        envvar="AUTOCOMPACT_WINDOW",
        metavar="N",
        help="Tokens of the models' window.  [default: by model, else 200000]",
    ),
    click.option(
        "--summary-model",
        default="offline",
        show_default=True,
        envvar="AUTOCOMPACT_SUMMARY_MODEL",
        metavar="NAME",
        help="Model that makes the summaries, with the key that the environment has for it.",
    ),
    click.option(
        "--fail-closed",
        is_flag=True,
        envvar="AUTOCOMPACT_FAIL_CLOSED",
        help="Refuse a request that could not be compacted, instead of forwarding it as it came.",
    ),
    click.option(
        "--memory-tools",
        is_flag=True,
        envvar="AUTOCOMPACT_MEMORY_TOOLS",
        help="Let the models search what left their contexts; clients see nothing of it.",
    ),
)


def _shared(command: F) -> F:
    for option in reversed(_SHARED):
        command = option(command)
    return command


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=count(least=0), default=str(_PORT), show_default=True, help="Port; 0 is any free one."
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="A further host name for clients, * for any. May be repeated.",
)
@_shared
def serve(*, host: str, port: int, allow_host: tuple[str, ...], **settings: Unpack[Settings]) -> None:
    """Run the gateway: a client that uses it as base URL never runs out of context.

    It speaks OpenAI's Chat Completions and Responses and Anthropic's Messages. Clients send their own keys, which go
    upstream and are not kept.
    """
    gateway = _gateway(frozenset({host, *allow_host}), **settings)
    from autocompact.gateway.server import address_of, listening, run, served

    bound = listening(host, port)
    address = address_of(bound)
    tell(f"Listening on {address}  (OPENAI_BASE_URL={address}/v1  ANTHROPIC_BASE_URL={address})")
    run(served(gateway, bound))


@click.command(context_settings={"ignore_unknown_options": True})
@_shared
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def wrap(context: click.Context, *, command: tuple[str, ...], **settings: Unpack[Settings]) -> None:
    """Run COMMAND with a gateway of its own: its base URLs point there, and both end together.

    Write it as: autocompact wrap -- COMMAND ARGUMENTS
    """
    gateway = _gateway(frozenset(), **settings)
    from autocompact.gateway.server import run

    context.exit(run(_wrapped(gateway, command)))


async def _wrapped(gateway: Gateway, command: Sequence[str]) -> int:
    """The exit code of the command."""
    from autocompact.gateway.server import running

    async with running(gateway) as address:
        environment = os.environ | {
            "OPENAI_BASE_URL": f"{address}/v1",
            "OPENAI_API_BASE": f"{address}/v1",
            "ANTHROPIC_BASE_URL": address,
        }
        try:
            process = await asyncio.create_subprocess_exec(*command, env=environment)
        except OSError as error:
            raise InvalidInput(f"{command[0]!r} cannot be started: {error.strerror}") from error
        return await process.wait()


def _gateway(hosts: frozenset[str], **settings: Unpack[Settings]) -> Gateway:
    try:
        from autocompact.gateway import Config, Gateway
    except ImportError as error:
        raise InvalidInput(
            f'the gateway is not installed: pip install "autocompact[gateway]" ({error.name})'
        ) from error
    from autocompact.gateway.config import LOCAL_HOSTS, parse_upstreams
    from autocompact.gateway.namespaces import key_beside, passing_key
    from autocompact.models.environment import model_from_environment
    from autocompact.stores.memory import MemoryStore
    from autocompact.stores.memory_index import MemoryIndex
    from autocompact.stores.sqlite import SqliteStore

    name, db = settings["summary_model"], settings["db"]
    summaries = None if name == "offline" else model_from_environment(name)
    if summaries is None and name != "offline":
        raise InvalidInput(f"the environment has no key and no server for the summary model {name!r}")
    config = Config(
        upstreams=parse_upstreams(settings["upstream"]),
        namespace_key=key_beside(db) if db else passing_key(),
        window=settings["window"],
        fail_closed=settings["fail_closed"],
        memory_tools=settings["memory_tools"],
        hosts=LOCAL_HOSTS | hosts,
    )
    store = SqliteStore(db) if db else MemoryStore(indexer=MemoryIndex() if config.memory_tools else None)
    return Gateway(config, store=store, summaries=summaries)
