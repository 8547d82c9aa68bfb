"""``autocompact what-if``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Unpack

import click

from autocompact.cli.running import quieted
from autocompact.cli.store_options import json_option
from autocompact.cli.values import complete_file, count, session_name
from autocompact.cli.what_if_options import WhatIfOptions

_file = partial(click.Path, exists=False, dir_okay=True, path_type=Path)


@click.command("what-if")
@click.argument(
    "sessions",
    nargs=-1,
    required=True,
    type=session_name,
    metavar="SESSION...",
    shell_complete=complete_file,
)
@click.option(
    "--policies",
    type=_file(),
    metavar="FILE",
    help="Compare these policies instead of the usual ones (JSON).",
)
@click.option(
    "--prices",
    type=_file(),
    metavar="FILE",
    help="A price table of your own (JSON) that goes before all others.",
)
@click.option(
    "--priced-as",
    default="",
    metavar="NAME",
    help="Take prices, cache and window of this model.  [default: the session's]",
)
@click.option(
    "--window",
    type=count(least=1),
    metavar="N",
    help="Tokens of the model's window.  [default: by settings and model, else 200000]",
)
@click.option(
    "--fixed",
    type=count(least=0),
    metavar="N",
    help="Tokens of system prompt and tools that every request carries.  [default: as the recorded usage tells]",
)
@click.option(
    "--html",
    "out",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Write a page with drawings to this file, which loads nothing from elsewhere.",
)
@click.option(
    "--recommend",
    is_flag=True,
    help="Say which policy to take for these sessions, why, and the settings to paste.",
)
@click.option(
    "--cache/--no-cache",
    default=True,
    help="Take the result of an earlier run for a session that has not changed, and keep new ones.  [default: cache]",
)
@click.option(
    "--processes",
    type=count(least=1),
    metavar="N",
    help="Sessions that are replayed at the same time.  Each takes 100 to 200 MB.  [default: 2]",
)
@json_option
def what_if(
    sessions: tuple[str, ...],
    *,
    as_json: bool,
    out: Path | None,
    recommend: bool,
    cache: bool,
    processes: int | None,
    **options: Unpack[WhatIfOptions],
) -> None:
    """Replay SESSIONs under several policies, and compare cost, tokens, failures and what was kept.

    A SESSION is a recorded session, a folder of them, or - for stdin; it is only read, and no model is asked. With --json
    there is one object for each session.
    """
    from autocompact.cli import supposing

    quieted()
    supposing.compare(
        sessions,
        as_json=as_json,
        out=out,
        recommend=recommend,
        cache=cache,
        processes=processes,
        **options,
    )
