"""``autocompact replay``."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

import click

from autocompact.cli import defaults
from autocompact.cli.model_options import Asked, model_options
from autocompact.cli.models import chosen_model
from autocompact.cli.running import run
from autocompact.cli.sources import STDIN, opened
from autocompact.cli.store_options import json_option, namespace_option
from autocompact.cli.values import count, session_argument, store_option
from autocompact.stores.naming import StorePlace
from autocompact.ui.terminal.output import progress


class Options(Asked):
    """The options that say how, and those that name a model."""

    db: StorePlace | None
    window: int | None
    mode: str | None
    threshold: str | None


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
    from autocompact.cli import replaying

    model = chosen_model(**defaults.summary_model(_asked(options)))
    with opened(session) as source, progress(f"Reading {source.name}"):
        recorded = source.read()
        mode = replaying.chosen_mode(options["mode"], options["threshold"])
        compactor = replaying.compactor_for(
            recorded, db=options["db"], window=options["window"], mode=mode, model=model
        )
    name = name or ("stdin" if session == STDIN else Path(session).stem)
    show = replaying.writer(recorded, compactor, name=source.name, as_json=as_json)
    run(replaying.play(recorded, compactor, name=name, namespace=namespace, show=show))


def _asked(options: Options) -> Asked:
    return Asked(model=options["model"], base_url=options["base_url"], api_key_env=options["api_key_env"])
