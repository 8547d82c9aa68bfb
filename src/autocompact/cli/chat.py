"""``autocompact chat``: a conversation that never runs out of context, in the terminal or in a pipe."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TypedDict, Unpack

import click

from autocompact.cli.defaults import loaded
from autocompact.cli.running import quieted
from autocompact.cli.sources import STDIN, can_ask, is_closed, is_piped
from autocompact.cli.store_options import db_option, namespace_option
from autocompact.cli.values import count
from autocompact.errors import InvalidInput
from autocompact.settings import Settings
from autocompact.stores.naming import StorePlace, name_of
from autocompact.ui.terminal.output import progress

_LAST = ""
MOST_PIPED = 10_000_000
"""Bytes that are read from stdin at most."""
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


class Options(TypedDict):
    """The options that say how conversations are held, and where."""

    model: str | None
    workspace: Path | None
    commands: bool
    window: int | None
    db: StorePlace | None
    namespace: str


@click.command()
@click.argument("question", default="")
@click.option(
    "--resume",
    is_flag=False,
    flag_value=_LAST,
    default=None,
    metavar="[ID]",
    help="Continue the conversation whose id is or begins with ID, or the last one.",
)
@click.option(
    "--model",
    metavar="NAME",
    help="Model: offline, or PROVIDER:MODEL.  [default: what the environment offers]",
)
@click.option(
    "--workspace",
    type=FOLDER,
    metavar="FOLDER",
    help="Folder that the agent's tools work in and cannot leave.  [default: the current one]",
)
@click.option("--commands", is_flag=True, help="Let the agent run commands there; you are asked first.")
@click.option(
    "--window", type=count(least=1), metavar="N", help="Tokens of the model's window.  [default: by model]"
)
@click.option("--json", "as_json", is_flag=True, help="The answer to QUESTION as one JSON object.")
@db_option
@namespace_option
def chat(question: str, *, resume: str | None, as_json: bool, **options: Unpack[Options]) -> None:
    """Talk to an agent; the conversation is compacted before it fills the model's window.

    Without QUESTION you talk until Ctrl-D; /help shows what else can be typed. With a QUESTION, or - to read it from
    stdin, the answer goes to stdout and the program ends. What is piped in beside a QUESTION is sent after it:
    git log | autocompact chat "summarise this"

    Without a key in the environment the offline model answers: it searches, it does not reason.
    """
    if resume == STDIN:  # `--resume -` is a question from stdin, not an id
        resume, question = _LAST, STDIN
    if as_json and not question and can_ask():
        raise InvalidInput('--json goes with a question: autocompact chat --json "QUESTION"')
    from autocompact.cli import talking

    quieted()
    once = bool(question) or not can_ask()
    settings = _settings(**options)
    with talking.chat_service(settings, namespace=options["namespace"], once=once) as (loop, service):
        session = loop.run(talking.session_of(service, resume=resume, model=options["model"]))
        if once:
            talking.ask(loop, session, question=_asked(question), as_json=as_json)
        else:
            session = talking.talk(loop, service, session=session, resumed=resume is not None)
        talking.tell_how_to_resume(session, db=options["db"])


def _settings(**options: Unpack[Options]) -> Settings:
    """The settings of the current folder, with the options in place of theirs."""
    given = {
        "chat.model": ("--model", options["model"]),
        "chat.db": ("--db", options["db"] and name_of(options["db"])),
        "chat.workspace": ("--workspace", options["workspace"] and str(options["workspace"])),
        "chat.commands.enabled": ("--commands", options["commands"] or None),
        "models.window": ("--window", options["window"]),
    }
    return loaded(options={path: pair for path, pair in given.items() if pair[1] is not None}).settings


def _asked(question: str) -> str:
    """The words of one question: the argument, then what is piped in, in a fence that sets it apart."""
    if question in ("", STDIN):
        return "" if is_closed() else _read().strip()
    piped = _read().strip("\r\n") if is_piped() else ""
    if not piped.strip():
        return question
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", piped)), default=0))
    return f"{question}\n\n{fence}\n{piped}\n{fence}"


def _read() -> str:
    with progress("Reading stdin"):
        content = sys.stdin.buffer.read(MOST_PIPED + 1)
    if len(content) > MOST_PIPED:
        raise InvalidInput(
            f"the piped input is larger than {MOST_PIPED:,} bytes: send less, or let the agent read a file"
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the question on stdin is not UTF-8 (byte {error.start:,})") from error
