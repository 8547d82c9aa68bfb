"""Carries out ``autocompact compact``: what its options name is compacted, and said."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NotRequired, Unpack

from autocompact.cli.compact_options import CompactOptions, Sizes
from autocompact.cli.counting import watched
from autocompact.cli.defaults import summary_model, window
from autocompact.cli.export import attached, export
from autocompact.cli.model_options import Asked
from autocompact.cli.models import chosen_model
from autocompact.cli.report import report
from autocompact.cli.running import run
from autocompact.cli.sources import STDIN, Source, check_out, deliver, fills_screen, opened, read_text
from autocompact.cli.store_options import Where
from autocompact.core.lookup import Lookup
from autocompact.core.tokens import Counter
from autocompact.errors import InvalidInput
from autocompact.history.recorded import Compacted, Options, compact_session, compact_with
from autocompact.models.vocabulary import brief_counter
from autocompact.ports import Model, SystemClock
from autocompact.sessions import Session
from autocompact.ui.terminal.output import progress, tell, width

STDOUT = Path("-")
_NEXT = """
The compacted context is not shown on a terminal:
  keep it    {command} --out compacted.md
  read it    {command} | less"""


class Wanted(Sizes):
    """The options of a compaction, as `autocompact.history.recorded.Options` has them."""

    summary: str | None
    pins: tuple[str, ...]
    focus: str
    masks_alone: NotRequired[bool]  # not for Claude Code, which takes no masks from a file


def compact(session: str, **options: Unpack[CompactOptions]) -> None:
    """Compact what ``session`` names: a kept conversation in its store, else a recorded session.

    Raises:
        InvalidInput: options do not go together, or with what is compacted.
    """
    text = read_text(options["summary"]) if options["summary"] else None
    model = chosen_model(
        **summary_model(
            Asked(model=options["model"], base_url=options["base_url"], api_key_env=options["api_key_env"])
        )
    )
    if not _compact_kept(session, model, options=options):
        _compact_session(session, model, text=text, options=options)


def _compact_session(session: str, model: Model | None, *, text: str | None, options: CompactOptions) -> None:
    format, preview, out = options["format"], options["preview"], options["out"]
    with opened(session) as source:
        shown = out is None and format != "json" and fills_screen()
        out = None if out == STDOUT else out
        check_out(out, session=source.path)
        replaced = out is not None and out.exists()
        wanted = _wanted(options, text=text)
        asked = None if preview else model
        compacted = compacted_from(source, asked, fallback=bool(options["fallback"]), **wanted)
        files = attached(compacted, format)
        if format == "json" or not (preview or shown):
            deliver(export(compacted, format, source=source.path, files=files), None if preview else out)
    written = "" if preview or out is None else f"{out}{', in place of the file that was there' * replaced}"
    columns = width(sys.stderr)
    tell(report(compacted, source.name, files=files, preview=preview, written=written, width=columns))
    _tell_more(model, shown=shown, preview=preview)


def _wanted(options: CompactOptions, *, text: str | None) -> Wanted:
    return Wanted(
        window=options["window"],
        to=options["to"],
        summary_tokens=options["summary_tokens"],
        tail_tokens=options["tail_tokens"],
        through=options["through"],
        summary=text,
        pins=options["pin"],
        focus=options["focus"],
        masks_alone=options["format"] != "claude-code",
    )


def _tell_more(model: Model | None, *, shown: bool, preview: bool) -> None:
    """Say how the context that was not shown is seen, and what a preview left out."""
    if shown and not preview:
        tell(_NEXT.format(command=shlex.join(["autocompact", *sys.argv[1:]])))
    if model and preview:
        tell(f"This preview was made offline: without --preview {model.name} is asked for the summary.")


def _compact_kept(name: str, model: Model | None, *, options: CompactOptions) -> bool:
    """Compact the kept conversation that ``name`` names; False where it names none, or a file.

    Raises:
        InvalidInput: an option is given that is for session files.
    """
    if name == STDIN or Path(name).exists():
        return False
    # only here: the library takes longer to load than most session files to compact
    from autocompact.cli import kept, shelf

    where = Where(db=options["db"], namespace=options["namespace"])
    if not kept.is_kept(name, **where):
        if where["db"] is not None:
            kept.ask(
                lambda books: books.find(name), **where
            )  # says what the store that was named has instead
        return False
    _refuse_for_kept(options)
    window, focus = options["window"], options["focus"]
    tell(shelf.compacted_text(kept.compact(name, model, window=window, focus=focus, **where)))
    return True


_FOR_FILES = (
    "to",
    "summary_tokens",
    "tail_tokens",
    "through",
    "summary",
    "pin",
    "out",
    "preview",
    "fallback",
)


def _refuse_for_kept(options: CompactOptions) -> None:
    """See to it that no option is given that is for session files.

    Raises:
        InvalidInput: one is.
    """
    given: Mapping[str, object] = {
        **{name: options[name] for name in _FOR_FILES},
        "format": options["format"] != "markdown",
    }
    named = [
        f"--{name.replace('_', '-')}"
        for name, value in given.items()
        # a tail of 0 tokens was given, too
        if not (value is None or value is False or value == ())
    ]
    if named:
        raise InvalidInput(
            f"a kept conversation is compacted in its store: leave {' and '.join(named)} out, "
            "or compact what `autocompact export` writes of it"
        )


def compacted_from(
    source: Source, model: Model | None = None, *, fallback: bool = False, **options: Unpack[Wanted]
) -> Compacted:
    """The session of ``source``, compacted; ``model`` writes the summary."""
    wanted = Options(**options, lookup=_lookup(source))
    with progress(f"Compacting {source.name}{f' with {model.name}' if model else ''}") as work:
        work.begin("reading")
        session = source.read()
        wanted = replace(wanted, window=window(wanted.window, session))
        counter = watched(brief_counter(session.model), session, work=work)
        if model is None:
            return compact_session(session, wanted, counter=counter, clock=SystemClock())
        return run(_asked(model, session, options=wanted, counter=counter, fallback=fallback))


def _lookup(source: Source) -> Lookup:
    """The way to open originals for whoever continues from the compacted context: from the session's file, where that stays."""
    # as it was typed: the same command gives the same bytes in every checkout
    command = "" if source.is_copy else f"autocompact show {shlex.quote(f'{source.name}:m123')}"
    return Lookup(tools=False, command=command)


async def _asked(
    model: Model, session: Session, *, options: Options, counter: Counter, fallback: bool
) -> Compacted:
    try:
        return await compact_with(
            model, session, options=options, counter=counter, clock=SystemClock(), fallback=fallback
        )
    finally:
        await model.aclose()
