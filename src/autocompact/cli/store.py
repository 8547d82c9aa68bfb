"""``autocompact list``, ``show``, ``export``, ``import``, ``search``, ``undo``, ``restore``, ``delete``, ``compactions``: kept conversations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack, get_args

import click

from autocompact.cli.defaults import database
from autocompact.cli.sources import can_ask, check_out, deliver, opened
from autocompact.cli.store_options import Where, json_option, reveal_option, where_options
from autocompact.cli.values import count, session_argument
from autocompact.core.plurals import plural
from autocompact.errors import InvalidInput, StoreError
from autocompact.history.export_format import ExportFormat
from autocompact.stores.naming import StorePlace
from autocompact.ui.terminal.output import display, tell, width

COUNT = count(least=1)
FILE = click.Path(path_type=Path)


@click.command("list")
@json_option
@where_options
def list_conversations(*, as_json: bool, **where: Unpack[Where]) -> None:
    """List the kept conversations, the last used first."""
    from autocompact.cli import kept, shelf

    infos = kept.ask(lambda books: books.conversations(), **where)
    if as_json:
        deliver([shelf.list_document(infos)], None)
    elif infos:
        display(shelf.table(infos, width=width(sys.stdout)))
    else:
        tell(f"No conversations in namespace {where['namespace']!r}: `autocompact import SESSION` keeps one.")


@click.command()
@click.argument("name", required=False)
@click.option("--from", "from_seq", type=COUNT, metavar="N", help="First message.")
@click.option("--through", "through_seq", type=COUNT, metavar="N", help="Last message.")
@click.option("--context", is_flag=True, help="Show what the model sees instead.")
@reveal_option
@json_option
@where_options
def show(
    name: str | None,
    *,
    from_seq: int | None,
    through_seq: int | None,
    context: bool,
    reveal: bool,
    as_json: bool,
    **where: Unpack[Where],
) -> None:
    """Show the messages of a conversation, whatever was compacted since; secrets are replaced by what they are.

    NAME is its name, the beginning of its name, or one message of it as `autocompact search` prints it: NAME:m12.
    Without one it is the conversation that was last used. The path of a recorded session shows that one, SESSION:m12 one
    message of it.
    """
    from autocompact.cli import kept, shelf

    if context:
        if from_seq or through_seq:
            raise InvalidInput("--context shows all that the model sees: leave --from and --through out")
        _show_context(name, reveal=reveal, as_json=as_json, **where)
        return
    excerpt = kept.excerpt(name, from_seq=from_seq, through_seq=through_seq, reveal=reveal, **where)
    _tell_chosen(name, excerpt.info.key.conversation)
    if as_json:
        deliver([shelf.excerpt_document(excerpt)], None)
    else:
        display(shelf.transcript(excerpt))


def _show_context(name: str | None, *, reveal: bool, as_json: bool, **where: Unpack[Where]) -> None:
    from autocompact.cli import kept, shelf

    counter = kept.loaded_counter()
    info, context = kept.context_of(name, counter=counter, reveal=reveal, **where)
    _tell_chosen(name, info.key.conversation)
    if as_json:
        deliver([shelf.context_document(info, context, counter=counter.name)], None)
    else:
        display(shelf.context_text(info, context))


@click.command()
@click.argument("name", required=False)
@click.option(
    "--format",
    type=click.Choice(get_args(ExportFormat)),
    default="json",
    show_default=True,
    help="Form of the conversation; nothing is missing from json, which can be imported again.",
)
@click.option("--out", type=FILE, metavar="FILE", help="Write it to FILE instead of stdout.")
@where_options
def export(name: str | None, *, format: ExportFormat, out: Path | None, **where: Unpack[Where]) -> None:
    """Write every message of a conversation, whatever was compacted.

    NAME is its name, or the beginning of its name; without one it is the conversation that was last used. Secrets are
    written as they were said: who gets the file gets them.
    """
    from autocompact.cli import kept
    from autocompact.history import database_path, render

    check_out(out, session=database(where["db"]) or database_path())
    archive = kept.ask(lambda books: books.archive(name), **where)
    _tell_chosen(name, archive.name)
    deliver(render(archive, format), out)
    if out is not None:
        tell(f"{archive.name}: {plural(len(archive.messages), 'message')} written to {out}")


@click.command("import")
@session_argument()
@click.option("--name", default="", metavar="NAME", help="Name to keep it by.  [default: that of the file]")
@json_option
@where_options
def import_session(session: str, *, name: str, as_json: bool, **where: Unpack[Where]) -> None:
    """Keep a recorded session, with the compactions that were made in it.

    SESSION is a session of any agent, OpenAI or Anthropic messages, what `autocompact export` wrote, or - for stdin.
    It is only read. If it has grown since it was imported, what is new is added.
    """
    from autocompact.cli import kept, shelf

    with opened(session) as source:
        taken, notes = kept.take_in(source, name=name, typed=session, **where)
    if as_json:
        deliver([shelf.taken_document(taken)], None)
    else:
        tell(shelf.taken_text(taken, notes))


@click.command()
@click.argument("query")
@click.option("--conversation", metavar="NAME", help="Search only this one, or this session file.")
@click.option(
    "-k",
    "most",
    type=click.IntRange(1, 20),
    default=5,
    metavar="N",
    show_default=True,
    help="Results at most, 1 to 20.",
)
@reveal_option
@json_option
@where_options
def search(
    query: str, *, conversation: str | None, most: int, reveal: bool, as_json: bool, **where: Unpack[Where]
) -> None:
    """Find messages by words, names, a path or a question, also those that were compacted.

    Secrets in what is found are replaced by what they are. `autocompact show` opens the references that are printed.
    """
    from autocompact.cli import kept, shelf
    from autocompact.history.recall import doubt

    found = kept.ask(
        lambda books: books.search(query, name=conversation, k=most, reveal=reveal),
        session=kept.session_file(conversation),
        **where,
    )
    if as_json:
        deliver([shelf.found_document(found)], None)
    elif found:
        if doubted := doubt(query, found):
            tell(doubted)
        display(shelf.found_text(found, width=width(sys.stdout), query=query))
    else:
        tell(f"Nothing found for {query!r}: try fewer, other or rarer words, or a name.")


@click.command()
@click.argument("name", required=False)
@json_option
@where_options
def undo(name: str | None, *, as_json: bool, **where: Unpack[Where]) -> None:
    """Undo the active compaction; what was said since stays.

    The one before it becomes active again, if there was one. Nothing is deleted. NAME is the conversation's name, or the
    beginning of its name; without one it is the conversation that was last used.
    """
    from autocompact.cli import kept, shelf

    counter = kept.loaded_counter()
    undone = kept.ask(lambda books: books.undo(name, counter=counter), **where)
    _tell_chosen(name, undone.name)
    if as_json:
        deliver([shelf.undone_document(undone, counter=counter.name)], None)
    else:
        tell(shelf.undone_text(undone))


@click.command()
@click.argument("name", required=False)
@click.argument("compaction", default="")
@json_option
@where_options
def restore(name: str | None, *, compaction: str, as_json: bool, **where: Unpack[Where]) -> None:
    """Activate a compaction again: COMPACTION, or the one that was undone last.

    NAME is the conversation's name, or the beginning of its name; `autocompact compactions NAME` shows the ids. Without
    both it is the conversation that was last used.
    """
    from autocompact.cli import kept, shelf

    counter = kept.loaded_counter()
    restored = kept.ask(lambda books: books.restore(name, compaction, counter=counter), **where)
    _tell_chosen(name, restored.name)
    if as_json:
        deliver([shelf.restored_document(restored, counter=counter.name)], None)
    else:
        tell(shelf.restored_text(restored))


@click.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@where_options
def delete(name: str, *, yes: bool, **where: Unpack[Where]) -> None:
    """Delete a conversation for good: messages, compactions, search index, its archive entries and noted tasks.

    So goes what a plugin prepared for the session, if this is its conversation in the default store; receipts stay.
    NAME is its whole name. What would be removed is shown first; `autocompact export NAME --out FILE` keeps a copy.
    """
    from autocompact.agents.hook_state import remove_texts
    from autocompact.cli import kept, shelf
    from autocompact.cli.defaults import memory_folders
    from autocompact.ui.deletion import prepared_text, traces_text

    folders = memory_folders()
    prepared = _prepared(name, **where)
    if not yes:
        found = kept.ask(lambda books: books.traces(name, folders=folders), **where)
        tell(traces_text(found, also=prepared_text(prepared)))
        if not can_ask():
            raise InvalidInput(f"{name!r} would be gone for good: say --yes")
        click.confirm(f"Delete {name!r}? This cannot be undone.", abort=True, err=True)
    found = kept.ask(lambda books: books.delete(name, folders=folders), what="Deleting", **where)
    remove_texts(prepared)
    tell(shelf.deleted_text(found))
    try:
        kept.ask(lambda books: books.purge(), what="Clearing the file", **where)
    except StoreError as error:
        tell(f"Copies in unused places of the file are left until the next deletion: {error}")


def _prepared(name: str, *, db: StorePlace | None, namespace: str) -> Sequence[Path]:
    """What a plugin prepared for the session that it archived as ``name``: plugins archive into the default store."""
    from autocompact.agents.hook_state import session_texts
    from autocompact.history import database_path
    from autocompact.history.paths import data_folder

    place = database(db)
    is_default = place is None or (isinstance(place, Path) and place.absolute() == database_path().absolute())
    return session_texts(data_folder(), name) if is_default and namespace == "default" else ()


@click.command()
@click.argument("name", required=False)
@json_option
@where_options
def compactions(name: str | None, *, as_json: bool, **where: Unpack[Where]) -> None:
    """Show every compaction of a conversation, undone ones included, with its receipt.

    NAME is its name, or the beginning of its name; without one it is the conversation that was last used.
    """
    from autocompact.cli import kept, shelf

    info, records, active = kept.ask(lambda books: books.compactions(name), **where)
    _tell_chosen(name, info.key.conversation)
    if as_json:
        deliver([shelf.records_document(info, records, active=active)], None)
    elif records:
        display(shelf.records_text(info, records, active=active, width=width(sys.stdout)))
    else:
        tell(f"Nothing was compacted in {info.key.conversation}.")


def _tell_chosen(name: str | None, chosen: str) -> None:
    if name is None:
        tell(f"{chosen}: the conversation that was last used; `autocompact list` shows all")
