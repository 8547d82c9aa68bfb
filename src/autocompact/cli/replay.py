"""``autocompact replay``."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from autocompact.cli import defaults
from autocompact.cli.models import Asked, chosen_model, model_options
from autocompact.cli.running import run
from autocompact.cli.sources import STDIN, deliver, opened
from autocompact.cli.store import json_option, namespace_option
from autocompact.cli.values import count, session_argument, store_option
from autocompact.errors import InvalidInput
from autocompact.stores.naming import StorePlace
from autocompact.ui.terminal.output import display, progress, tell, width

if TYPE_CHECKING:
    from autocompact.compaction.modes import Mode
    from autocompact.engine import Compactor
    from autocompact.ports import Model
    from autocompact.sessions import Session
    from autocompact.what_if.replay import Step

_SHARE = re.compile(r"(\d+(?:\.\d+)?)%|(0?\.\d+)")
_TOKENS = re.compile(r"(\d+)(k?)")


class Settings(TypedDict):
    """The options that say how."""

    db: StorePlace | None
    window: int | None
    mode: str | None
    threshold: str | None


class Options(Settings, Asked):
    """With those that name a model."""


@click.command()
@session_argument()
@click.option(
    "--window",
    type=count(least=1),
    metavar="N",
    help="Tokens of the model's window.  [default: by settings and model, else 200000]",
)
@click.option(
    "--mode",
    metavar="NAME",
    help="How to compact: default, database-chat, usage-driven, session-layer or coding-agent.  [default: as the "
    "settings say]",
)
@click.option(
    "--threshold",
    metavar="WHEN",
    help="When to compact: at a share of the window (0.8 or 80%), at a number of tokens (100000 or 100k), session-50k, "
    "session-100k, session-150k, session-200k, or never.  [default: the mode's]",
)
@model_options
@store_option(
    "--db",
    help="Keep the replayed conversation in this store.  [default: nothing is kept]",
)
@click.option("--name", default="", metavar="NAME", help="Name to keep it by.  [default: that of the file]")
@namespace_option
@json_option
def replay(session: str, *, name: str, namespace: str, as_json: bool, **options: Unpack[Options]) -> None:
    """Replay SESSION turn by turn through the live engine, and show each compaction as it happens.

    Before each reply of the model the context is made ready, as an agent would have it done. SESSION is a recorded
    session, or - for stdin; it is only read. With --json there is one object on each line.
    """
    model = chosen_model(**defaults.summary_model(_asked(options)))
    with opened(session) as source, progress(f"Reading {source.name}"):
        recorded = source.read()
        compactor = _compactor(recorded, options, model=model)
    name = name or ("stdin" if session == STDIN else Path(session).stem)
    show = _writer(recorded, compactor, name=source.name, as_json=as_json)
    run(_play(recorded, compactor, name=name, namespace=namespace, show=show))


def _asked(options: Options) -> Asked:
    return Asked(model=options["model"], base_url=options["base_url"], api_key_env=options["api_key_env"])


def _compactor(session: Session, options: Settings, *, model: Model | None) -> Compactor:
    from autocompact.engine import Compactor
    from autocompact.models.vocabulary import default_counter
    from autocompact.stores.memory import MemoryStore
    from autocompact.stores.opening import open_store

    mode = chosen_mode(options["mode"], options["threshold"])
    for note in mode.policy.notes:
        tell(note)
    return Compactor(
        open_store(options["db"]) if options["db"] else MemoryStore(),
        summary_model=model,
        mode=mode,
        window=defaults.window(options["window"], session),
        counter=default_counter(session.model),
    )


def chosen_mode(name: str | None, threshold: str | None) -> Mode:
    """The mode of that name, else that of the settings, with another threshold if one is given.

    Raises:
        InvalidInput: there is no such mode, or the threshold is none.
    """
    from autocompact.compaction.modes import at_preset
    from autocompact.core.budget import PRESETS

    mode = _mode(name)
    if threshold is None:
        return mode
    if threshold in PRESETS:
        return at_preset(mode, threshold)
    if found := _SHARE.fullmatch(threshold):
        share = float(found[1]) / 100 if found[1] else float(found[2])
        return replace(mode, policy=replace(mode.policy, ratio=share, tokens=None))
    found = _TOKENS.fullmatch(threshold)
    if found is None:
        raise InvalidInput(
            f"--threshold {threshold!r} is none: give a share (0.8 or 80%), a number of tokens (100000 or 100k), "
            f"or one of {', '.join(PRESETS)}"
        )
    tokens = int(found[1]) * (1000 if found[2] else 1)
    return replace(mode, policy=replace(mode.policy, tokens=tokens))


def _mode(name: str | None) -> Mode:
    from autocompact.compaction.modes import MODES
    from autocompact.settings import mode_of

    if name is None:
        return mode_of(defaults.settings())
    if name not in MODES:
        raise InvalidInput(f"there is no mode {name!r}: choose one of {', '.join(MODES)}")
    return MODES[name]


def _writer(session: Session, compactor: Compactor, *, name: str, as_json: bool) -> Callable[[Step], None]:
    """Make the function that shows a step on stdout; the heading is shown at once."""
    from autocompact.cli import tape

    if as_json:
        return lambda step: deliver([tape.document(step)], None)
    columns = width(sys.stdout)
    shown = tape.Tape(window=compactor.budget.window, width=columns)
    display(tape.heading(session, compactor, name=name, width=columns))

    def show(step: Step) -> None:
        for line in shown.lines(step):
            display(line)

    return show


async def _play(
    session: Session, compactor: Compactor, *, name: str, namespace: str, show: Callable[[Step], None]
) -> None:
    from autocompact.what_if.replay import replay

    async with compactor, aclosing(replay(session, compactor, name=name, namespace=namespace)) as steps:
        async for step in steps:
            show(step)
