"""The server as a client of the SDK sees it, in this process."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import TextContent, TextResourceContents

from autocompact import Compactor, SqliteStore
from autocompact.agents.transcripts import Transcripts
from autocompact.core.lookup import WITH_TOOLS
from autocompact.core.tokens import Estimator
from autocompact.ledger.summary import frame_beside
from autocompact.mcp.conversations import Conversations
from autocompact.mcp.server import make_server
from autocompact.ports import Key
from tests.house.source import ROOT
from tests.mcp.home import KEY, RULE, SUMMARY, keep, pump
from tests.sessions.claude_lines import Claude, call, result, text

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("F2")]

EXAMPLE = ROOT / "examples" / "sessions" / "fix-invoice-rounding.jsonl"
OTHER = "Paint the harbour wall."


@asynccontextmanager
async def connected(home: Path, *, files: bool = True) -> AsyncGenerator[Client]:
    """A client of a server for the sessions in ``home``, started in its folder ``work``."""
    transcripts = Transcripts(project=home / "work", home=home, environment={})
    conversations = Conversations(transcripts, database=home / "own.db", files=files)
    async with Client(make_server(conversations, pins=home / "pins")) as client:
        yield client


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A newer session that ran elsewhere, and the one of this folder, ``pump-1``."""
    keep(pump(tmp_path / "work"), tmp_path, name="pump-1")
    other = Claude()
    other.user(OTHER)
    other.reply(text("Painted."), id="o1")
    keep(other, tmp_path, name="wall-1", seconds=60)
    return tmp_path


