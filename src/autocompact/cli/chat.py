"""``autocompact chat``: a conversation that never runs out of context, in the terminal or in a pipe."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click
import msgspec

from autocompact.cli.defaults import loaded
from autocompact.cli.process import collect_as_usual
from autocompact.cli.running import quieted
from autocompact.cli.sources import STDIN, can_ask, deliver, is_closed, is_piped
from autocompact.cli.store import db_option, namespace_option
from autocompact.cli.values import count
from autocompact.errors import InvalidInput, ModelError
from autocompact.stores.naming import StorePlace, name_of
from autocompact.ui.terminal.output import progress, tell

if TYPE_CHECKING:
    from autocompact.chat import ChatService, ChatSession
    from autocompact.chat.from_settings import ChatSetup
    from autocompact.chat.loop_thread import LoopThread
    from autocompact.chat.views import MeterReading

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
    with _service(**options) as (loop, service):
        session = loop.run(_opened(service, resume=resume, model=options["model"]))
        if question or not can_ask():
            _ask(loop, session, question=_asked(question), as_json=as_json)
        else:
            session = _talk(loop, service, session=session, resumed=resume is not None)
        _tell_how_to_resume(session, **options)


@contextmanager
def _service(**options: Unpack[Options]) -> Generator[tuple[LoopThread, ChatService]]:
    """The service, and where it runs."""
    from autocompact.chat import opened
    from autocompact.chat.keys import Keys
    from autocompact.chat.loop_thread import LoopThread

    place = _place(**options)
    quieted()
    loop = LoopThread()
    try:
        yield loop, loop.hold(opened(place.db, config=place.config, keys=Keys().load_or_warn().known))
    finally:
        loop.close()


def _place(**options: Unpack[Options]) -> ChatSetup:
    from autocompact.chat.from_settings import chat_setup

    given = {
        "chat.model": ("--model", options["model"]),
        "chat.db": ("--db", options["db"] and name_of(options["db"])),
        "chat.workspace": ("--workspace", options["workspace"] and str(options["workspace"])),
        "chat.commands.enabled": ("--commands", options["commands"] or None),
        "models.window": ("--window", options["window"]),
    }
    options_given = {path: pair for path, pair in given.items() if pair[1] is not None}
    settings = loaded(options=options_given).settings
    return chat_setup(settings, folder=Path.cwd(), namespace=options["namespace"])


async def _opened(service: ChatService, *, resume: str | None, model: str | None) -> ChatSession:
    from autocompact.ui.terminal.dialogue import resumed

    if resume is None:
        return await service.create()
    session = await resumed(service, resume)
    if model and model != session.model:
        await session.choose_model(model)
    return session


def _talk(loop: LoopThread, service: ChatService, *, session: ChatSession, resumed: bool) -> ChatSession:
    """Talk until the person leaves; the conversation that was open then."""
    from autocompact.ui.terminal.dialogue import Dialogue
    from autocompact.ui.terminal.screen import Screen

    collect_as_usual()
    dialogue = Dialogue(loop, service, session=session, screen=Screen(streams=True))
    if resumed:
        dialogue.show_history()
    else:
        tell("Ask something. /help shows the commands, Ctrl-D leaves.")
    if service.config.workspace is None:
        tell("No workspace, since this is your home folder or above it: --workspace FOLDER names one.")
    dialogue.run()
    return dialogue.session


def _ask(loop: LoopThread, session: ChatSession, *, question: str, as_json: bool) -> None:
    """Answer one question: the answer is all that stdout gets.

    Raises:
        ModelError: there was no answer.
    """
    from autocompact.ui.terminal.dialogue import Follower, turn
    from autocompact.ui.terminal.screen import PipeScreen
    from autocompact.ui.text import visible

    streams = sys.stdout.isatty() and not as_json
    screen = PipeScreen(streams=streams)
    follower = Follower(loop, session, screen=screen, ask=None)
    ended = follower.follow(turn(session, question))
    if follower.interrupted:
        raise KeyboardInterrupt
    if ended is None or ended.outcome != "finished":
        raise ModelError(ended.message if ended else "there was no answer")
    if as_json:
        deliver([_document(session, answer=screen.answer, meter=loop.call(session.meter))], None)
    elif not streams:
        click.echo(visible(screen.answer))


def _document(session: ChatSession, *, answer: str, meter: MeterReading) -> bytes:
    """One JSON object, with a line end."""
    document = {
        "conversation": session.id,
        "message": len(session.conversation),
        "model": session.model,
        "answer": answer,
        "usage": {"used": meter.used, "window": meter.window, "threshold": meter.threshold or None},
    }
    return msgspec.json.encode(document) + b"\n"


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


def _tell_how_to_resume(session: ChatSession, **options: Unpack[Options]) -> None:
    if len(session.conversation):
        db = f" --db {options['db']}" if options["db"] else ""
        tell(f"Kept: autocompact chat{db} --resume {session.id}")
