"""``autocompact list``, ``show``, ``export``, ``import``, ``search``, ``undo``, ``restore``, ``delete``, ``compactions``: kept conversations."""

from __future__ import annotations

import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

import click

from autocompact.cli.defaults import database
from autocompact.cli.running import run
from autocompact.cli.sources import STDIN, Source, can_ask, check_out, deliver, opened
from autocompact.cli.values import count, session_argument, store_option
from autocompact.core.plurals import plural
from autocompact.errors import InvalidInput, StoreError
from autocompact.stores.naming import StorePlace
from autocompact.ui.terminal.output import display, progress, tell, width

if TYPE_CHECKING:
    from autocompact.compaction.transcript import Context
    from autocompact.core.tokens import Counter
    from autocompact.history import ExportFormat, Library, TakenIn
    from autocompact.history.library import Excerpt
    from autocompact.ports import ConversationInfo

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., None])
COUNT = count(least=1)
FILE = click.Path(path_type=Path)
_REFERENCE = re.compile(r"m?\d+")


class Where(TypedDict):
    """The options that say which conversations."""

    db: StorePlace | None
    namespace: str


db_option = store_option(
    "--db",
    help="The store: a file, or postgresql://…  [default: chat.db of the settings, else in your data folder]",
)
namespace_option = click.option(
    "--namespace",
    default="default",
    metavar="NAME",
    show_default=True,
    help="Conversations of another namespace are never seen.",
)
reveal_option = click.option(
    "--reveal", is_flag=True, help="Show secrets as they are.  [default: replaced by what they are]"
)
json_option = click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")


def _where(command: F) -> F:
    return db_option(namespace_option(command))


def ask(
    question: Callable[[Library], Awaitable[T]],
    *,
    what: str = "Reading",
    make: bool = False,
    session: Path | None = None,
    **where: Unpack[Where],
) -> T:
    """Run ``question`` on the library that the options name; ``what`` is shown while it takes long.

    With a ``session`` it is asked of that file alone, as a conversation called as its path: nothing is stored.
    """
    from autocompact import history

    async def work() -> T:
        if session is not None:
            return await question(await history.session_library(session, namespace=where["namespace"]))
        async with history.opened(file, namespace=where["namespace"], make=make) as books:
            return await question(books)

    file = database(where["db"])

    with progress(what):
        return run(work())


def is_kept(name: str, **where: Unpack[Where]) -> bool:
    """True if ``name`` is that of a kept conversation, or the beginning of one, and no file's."""
    if name == STDIN or Path(name).exists():
        return False
    try:
        ask(lambda books: books.find(name), **where)
    except (InvalidInput, StoreError):
        return False
    return True


def session_file(name: str | None) -> Path | None:
    """The session file that ``name`` is the path of, with or without a reference to a message (``:m12``) behind it."""
    if name is None:
        return None
    before, _, last = name.rpartition(":")
    path = Path(before if before and _REFERENCE.fullmatch(last) else name)
    return path if path.is_file() else None


@click.command("list")
@json_option
@_where
def list_conversations(*, as_json: bool, **where: Unpack[Where]) -> None:
    """List the kept conversations, the last used first."""
    from autocompact.cli import shelf

    infos = ask(lambda books: books.conversations(), **where)
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
@_where
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
    from autocompact.cli import shelf
    from autocompact.core.redacted import all_without_secrets

    if context:
        if from_seq or through_seq:
            raise InvalidInput("--context shows all that the model sees: leave --from and --through out")
        _show_context(name, reveal=reveal, as_json=as_json, **where)
        return

    async def read(books: Library) -> Excerpt:
        excerpt = await books.excerpt(name, from_seq=from_seq, through_seq=through_seq)
        if reveal:
            return excerpt
        return replace(excerpt, messages=all_without_secrets(excerpt.messages, known=books.secrets))

    excerpt = ask(read, session=session_file(name), **where)
    _tell_chosen(name, excerpt.info.key.conversation)
    if as_json:
        deliver([shelf.excerpt_document(excerpt)], None)
    else:
        display(shelf.transcript(excerpt))


def _show_context(name: str | None, *, reveal: bool, as_json: bool, **where: Unpack[Where]) -> None:
    from autocompact.cli import shelf
    from autocompact.core.redacted import all_without_secrets

    counter = _counter()

    async def read(books: Library) -> tuple[ConversationInfo, Context]:
        info, context = await books.context(name, counter=counter)
        if reveal:
            return info, context
        clean = all_without_secrets(context.messages, known=books.secrets)
        return info, replace(context, messages=list(clean))

    info, context = ask(read, session=session_file(name), **where)
    _tell_chosen(name, info.key.conversation)
    if as_json:
        deliver([shelf.context_document(info, context, counter=counter.name)], None)
    else:
        display(shelf.context_text(info, context))


@click.command()
@click.argument("name", required=False)
@click.option(
    "--format",
    type=click.Choice(["json", "jsonl", "openai", "anthropic", "markdown"]),
    default="json",
    show_default=True,
    help="Form of the conversation; nothing is missing from json, which can be imported again.",
)
@click.option("--out", type=FILE, metavar="FILE", help="Write it to FILE instead of stdout.")
@_where
def export(name: str | None, *, format: ExportFormat, out: Path | None, **where: Unpack[Where]) -> None:
    """Write every message of a conversation, whatever was compacted.

    NAME is its name, or the beginning of its name; without one it is the conversation that was last used. Secrets are
    written as they were said: who gets the file gets them.
    """
    from autocompact.history import database_path, render

    check_out(out, session=database(where["db"]) or database_path())
    archive = ask(lambda books: books.archive(name), **where)
    _tell_chosen(name, archive.name)
    deliver(render(archive, format), out)
    if out is not None:
        tell(f"{archive.name}: {plural(len(archive.messages), 'message')} written to {out}")


