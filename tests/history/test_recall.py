"""Recall: what left the context is found, with references that open the original."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from autocompact.compaction.record import Compaction, Mask
from autocompact.core.messages import (
    Dialect,
    Document,
    Image,
    Message,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    text_message,
)
from autocompact.core.redaction import redact
from autocompact.core.references import reference
from autocompact.core.tokens import Estimator
from autocompact.errors import InvalidInput
from autocompact.history.recall import (
    EXCERPT_TOKENS,
    FIRST_TOKENS,
    MOST_OPENED,
    MOST_RESULTS,
    PAGE_TOKENS,
    Recall,
)
from autocompact.memory.documents.context_archive import ARCHIVE_HEADING, ArchiveEntry
from autocompact.ports import Hit, Key
from autocompact.stores.memory import MemoryStore
from autocompact.stores.memory_index import MemoryIndex
from autocompact.testing.records import compaction

pytestmark = pytest.mark.anyio

KEY = Key(conversation="talk")
OTHER = Key(conversation="older talk")
RULES = "# Rules\n\nAlways run the linter.\n\n## Deploys\n\nDeploy on Tuesdays only.\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _log() -> list[Message]:
    read = ToolCall(id="c1", name="Read", arguments='{"file_path": "src/tax.py"}')
    return [
        text_message(1, "system", "You are helpful."),
        text_message(2, "user", "What is the tax rate?", time="2026-01-01T10:00:00Z"),
        Message(seq=3, role="assistant", parts=(Text(text="I look."), read)),
        Message(seq=4, role="tool", parts=(ToolResult(call_id="c1", text="RATE = 7  # percent\n" * 3),)),
        text_message(5, "assistant", "The rate is 7 percent."),
        text_message(6, "user", "And the deadline of the tax?"),
        text_message(7, "assistant", "The deadline is in May."),
    ]


async def _recall(
    log: Sequence[Message] | None = None,
    *,
    record: Compaction | None = None,
    others: Sequence[Message] = (),
    files: Sequence[tuple[str, str]] = (),
    across: bool = False,
) -> Recall:
    index = MemoryIndex()
    store = MemoryStore(indexer=index)
    await store.append(KEY, _log() if log is None else log, after=0)
    await store.append(OTHER, others, after=0)
    if record is not None:
        await store.commit(KEY, records=[record], active=record.id, expected=None, fence=0)
    return Recall(store, index, key=KEY, documents=lambda: files, across=across)


async def _references(recall: Recall, query: str, **how: Any) -> list[str]:
    return [one.reference for one in await recall.search(query, **how)]


def _through(seq: int, *, keep: Sequence[int] = (), masks: Sequence[Mask] = ()) -> Compaction:
    return replace(compaction("one", seq, keep=keep), masks=tuple(masks))


# Search


@pytest.mark.requirement("E3")
async def test_what_left_the_context_is_found_and_what_it_shows_is_not() -> None:
    recall = await _recall(record=_through(5))
    assert set(await _references(recall, "tax rate percent")) == {"m2", "m4", "m5"}
    assert await _references(recall, "deadline") == []
    assert set(await _references(recall, "deadline", scope="conversation")) == {"m6", "m7"}


async def test_before_a_compaction_nothing_has_left_the_context() -> None:
    recall = await _recall()
    assert await _references(recall, "tax") == []


async def test_what_a_compaction_kept_has_not_left_and_what_it_masked_has() -> None:
    recall = await _recall(record=_through(3, keep=[2], masks=[Mask(seq=4, part=0, stub=redact("[…]"))]))
    assert set(await _references(recall, "tax rate percent")) == {"m4"}


async def test_what_an_edit_replaced_has_left_the_context() -> None:
    log = [*_log(), structs.replace(text_message(8, "user", "The deadline for 2027?"), replaces=6)]
    recall = await _recall(log, record=_through(5))
    assert set(await _references(recall, "deadline")) == {"m6", "m7"}


async def test_a_caller_that_knows_the_compaction_saves_asking_the_store() -> None:
    index = MemoryIndex()
    store = MemoryStore(indexer=index)
    await store.append(KEY, _log(), after=0)
    in_force: list[Compaction] = []
    recall = Recall(store, index, key=KEY, compaction=lambda: in_force[-1] if in_force else None)
    assert await _references(recall, "tax rate") == []
    in_force.append(_through(2))
    assert await _references(recall, "tax rate") == ["m2"]


async def test_a_result_says_whose_words_it_shows() -> None:
    log = [
        *_log(),
        Message(seq=8, role="assistant", parts=(Reasoning(text="zebra thoughts"),)),
        text_message(9, "user", "zebra hook ran", synthetic=True),
        Message(seq=10, role="user", parts=(Document(name="zebra.pdf", text="stripes"),)),
        Message(seq=11, role="tool", parts=(ToolResult(call_id="lost", text="zebra output"),)),
    ]
    recall = await _recall(log)
    sources = {one.reference: one.source for one in await recall.search("zebra", scope="conversation")}
    assert sources == {
        "m8": "the assistant's thinking",
        "m9": "a note of the program",
        "m10": "document",
        "m11": "tool output",
    }
    found = {one.reference: one for one in await recall.search("tax rate percent", scope="conversation")}
    assert found["m2"].source == "the user"
    assert found["m2"].time == "2026-01-01T10:00:00Z"
    assert found["m4"].source == 'tool output of Read {"file_path": "src/tax.py"}'
    assert found["m5"].source == "the assistant"


async def test_the_call_above_a_tool_output_is_cut_to_size() -> None:
    call = ToolCall(id="c", name="Write", arguments=json.dumps({"text": "long " * 500}))
    log = [
        Message(seq=1, role="assistant", parts=(call,)),
        Message(seq=2, role="tool", parts=(ToolResult(call_id="c", text="written zebra"),)),
    ]
    (found,) = await (await _recall(log)).search("zebra", scope="conversation")
    assert len(found.source) < 200
    assert found.source.endswith("…")


async def test_of_a_call_that_asked_something_the_output_is_shown_and_of_one_that_wrote_only_an_error() -> (
    None
):
    def log(name: str, arguments: dict[str, str], output: str, *, is_error: bool = False) -> list[Message]:
        call = ToolCall(id="c", name=name, arguments=json.dumps(arguments))
        return [
            Message(seq=1, role="assistant", parts=(call,)),
            Message(seq=2, role="tool", parts=(ToolResult(call_id="c", text=output, is_error=is_error),)),
        ]

    commits = "\n".join(f"{n}abcdef commit number {n}" for n in range(20))
    asked = log(
        "Bash",
        {"command": "git log --zebra | head " + "--flag " * 300},
        f"{commits}\nShell cwd was reset to /r",
    )
    (found,) = await (await _recall(asked)).search("zebra", scope="conversation")
    assert "19abcdef commit number 19" in found.beside
    assert "Shell cwd" not in found.beside
    assert Estimator().count(found.excerpt) < 60

    written = {"file_path": "zebra.py", "content": "stripes"}
    (done,) = await (await _recall(log("Write", written, "File written."))).search(
        "stripes", scope="conversation"
    )
    assert done.beside == ""
    wrong = log("Write", written, "disk full", is_error=True)
    (failed,) = await (await _recall(wrong)).search("stripes", scope="conversation")
    assert failed.beside.endswith("disk full")


async def test_a_plan_stands_behind_what_was_said_of_the_matter() -> None:
    plan = {"todos": [{"content": "Paint the zebra crossing", "status": "pending"}]}
    call = ToolCall(id="c", name="TodoWrite", arguments=json.dumps(plan))
    talk = [
        Message(seq=1, role="assistant", parts=(call,)),
        Message(seq=2, role="tool", parts=(ToolResult(call_id="c", text="ok"),)),
        text_message(3, "assistant", "Pending: the zebra crossing, paint and content, before todos."),
    ]
    found = await (await _recall(talk)).search("paint the zebra crossing", scope="conversation")
    assert [one.reference for one in found] == ["m3", "m1"]


async def test_results_are_bounded() -> None:
    log = [text_message(seq, "user", f"zebra {seq} " + f"word{seq} " * 5_000) for seq in range(1, 31)]
    recall = await _recall(log)
    found = await recall.search("zebra", 1_000, scope="conversation")
    assert len(found) == MOST_RESULTS
    assert EXCERPT_TOKENS < Estimator().count(found[0].excerpt) <= FIRST_TOKENS
    assert all(Estimator().count(one.excerpt) <= EXCERPT_TOKENS for one in found[1:])
    assert len(await recall.search("zebra", 0, scope="conversation")) == 1


async def test_what_repeats_a_result_is_left_out_and_the_newest_stays() -> None:
    text = "\n".join(f"zebra line {number}" for number in range(9))
    outputs = [text + "\nand new" * (seq == 2) for seq in range(1, 4)]
    log = [
        Message(seq=seq, role="tool", parts=(ToolResult(call_id=f"c{seq}", text=output),))
        for seq, output in enumerate(outputs, 1)
    ]
    log.append(text_message(4, "user", "a quite different zebra"))
    found = await _references(await _recall(log), "zebra line", scope="conversation")
    assert "m4" in found
    assert len(found) == 2


async def test_memory_files_are_searched_by_section_before_and_after_a_compaction() -> None:
    for record in (None, _through(5)):
        recall = await _recall(record=record, files=[("MEMORY.md", RULES), ("EMPTY.md", "")])
        (found,) = await recall.search("when to deploy")
        assert found.reference == "MEMORY.md#2"
        assert found.source == "memory file MEMORY.md"
        assert found.excerpt.startswith("## Deploys")


async def test_a_section_with_less_than_half_of_the_words_is_no_answer() -> None:
    recall = await _recall(files=[("MEMORY.md", RULES)])
    assert await _references(recall, "deploy the parser with unicode") == []


async def test_memory_files_and_messages_take_turns() -> None:
    recall = await _recall(files=[("MEMORY.md", "# Tax\n\nTax rates change in May.")], record=_through(5))
    found = await _references(recall, "tax rate", k=2)
    assert found[0].startswith("m")
    assert found[1] == "MEMORY.md#1"


async def test_other_conversations_are_searched_only_where_that_is_allowed() -> None:
    others = [text_message(1, "user", "zebra crossing")]
    with pytest.raises(InvalidInput, match="switched off"):
        await (await _recall(others=others)).search("zebra", scope="all")
    assert await _references(await _recall(others=others), "zebra", scope="conversation") == []
    recall = await _recall(others=others, across=True)
    assert await _references(recall, "zebra", scope="all") == ["older talk:m1"]
    assert (await recall.expand("older talk:m1")).text == "[m1] the user\nzebra crossing"


async def test_an_empty_query_is_refused() -> None:
    with pytest.raises(InvalidInput, match="query is empty"):
        await (await _recall()).search(" \n")


async def test_a_call_and_its_output_are_one_result() -> None:
    found = await (await _recall()).search("Read src/tax.py", 1, scope="conversation")
    assert [one.reference for one in found] == ["m3"]
    assert found[0].source == "tool call"
    assert found[0].beside.startswith("→ [m4] tool output: RATE = 7")
    assert found[0].beside in found[0].render()
    everything = await _references(await _recall(), "Read src/tax.py percent", scope="conversation")
    assert len({"m3", "m4"}.intersection(everything)) == 1


@pytest.mark.requirement("E3")
async def test_in_a_chat_the_reply_stands_beside_the_question() -> None:
    found = await (await _recall()).search("deadline of the tax", 1, scope="conversation")
    assert found[0].reference == "m6"
    assert found[0].beside == "→ [m7] the assistant: The deadline is in May."


async def test_repetitions_are_named_beside_the_newest() -> None:
    text = "the zebra parser reads every single token of unicode input twice and then fails"
    log = [text_message(seq, "user", text) for seq in range(1, 7)]
    (found,) = await (await _recall(log)).search("zebra parser", scope="conversation")
    assert found.reference == "m5"
    assert found.note == "much the same in m4, m3, m2 and 2 more"


async def test_a_statement_does_not_stand_behind_an_output_with_its_words() -> None:
    assert "m5" in await _references(await _recall(), "rate 7 percent", scope="conversation")


def _read(seq: int, text: str) -> list[Message]:
    call = ToolCall(id=f"r{seq}", name="Read", arguments='{"file_path": "src/tax.py"}')
    return [
        Message(seq=seq, role="assistant", parts=(call,)),
        Message(seq=seq + 1, role="tool", parts=(ToolResult(call_id=call.id, text=text),)),
    ]


async def test_an_older_version_of_a_file_is_marked_and_comes_after_the_latest() -> None:
    old = "zebra = 1\n" + "\n".join(f"alpha_{n} = {n}" for n in range(20))
    new = "zebra = 2\n" + "\n".join(f"omega{n}beta = {n}" for n in range(20))
    found = await (await _recall([*_read(1, old), *_read(3, new)])).search("zebra", scope="conversation")
    assert [one.reference for one in found] == ["m4", "m2"]
    assert found[0].note == ""
    assert found[1].note == "older: m4 has this file later"


async def test_what_somebody_said_comes_before_a_file_that_was_read() -> None:
    log = [text_message(1, "user", "the zebra limit is nine"), *_read(2, "the zebra limit is nine")]
    assert await _references(await _recall(log), "zebra limit", k=1, scope="conversation") == ["m1"]


async def test_a_search_that_fits_badly_says_so_with_the_score() -> None:
    recall = await _recall()
    answer = await recall.call(
        "memory_search",
        {"query": "tax treaty with Norwegian shipping companies", "scope": "conversation"},
    )
    assert answer.startswith(
        "No good match for 'tax treaty with Norwegian shipping companies': the best result holds "
    )
    assert "% of the query by weight" in answer
    answer = await recall.call("memory_search", {"query": "tax deadline", "scope": "conversation"})
    assert "best match 100%" in answer


def _dated() -> list[Message]:
    return [
        text_message(1, "user", "I went to the zoo with Mia", time="2022-08-03T10:00:00Z"),
        text_message(2, "assistant", "How was the zoo?", time="2022-08-03T10:00:05Z"),
        text_message(3, "user", "We saw the zoo again", time="2022-09-14T10:00:00Z"),
        text_message(4, "assistant", "Twice at the zoo!", time="2022-09-14T10:00:05Z"),
        *(structs.replace(message, time="2022-09-15T09:00:00Z") for message in _read(5, "zoo = 1")),
    ]


@pytest.mark.requirement("E3")
@pytest.mark.parametrize(
    "arguments, found",
    [
        ({"query": "zoo", "after": "2022-09"}, {"m3", "m4", "m6"}),
        ({"query": "zoo", "before": "September 2022"}, {"m1", "m2"}),
        ({"query": "zoo", "speaker": "user"}, {"m1", "m3"}),
        ({"query": "zoo", "speaker": "assistant", "after": "2022-09"}, {"m4"}),
        ({"query": "zoo", "kind": "output"}, {"m6"}),
        ({"query": "zoo", "file": "tax.py"}, {"m5"}),
        ({"query": "zoo kind:output"}, {"m6"}),
        ({"query": "zoo date:2022-08"}, {"m1", "m2"}),
        ({"query": "speaker:user date:2022-09"}, {"m3"}),
        ({"query": "", "after": "2022-09-15"}, {"m5"}),
        ({"query": "September 2022"}, {"m3", "m4", "m5"}),
    ],
)
async def test_filters_leave_what_they_say(arguments: dict[str, Any], found: set[str]) -> None:
    recall = await _recall(_dated())
    answer = await recall.call("memory_search", {**arguments, "scope": "conversation"})
    shown = {line.split("]")[0].removeprefix("[") for line in answer.split("\n") if line.startswith("[m")}
    assert shown == found


async def test_what_a_question_mentions_comes_first_and_leaves_the_rest() -> None:
    recall = await _recall(_dated())
    august = await _references(recall, "the zoo in August 2022", scope="conversation")
    assert set(august[:2]) == {"m1", "m2"}
    mine = await _references(recall, "what did I say of the zoo", scope="conversation")
    assert set(mine[:2]) == {"m1", "m3"}
    yesterday = await _references(recall, "the zoo yesterday", scope="conversation")
    assert set(yesterday[:2]) == {"m3", "m4"}
    assert len(yesterday) > 2


async def test_filters_that_leave_nothing_are_named_in_the_answer() -> None:
    answer = await (await _recall(_dated())).call(
        "memory_search", {"query": "giraffe", "after": "2023", "scope": "conversation"}
    )
    assert answer.startswith("Nothing found for 'giraffe' with these filters.")


@pytest.mark.parametrize(
    "said, query",
    [
        ("Mein Zahnarzt heißt Doktor Müller und sitzt in der Bergstraße.", "Wie heißt mein Zahnarzt?"),
        ("我的牙医是王医生，他的诊所在北京路。", "我的牙医是谁"),
        ("歯医者は田中先生です。病院は京都にあります。", "歯医者はだれですか"),
    ],
)
async def test_other_languages_are_found(said: str, query: str) -> None:
    log = [text_message(seq, "user", f"filler number {seq}") for seq in range(1, 20)]
    recall = await _recall([*log, text_message(20, "user", said)])
    answer = await recall.call("memory_search", {"query": query, "scope": "conversation"})
    assert "[m20] the user" in answer
    assert said in answer


# Expansion


@pytest.mark.requirement("E3")
@pytest.mark.parametrize("ref", ["m4", "[m4]", " m4 "])
async def test_a_reference_opens_the_original_word_for_word(ref: str) -> None:
    opened = await (await _recall()).expand(ref)
    assert opened.text == "[m4] tool output\n" + "RATE = 7  # percent\n" * 3
    assert opened.reference == "m4"
    assert opened.next_offset is None
    assert opened.render() == opened.text


async def test_a_call_opens_with_its_arguments_as_they_were() -> None:
    opened = await (await _recall()).expand(reference(3))
    assert opened.text == '[m3] the assistant\nI look.\n[m3] tool call Read\n{"file_path": "src/tax.py"}'


@pytest.mark.requirement("E3")
async def test_an_edit_opens_as_a_diff_without_its_secrets() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    arguments = json.dumps({"file_path": "a.py", "old_string": f"x = '{token}'", "new_string": "x = load()"})
    log = [Message(seq=1, role="assistant", parts=(ToolCall(id="e", name="Edit", arguments=arguments),))]
    text = (await (await _recall(log)).expand("m1")).text
    assert text.startswith("[m1] tool call Edit\nfile_path: a.py\n--- old\n+++ new\n")
    assert text.endswith("\n+x = load()")
    assert token not in text


@pytest.mark.parametrize("ref", ["m2-m4", "m2–m4", "[m2]–[m4]", " m2 - m4 "])
async def test_a_range_opens_its_messages(ref: str) -> None:
    text = (await (await _recall()).expand(ref)).text
    assert [line[:4] for line in text.split("\n") if line.startswith("[m")] == [
        "[m2]",
        "[m3]",
        "[m3]",
        "[m4]",
    ]


async def test_a_long_range_opens_its_first_messages() -> None:
    log = [text_message(seq, "user", f"words {seq}") for seq in range(1, 100)]
    opened = await (await _recall(log)).expand("m1-m99")
    assert opened.text.count("the user") == MOST_OPENED
    assert opened.render().endswith(f'memory_expand("m{MOST_OPENED + 1}-m99") goes on]')


async def test_the_messages_around_are_shown_on_demand() -> None:
    recall = await _recall()
    opened = await recall.expand("m2", around=1)
    assert [line for line in opened.text.split("\n") if line.startswith("[m")] == [
        "[m1] a note of the program",
        "[m2] the user",
        "[m3] the assistant",
        "[m3] tool call Read",
    ]
    assert "[m7]" in (await recall.expand("m7", around=10_000)).text


async def test_what_is_no_text_is_named() -> None:
    parts = (Image(data="AAAA"), Opaque(kind="odd", raw=b"{}"), Document(name="a", text="words"))
    opened = await (await _recall([Message(seq=1, role="user", parts=parts)])).expand("m1")
    assert opened.text.split("\n") == [
        "[m1] image, which cannot be shown as text",
        "[m1] opaque, which cannot be shown as text",
        "[m1] document",
        "words",
    ]


@given(text=st.text(alphabet="ab \né漢", min_size=1, max_size=2_000), max_tokens=st.integers(20, 200))
async def test_the_pages_of_an_original_are_the_original(text: str, max_tokens: int) -> None:
    recall = await _recall([text_message(1, "user", text)])
    whole = await recall.expand("m1", max_tokens=100_000)
    pieces: list[str] = []
    offset: int | None = 0
    while offset is not None:
        opened = await recall.expand("m1", offset=offset, max_tokens=max_tokens)
        assert opened.characters == len(whole.text)
        pieces.append(opened.text)
        offset = opened.next_offset
    assert "".join(pieces) == whole.text
    assert whole.text.split("\n", 1)[1] == text


async def test_a_long_original_says_how_to_go_on() -> None:
    recall = await _recall([text_message(1, "user", "word " * 50_000)])
    opened = await recall.expand("m1")
    assert opened.next_offset is not None
    assert Estimator().count(opened.text) <= PAGE_TOKENS
    assert f'memory_expand("m1", offset={opened.next_offset}) goes on' in opened.render()
    with pytest.raises(InvalidInput, match="offset 1000000 is outside"):
        await recall.expand("m1", offset=1_000_000)


async def test_a_section_of_a_memory_file_is_opened() -> None:
    recall = await _recall(files=[("MEMORY.md", RULES)])
    assert (await recall.expand("MEMORY.md#2")).text == "## Deploys\n\nDeploy on Tuesdays only.\n"


@pytest.mark.parametrize(
    "ref, says",
    [
        ("m99", "there is no message m99: the conversation goes from m1 to m7"),
        ("99", "is not a reference"),
        ("m0", "is not a reference"),
        ("m5-m2", "ends before it begins"),
        ("older talks:m1", "holds no messages. Near it: 'older talk'"),
        ("zzz:m1", "'zzz' holds no messages"),
        ("MEMORY.md#9", "has sections MEMORY.md#1 to MEMORY.md#2"),
        ("MEMORY.md#two", "has sections"),
        ("RULES.md#1", "There is: 'MEMORY.md'"),
    ],
)
async def test_an_unknown_reference_is_refused_with_what_there_is(ref: str, says: str) -> None:
    recall = await _recall(
        others=[text_message(1, "user", "hello")], files=[("MEMORY.md", RULES)], across=True
    )
    with pytest.raises(InvalidInput) as raised:
        await recall.expand(ref)
    assert says in str(raised.value)


async def test_without_memory_files_and_messages_the_errors_say_so() -> None:
    recall = await _recall(log=[])
    with pytest.raises(InvalidInput, match="There is: none"):
        await recall.expand("MEMORY.md#1")
    with pytest.raises(InvalidInput, match="'talk' holds no messages"):
        await recall.expand("m1")


async def test_another_conversation_is_not_opened_where_that_is_not_allowed() -> None:
    recall = await _recall(others=[text_message(1, "user", "hello")])
    with pytest.raises(InvalidInput, match="switched off"):
        await recall.expand("older talk:m1")
    assert (await recall.expand("talk:m2")).text.endswith("What is the tax rate?")


# Tools


def _schemas(recall: Recall, dialect: Dialect) -> dict[str, Any]:
    tools = recall.tools(dialect)
    if dialect == "openai_chat":
        tools = [tool["function"] for tool in tools]
    return {tool["name"]: tool["input_schema" if dialect == "anthropic" else "parameters"] for tool in tools}


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic"])
async def test_the_tools_are_described_for_each_api(dialect: Dialect) -> None:
    schemas = _schemas(await _recall(across=True), dialect)
    assert list(schemas) == ["memory_search", "memory_expand"]
    assert schemas["memory_search"]["required"] == ["query"]
    assert schemas["memory_search"]["properties"]["scope"]["enum"] == ["all", "compacted", "conversation"]
    assert schemas["memory_search"]["properties"]["k"]["maximum"] == MOST_RESULTS
    assert schemas["memory_expand"]["required"] == ["ref"]
    assert all(schema["additionalProperties"] is False for schema in schemas.values())
    assert "$" not in msgspec.json.encode(schemas).decode()


async def test_a_scope_that_is_not_allowed_is_not_offered() -> None:
    schemas = _schemas(await _recall(), "openai_chat")
    assert schemas["memory_search"]["properties"]["scope"]["enum"] == ["compacted", "conversation"]
    again = _schemas(await _recall(across=True), "openai_chat")
    assert "all" in again["memory_search"]["properties"]["scope"]["enum"]


@pytest.mark.requirement("E3")
async def test_the_model_searches_and_opens_what_it_found() -> None:
    recall = await _recall(record=_through(5))
    answer = await recall.call("memory_search", '{"query": "tax rate", "k": 1}')
    head, result = answer.split("\n\n", 1)
    assert head.startswith("1 result for 'tax rate'")
    name = result.removeprefix("[").split("]")[0]
    opened = await recall.call("memory_expand", {"ref": name})
    assert opened.startswith(f"[{name}] ")


async def test_a_search_shows_references_sources_and_times() -> None:
    recall = await _recall(record=_through(2))
    answer = await recall.call("memory_search", {"query": "tax", "scope": "conversation"})
    assert answer.startswith("3 results for 'tax'")
    assert "[m2] the user, 2026-01-01T10:00:00Z\nWhat is the tax rate?" in answer


async def test_nothing_found_says_what_to_try() -> None:
    answer = await (await _recall()).call("memory_search", {"query": "zebra"})
    assert answer.startswith("Nothing found for 'zebra'")


@pytest.mark.parametrize(
    "name, arguments, says",
    [
        ("memory_search", "{}", "query"),
        ("memory_search", "", "query"),
        ("memory_search", "{broken", "cannot be called like that"),
        ("memory_search", '{"query": "x", "k": 99}', "$.k"),
        ("memory_search", {"query": "x", "colour": 1}, "colour"),
        ("memory_search", {"query": "x", "scope": "all"}, "switched off"),
        ("memory_search", {"query": "x", "speaker": "bob"}, "$.speaker"),
        ("memory_search", {"query": "x", "after": "soon"}, "after 'soon' is no date: write 2022"),
        ("memory_search", {"query": "x kind:nonsense"}, "kind 'nonsense' is unknown: use one of words"),
        ("memory_search", {"query": "x", "speaker": "tool", "kind": "words"}, "leave one out"),
        ("memory_expand", {"ref": "m99"}, "there is no message m99"),
        ("memory_forget", {}, "there is no tool 'memory_forget'"),
    ],
)
async def test_a_wrong_call_is_answered_with_what_is_wrong(name: str, arguments: Any, says: str) -> None:
    answer = await (await _recall()).call(name, arguments)
    assert answer.startswith("Error: ")
    assert says in answer


async def test_numbers_as_text_are_understood() -> None:
    answer = await (await _recall()).call("memory_expand", '{"ref": "m2", "around": "1"}')
    assert "[m3]" in answer


# Archived summaries


def _entry(conversation: str, summary: str, *, namespace: str = "default", original: str = "-") -> str:
    record = replace(compaction("c1", 9), summary=summary)
    return ArchiveEntry(
        conversation=conversation, namespace=namespace, record=record, peak_tokens=1, transcript=original
    ).render()


ARCHIVE = "CONTEXT_ARCHIVE.md"
LONG = "Nothing of note. " * 60


def _archive(*entries: str) -> list[tuple[str, str]]:
    return [(ARCHIVE, ARCHIVE_HEADING + "".join(entries))]


@pytest.mark.requirement("E3")
async def test_summaries_of_other_conversations_are_found_where_those_are_searched_and_come_last() -> None:
    files = _archive(
        *(
            _entry("older talk", f"- m{seq}: The tax rate and its tax deadline were told.")
            for seq in range(1, 6)
        ),
        _entry("gone talk", "The tax rate was 9."),
        _entry("talk", "The tax rate is known [m2]."),
    )
    recall = await _recall(record=_through(7), files=files, across=True)
    here = await recall.search("tax rate", 20)
    everywhere = await recall.search("tax rate", scope="all", k=20)

    of_here = [one.source for one in here if one.is_archived]
    assert of_here == ["summary of the conversation talk"]
    assert [one.is_archived for one in everywhere] == sorted(one.is_archived for one in everywhere)
    sources = [one.source for one in everywhere if one.is_archived]
    assert sorted(sources) == [
        f"summary of the conversation {name}" for name in ("gone talk", "older talk", "talk")
    ]
    assert not everywhere[0].is_archived
    own = next(one for one in everywhere if one.source.endswith(" talk") and "older" in one.source)
    assert "older talk:m" in own.excerpt
    assert "[m2]" in next(
        one.excerpt for one in everywhere if one.source == "summary of the conversation talk"
    )


async def test_hits_of_the_conversation_fill_the_results_before_any_summary_does() -> None:
    files = _archive(*(_entry(f"talk {number}", "tax rate " * 20) for number in range(9)))
    recall = await _recall(record=_through(7), files=files, across=True)
    assert [one.is_archived for one in await recall.search("tax rate", 2, scope="all")] == [False, False]


@pytest.mark.parametrize("across", [False, True])
async def test_summaries_of_another_namespace_are_never_found_and_others_only_where_that_is_allowed(
    across: bool,
) -> None:
    files = _archive(_entry("hers", "zebra crossing", namespace="hers"), _entry("mine", "zebra stable"))
    recall = await _recall(files=files, across=across)
    found = await recall.search("zebra", scope="all" if across else "conversation")
    assert [one.source for one in found] == (["summary of the conversation mine"] if across else [])
    with pytest.raises(InvalidInput, match="switched off"):
        await recall.expand(f"{ARCHIVE}#2")
    if not across:
        with pytest.raises(InvalidInput, match="switched off"):
            await recall.expand(f"{ARCHIVE}#3")


@pytest.mark.requirement("E3")
async def test_a_summary_is_cut_around_the_match_which_is_marked_for_the_reader() -> None:
    files = _archive(_entry("older talk", f"{LONG}\n\nThe zebra crossing is at the harbour m4.\n\n{LONG}"))
    recall = await _recall(files=files, across=True)
    answer = await recall.call("memory_search", {"query": "zebra crossings", "scope": "all"})
    (found,) = await recall.search("zebra crossings", scope="all")

    assert "The **zebra** **crossing** is at the harbour older talk:m4." in answer
    assert Estimator().count(found.excerpt) <= EXCERPT_TOKENS
    assert "Checked" not in found.excerpt


async def test_a_reference_of_a_summary_opens_the_message_or_says_where_it_is() -> None:
    others = [text_message(seq, "user", f"zebra {seq}") for seq in range(1, 10)]
    files = _archive(
        _entry("older talk", "The zebra m4."),
        _entry("session-7", "The zebra m4.", original="[session-7](<file:///home/me/session-7.jsonl>)"),
    )
    recall = await _recall(others=others, files=files, across=True)
    assert (await recall.expand("older talk:m4")).text == "[m4] the user\nzebra 4"
    with pytest.raises(InvalidInput, match=r"not kept here; its original is \[session-7\]"):
        await recall.expand("session-7:m4")
    assert "The zebra older talk:m4." in (await recall.expand(f"{ARCHIVE}#2")).text


async def test_the_example_that_older_versions_archived_is_not_found() -> None:
    files = _archive(_entry("example", "The zebra in tide_table.py."), _entry("example", "My own zebra."))
    recall = await _recall(files=files, across=True)
    assert [one.excerpt for one in await recall.search("zebra", scope="all")] == ["My own zebra."]


async def test_what_is_hidden_is_only_found_in_itself() -> None:
    others = [text_message(1, "user", "zebra crossing")]
    index = MemoryIndex()
    store = MemoryStore(indexer=index)
    await store.append(OTHER, others, after=0)
    elsewhere = Recall(store, index, key=KEY, across=True, hidden={OTHER.conversation})
    inside = Recall(store, index, key=OTHER, across=True, hidden={OTHER.conversation})
    assert await elsewhere.search("zebra", scope="all") == ()
    assert len(await inside.search("zebra", scope="all")) == 1


async def test_where_nothing_is_found_here_the_model_is_told_of_the_other_conversations() -> None:
    recall = await _recall(across=True)
    assert 'scope "all"' in await recall.call("memory_search", {"query": "zebra"})
    assert 'scope "all"' not in await recall.call("memory_search", {"query": "zebra", "scope": "all"})


async def test_a_long_line_is_cut_around_the_match() -> None:
    line = f"{'filler words ' * 2_000}the zebra crossing{' more filler' * 2_000}"
    recall = await _recall([text_message(1, "user", line)])
    (found,) = await recall.search("zebra crossing", scope="conversation")
    assert "the zebra crossing" in found.excerpt
    assert Estimator().count(found.excerpt) <= FIRST_TOKENS


async def test_memory_files_are_read_and_searched_beside_the_event_loop() -> None:
    """They lie on a disk and may be large."""
    readers: list[threading.Thread] = []

    def documents() -> list[tuple[str, str]]:
        readers.append(threading.current_thread())
        return [("RULES.md", RULES)]

    store = MemoryStore()
    recall = Recall(store, MemoryIndex(), key=KEY, documents=documents)
    found = await recall.search("linter")
    assert [one.reference for one in found] == ["RULES.md#1"]
    assert readers
    assert threading.current_thread() not in readers


async def test_a_conversation_that_was_deleted_while_it_was_searched_is_no_damage() -> None:
    """The index was asked, the conversation went, and the search ended with a store that is damaged."""

    class Deleting(MemoryIndex):
        async def search(self, namespace: str, query: str, **how: Any) -> tuple[Hit, ...]:
            hits = await super().search(namespace, query, **how)
            await store.delete(OTHER)
            return hits

    index = Deleting()
    store = MemoryStore(indexer=index)
    await store.append(KEY, _log(), after=0)
    await store.append(OTHER, [text_message(1, "user", "The tax of another year.")], after=0)
    recall = Recall(store, index, key=KEY, across=True)
    assert {one.partition(":")[0] for one in await _references(recall, "tax", scope="all")} == {
        "m2",
        "m3",
        "m6",
    }