async def called(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """The structured answer of a tool."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return answer.structured_content


async def refused(client: Client, tool: str, **arguments: object) -> str:
    """The error that a tool answers."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    (content,) = answer.content
    assert isinstance(content, TextContent)
    return content.text


async def test_an_argument_that_a_tool_does_not_have_is_refused_with_those_it_has(home: Path) -> None:
    async with connected(home) as client:
        said = await refused(client, "memory_search", query="limit", conversaton="pump-1")
        assert "memory_search has no argument 'conversaton': it takes query, conversation, k" in said
        assert "Did you mean 'conversation'?" in said
        said = await refused(client, "undo", conversation="own", zzz=1)
        assert "undo has no argument 'zzz': it takes conversation." in said
        assert "Unknown tool" in await refused(client, "forget", query="limit")
        tools = (await client.list_tools()).tools
    assert {tool.input_schema["additionalProperties"] for tool in tools} == {False}


@pytest.mark.parametrize(
    ("server", "found"),
    [
        ("mcp__plugin_autocompact_autocompact__", ["m4"]),
        ("autocompact_", ["m4"]),
        ("mcp__notes__", ["m4", "m9"]),
    ],
)
async def test_a_search_does_not_find_what_this_server_was_asked_and_its_answers(
    home: Path, server: str, found: list[str]
) -> None:
    session = pump(home / "work")
    session.reply(call("s1", f"{server}memory_search", query="kilopascal"), id="s1")
    path = keep(session, home, name="pump-1")
    async with connected(home) as client:
        arguments = {"query": "kilopascal", "conversation": "pump-1"}
        first = await called(client, "memory_search", **arguments)
        session.user([result("s1", json.dumps(first))])
        path.write_bytes(session.bytes())
        second = await called(client, "memory_search", **arguments)
        assert {hit["reference"] for hit in second["results"]} == set(found)
        answer = await called(client, "memory_expand", ref="m10", conversation="pump-1")
    assert "kilopascal" in answer["text"]


async def page(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


async def prompt(client: Client, name: str, **arguments: str) -> str:
    (message,) = (await client.get_prompt(name, arguments)).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


async def test_each_tool_says_whether_it_changes_something_and_what_it_answers(home: Path) -> None:
    async with connected(home) as client:
        tools = (await client.list_tools()).tools
    reads = {tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint}
    assert reads == {"memory_search", "memory_expand", "timeline", "ledger", "verify", "compact"}
    assert {tool.name for tool in tools} - reads == {"pin", "undo"}
    assert all(tool.output_schema and tool.description for tool in tools)


async def test_without_a_name_the_session_of_this_folder_is_meant(home: Path) -> None:
    async with connected(home) as client:
        found = await called(client, "memory_search", query="why was the limit wrong")
        assert found["conversation"] == "pump-1"
        assert "kilopascal" in found["results"][0]["excerpt"]
        opened = await called(client, "memory_expand", ref=found["results"][0]["reference"])
        assert "because the sensor reports kilopascal" in opened["text"]


def _lines(*records: Mapping[str, object]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def _qwen(work: Path) -> dict[str, str]:
    said = {"role": "user", "parts": [{"text": OTHER}]}
    line = _lines(
        {
            "uuid": "u1",
            "parentUuid": None,
            "sessionId": "s1",
            "type": "user",
            "cwd": str(work),
            "message": said,
        }
    )
    return {".qwen/projects/-work/chats/s1.jsonl": line}


def _kimi(work: Path) -> dict[str, str]:
    said = {"role": "user", "content": [{"type": "text", "text": OTHER}], "origin": {"kind": "user"}}
    log = _lines(
        {"type": "metadata", "protocol_version": "1.5"},
        {"type": "profile.bind", "agentId": "main", "environmentDisclosure": {"cwd": str(work)}},
        {"type": "context.append_message", "agentId": "main", "message": said},
    )
    return {".kimi-code/sessions/wd_work_1/session_s1/agents/main/wire.jsonl": log}


def _gemini(work: Path) -> dict[str, str]:
    head = {"sessionId": "s1", "projectHash": "9c56", "startTime": "2026-11-24T20:18:54.202Z", "kind": "main"}
    call: dict[str, object] = {"id": "c1", "name": "run", "args": {"cwd": "/elsewhere"}, "result": []}
    log = _lines(
        head,
        {"id": "m1", "type": "user", "content": [{"text": OTHER}]},
        {"id": "m2", "type": "gemini", "content": "I look.", "toolCalls": [call]},
    )
    return {".gemini/tmp/work/.project_root": str(work), ".gemini/tmp/work/chats/session-s1.jsonl": log}


def _copilot(work: Path) -> dict[str, str]:
    log = _lines(
        {"type": "session.start", "data": {"sessionId": "s1", "context": {"cwd": str(work)}}, "id": "e1"},
        {"type": "user.message", "data": {"content": OTHER}, "id": "e2"},
    )
    return {".copilot/session-state/s1/events.jsonl": log}


def _cline(work: Path) -> dict[str, str]:
    typed = {"type": "text", "text": f'<user_input mode="act">{OTHER}</user_input>'}
    document = {"sessionId": "s1", "messages": [{"id": "m1", "role": "user", "content": [typed]}]}
    return {
        ".cline/data/sessions/s1/s1.json": json.dumps({"session_id": "s1", "cwd": str(work)}),
        ".cline/data/sessions/s1/s1.messages.json": json.dumps(document),
    }


@pytest.mark.parametrize(
    "agent, files",
    [("qwen", _qwen), ("kimi", _kimi), ("gemini", _gemini), ("copilot", _copilot), ("cline", _cline)],
)
async def test_the_session_of_this_folder_is_found_whichever_agent_recorded_it(
    tmp_path: Path, agent: str, files: Callable[[Path], dict[str, str]]
) -> None:
    for name, content in files(tmp_path / "work").items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    async with connected(tmp_path) as client:
        found = await called(client, "timeline")
        assert (found["agent"], re.split("[-_]", found["conversation"])[-1]) == (agent, "s1")
        assert OTHER in str(found)
        assert await called(client, "timeline", conversation=found["conversation"]) == found


async def test_a_search_takes_no_more_tokens_than_asked_for(home: Path) -> None:
    (home / ".claude" / "projects" / "-srv-pump" / "invoices.jsonl").write_bytes(EXAMPLE.read_bytes())
    async with connected(home) as client:
        query = {"query": "rounding half up", "conversation": "invoices", "k": 20}
        whole = await called(client, "memory_search", **query, max_tokens=8_000)
        for most in (100, 400, 1_000):
            small = await called(client, "memory_search", **query, max_tokens=most)
            shown = json.dumps(small["results"], ensure_ascii=False)
            assert 0 < Estimator().count(shown) <= 1.2 * most
            assert f"{len(whole['results']) - len(small['results'])} more did not fit" in small["note"]


async def test_a_file_filter_leaves_what_touches_the_file_not_what_mentions_it(home: Path) -> None:
    async with connected(home) as client:
        touched = await called(client, "memory_search", query="pump driver file:pump.py")
        assert {each["reference"] for each in touched["results"]} <= {"m2", "m3", "m4", "m5"}
        assert touched["results"]
        said = await called(client, "memory_search", query="pump driver file:pump.py kind:words")
        assert [each["reference"] for each in said["results"]] == ["m1"]
        other = await called(client, "memory_search", query="pump driver file:ump.py")
        assert other["results"] == []


async def test_another_session_is_named_by_the_beginning_of_its_id_or_by_its_path(home: Path) -> None:
    path = home / ".claude" / "projects" / "-srv-pump" / "wall-1.jsonl"
    async with connected(home) as client:
        for name in ("wall", "wall-1", str(path)):
            assert (await called(client, "timeline", conversation=name))["turns"][0]["request"] == OTHER


async def test_what_the_agent_wrote_meanwhile_is_found(home: Path) -> None:
    session = pump(home / "work")
    async with connected(home) as client:
        await called(client, "memory_search", query="valve")
        session.user("The valve is made of brass.")
        keep(session, home, name="pump-1", seconds=1)
        found = await called(client, "memory_search", query="brass valve")
        assert "made of brass" in found["results"][0]["excerpt"]
        session.lines = session.lines[:2]
        keep(session, home, name="pump-1", seconds=2)
        assert (await called(client, "memory_search", query="brass valve"))["results"] == []


async def test_a_summary_is_checked_against_the_session(home: Path) -> None:
    async with connected(home) as client:
        checked = await called(client, "verify", summary="The pump driver is repaired.", through="m6")
        assert checked["through"] == "m6"
        assert checked["kinds"]["rule"] == {"stated": 0, "referenced": 0, "missing": 1}
        assert checked["missing"][0]["kind"] == "rule"
        assert RULE in checked["repair"]
        whole = await called(client, "verify", summary=f"The pump driver is repaired. {RULE}", through="m6")
        assert whole["kinds"]["rule"]["stated"] == 1


async def test_a_record_of_ours_beside_a_summary_is_not_to_its_credit(home: Path) -> None:
    summary = "The pump driver is repaired."
    async with connected(home) as client:
        alone = await called(client, "verify", summary=summary, through="m6")
        record = frame_beside(alone["repair"], lookup=WITH_TOOLS)
        beside = await called(client, "verify", summary=f"{summary}\n\n{record}", through="m6")
    assert beside["kinds"] == alone["kinds"]
    assert beside["missing"] == alone["missing"]
    # but it is there: nothing of it is asked for once more
    assert RULE in alone["repair"]
    assert RULE not in beside["repair"]
    assert beside["missing_after_repair"] <= alone["missing_after_repair"]


async def test_without_a_summary_that_of_the_agents_own_compaction_is_checked(home: Path) -> None:
    async with connected(home) as client:
        checked = await called(client, "verify")
        assert (checked["through"], checked["kinds"]["rule"]["missing"]) == ("m6", 1)
        assert checked["missing_after_repair"] < sum(each["missing"] for each in checked["kinds"].values())


async def test_the_timeline_says_what_was_done_for_each_request(home: Path) -> None:
    async with connected(home) as client:
        told = await called(client, "timeline")
        first, second = told["turns"]
        assert (first["calls"], first["changed"]) == (
            {"Bash": 1, "Edit": 1},
            [str(home / "work" / "pump.py")],
        )
        assert first["said"] == "The pump driver is repaired."
        assert second["request"] == "Now write the changelog."
        assert [each["through"] for each in told["compactions"]] == ["m6"]
        last = await called(client, "timeline", max_tokens=100)
        assert (len(last["turns"]), last["earlier"]) == (1, 1)
        before = await called(client, "timeline", before=last["turns"][0]["reference"])
        assert [turn["reference"] for turn in before["turns"]] == ["m1"]


async def test_the_ledger_gives_the_kinds_that_are_asked_for(home: Path) -> None:
    async with connected(home) as client:
        rules = await called(client, "ledger", kinds=["rule"])
        assert [each["text"] for each in rules["entries"]] == [RULE]
        small = await called(client, "ledger", max_tokens=100)
        assert small["left_out"] > 0
        assert [each["text"] for each in small["entries"] if each["kind"] == "rule"] == [RULE]


async def test_a_short_ledger_has_the_rules_whatever_else_is_needed(home: Path) -> None:
    (home / ".claude" / "projects" / "-srv-pump" / "invoices.jsonl").write_bytes(EXAMPLE.read_bytes())
    async with connected(home) as client:
        rules = await called(client, "ledger", kinds=["rule"], conversation="invoices")
        small = await called(client, "ledger", max_tokens=300, conversation="invoices")
    assert [each for each in small["entries"] if each["kind"] == "rule"] == rules["entries"]
    assert len(rules["entries"]) == 3
    assert small["left_out"] == sum(small["counts"].values()) - len(small["entries"])


async def test_a_check_finds_the_things_that_the_compaction_counted(home: Path) -> None:
    (home / ".claude" / "projects" / "-srv-pump" / "invoices.jsonl").write_bytes(EXAMPLE.read_bytes())
    async with connected(home) as client:
        made = await called(client, "compact", to=12_000, conversation="invoices", max_tokens=8_000)
        summary, through = made["summary"], made["through"]
        found = await called(client, "verify", summary=summary, through=through, conversation="invoices")
    counts = [sum(kind.values()) for kind in found["kinds"].values()]
    assert sum(counts) == made["stated"] + made["referenced"] + made["missing"]


async def test_a_preview_changes_nothing(home: Path) -> None:
    before = EXAMPLE.read_bytes()
    path = home / ".claude" / "projects" / "-srv-pump" / "invoices.jsonl"
    path.write_bytes(before)
    async with connected(home) as client:
        await called(client, "pin", text="The depot closes at six.", conversation="invoices")
        preview = await called(client, "compact", focus="the tests", conversation="invoices")
        small = await called(client, "compact")
    assert "The depot closes at six." in preview["summary"]
    assert (preview["rung"], path.read_bytes()) == ("summarise", before)
    outside = preview["outside"]
    assert outside == 12_885
    assert preview["tokens_before"] == 78_550
    assert preview["tokens_after"] - outside < (preview["tokens_before"] - outside) / 4
    assert preview["leaving"]
    assert (small["rung"], small["summary"]) == ("none", "")


async def test_a_pin_stays_until_it_is_removed(home: Path) -> None:
    async with connected(home) as client:
        await called(client, "pin", text="The depot\n closes at six.")
        await called(client, "pin", text="The depot closes at six.")
    async with connected(home) as client:
        assert (await called(client, "pin"))["pinned"] == ["The depot closes at six."]
        assert (await called(client, "pin", conversation="wall"))["pinned"] == []
        assert "pinned are" in await refused(client, "pin", text="Something else.", remove=True)
        assert "say which" in await refused(client, "pin", remove=True)
        assert "at most 500" in await refused(client, "pin", text="depot " * 2_000)
        assert (await called(client, "pin", text="The depot closes at six.", remove=True))["pinned"] == []


async def test_conversations_of_our_own_store_are_pinned_and_undone(home: Path) -> None:
    async with Compactor(SqliteStore(home / "own.db")) as compactor:
        conversation = await compactor.open("trip")
        for number in range(40):
            await conversation.say(f"Where is platform {number}? " + "It is late. " * 40)
            await conversation.say(f"Platform {number} is on the left. " * 20, role="assistant")
        await conversation.compact()
    async with connected(home) as client:
        assert (await called(client, "memory_search", query="platform 7", conversation="trip"))["results"]
        assert (await called(client, "timeline", conversation="trip"))["compactions"]
        pinned = await called(client, "pin", text="Buy no ticket.", conversation="trip")
        assert pinned["pinned"] == ["Buy no ticket."]
        undone = await called(client, "undo", conversation="trip")
        assert undone["tokens_after"] > undone["tokens_before"]
        assert (await called(client, "timeline", conversation="trip"))["compactions"] == []
        assert "nothing to undo" in await refused(client, "undo", conversation="trip")
        removed = await called(client, "pin", text="Buy no ticket.", conversation="trip", remove=True)
        assert removed["pinned"] == []


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("memory_search", {"query": " "}, "the query is empty"),
        ("memory_search", {"query": "x", "k": 99}, "less than or equal to 20"),
        ("memory_search", {"query": "x", "conversation": "nobody"}, "There are: 'wall-1', 'pump-1'"),
        ("memory_search", {"query": "x", "conversation": "/nowhere/x.jsonl"}, "there is no recorded session"),
        ("memory_search", {}, "Field required"),
        ("memory_expand", {"ref": "m999"}, "goes from m1 to m"),
        ("memory_expand", {"ref": "seven"}, "is not a reference"),
        ("timeline", {"before": "seven"}, "is not a reference"),
        ("verify", {"summary": "x", "through": "m999"}, "there is no message 999"),
        ("verify", {"through": "m3"}, "through is for a summary that is given"),
        ("verify", {"transcript": "wall"}, "its program has not compacted it"),
        ("ledger", {"kinds": ["colour"]}, "Input should be"),
        ("compact", {"to": 10}, "10"),
        ("undo", {"conversation": "pump"}, "memory_search finds what left the context"),
    ],
)
async def test_bad_arguments_are_answered_with_what_is_wrong(
    home: Path, tool: str, arguments: dict[str, object], words: str
) -> None:
    async with connected(home) as client:
        assert words in await refused(client, tool, **arguments)


async def test_two_sessions_that_begin_alike_must_be_told_apart(home: Path) -> None:
    keep(pump(home / "work"), home, name="pump-2", seconds=2)
    async with connected(home) as client:
        assert "begins several sessions: 'pump-2', 'pump-1'" in await refused(
            client, "timeline", conversation="pump"
        )
        assert (await called(client, "timeline", conversation="pump-1"))["conversation"] == "pump-1"
        assert (await called(client, "timeline"))["conversation"] == "pump-2"


async def test_where_nothing_was_recorded_the_folders_are_named(tmp_path: Path) -> None:
    async with connected(tmp_path) as client:
        assert ".codex/sessions" in await refused(client, "timeline")


async def test_a_file_elsewhere_is_read_only_where_that_is_allowed(home: Path) -> None:
    elsewhere = home / "elsewhere.jsonl"
    elsewhere.write_bytes(pump(home).bytes())
    program = str(Path(__file__).with_name("conftest.py"))
    async with connected(home) as client:
        assert (await called(client, "timeline", conversation=str(elsewhere)))["agent"] == "claude_code"
        assert "is not JSON" in await refused(client, "timeline", conversation=program)
    async with connected(home, files=False) as client:
        assert "cannot be named here" in await refused(client, "timeline", conversation=str(elsewhere))


async def test_resources_show_context_ledger_and_receipts(home: Path) -> None:
    async with connected(home) as client:
        templates = (await client.list_resource_templates()).resource_templates
        assert len(templates) == 3
        context = await page(client, "autocompact://current/context")
        assert SUMMARY in context
        assert "kilopascal" not in context
        assert RULE in await page(client, "autocompact://pump-1/ledger")
        (receipt,) = json.loads(await page(client, "autocompact://pump-1/receipts"))
        assert (receipt["through"], receipt["tokens_before"], receipt["active"]) == ("m6", 155_000, True)
        with pytest.raises(MCPError, match="there is no recorded session 'nobody'"):
            await client.read_resource("autocompact://nobody/ledger")


async def test_prompts_bring_the_record_with_them(home: Path) -> None:
    async with connected(home) as client:
        lost = await prompt(client, "what_was_lost")
        assert RULE in lost
        assert "does not have" in lost
        handoff = await prompt(client, "handoff", focus="the changelog")
        assert RULE in handoff
        assert "Concentrate on: the changelog" in handoff
        with pytest.raises(MCPError, match="has not compacted it"):
            await client.get_prompt("what_was_lost", {"conversation": "wall"})


async def test_no_answer_holds_a_secret(home: Path) -> None:
    async with connected(home) as client:
        await called(client, "pin", text=f"The key is {KEY}")
        answers = [
            await called(client, "memory_search", query="ANTHROPIC_API_KEY"),
            await called(client, "memory_expand", ref="m1-m9"),
            await called(client, "timeline"),
            await called(client, "ledger"),
            await called(client, "verify"),
            await called(client, "verify", summary=f"The key is {KEY}. Done."),
            await called(client, "compact"),
            await called(client, "pin"),
        ]
        texts = [
            await page(client, "autocompact://current/context"),
            await page(client, "autocompact://current/ledger"),
            await prompt(client, "handoff", focus=KEY),
            await prompt(client, "what_was_lost"),
        ]
    assert "PRESSURE_LIMIT" in json.dumps(answers)
    assert KEY[:30] not in json.dumps([*answers, *texts])


@pytest.mark.requirement("F8")
async def test_no_tool_shows_a_secret_that_is_split_or_that_another_message_gives_away(
    tmp_path: Path,
) -> None:
    halves = ("ghp_" + KEY[20:38], KEY[40:58])
    session = Claude()
    session.user([text(f"Here is the token: {halves[0]}"), text(f"{halves[1]} and clone it")])
    session.reply(text("I use it."), id="r1")
    session.user("I tried Kranich-Abend88 for the valve.")
    session.reply(text("Kranich-Abend88 was refused."), id="r2")
    session.user("The database password is Kranich-Abend88")
    session.reply(text("Understood."), id="r3")
    keep(session, tmp_path, name="pump-1")
    (tmp_path / "work").mkdir()
    async with connected(tmp_path) as client:
        answers: list[object] = [
            await called(client, "timeline", conversation="pump-1"),
            await called(client, "memory_search", query="valve refused token", conversation="pump-1"),
            await called(client, "memory_expand", ref="m1-m6", conversation="pump-1"),
            await called(client, "ledger", conversation="pump-1"),
            await called(client, "compact", conversation="pump-1"),
            await page(client, "autocompact://pump-1/context"),
            await page(client, "autocompact://pump-1/ledger"),
        ]
    for answer in answers:
        assert not [secret for secret in (*halves, "Kranich-Abend88") if secret in str(answer)]


async def test_a_call_that_is_cut_off_while_new_messages_are_indexed_does_not_spoil_the_next(
    home: Path,
) -> None:
    session = pump(home / "work")
    path = keep(session, home, name="pump-1")
    transcripts = Transcripts(project=home / "work", home=home, environment={})
    conversations = Conversations(transcripts, database=home / "own.db", files=True)
    store, known = (await conversations.open("pump-1")).store, len(session.lines)
    for number in range(300):
        session.user(f"Note {number}: the pressure is {number} kilopascal. " + "All is well. " * 50)
    path.write_bytes(session.bytes())
    cut_off = asyncio.create_task(conversations.open("pump-1"))
    key = Key(conversation="pump-1")
    while len(await store.read(key)) <= known:  # noqa: ASYNC110 - a store tells nobody that it grew
        await asyncio.sleep(0)
    cut_off.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cut_off

    again = await conversations.open("pump-1")
    found = await (await again.recall()).search("pressure 299", scope="conversation")
    assert any("299 kilopascal" in each.excerpt for each in found)
