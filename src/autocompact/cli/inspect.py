"""``autocompact inspect``."""

from __future__ import annotations

import sys

import click

from autocompact.cli.sources import deliver, opened
from autocompact.cli.values import count, session_argument
from autocompact.ui.terminal.output import display, width


@click.command()
@session_argument()
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of text.")
@click.option("--through", type=count(least=1), metavar="N", help="Look at it as it was after message N.")
@click.option(
    "--window",
    type=count(least=1),
    metavar="N",
    help="Tokens of the model's window.  [default: by settings and model, else 200000]",
)
def inspect(session: str, *, as_json: bool, through: int | None, window: int | None) -> None:
    """Show where the window of SESSION went.

    By role, tool and file, the largest parts, what stands there more than once, and how the context grew. SESSION is
    a recorded session, or - for stdin.

    What the recording program compacted itself has left the context; --through shows the time before.
    """
    from autocompact.cli.survey import as_document, inspected, survey

    with opened(session) as source:
        inspection = inspected(source, through=through, window=window)
    if as_json:
        deliver([as_document(inspection)], None)
    else:
        display(survey(inspection, source.name, width=width(sys.stdout)))
