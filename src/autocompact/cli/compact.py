"""``autocompact compact``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict, Unpack

import click

from autocompact.cli.defaults import summary_model, window
from autocompact.cli.export import Format
from autocompact.cli.models import chosen_model, model_options
from autocompact.cli.running import run
from autocompact.cli.sources import Source, check_out, deliver, fills_screen, opened, read_text
from autocompact.cli.store import Where, ask, db_option, is_kept, namespace_option
from autocompact.cli.values import count, session_argument
from autocompact.errors import InvalidInput
from autocompact.ui.terminal.output import progress, tell, width

if TYPE_CHECKING:
    from autocompact.core.lookup import Lookup
    from autocompact.core.tokens import Counter
    from autocompact.history import CompactedKept, Library
    from autocompact.history.recorded import Compacted, Options
    from autocompact.ports import Model
    from autocompact.sessions import Session

STDOUT = Path("-")
_NEXT = """
The compacted context is not shown on a terminal:
  keep it    {command} --out compacted.md
  read it    {command} | less"""

COUNT, NONE_OR_COUNT = count(least=1), count(least=0)
FILE = click.Path(path_type=Path)


class Sizes(TypedDict):
    """The options that are numbers, as `autocompact.history.recorded.Options` has them."""

    window: int | None
    to: int | None
    summary_tokens: int | None
    tail_tokens: int | None
    through: int | None


class Wanted(Sizes):
    """The options of the command."""

    summary: str | None
    pins: tuple[str, ...]
    focus: str
    masks_alone: NotRequired[bool]  # not for Claude Code, which takes no masks from a file


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
    type=click.Choice(["markdown", "openai", "anthropic", "claude-code", "json"]),
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
def compact(
    session: str,
    *,
    summary: Path | None,
    pin: tuple[str, ...],
    focus: str,
    format: Format,
    out: Path | None,
    preview: bool,
    model: str | None,
    base_url: str | None,
    api_key_env: str | None,
    fallback: str | None,
    db: Path | None,
    namespace: str,
    **sizes: Unpack[Sizes],
) -> None:
    """Compact SESSION: a report on stderr, the compacted context on stdout or in a file.

    SESSION is a recorded session, or - for stdin. It is only read. On a terminal only the report is shown: --out FILE
    keeps the context, and a pipe shows it. The name of a kept conversation (`autocompact list`) compacts that one in its
    store, where `autocompact undo` takes it back; of the options only --window, --focus and those of a model are for it.

    With --to, old tool outputs are masked first, and nothing is summarised if that is enough; --summary-tokens,
    --tail-tokens, --summary, --focus and a --pin TEXT ask for a summary.
    """
    from autocompact.cli.export import attached, export
    from autocompact.cli.report import report

    text = read_text(summary) if summary else None
    asked = chosen_model(**summary_model({"model": model, "base_url": base_url, "api_key_env": api_key_env}))
    if is_kept(session, db=db, namespace=namespace):
        given = dict[str, object](sizes, summary=summary, pin=pin, out=out, preview=preview)
        _refuse_for_kept({**given, "window": None, "fallback": fallback, "format": format != "markdown"})
        tell(_compact_kept(session, asked, window=sizes["window"], focus=focus, db=db, namespace=namespace))
        return
    with opened(session) as source:
        shown = out is None and format != "json" and fills_screen()
        out = None if out == STDOUT else out
        check_out(out, session=source.path)
        replaced = out is not None and out.exists()
        wanted = Wanted(summary=text, pins=pin, focus=focus, masks_alone=format != "claude-code", **sizes)
        compacted = compacted_from(source, None if preview else asked, fallback=bool(fallback), **wanted)
        files = attached(compacted, format)
        if format == "json" or not (preview or shown):
            deliver(export(compacted, format, source=source.path, files=files), None if preview else out)
    written = "" if preview or out is None else f"{out}{', in place of the file that was there' * replaced}"
    columns = width(sys.stderr)
    tell(report(compacted, source.name, files=files, preview=preview, written=written, width=columns))
    _tell_more(asked, shown=shown, preview=preview)


def _tell_more(model: Model | None, *, shown: bool, preview: bool) -> None:
    """Say how the context that was not shown is seen, and what a preview left out."""
    if shown and not preview:
        tell(_NEXT.format(command=shlex.join(["autocompact", *sys.argv[1:]])))
    if model and preview:
        tell(f"This preview was made offline: without --preview {model.name} is asked for the summary.")


def _refuse_for_kept(options: Mapping[str, object]) -> None:
    """See to it that no option is given that is for session files.

    Raises:
        InvalidInput: one is.
    """
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if given:
        raise InvalidInput(
            f"a kept conversation is compacted in its store: leave {' and '.join(given)} out, "
            "or compact what `autocompact export` writes of it"
        )


def _compact_kept(
    name: str, model: Model | None, *, window: int | None, focus: str, **where: Unpack[Where]
) -> str:
    from autocompact.cli import shelf
    from autocompact.models.vocabulary import default_counter

    async def work(books: Library) -> CompactedKept:
        try:
            return await books.compact(
                name, counter=default_counter(), window=window, model=model, focus=focus
            )
        finally:
            if model is not None:
                await model.aclose()

    return shelf.compacted_text(ask(work, what=f"Compacting {name}", **where))


def compacted_from(
    source: Source, model: Model | None = None, *, fallback: bool = False, **options: Unpack[Wanted]
) -> Compacted:
    """The session of ``source``, compacted; ``model`` writes the summary."""
    from autocompact.cli.counting import watched
    from autocompact.history.recorded import Options, compact_session
    from autocompact.models.vocabulary import default_counter
    from autocompact.ports import SystemClock

    wanted = Options(**options, lookup=_lookup(source))
    with progress(f"Compacting {source.name}{f' with {model.name}' if model else ''}") as work:
        work.begin("reading")
        session = source.read()
        wanted = replace(wanted, window=window(wanted.window, session))
        counter = watched(default_counter(session.model), session, work=work)
        if model is None:
            return compact_session(session, wanted, counter=counter, clock=SystemClock())
        return run(_asked(model, session, options=wanted, counter=counter, fallback=fallback))


def _lookup(source: Source) -> Lookup:
    """The way to open originals for whoever continues from the compacted context: from the session's file, where that stays."""
    from autocompact.core.lookup import Lookup

    # as it was typed: the same command gives the same bytes in every checkout
    command = "" if source.is_copy else f"autocompact show {shlex.quote(f'{source.name}:m123')}"
    return Lookup(tools=False, command=command)


async def _asked(
    model: Model, session: Session, *, options: Options, counter: Counter, fallback: bool
) -> Compacted:
    from autocompact.history.recorded import compact_with
    from autocompact.ports import SystemClock

    try:
        return await compact_with(
            model, session, options=options, counter=counter, clock=SystemClock(), fallback=fallback
        )
    finally:
        await model.aclose()
