"""The context from what a store loads is the context from the whole log."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Transcript, view
from autocompact.core.messages import Message
from autocompact.ports import Key, Snapshot, Store
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from tests.core.strategies import LengthCounter, compactions, logs

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[MemoryStore, SqliteStore])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    made = MemoryStore() if request.param is MemoryStore else SqliteStore(tmp_path / "chats.db")
    yield made
    await made.aclose()


@st.composite
def compacted_logs(draw: st.DrawFn) -> tuple[list[Message], Compaction]:
    """A log, and a record over it that no later message replaced."""
    messages = draw(logs())
    log = Transcript(messages, counter=LengthCounter())
    record = draw(compactions(log))
    edited = any((m.replaces or m.seq) <= record.through_seq < m.seq for m in messages)
    if edited:
        record = replace(record, through_seq=len(log), keep=(), prefix="")
    kept = tuple(seq for seq in record.keep if seq <= record.through_seq and not log.is_replaced(seq))
    return messages, replace(record, id="c", keep=kept)


def _transcript(snapshot: Snapshot) -> Transcript:
    return Transcript(
        snapshot.messages,
        counter=LengthCounter(),
        first=snapshot.last_seq + 1 - len(snapshot.messages),
        earlier=snapshot.earlier,
        prompt=snapshot.prompt,
        prefix=snapshot.active.prefix if snapshot.active else "",
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(compacted=compacted_logs())
async def test_the_context_from_a_snapshot_is_the_one_from_the_whole_log(
    store: Store, compacted: tuple[list[Message], Compaction]
) -> None:
    messages, record = compacted
    key = Key(conversation=uuid.uuid4().hex)
    await store.append(key, messages, after=0)
    await store.commit(key, records=[record], active="c", expected=None, fence=0)
    whole, snapshot = Transcript(messages, counter=LengthCounter()), await store.load(key)
    covered = [message.seq for message in whole.prompt if message.seq <= record.through_seq]
    assert [message.seq for message in snapshot.earlier] == sorted({*covered, *record.keep})
    assert snapshot.messages == tuple(messages[record.through_seq :])

    held = _transcript(snapshot)
    assert view(held, record).messages == view(whole, record).messages
    assert view(held, record).cost == view(whole, record).cost
