"""``autocompact serve`` and ``autocompact wrap``: the gateway on the command line."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from autocompact.cli.defaults import loaded
from autocompact.cli.gateway_options import as_settings, gateway_options
from autocompact.errors import InvalidInput
from autocompact.runtime.extras import install_command


@click.command()
@click.option("--host", metavar="NAME", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", metavar="N", help="Port; 0 is any free one.  [default: 8787]")
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="A further host name for clients, * for any. May be repeated.",
)
@click.option("--page/--no-page", default=None, help="Show the chat page at the same address.  [default: on]")
@click.option(
    "--page-key/--no-page-key",
    default=None,
    help="Open the page only with the key in the address that is printed: not for other users of this computer.  "
    "[default: off]",
)
@gateway_options
def serve(**options: Any) -> None:
    """Run the gateway, where a client that uses it as base URL never runs out of context, and the chat page.

    The page is at the address itself; only this computer can open it. The gateway is below /v1: it speaks OpenAI's Chat
    Completions and Responses and Anthropic's Messages. Clients send their own keys, which go upstream and are not kept.
    Every option is a setting as well: see autocompact settings --explain.
    """
    _installed()
    from autocompact.cli.serving import serve_gateway
    from autocompact.settings import load_settings

    given = as_settings(options)
    loaded(options=given)  # what is ignored of them is told once
    serve_gateway(partial(load_settings, options=given))


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--private", is_flag=True, help="Start a gateway of its own, also where one is running.")
@click.option("--show", is_flag=True, help="Show what COMMAND would be started with, and run nothing.")
@gateway_options
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def wrap(
    context: click.Context, *, private: bool, show: bool, command: tuple[str, ...], **options: Any
) -> None:
    """Run COMMAND with its base URLs pointed at a gateway; its exit code is that of COMMAND.

    Claude Code, Codex, OpenCode, pi, Qwen Code, Cline, aider, llm, goose, Crush and Copilot CLI are known by name and get the
    arguments, variables or settings that they need; every other program gets the variables of the official SDKs. At
    the end it says how many requests came through.

    It is your running gateway (autocompact serve), or else one of its own, which ends with COMMAND. With --private, or
    options that say how a gateway runs, it is always one of its own. Write it as: autocompact wrap -- COMMAND ARGUMENTS
    """
    _installed()
    from autocompact.cli.wrapping import inherited, shown, wrapped

    given = as_settings(options)
    given |= inherited(loaded(options=given))
    settings = loaded(options=given).settings
    join = not private and not given
    if show:
        click.echo(shown(settings, command, join=join))
        return
    context.exit(wrapped(settings, command, join=join))


def _installed() -> None:
    """Raises what to do where the gateway is not."""
    try:
        import autocompact.gateway as gateway
    except ImportError as error:
        raise InvalidInput(
            f"the gateway is not installed: {install_command('gateway')} ({error.name})"
        ) from error
    del gateway
