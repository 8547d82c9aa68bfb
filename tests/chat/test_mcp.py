from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from autocompact.chat import ChatConfig, run_command
from autocompact.runtime.extras import install_command
from autocompact.testing import FakeProvider
from tests.chat.chatting import CHAT, asked, call, calling, chatting
from tests.chat.mcp_server import FORECAST
from tests.chat.test_approval import answering

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).with_name("mcp_server.py")


def configured(folder: Path, **servers: object) -> Path:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


async def test_the_agent_uses_the_tools_of_a_server_that_the_file_names(tmp_path: Path) -> None:
    tides = {"command": sys.executable, "args": [str(SERVER)], "env": {"HIGH_WATER": "07:30"}}
    config = ChatConfig(model=CHAT, mcp_file=configured(tmp_path, tides=tides), approval="allow")
    replies = [
        calling(call("tides_high_water", harbour="Bergen"), call("tides_breaks", "call_2")),
        "High water is at half past seven.",
    ]
    async with FakeProvider(replies) as provider, chatting(tmp_path, provider, config=config) as service:
        log = await asked(await service.create(), "When is the water high?")

    results = {result.call_id: result for message in log for result in message.results}
    assert results["call_1"].text == "High water in Bergen at 07:30."
    assert results["call_2"].is_error
    assert "the gauge is frozen" in results["call_2"].text
    assert log[-1].text == "High water is at half past seven."


async def test_a_server_that_cannot_be_started_is_left_out_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = ChatConfig(model="offline", mcp_file=configured(tmp_path, gone={"command": "/no/such/program"}))
    async with chatting(tmp_path, config=config) as service:
        session = await service.create()
        log = await asked(session, "hello")
        shown = await run_command("/context", session=session, service=service)

        assert list(service.server_problems) == ["gone"]
    assert "The MCP server 'gone' was left out: " in shown.text
    (said,) = [each for each in caplog.records if each.message == "an MCP server was left out"]
    assert not said.exc_info, "a traceback says nothing to who misspelled a command"
    assert log[-1].role == "assistant"


WITHOUT_CLIENT = """
import asyncio, pathlib, sys
sys.modules["pydantic_ai.mcp"] = None
from autocompact.chat.tools.mcp import McpServers
try:
    asyncio.run(McpServers(pathlib.Path("mcp.json")).tools())
except ImportError as error:
    print(error)
"""


def test_without_the_client_the_error_names_what_installs_it() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_CLIENT], capture_output=True, text=True, check=True)
    assert done.stdout == f"MCP servers need further packages: {install_command('chat-mcp')}\n"


async def test_a_file_that_is_no_list_of_servers_is_named_nothing_is_lost_and_it_is_read_again(
    tmp_path: Path,
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"tides": {}}}')
    async with chatting(tmp_path, config=ChatConfig(model="offline", mcp_file=file)) as service:
        session = await service.create()
        await session.send("hello")
        ended = await session.wait()

        assert ended is not None
        assert ended.outcome == "failed"
        assert str(file) in ended.message
        assert [message.text for message in await session.conversation.history()] == ["hello"]

        file.write_text('{"mcpServers": {}}')
        await session.retry()
        again = await session.wait()
        assert again is not None
        assert again.outcome == "finished", again.message


async def test_a_server_over_http_is_used_with_its_headers(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(SERVER), "--http"),
        env={"HIGH_WATER": "08:15", "MCP_TOKEN": "sesame"},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        url = (await process.stdout.readline()).decode().strip()
        tides = {"url": url, "headers": {"Authorization": "Bearer sesame"}}
        stranger = {"url": url, "headers": {"Authorization": "Bearer guess"}}
        file = configured(tmp_path, **{"the tides": tides, "stranger": stranger})
        replies = [calling(call("the_tides_high_water", harbour="Oslo")), "At a quarter past eight."]
        async with (
            FakeProvider(replies) as provider,
            chatting(
                tmp_path, provider, config=ChatConfig(model=CHAT, mcp_file=file, approval="allow")
            ) as service,
        ):
            log = await asked(await service.create(), "When is the water high?")
            problems = dict(service.server_problems)
    finally:
        process.kill()
        await process.wait()

    (result,) = log[2].results
    assert result.text == "High water in Oslo at 08:15."
    assert list(problems) == ["stranger"]


async def test_a_tool_of_a_server_is_used_after_a_yes_of_the_person(tmp_path: Path) -> None:
    tides = {"command": sys.executable, "args": [str(SERVER)]}
    config = ChatConfig(model=CHAT, mcp_file=configured(tmp_path, tides=tides))
    high = calling(call("tides_high_water", harbour="Bergen"))
    replies = [high, "I see.", high, "At six."]
    async with FakeProvider(replies) as provider, chatting(tmp_path, provider, config=config) as service:
        session = await service.create()
        for allow in (False, True):
            questions = answering(session, allow=allow, remember=allow)
            await session.send("When is the water high?")
            await session.wait()
            assert [(each.tool, "Bergen" in each.text) for each in questions] == [("tides_high_water", True)]
            if not allow:
                session = await service.create()
        (said,) = (result for message in await session.conversation.history() for result in message.results)
    assert said.text.startswith("High water in Bergen")


async def test_tools_whose_names_are_the_same_once_cut_can_both_be_called(tmp_path: Path) -> None:
    tides = {"command": sys.executable, "args": [str(SERVER)]}
    config = ChatConfig(model=CHAT, mcp_file=configured(tmp_path, tides=tides), approval="allow")
    week = f"tides_{FORECAST}"[:64]
    month = f"{week[:62]}_2"
    replies = [calling(call(week), call(month, "call_2")), "Calm."]
    async with FakeProvider(replies) as provider, chatting(tmp_path, provider, config=config) as service:
        log = await asked(await service.create(), "What comes?")

    results = {result.call_id: result.text for message in log for result in message.results}
    assert results == {"call_1": "The week is calm.", "call_2": "The month is calm."}
    assert len(month) == 64


async def test_a_tool_of_a_server_that_is_called_as_one_of_ours_gets_a_name_of_its_own(
    tmp_path: Path,
) -> None:
    memory = {"command": sys.executable, "args": [str(SERVER)]}
    config = ChatConfig(model="offline", mcp_file=configured(tmp_path, memory=memory))
    async with chatting(tmp_path, config=config) as service:
        session = await service.create()
        ours = [tool.name for tool in session.toolbox.tools]
        await session.prepare_request()

        names = [tool.name for tool in session.toolbox.tools]
    assert names[: len(ours)] == ours
    assert "memory_search" in ours
    assert "memory_search_2" in names


async def test_requests_that_are_prepared_at_the_same_time_have_each_tool_of_a_server_once(
    tmp_path: Path,
) -> None:
    tides = {"command": sys.executable, "args": [str(SERVER)]}
    config = ChatConfig(model="offline", mcp_file=configured(tmp_path, tides=tides))
    async with chatting(tmp_path, config=config) as service:
        session = await service.create()
        await asyncio.gather(session.prepare_request(), session.prepare_request())

        names = [tool.name for tool in session.toolbox.tools]
    assert "tides_high_water" in names
    assert "tides_high_water_2" not in names
