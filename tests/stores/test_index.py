"""The search indexes: in memory, in SQLite and on PostgreSQL they find the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autocompact.core.messages import Message, ToolCall, ToolResult, text_message
from autocompact.ports import Hit, Index, Key, Store
from autocompact.stores.bounded_search import BUDGET
from autocompact.stores.memory import MemoryStore
from autocompact.stores.memory_index import MemoryIndex
from autocompact.stores.postgres import PostgresStore
from autocompact.stores.postgres_index import PostgresIndex
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.sqlite_index import SqliteIndex
from autocompact.testing.messages import logs

# Threads of the server's driver draw their jitter from `random` at any time, also while Hypothesis draws.
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies"),
]

KEY = Key(conversation="talk")
OTHER = Key(conversation="other")
FOREIGN = Key(conversation="talk", namespace="tenant 2")


class Archive(Protocol):
    store: Store
    index: Index


class _Memory:
    def __init__(self) -> None:
        index = MemoryIndex()
        self.store: Store = MemoryStore(indexer=index)
        self.index: Index = index


class _Sqlite:
    def __init__(self, path: Path) -> None:
        store = SqliteStore(path)
        self.store: Store = store
        self.index: Index = SqliteIndex(store)


class _Postgres:
    def __init__(self, database: str) -> None:
        store = PostgresStore(database)
        self.store: Store = store
        self.index: Index = PostgresIndex(store)


def _made(kind: str, request: pytest.FixtureRequest) -> Archive:
    """A new archive; the server is started for who needs it."""
    match kind:
        case "memory":
            return _Memory()
        case "sqlite":
            return _Sqlite(request.getfixturevalue("tmp_path") / "chats.db")
        case _:
            return _Postgres(request.getfixturevalue("database"))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def archive(request: pytest.FixtureRequest) -> AsyncGenerator[Archive]:
    made = _made(request.param, request)
    yield made
    await made.store.aclose()


def _log(*texts: str, after: int = 0) -> list[Message]:
    return [text_message(seq, "user", text) for seq, text in enumerate(texts, start=after + 1)]


async def _found(archive: Archive, query: str, *, k: int = 5, conversation: str | None = None) -> list[str]:
    hits = await archive.index.search("default", query, k=k, conversation=conversation)
    return [f"{hit.key.conversation} {hit.seq}" for hit in hits]


async def test_nothing_is_found_before_anything_was_said(archive: Archive) -> None:
    assert await _found(archive, "tax") == []
    assert await _found(archive, "tax", conversation="talk") == []
    await archive.store.append(OTHER, _log("tax"), after=0)
    assert await _found(archive, "tax", conversation="talk") == []


@pytest.mark.requirement("E3")
async def test_a_message_is_found_as_soon_as_it_was_appended(archive: Archive) -> None:
    await archive.store.append(KEY, _log("the tax is 7 percent", "fine"), after=0)
    assert await _found(archive, "what is the tax?") == ["talk 1"]
    await archive.store.append(KEY, _log("the tax is 8 percent now", after=2), after=2)
    assert await _found(archive, "what is the tax?") == ["talk 3", "talk 1"]
    assert await _found(archive, "what is the tax?", k=1) == ["talk 3"]


@pytest.mark.requirement("E3")
@pytest.mark.parametrize(
    "query",
    [
        "loadSessionState",
        "load_session_state",
        "session state",
        "src/tax/rates.py",
        "rates.py",
        "数据库",
        "a7f6e0b28",
        "RATE_LIMIT=120",
    ],
)
async def test_names_paths_hashes_and_other_scripts_are_found(archive: Archive, query: str) -> None:
    call = ToolCall(id="c", name="Read", arguments='{"file_path": "src/tax/rates.py"}')
    said = "def load_session_state(): 连接数据库失败 at a7f6e0b28 with RATE_LIMIT=120"
    log = [
        text_message(1, "user", "nothing of it"),
        Message(seq=2, role="assistant", parts=(call,)),
        Message(seq=3, role="tool", parts=(ToolResult(call_id="c", text=said),)),
        text_message(4, "assistant", "and nothing here"),
    ]
    await archive.store.append(KEY, log, after=0)
    expected = "talk 2" if "rates" in query else "talk 3"
    assert (await _found(archive, query))[0] == expected


async def test_a_conversation_is_searched_alone_or_with_the_others(archive: Archive) -> None:
    await archive.store.append(KEY, _log("the cache is cold"), after=0)
    await archive.store.append(OTHER, _log("a warm cache", "cache"), after=0)
    assert await _found(archive, "cache", conversation="talk") == ["talk 1"]
    assert sorted(await _found(archive, "cache")) == ["other 1", "other 2", "talk 1"]


async def test_what_is_not_admitted_is_not_found(archive: Archive) -> None:
    await archive.store.append(KEY, _log(*["cache miss"] * 300), after=0)
    hits = await archive.index.search("default", "cache", k=5, admit=lambda key, seq: key == KEY and seq < 4)
    assert [hit.seq for hit in hits] == [2, 3, 1]


async def test_a_hit_says_where_the_words_stand(archive: Archive) -> None:
    text = "nothing of interest\n" * 200 + "the oauth callback fails\n" + "nothing of interest\n" * 200
    await archive.store.append(KEY, _log(text), after=0)
    (hit,) = await archive.index.search("default", "oauth callback", k=5)
    passage, *_ = hit.passages
    assert "the oauth callback fails" in text[passage.start : passage.end]
    assert (hit.key, hit.seq, passage.part, passage.kind) == (KEY, 1, 0, "request")


async def test_tenants_find_their_own_only(archive: Archive) -> None:
    await archive.store.append(KEY, _log("the secret plan"), after=0)
    await archive.store.append(FOREIGN, _log("a plan"), after=0)
    mine = await archive.index.search("default", "secret plan", k=5)
    theirs = await archive.index.search("tenant 2", "secret plan", k=5)
    assert [(hit.key, hit.seq) for hit in mine] == [(KEY, 1)]
    assert [(hit.key, hit.seq) for hit in theirs] == [(FOREIGN, 1)]
    assert await archive.index.search("tenant 3", "secret plan", k=5) == ()


async def test_what_another_tenant_says_does_not_move_the_scores(archive: Archive) -> None:
    await archive.store.append(KEY, _log("a plan", "the plan is cold", "cold tea"), after=0)
    before = await archive.index.search("default", "cold plan", k=5)
    await archive.store.append(FOREIGN, _log(*["cold plan"] * 50), after=0)
    assert await archive.index.search("default", "cold plan", k=5) == before


async def test_a_deleted_conversation_is_not_found_and_does_not_count(archive: Archive) -> None:
    await archive.store.append(OTHER, _log("a warm cache", "tea"), after=0)
    before = await archive.index.search("default", "warm cache", k=5)
    await archive.store.append(KEY, _log("the cache is cold", "warm cache"), after=0)
    await archive.store.delete(KEY)
    assert await archive.index.search("default", "warm cache", k=5) == before
    await archive.store.append(KEY, _log("a new cache"), after=0)
    assert await _found(archive, "cache", conversation="talk") == ["talk 1"]


def test_to_delete_what_was_never_indexed_changes_nothing() -> None:
    MemoryIndex().delete(KEY)


async def test_a_query_is_words_whatever_signs_it_holds(archive: Archive) -> None:
    await archive.store.append(KEY, _log('say "NEAR(a, b)" OR x* AND -y ^z {q}'), after=0)
    for query in (
        '"',
        "NEAR(",
        "a AND",
        "x*",
        "(((",
        "col:x",
        "-y",
        "^z",
        "{q}",
        "\x00",
        "'; DROP TABLE x",
        "?",
    ):
        found = await _found(archive, f"{query} say")
        assert found == ["talk 1"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(log=logs())
async def test_any_log_can_be_indexed_searched_and_deleted(archive: Archive, log: list[Message]) -> None:
    await archive.store.delete(KEY)
    await archive.store.append(KEY, log, after=0)
    for message in log:
        if message.text:
            await archive.index.search("default", message.text, k=3)
    assert await archive.store.delete(KEY) == bool(log)


_WORDS = st.lists(st.sampled_from("red blue green lake load_state run".split()), max_size=6).map(" ".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(log=st.lists(_WORDS, min_size=1, max_size=12), other=st.lists(_WORDS, max_size=6), query=_WORDS)
async def test_all_indexes_find_the_same(
    tmp_path: Path, database: str, log: list[str], other: list[str], query: str
) -> None:
    found: list[tuple[Hit, ...]] = []
    path = tmp_path / "chats.db"
    path.unlink(missing_ok=True)
    for archive in (_Memory(), _Sqlite(path), _Postgres(database)):
        for key, texts in ((KEY, log), (OTHER, other)):
            await archive.store.delete(key)
            await archive.store.append(key, _log(*texts), after=0)
        found.append(await archive.index.search("default", query, k=20))
        found.append(await archive.index.search("default", query, k=20, conversation="talk"))
        await archive.store.aclose()
    assert found[0] == found[2] == found[4]
    assert found[1] == found[3] == found[5]


# What only those of databases do: they read a bounded number of places


@pytest.fixture(params=["sqlite", "postgres"])
async def large(request: pytest.FixtureRequest) -> AsyncGenerator[Archive]:
    """An archive in which "common" and "usual" stand everywhere, "seldom" and "frequent" in parts of it."""
    archive = _made(request.param, request)
    log = [
        f"common usual {'seldom ' * (seq % 700 == 0)}{'frequent ' * (seq % 4 != 0)}{seq}"
        for seq in range(1, 2 * BUDGET + 1)
    ]
    await archive.store.append(KEY, _log(*log), after=0)
    yield archive
    await archive.store.aclose()


async def test_a_rare_word_is_found_however_common_the_others_are(large: Archive) -> None:
    for conversation in (None, "talk"):
        found = await _found(large, "common usual seldom frequent", k=4, conversation=conversation)
        assert {int(name.split()[1]) % 700 for name in found} == {0}


async def test_a_common_word_still_counts_where_a_rare_one_stands(large: Archive) -> None:
    await large.store.append(KEY, _log("seldom", after=2 * BUDGET), after=2 * BUDGET)
    hits = await large.index.search("default", "seldom frequent", k=10)
    alone = await large.index.search("default", "seldom", k=10)
    assert {hit.seq for hit in hits} == {hit.seq for hit in alone}
    scores = {hit.seq: hit.score for hit in hits}
    assert max(alone, key=lambda hit: hit.score).seq == 2 * BUDGET + 1
    assert len(set(scores.values())) > 1


async def test_where_all_words_are_common_the_newest_with_all_of_them_are_found(large: Archive) -> None:
    for conversation in (None, "talk"):
        hits = await large.index.search("default", "common frequent", k=20, conversation=conversation)
        assert len(hits) == 20
        assert all(hit.seq % 4 and hit.seq > BUDGET for hit in hits)


async def test_what_is_admitted_is_found_behind_all_that_is_not(large: Archive) -> None:
    older = BUDGET * 3 // 2
    hits = await large.index.search("default", "common frequent", k=100, admit=lambda _, seq: seq < older)
    assert {older - hit.seq for hit in hits} >= {3, 4, 5}
    hits = await large.index.search("default", "seldom", k=5, admit=lambda _, seq: seq < 701)
    assert [hit.seq for hit in hits] == [700]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_where_no_passage_holds_all_common_words_the_newest_with_any_are_found(
    kind: str, request: pytest.FixtureRequest
) -> None:
    archive = _made(kind, request)
    log = _log(*(["left side"] * (BUDGET + 9) + ["right side"] * (BUDGET + 9)))
    await archive.store.append(KEY, log, after=0)
    hits = await archive.index.search("default", "left right", k=50)
    assert {hit.seq for hit in hits} <= set(range(1, len(log) + 1))
    assert len(hits) == 50
    await archive.store.aclose()


async def test_two_indexes_on_one_store_do_not_get_in_each_others_way(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "chats.db") as store:
        await store.append(KEY, _log("the cache is cold"), after=0)
        one, two = SqliteIndex(store), SqliteIndex(store)
        first: Sequence[Hit] = await one.search("default", "cache", k=5)
        assert first
        assert await two.search("default", "cache", k=5) == first
        assert await one.search("default", "cache", k=5) == first


async def test_what_was_stored_without_an_index_is_indexed_when_it_is_opened_with_one(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "chats.db", indexer=None) as store:
        await store.append(KEY, _log("the cache is cold"), after=0)
        assert await SqliteIndex(store).search("default", "cache", k=5) == ()
    async with SqliteStore(tmp_path / "chats.db") as store:
        assert len(await SqliteIndex(store).search("default", "cache", k=5)) == 1
