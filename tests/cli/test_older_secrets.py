"""Summaries and ledgers that a version made which knew fewer kinds of secrets."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from autocompact import Compactor
from autocompact.compaction.record import Compaction, Mask
from autocompact.compaction.transcript import Context
from autocompact.core.messages import text_message
from autocompact.core.redaction import Redacted
from autocompact.ledger.entries import Entry, Ledger
from autocompact.ports import Snapshot
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing.records import KEY, compaction, talk
from tests.cli.program import Program

pytestmark = pytest.mark.requirement("E1")

PASSWORD = "tr0ub4dor-" + "Hx93kQ"


def old(text: str) -> Redacted:
    """What an older version took for redacted."""
    return Redacted(f"{text}: DB_PASSWORD={PASSWORD}")


async def _keep(path: Path, record: Compaction) -> None:
    log = [*talk("user", "assistant", "user", "assistant"), text_message(5, "user", "Go on.")]
    async with SqliteStore(path) as store:
        await store.append(KEY, log, after=0)
        await store.commit(KEY, records=[record], active="c1", expected=None, fence=0)


async def _read(path: Path) -> tuple[Context, Snapshot]:
    async with SqliteStore(path) as store, Compactor(store) as compactor:
        conversation = await compactor.open(KEY.conversation)
        return conversation.context(), await store.load(KEY)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    entry = Entry(kind="fact", text=old("fact"), seq=2, key=old("key"), where=old("where"))
    record = compaction("c1", 4)
    record = replace(
        record,
        prefix="",
        summary=old("Summary of the work on the valve"),
        focus=old("focus"),
        ledger=Ledger(entries=(entry,)),
        masks=(Mask(seq=5, part=0, stub=old("stub")),),
        receipt=replace(record.receipt, problem=old("problem"), notes=(old("note"),)),
    )
    path = tmp_path / "old.db"
    asyncio.run(_keep(path, record))
    return path


@pytest.mark.parametrize(
    "asked",
    [
        ("show", "--context"),
        ("show", "--context", "--json"),
        ("show", "--context", "--reveal"),
        ("compactions",),
        ("compactions", "--json"),
        ("export", "--format", "json"),
        ("export", "--format", "markdown"),
        ("search", "valve"),
    ],
    ids=" ".join,
)
def test_they_are_redacted_wherever_they_are_shown(
    program: Program, file: Path, asked: tuple[str, ...]
) -> None:
    command, *options = asked
    name = () if command == "search" else (KEY.conversation,)
    ended = program(command, *name, *options, "--db", file)

    assert ended.code == 0, ended.err
    assert PASSWORD not in ended.out.decode() + ended.err


def test_they_are_redacted_in_the_context_of_the_next_request_and_the_file_stays(file: Path) -> None:
    before = file.read_bytes()
    context, stored = asyncio.run(_read(file))
    assert file.read_bytes() == before
    texts = "\n".join(message.text for message in context.messages)
    assert "Summary of the work on the valve: DB_PASSWORD=[secret: password]" in texts
    assert PASSWORD not in repr(context)
    assert PASSWORD not in repr(stored)
