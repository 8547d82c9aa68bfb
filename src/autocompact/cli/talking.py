"""Holds the conversation of ``autocompact chat``: many turns on a terminal, or one question."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
import msgspec

from autocompact.chat import ChatService, ChatSession, opened
from autocompact.chat.from_settings import chat_setup
from autocompact.chat.keys import Keys
from autocompact.chat.loop_thread import LoopThread
from autocompact.chat.views import MeterReading
from autocompact.cli.process import collect_as_usual
from autocompact.cli.sources import deliver
from autocompact.errors import ModelError
from autocompact.models.vocabulary import brief_counter
from autocompact.settings import Settings
from autocompact.stores.naming import StorePlace
from autocompact.ui.terminal.dialogue import Dialogue, Follower, turn
from autocompact.ui.terminal.dialogue import resumed as resumed_session
from autocompact.ui.terminal.output import tell
from autocompact.ui.terminal.screen import PipeScreen, Screen
from autocompact.ui.text import visible


@contextmanager
def chat_service(
    settings: Settings, *, namespace: str, once: bool
) -> Generator[tuple[LoopThread, ChatService]]:
    """The service that the settings describe, for the current folder, and where it runs; ``once``: for one question."""
    setup = chat_setup(settings, folder=Path.cwd(), namespace=namespace)
    config = (
        replace(setup.config, counter_for=partial(brief_counter, ctok=settings.models.ctok))
        if once
        else setup.config
    )
    loop = LoopThread()
    try:
        yield loop, loop.hold(opened(setup.db, config=config, keys=Keys().load_or_warn().known))
    finally:
        loop.close()


async def session_of(service: ChatService, *, resume: str | None, model: str | None) -> ChatSession:
    """A new conversation, or the one that ``resume`` names, with ``model`` if one is given."""
    if resume is None:
        return await service.create()
    session = await resumed_session(service, resume)
    if model and model != session.model:
        await session.choose_model(model)
    return session


def talk(loop: LoopThread, service: ChatService, *, session: ChatSession, resumed: bool) -> ChatSession:
    """Talk until the person leaves; the conversation that was open then."""
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


def ask(loop: LoopThread, session: ChatSession, *, question: str, as_json: bool) -> None:
    """Answer one question: the answer is all that stdout gets.

    Raises:
        ModelError: there was no answer.
    """
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


def tell_how_to_resume(session: ChatSession, *, db: StorePlace | None) -> None:
    """Tell the command that continues the conversation, if anything was said in it."""
    if len(session.conversation):
        option = f" --db {shlex.quote(str(db))}" if db else ""
        tell(f"Kept: autocompact chat{option} --resume {session.id}")
