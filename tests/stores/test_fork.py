"""A copy of a conversation."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from autocompact.compaction.record import Mask
from autocompact.core.messages import Message, ToolCall, ToolResult, text_message
from autocompact.core.redaction import redact
from autocompact.errors import InvalidInput
from autocompact.ports import Key, Snapshot, Store
from autocompact.stores.fork import copy_conversation
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing.records import KEY, compaction

pytestmark = pytest.mark.anyio

COPY = Key(conversation="copy")
OTHER_TENANT = Key(conversation="talk", namespace="other")


@pytest.fixture(params=[MemoryStore, SqliteStore])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    """Both stores: the copy is made with the methods of the port alone."""
    made = MemoryStore() if request.param is MemoryStore else SqliteStore(tmp_path / "chats.db")
    yield made
    await made.aclose()


def _log(length: int = 8) -> list[Message]:
    return [text_message(seq, "user", f"words {seq}") for seq in range(1, length + 1)]


async def _compacted(store: Store, *ends: int, log: list[Message] | None = None) -> list[Message]:
    """A log with a compaction through each of ``ends``, the last one in force."""
    log = log or _log()
    await store.append(KEY, log, after=0)
    previous = None
    for end in ends:
        record = compaction(f"c{end}", end, parent=previous or "")
        await store.commit(KEY, records=[record], active=record.id, expected=previous, fence=0)
        previous = record.id
    return log


async def test_a_copy_has_the_log_and_the_compaction_in_force(store: Store) -> None:
    log = await _compacted(store, 3, 6)
    before = await store.load(KEY)
    await copy_conversation(store, KEY, target=COPY, through_seq=None)
    assert await store.load(COPY) == replace(before, key=COPY, active=compaction("c6", 6))
    assert await store.read(COPY) == tuple(log)
    await store.append(COPY, [text_message(9, "user", "only here")], after=8)
    assert await store.load(KEY) == before


async def test_a_shorter_copy_has_the_newest_compaction_that_fits(store: Store) -> None:
    log = await _compacted(store, 3, 6)
    await copy_conversation(store, KEY, target=COPY, through_seq=4)
    copied = await store.load(COPY)
    assert (copied.active, copied.messages, copied.last_seq) == (compaction("c3", 3), (log[3],), 4)
    await copy_conversation(store, KEY, target=OTHER_TENANT, through_seq=2)
    assert await store.load(OTHER_TENANT) == Snapshot(key=OTHER_TENANT, messages=tuple(log[:2]), last_seq=2)


async def test_a_compaction_that_was_undone_is_not_copied(store: Store) -> None:
    await _compacted(store, 3, 6)
    undone = compaction("c6", 6, parent="c3", status="undone")
    await store.commit(KEY, records=[undone], active="c3", expected="c6", fence=0)
    await copy_conversation(store, KEY, target=COPY, through_seq=None)
    assert (await store.load(COPY)).active == compaction("c3", 3)


async def test_a_restored_compaction_comes_before_a_newer_one(store: Store) -> None:
    await _compacted(store, 3, 6)
    await store.commit(KEY, active="c3", expected="c6", fence=0)
    await copy_conversation(store, KEY, target=COPY, through_seq=None)
    assert (await store.load(COPY)).active == compaction("c3", 3)


async def test_a_compaction_of_what_was_edited_since_is_not_copied(store: Store) -> None:
    log = _log()
    log[6] = structs.replace(log[6], replaces=5)
    await _compacted(store, 3, 6, log=log)
    await copy_conversation(store, KEY, target=COPY, through_seq=None)
    assert (await store.load(COPY)).active == compaction("c3", 3)
    await copy_conversation(store, KEY, target=OTHER_TENANT, through_seq=6)
    assert (await store.load(OTHER_TENANT)).active == compaction("c6", 6, keep=(6,))


def _working() -> list[Message]:
    """A request, two steps with a tool, a word of the model and another request."""
    log = [text_message(1, "user", "words 1")]
    for step in (1, 2):
        call = ToolCall(id=f"call_{step}", name="read", arguments="{}")
        result = ToolResult(call_id=call.id, text="what it printed")
        log += [
            Message(seq=2 * step, role="assistant", parts=(call,)),
            Message(seq=2 * step + 1, role="tool", parts=(result,)),
        ]
    return [*log, text_message(6, "assistant", "done"), text_message(7, "user", "words 7")]


async def test_where_a_copy_ends_results_not_seen_yet_are_neither_covered_nor_masked(store: Store) -> None:
    masks = tuple(Mask(seq=seq, part=0, stub=redact("…")) for seq in (3, 5))
    only_masks = replace(compaction("c0", 0), masks=masks)
    await store.append(KEY, _working(), after=0)
    await store.commit(KEY, records=[only_masks], active="c0", expected=None, fence=0)
    await store.commit(KEY, records=[compaction("c5", 5)], active="c5", expected="c0", fence=0)
    await copy_conversation(store, KEY, target=COPY, through_seq=5)
    assert (await store.load(COPY)).active == replace(only_masks, masks=masks[:1])
    await copy_conversation(store, KEY, target=OTHER_TENANT, through_seq=6)
    assert (await store.load(OTHER_TENANT)).active == compaction("c5", 5, keep=(1,))


async def test_a_name_that_is_taken_is_refused(store: Store) -> None:
    await _compacted(store)
    with pytest.raises(InvalidInput, match="exists"):
        await copy_conversation(store, KEY, target=KEY, through_seq=None)
    await store.commit(COPY, active=None, expected=None, fence=0, state=b"pins")
    with pytest.raises(InvalidInput, match="exists"):
        await copy_conversation(store, KEY, target=COPY, through_seq=None)
    assert await store.read(COPY) == ()


async def test_there_must_be_something_to_copy(store: Store) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        await copy_conversation(store, KEY, target=COPY, through_seq=None)
    await _compacted(store)
    with pytest.raises(InvalidInput, match="nothing to copy"):
        await copy_conversation(store, KEY, target=COPY, through_seq=0)
    assert [info.key for info in await store.conversations("default")] == [KEY]
