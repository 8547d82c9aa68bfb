"""What a person does with kept conversations, on a real file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from autocompact.core.messages import Message, text_message
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor
from autocompact.errors import InvalidInput, StoreCorrupt, StoreUnavailable, UnreadableSession
from autocompact.history import Incoming, Library, opened, read_incoming
from autocompact.history.archive import Archive, write_archive
from autocompact.history.incoming import from_session
from autocompact.ports import Key
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.sqlite_index import SqliteIndexer
from autocompact.testing.records import compaction, talk
from tests.cli.program import CODING, OPENAI
from tests.core.strategies import call, numbered, result, said
from tests.sessions.claude_lines import Claude, text

COUNTER = Estimator()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "talks.db"


def coming(messages: Sequence[Message], **fields: object) -> Incoming:
    return replace(Incoming(format="openai", name="", messages=tuple(messages)), **fields)


@asynccontextmanager
async def books(file: Path, *, namespace: str = "default") -> AsyncGenerator[Library]:
    async with opened(file, namespace=namespace, make=True) as library:
        yield library


def twice_compacted() -> Incoming:
    """A recorded session with two compactions, the second one in force."""
    session = Claude()
    for part in ("first", "second"):
        session.user(f"Do the {part} thing")
        session.reply(text(f"The {part} thing is done. " * 20), id=f"m-{part}")
        session.compact(f"Summary of the {part} part")
    session.user("And now?")
    return from_session(session.read())


# Taking in ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("E8")
@pytest.mark.anyio
async def test_a_recorded_session_is_kept_with_its_compactions_the_last_one_in_force(file: Path) -> None:
    incoming = twice_compacted()
    async with books(file) as library:
        taken = await library.take_in(incoming, name="talk")
        info, records, active = await library.compactions("talk")
        excerpt = await library.excerpt("talk")
    assert (taken.new_messages, taken.new_compactions) == (len(incoming.messages), 2)
    assert excerpt.messages == incoming.messages
    assert [record.receipt.trigger for record in records] == ["import", "import"]
    assert active == records[-1].id
    assert records[1].parent == records[0].id
    assert info.compressed_context == "Summary of the second part"


@pytest.mark.anyio
async def test_importing_again_changes_nothing(file: Path) -> None:
    async with books(file) as library:
        first = await library.take_in(twice_compacted(), name="talk")
        before = await library.archive("talk")
        again = await library.take_in(twice_compacted(), name="talk")
        assert (first.is_known, again.is_known) == (False, True)
        assert (again.messages, again.compactions) == (first.messages, 2)
        assert await library.archive("talk") == before


@pytest.mark.anyio
async def test_a_session_that_has_grown_is_continued_and_its_new_compaction_is_in_force(file: Path) -> None:
    whole = twice_compacted()
    part = replace(whole, messages=whole.messages[:3], compactions=whole.compactions[:1])
    part = replace(part, active=part.compactions[0].id)
    async with books(file) as library:
        await library.take_in(part, name="talk")
        taken = await library.take_in(whole, name="talk")
        assert (taken.messages, taken.new_messages) == (len(whole.messages), len(whole.messages) - 3)
        assert (taken.compactions, taken.new_compactions) == (2, 1)
        assert (await library.compactions("talk"))[2] == whole.active


@pytest.mark.anyio
async def test_an_older_copy_of_a_session_that_went_on_adds_nothing(file: Path) -> None:
    async with books(file) as library:
        await library.take_in(coming(talk("user", "assistant", "user")), name="talk")
        taken = await library.take_in(coming(talk("user", "assistant")), name="talk")
    assert taken.is_known
    assert taken.messages == 3


@pytest.mark.anyio
async def test_an_undone_compaction_stays_undone_when_its_session_is_imported_again(file: Path) -> None:
    async with books(file) as library:
        await library.take_in(twice_compacted(), name="talk")
        await library.undo("talk", counter=COUNTER)
        assert (await library.take_in(twice_compacted(), name="talk")).is_known
        _, records, active = await library.compactions("talk")
    assert active == records[0].id
    assert [record.status for record in records] == ["active", "undone"]


@pytest.mark.anyio
async def test_a_compaction_of_ours_that_covers_more_stays_in_force(file: Path) -> None:
    whole = twice_compacted()
    messages = [*whole.messages, text_message(len(whole.messages) + 1, "assistant", "Now this.")]
    async with books(file) as library:
        await library.take_in(coming(messages), name="talk")
        ours = replace(compaction("c1", len(messages)), prefix="")
        store = SqliteStore(file, indexer=SqliteIndexer())
        await store.commit(Key(conversation="talk"), records=[ours], active="c1", expected=None, fence=0)
        await store.aclose()
        taken = await library.take_in(whole, name="talk")
        assert taken.new_compactions == 2
        assert (await library.compactions("talk"))[2] == "c1"


@pytest.mark.anyio
async def test_another_conversation_of_the_same_name_is_refused_and_nothing_changes(file: Path) -> None:
    other = [*talk("user"), text_message(2, "assistant", "something else")]
    async with books(file) as library:
        await library.take_in(coming(talk("user", "assistant")), name="talk")
        before = await library.archive("talk")
        with pytest.raises(
            InvalidInput, match=r"another conversation: they differ from message m2 on.*--name"
        ):
            await library.take_in(coming(other), name="talk")
        assert await library.archive("talk") == before


@pytest.mark.anyio
async def test_a_conversation_needs_a_name(file: Path) -> None:
    async with books(file) as library:
        with pytest.raises(InvalidInput, match="needs a name"):
            await library.take_in(coming(talk("user")), name=" ")


@pytest.mark.anyio
async def test_half_an_import_is_completed_by_the_next_one(file: Path) -> None:
    whole = twice_compacted()
    async with books(file) as library:
        await library.take_in(coming(whole.messages), name="talk")
        taken = await library.take_in(whole, name="talk")
        assert (taken.new_messages, taken.new_compactions) == (0, 2)
        assert (await library.compactions("talk"))[2] == whole.active


@pytest.mark.anyio
async def test_an_archive_brings_records_state_and_what_is_in_force(file: Path, tmp_path: Path) -> None:
    records = (compaction("c1", 1), compaction("c2", 2, parent="c1"))
    archive = Archive(
        name="talk",
        messages=tuple(talk("user", "assistant")),
        compactions=records,
        active="c1",
        state=b'{"pins":[1]}',
    )
    path = tmp_path / "talk.json"
    path.write_bytes(write_archive(archive))
    async with books(file) as library:
        incoming = read_incoming(path)
        assert (incoming.format, incoming.name) == ("autocompact", "talk")
        await library.take_in(incoming, name=incoming.name)
        assert await library.archive("talk") == archive


@pytest.mark.parametrize("path", [CODING, OPENAI])
@pytest.mark.anyio
async def test_an_export_can_be_imported_elsewhere(path: Path, file: Path, tmp_path: Path) -> None:
    exported = tmp_path / "export.json"
    async with books(file) as library, books(tmp_path / "other.db") as other:
        await library.take_in(read_incoming(path), name="talk")
        archive = await library.archive("talk")
        exported.write_bytes(write_archive(archive))
        await other.take_in(read_incoming(exported), name="talk")
        assert await other.archive("talk") == archive


@pytest.mark.anyio
async def test_what_is_not_taken_in_is_said(tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    lists = [{"traj": [{"role": "user", "content": f"Question {n}"}]} for n in (1, 2)]
    path.write_text(json.dumps(lists))
    incoming = read_incoming(path)
    assert incoming.left_out[0] == "1 conversation beside it (sub-agents)"
    assert "holds 2 conversations" in incoming.left_out[1]


@pytest.mark.anyio
async def test_a_record_that_covers_more_than_there_is_is_refused() -> None:
    session = Claude()
    session.user("Hello")
    session.compact("Summary")
    recorded = session.read()
    broken = replace(recorded, compactions=(compaction("c1", 9),))
    with pytest.raises(UnreadableSession, match="covers 9 messages of 1"):
        from_session(broken)


# Finding ------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_name_may_be_begun_and_what_comes_near_is_listed(file: Path) -> None:
    async with books(file) as library:
        for name in (
            "invoices",
            "invoices-2",
            "garage",
            "garden",
        ):  # in one millisecond, too, the last is first
            await library.take_in(coming(talk("user")), name=name)
        assert (await library.find("invoices")).key.conversation == "invoices"
        assert (await library.find("gard")).key.conversation == "garden"
        with pytest.raises(InvalidInput, match="'ga' begins several names: 'garden', 'garage'"):
            await library.find("ga")
        with pytest.raises(InvalidInput, match=r"no conversation 'invoiecs'.*Near it: 'invoices'"):
            await library.find("invoiecs")
        with pytest.raises(InvalidInput, match=r"no conversation ''.*shows all 4"):
            await library.find("")


@pytest.mark.anyio
async def test_many_names_are_listed_in_part(file: Path) -> None:
    async with books(file) as library:
        for number in range(7):
            await library.take_in(coming(talk("user")), name=f"talk-{number}")
        with pytest.raises(InvalidInput, match=r"'talk-6'.*'talk-2' and 2 more\. Give more"):
            await library.find("talk")


@pytest.mark.requirement("E3")
@pytest.mark.anyio
async def test_a_reference_that_a_search_gives_opens_the_message(file: Path) -> None:
    async with books(file) as library:
        await library.take_in(read_incoming(CODING), name="invoices")
        await library.take_in(coming([text_message(1, "user", "Where is the kumquat?")]), name="fruit:m")
        for name in (None, "fru"):
            (found,) = await library.search("kumquat", name=name)
            assert found.reference == "fruit:m:m1"
        (message,) = (await library.excerpt(found.reference)).messages
        assert message.text == "Where is the kumquat?"
        assert await library.search("kumquat", name="invoices") == ()


@pytest.mark.anyio
async def test_a_name_that_looks_like_a_reference_is_a_name_first(file: Path) -> None:
    async with books(file) as library:
        await library.take_in(coming(talk("user", "assistant")), name="talk")
        await library.take_in(coming(talk("user")), name="talk:m2")
        assert len((await library.excerpt("talk:m2")).messages) == 1
        assert [message.seq for message in (await library.excerpt("talk:m1")).messages] == [1]
        with pytest.raises(InvalidInput, match="no conversation 'talk:x'"):
            await library.excerpt("talk:x")


@pytest.mark.requirement("E3")
@pytest.mark.anyio
async def test_what_was_compacted_is_found_and_shown_in_full(file: Path) -> None:
    async with books(file) as library:
        await library.take_in(twice_compacted(), name="talk")
        found = await library.search("first thing", name="talk")
        assert "talk:m1" in [one.reference for one in found]
        assert (await library.excerpt("talk:m1")).messages[0].text == "Do the first thing"


@pytest.mark.anyio
async def test_conversations_of_another_namespace_are_not_there(file: Path) -> None:
    async with books(file) as library:
        await library.take_in(coming([text_message(1, "user", "kumquat")]), name="talk")
    async with books(file, namespace="other") as other:
        assert await other.conversations() == ()
        assert await other.search("kumquat") == ()
        with pytest.raises(InvalidInput, match="namespace 'other'"):
            await other.find("talk")


# Looking ------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_range_of_messages_is_shown_and_one_outside_is_refused(file: Path) -> None:
    async with books(file) as library:
        await library.take_in(coming(talk("user", "assistant", "user")), name="talk")
        for first, last, shown in (
            (None, None, [1, 2, 3]),
            (2, None, [2, 3]),
            (None, 2, [1, 2]),
            (2, 2, [2]),
        ):
            excerpt = await library.excerpt("talk", from_seq=first, through_seq=last)
            assert [message.seq for message in excerpt.messages] == shown
        for first, last, said in (
            (4, None, "m4 to m3"),
            (None, 4, "m1 to m4"),
            (3, 2, "m3 to m2"),
            (9, 9, "m9"),
        ):
            with pytest.raises(InvalidInput, match=f"has no messages {said}: choose from m1 to m3"):
                await library.excerpt("talk", from_seq=first, through_seq=last)


@pytest.mark.anyio
async def test_what_the_model_does_not_see_is_marked(file: Path) -> None:
    log = numbered(
        [
            said("system", "Be brief."),
            said("user", "Read it"),
            said("assistant", call("call_1")),
            said("tool", result("call_1")),
            said("assistant", "Read."),
            said("user", "No"),
        ]
    )
    log[5] = structs.replace(log[5], replaces=5)
    record = replace(compaction("c1", 3, keep=[2]), prefix="", masks=())
    record = replace(record, masks=(replace(compaction("x", 1).masks[0], seq=4),))
    async with books(file) as library:
        await library.take_in(coming(log, compactions=(record,), active="c1"), name="talk")
        excerpt = await library.excerpt("talk")
    assert excerpt.marks == {3: "summarised", 4: "masked", 5: "replaced"}
    assert excerpt.calls == {"call_1": "bash"}


@pytest.mark.anyio
async def test_the_context_is_what_the_model_sees(file: Path) -> None:
    async with books(file) as library:
        await library.take_in(twice_compacted(), name="talk")
        _, context = await library.context("talk", counter=COUNTER)
    assert "Summary of the second part" in context.messages[0].text
    assert [message.text for message in context.messages[1:]] == ["And now?"]


# Undo ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("E2")
@pytest.mark.anyio
async def test_undo_goes_back_one_compaction_at_a_time_to_the_whole_log(file: Path) -> None:
    async with books(file) as library:
        await library.take_in(twice_compacted(), name="talk")
        log = (await library.excerpt("talk")).messages
        first = await library.undo("talk", counter=COUNTER)
        assert first.restored is not None
        assert first.restored.id == first.record.parent
        assert first.tokens_after > first.tokens_before
        second = await library.undo("talk", counter=COUNTER)
        assert second.restored is None
        _, context = await library.context("talk", counter=COUNTER)
        assert context.messages == log
        assert (await library.excerpt("talk")).messages == log
        with pytest.raises(InvalidInput, match="nothing to undo"):
            await library.undo("talk", counter=COUNTER)


@pytest.mark.anyio
async def test_a_compaction_upon_an_imported_one_can_be_undone(file: Path) -> None:
    async with books(file) as library:
        await library.take_in(twice_compacted(), name="talk")
        imported = (await library.compactions("talk"))[2]
        async with Compactor(SqliteStore(file), counter=COUNTER) as compactor:
            conversation = await compactor.open("talk")
            for number in range(20):
                await conversation.say(f"Question {number}: " + "word " * 200)
                await conversation.say("Answer: " + "word " * 200, role="assistant")
            assert (await conversation.compact()).success
        undone = await library.undo("talk", counter=COUNTER)
    assert undone.restored is not None
    assert undone.restored.id == imported


# The file -----------------------------------------------------------------------------------------------------


async def refused(
    file: Path, kind: type[StoreCorrupt | StoreUnavailable | InvalidInput], message: str
) -> None:
    with pytest.raises(kind, match=message):
        async with opened(file):
            pass


def test_a_missing_file_is_not_made_by_looking(file: Path) -> None:
    asyncio.run(refused(file, InvalidInput, "no conversation store .*`autocompact import SESSION` makes one"))
    assert not file.exists()


def test_a_file_that_is_none_of_ours_stays_as_it_was(file: Path) -> None:
    file.write_bytes(b"not a database" * 100)
    asyncio.run(refused(file, StoreCorrupt, "not a database"))
    assert file.read_bytes() == b"not a database" * 100


@pytest.mark.anyio
async def test_a_file_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    await refused(tmp_path / ("n" * 300), StoreUnavailable, "cannot be reached")


def test_the_data_folder_is_made_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))

    async def made() -> None:
        async with opened(make=True) as library:
            assert await library.conversations() == ()

    asyncio.run(made())
    (folder,) = (path.parent for path in tmp_path.rglob("conversations.db"))
    assert folder.stat().st_mode & 0o077 == 0