@click.command("import")
@session_argument()
@click.option("--name", default="", metavar="NAME", help="Name to keep it by.  [default: that of the file]")
@json_option
@_where
def import_session(session: str, *, name: str, as_json: bool, **where: Unpack[Where]) -> None:
    """Keep a recorded session, with the compactions that were made in it.

    SESSION is a session of any agent, OpenAI or Anthropic messages, what `autocompact export` wrote, or - for stdin.
    It is only read. If it has grown since it was imported, what is new is added.
    """
    from autocompact.cli import shelf

    with opened(session) as source:
        taken, notes = _taken(source, name=name, typed=session, **where)
    if as_json:
        deliver([shelf.taken_document(taken)], None)
    else:
        tell(shelf.taken_text(taken, notes))


def _taken(
    source: Source, *, name: str, typed: str, **where: Unpack[Where]
) -> tuple[TakenIn, tuple[str, ...]]:
    """Import ``source``; what came of it, and what of the file is not taken in."""
    from autocompact.history import read_incoming

    with progress(f"Reading {source.name}"):
        incoming = source.read_with(read_incoming)
    name = name or incoming.name or ("" if typed == STDIN else Path(typed).stem)
    if not name:
        raise InvalidInput("what comes from stdin has no name: give it one with --name")
    taken = ask(
        lambda books: books.take_in(incoming, name=name), what=f"Importing {source.name}", make=True, **where
    )
    return taken, incoming.left_out


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
@_where
def search(
    query: str, *, conversation: str | None, most: int, reveal: bool, as_json: bool, **where: Unpack[Where]
) -> None:
    """Find messages by words, names, a path or a question, also those that were compacted.

    Secrets in what is found are replaced by what they are. `autocompact show` opens the references that are printed.
    """
    from autocompact.cli import shelf
    from autocompact.history.recall import doubt

    found = ask(
        lambda books: books.search(query, name=conversation, k=most, reveal=reveal),
        session=session_file(conversation),
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
@_where
def undo(name: str | None, *, as_json: bool, **where: Unpack[Where]) -> None:
    """Undo the active compaction; what was said since stays.

    The one before it becomes active again, if there was one. Nothing is deleted. NAME is the conversation's name, or the
    beginning of its name; without one it is the conversation that was last used.
    """
    from autocompact.cli import shelf

    counter = _counter()
    undone = ask(lambda books: books.undo(name, counter=counter), **where)
    _tell_chosen(name, undone.name)
    if as_json:
        deliver([shelf.undone_document(undone, counter=counter.name)], None)
    else:
        tell(shelf.undone_text(undone))


@click.command()
@click.argument("name", required=False)
@click.argument("compaction", default="")
@json_option
@_where
def restore(name: str | None, *, compaction: str, as_json: bool, **where: Unpack[Where]) -> None:
    """Activate a compaction again: COMPACTION, or the one that was undone last.

    NAME is the conversation's name, or the beginning of its name; `autocompact compactions NAME` shows the ids. Without
    both it is the conversation that was last used.
    """
    from autocompact.cli import shelf

    counter = _counter()
    restored = ask(lambda books: books.restore(name, compaction, counter=counter), **where)
    _tell_chosen(name, restored.name)
    if as_json:
        deliver([shelf.restored_document(restored, counter=counter.name)], None)
    else:
        tell(shelf.restored_text(restored))


@click.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_where
def delete(name: str, *, yes: bool, **where: Unpack[Where]) -> None:
    """Delete a conversation for good: messages, compactions, search index, its archive entries and noted tasks.

    NAME is its whole name. What would be removed is shown first; `autocompact export NAME --out FILE` keeps a copy.
    """
    from autocompact.cli import shelf
    from autocompact.cli.defaults import memory_folders
    from autocompact.ui.deletion import traces_text

    folders = memory_folders()
    if not yes:
        found = ask(lambda books: books.traces(name, folders=folders), **where)
        tell(traces_text(found))
        if not can_ask():
            raise InvalidInput(f"{name!r} would be gone for good: say --yes")
        click.confirm(f"Delete {name!r}? This cannot be undone.", abort=True, err=True)
    found = ask(lambda books: books.delete(name, folders=folders), what="Deleting", **where)
    tell(shelf.deleted_text(found))
    try:
        ask(lambda books: books.purge(), what="Clearing the file", **where)
    except StoreError as error:
        tell(f"Copies in unused places of the file are left until the next deletion: {error}")


@click.command()
@click.argument("name", required=False)
@json_option
@_where
def compactions(name: str | None, *, as_json: bool, **where: Unpack[Where]) -> None:
    """Show every compaction of a conversation, undone ones included, with its receipt.

    NAME is its name, or the beginning of its name; without one it is the conversation that was last used.
    """
    from autocompact.cli import shelf

    info, records, active = ask(lambda books: books.compactions(name), **where)
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


def _counter() -> Counter:
    from autocompact.models.vocabulary import default_counter

    with progress("Loading the vocabulary"):
        return default_counter("")
