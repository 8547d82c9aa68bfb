"""A server that numbers tool calls from zero in every turn, in the chat: `/pin` keeps one message and its step."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from autocompact.chat import ChatConfig, run_command
from autocompact.chat.config import CommandRules
from autocompact.chat.events import ChatEvent, ToolFinished
from autocompact.testing import Answer, FakeProvider
from autocompact.testing.provider import Received
from tests.chat.chatting import CHAT, Heard, asked, call, calling, chatting

pytestmark = pytest.mark.anyio


def reads(received: Received) -> Answer | str:
    last = received.messages[-1]
    if last["role"] == "user" and str(last["content"]).startswith("Look at"):
        return calling(call("read_file", "call_0", path=str(last["content"]).split()[-1]))
    return "Seen."


@pytest.mark.requirement("A7")
async def test_a_pin_brings_back_one_result_and_not_the_whole_log(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    for number in range(6):
        lines = "\n".join(f"file {number}, line {n}: the total of item {n} is rounded" for n in range(60))
        (folder / f"f{number}.txt").write_text(lines)
    config = ChatConfig(model=CHAT, workspace=folder, window=32_000)
    async with FakeProvider(reads) as provider, chatting(tmp_path, provider, config=config) as service:
        session = await service.create()
        for number in range(6):
            await asked(session, f"Look at f{number}.txt")
        log = await session.conversation.history()
        result = next(m.seq for m in log if m.results and "file 1, line 59" in m.results[0].text)
        assert {call.id for message in log for call in message.calls} == {"call_0"}
        assert (await session.conversation.compact()).success
        before = session.conversation.context()
        assert result not in {message.seq for message in before.messages}

        await run_command(f"/pin m{result}", session=session, service=service)
        after = session.conversation.context()
        shown = {message.seq: message for message in after.messages}
        assert "file 1, line 59" in shown[result].results[0].text
        assert shown.keys() - {message.seq for message in before.messages} == {result - 1, result}
        step = session.conversation.internals.replica.transcript.cost
        assert after.cost.tokens - before.cost.tokens <= step(result).tokens + step(result - 1).tokens + 50
        assert (await asked(session, "Look at f2.txt"))[-1].text == "Seen."
        sent = [str(message.get("content")) for message in provider.requests[-1].messages]
        assert sum("file 1, line 59" in text for text in sent) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="a named pipe is what one command waits for")
async def test_parallel_calls_of_one_id_keep_their_own_results_and_times(tmp_path: Path) -> None:
    """The second one ends first: its result and its time were shown with the first one as well."""
    folder = tmp_path / "work"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    lines = ("cat pipe", "cp quick pipe")
    calls = tuple(call("run_command", "call_0", command=line) for line in lines)
    commands = CommandRules(enabled=True, allow=lines)
    (folder / "quick").write_text("From the other one.")
    config = ChatConfig(model=CHAT, workspace=folder, commands=commands)
    replies = [calling(*calls), "Done."]
    async with FakeProvider(replies) as provider, chatting(tmp_path, provider, config=config) as service:
        session = await service.create()
        heard, ended_by_then = Heard(session), list[list[bool]]()

        def note(event: ChatEvent) -> None:
            turn = session.view().turn if isinstance(event, ToolFinished) else None
            if turn is not None:
                ended_by_then.append([each.seconds is not None for each in turn.calls])

        session.listen(note)
        log = await asked(session, "Run both.")
    results = [message.results[0].text for message in log if message.results]
    assert ["From the other one." in text for text in results] == [True, False]
    ended = heard.of(ToolFinished)
    assert [(event.call_id, event.index) for event in ended] == [("call_0", 0), ("call_0", 1)]
    assert [event.text for event in ended] == results
    assert ended_by_then == [[True, False], [True, True]]
