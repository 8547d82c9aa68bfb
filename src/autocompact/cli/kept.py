"""Kept conversations: what the commands ask of their library."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, Unpack

from autocompact import history
from autocompact.cli.defaults import database
from autocompact.cli.running import run
from autocompact.cli.sources import STDIN, Source
from autocompact.cli.store_options import Where
from autocompact.compaction.transcript import Context
from autocompact.core.redacted import all_without_secrets
from autocompact.core.tokens import Counter
from autocompact.errors import InvalidInput, StoreError
from autocompact.history import CompactedKept, Excerpt, Library, TakenIn
from autocompact.models.vocabulary import brief_counter, default_counter
from autocompact.ports import ConversationInfo, Model
from autocompact.ui.terminal.output import progress

T = TypeVar("T")
_REFERENCE = re.compile(r"m?\d+")


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

    async def work() -> T:
        if session is not None:
            return await question(await history.session_library(session, namespace=where["namespace"]))
        async with history.opened(file, namespace=where["namespace"], make=make) as books:
            return await question(books)

    file = database(where["db"])

    with progress(what):
        return run(work())


def is_kept(name: str, **where: Unpack[Where]) -> bool:
    """True if ``name`` is that of a kept conversation, or the beginning of one."""
    try:
        ask(lambda books: books.find(name), **where)
    except (InvalidInput, StoreError):
        return False
    return True


def session_file(name: str | None) -> Path | None:
    """The session file that ``name`` is the path of, with or without a reference to a message (``:m12``) behind it.

    Raises:
        InvalidInput: something else stands behind the path of a file.
    """
    if name is None:
        return None
    before, _, last = name.rpartition(":")
    path = Path(before if before and _REFERENCE.fullmatch(last) else name)
    if not path.is_file() and before and Path(before).is_file():
        raise InvalidInput(f"{last!r} names no message of {before!r}: write {before}:m12 for its message 12")
    return path if path.is_file() else None


def excerpt(
    name: str | None, *, from_seq: int | None, through_seq: int | None, reveal: bool, **where: Unpack[Where]
) -> Excerpt:
    """The messages of a conversation or a session file, ``from_seq`` to ``through_seq``; secrets only with ``reveal``."""

    async def read(books: Library) -> Excerpt:
        found = await books.excerpt(name, from_seq=from_seq, through_seq=through_seq)
        if reveal:
            return found
        return replace(found, messages=all_without_secrets(found.messages, known=books.secrets))

    return ask(read, session=session_file(name), **where)


def context_of(
    name: str | None, *, counter: Counter, reveal: bool, **where: Unpack[Where]
) -> tuple[ConversationInfo, Context]:
    """The context that the model sees of a conversation or a session file; secrets only with ``reveal``."""

    async def read(books: Library) -> tuple[ConversationInfo, Context]:
        info, context = await books.context(name, counter=counter)
        if reveal:
            return info, context
        clean = all_without_secrets(context.messages, known=books.secrets)
        return info, replace(context, messages=list(clean))

    return ask(read, session=session_file(name), **where)


def take_in(
    source: Source, *, name: str, typed: str, **where: Unpack[Where]
) -> tuple[TakenIn, tuple[str, ...]]:
    """Import ``source``; what came of it, and what of the file is not taken in."""
    with progress(f"Reading {source.name}"):
        incoming = source.read_with(history.read_incoming)
    name = name or incoming.name or ("" if typed == STDIN else Path(typed).stem)
    if not name:
        raise InvalidInput("what comes from stdin has no name: give it one with --name")
    taken = ask(
        lambda books: books.take_in(incoming, name=name), what=f"Importing {source.name}", make=True, **where
    )
    return taken, incoming.left_out


def compact(
    name: str, model: Model | None, *, window: int | None, focus: str, **where: Unpack[Where]
) -> CompactedKept:
    """Compact a conversation in its store; ``model`` writes the summary, and is closed."""

    async def work(books: Library) -> CompactedKept:
        try:
            return await books.compact(name, counter=brief_counter(), window=window, model=model, focus=focus)
        finally:
            if model is not None:
                await model.aclose()

    return ask(work, what=f"Compacting {name}", **where)


def loaded_counter() -> Counter:
    """The counter of a conversation whose model may be any."""
    with progress("Loading the vocabulary"):
        return default_counter("")
