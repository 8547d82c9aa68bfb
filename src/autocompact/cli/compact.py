"""``autocompact compact``."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack, get_args

import click

from autocompact.cli.compact_options import CompactOptions, Format
from autocompact.cli.model_options import model_options
from autocompact.cli.store_options import db_option, namespace_option
from autocompact.cli.values import count, session_argument

COUNT, NONE_OR_COUNT = count(least=1), count(least=0)
FILE = click.Path(path_type=Path)


@click.command()
@session_argument()
@click.option(
    "--window",
    type=COUNT,
    metavar="N",
    help="Tokens of the model's window.  [default: by settings and model, else 200000]",
)
@click.option(
    "--to",
    type=COUNT,
    metavar="N",
    help="Tokens that the messages may take afterwards; what is outside of the log comes on top.  [default: the window less room for the reply]",
)
@click.option(
    "--summary-tokens",
    type=COUNT,
    metavar="N",
    help="Size of summary and ledger together.  [default: 5% of the context, 1000 to 8000; with --to 40% of it, at most 8000]",
)
@click.option(
    "--tail-tokens",
    type=NONE_OR_COUNT,
    metavar="N",
    help="Recent messages that stay verbatim, 0 for none.  [default: 20000, at most 10% of the window and 25% of the context; with --to what the summary leaves]",
)
@click.option("--through", type=COUNT, metavar="N", help="Compact as if the conversation ended at message N.")
@click.option(
    "--summary",
    type=FILE,
    metavar="FILE",
    help="Take this summary instead of making one; it is checked and repaired.",
)
@click.option(
    "--pin", multiple=True, metavar="TEXT|N", help="Keep a text, or message N, verbatim. May be repeated."
)
@click.option("--focus", default="", metavar="TEXT", help="What the summary should concentrate on.")
@click.option(
    "--format",
    type=click.Choice(get_args(Format)),
    default="markdown",
    show_default=True,
    help="Form of the compacted context.",
)
@click.option(
    "--out",
    type=FILE,
    metavar="FILE",
    help="Write it to FILE; - is stdout, where it goes without --out unless that is a terminal.",
)
@model_options
@click.option(
    "--fallback",
    type=click.Choice(["offline"]),
    help="If the model fails, make the summary without it instead of giving up.",
)
@click.option("--preview", is_flag=True, help="Only say what would leave, what would stay and what it costs.")
@db_option
@namespace_option
def compact(session: str, **options: Unpack[CompactOptions]) -> None:
    """Compact SESSION: a report on stderr, the compacted context on stdout or in a file.

    SESSION is a recorded session, or - for stdin. It is only read. On a terminal only the report is shown: --out FILE
    keeps the context, and a pipe shows it. The name of a kept conversation (`autocompact list`) compacts that one in its
    store, where `autocompact undo` takes it back; of the options only --window, --focus and those of a model are for it.

    With --to, old tool outputs are masked first, and nothing is summarised if that is enough; --summary-tokens,
    --tail-tokens, --summary, --focus and a --pin TEXT ask for a summary.
    """
    from autocompact.cli import compacting

    compacting.compact(session, **options)
