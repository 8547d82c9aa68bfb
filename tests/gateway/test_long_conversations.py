"""An agent's conversation that is many times as long as the window: every reply right, nothing ever refused."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from autocompact.core.messages import ToolCall
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import Answer, FakeProvider, Received
from tests.gateway.serving import gateway_before
from tests.gateway.speakers import SPEAKERS, Json, Official, Said, Speaker, Wire, official
from tests.lengths import turns

pytestmark = pytest.mark.anyio

WINDOW = 16_000
TURNS = turns(160, long=400)
EVERY = 4
"""Turns of which one uses the tools. The clients' own work grows with the square of the messages."""

OUTPUT = 500
ASKED = re.compile(r"(Please build|What of) module (\d+)")
MADE = re.compile(r"\[made (\d+)-(\d)\]")


def log_of(turn: int, n: int) -> str:
    """What a tool prints: 1 KB of no interest, and one mark that only this result has."""
    return (
        f"The build of module {turn} printed line after line. " * 10
        + f"[made {turn}-{n}] "
        + "It went on. " * 40
    )


def asking(turn: int, *, every: int) -> str:
    """What the user says: every so many turns something that needs the tools."""
    return f"What of module {turn}?" if turn % every else f"Please build module {turn}"


def answer(turn: int, *, every: int) -> str:
    """What the model has to say to that in the end."""
    return f"Nothing of module {turn} yet." if turn % every else f"Module {turn}: {turn}-1, {turn}-2"


def results(item: Mapping[str, Any]) -> list[str]:
    """The tool results that an item of a history holds, in any of the APIs."""
    if item.get("role") == "tool":
        return [item["content"]]
    if item.get("type") == "function_call_output":
        return [item["output"]]
    blocks: Any = item.get("content")
    if item.get("role") != "user" or isinstance(blocks, str):
        return []
    return [str(block["content"]) for block in blocks if block["type"] == "tool_result"]


def builder(asked: Received) -> Answer:
    """Two calls for a request to build; with their results, which of them it got for which request."""
    given: list[str] = []
    for item in reversed(asked.messages):
        found = results(item)
        if not found:
            break
        given = found + given
    wanted, request = ASKED.findall(json.dumps(asked.messages))[-1]
    if wanted == "What of":
        return Answer(text=f"Nothing of module {request} yet.")
    if given:
        marks = [f"{turn}-{n}" for text in given for turn, n in MADE.findall(text)]
        return Answer(text=f"Module {request}: {', '.join(marks)}")
    calls = (
        ToolCall(id=f"call_{request}_{n}", name="read", arguments=json.dumps({"n": n}, separators=(",", ":")))
        for n in (1, 2)
    )
    return Answer(calls=tuple(calls))


@pytest.mark.requirement("E7")
@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)
async def test_hundreds_of_turns_with_tools_never_overflow_and_every_reply_is_right(
    speaker: Speaker, tmp_path: Path
) -> None:
    history = speaker.begun()
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(FakeProvider(builder, window=WINDOW))
        store = SqliteStore(tmp_path / "gw.db")
        url = await stack.enter_async_context(gateway_before(provider, window=WINDOW, store=store))
        client, opened = official(speaker, url)
        await stack.enter_async_context(opened)
        for turn in range(TURNS):
            history.append(speaker.user(asking(turn, every=EVERY)))
            said = await told(client, speaker, history, turn=turn)
            if not turn % EVERY:
                assert said.calls == [f"call_{turn}_1", f"call_{turn}_2"]
                history += said.items
                history += speaker.results(said.calls, [log_of(turn, n) for n in (1, 2)])
                said = await told(client, speaker, history, turn=turn)
            assert said.text == answer(turn, every=EVERY)
            history += said.items
        session = await stack.enter_async_context(aiohttp.ClientSession())
        (kept,) = await conversations(session, url)
        back = TURNS // EVERY * 3 // 4 * EVERY
        (turned_back,) = (place for place, item in enumerate(history) if f"[made {back}-2]" in str(item))
        said = await told(client, speaker, history[: turned_back + 1], turn=back)
        assert said.text == answer(back, every=EVERY)
    sizes = [asked.tokens for asked in provider.requests]
    assert len(sizes) == TURNS + TURNS // EVERY + 1  # nothing was refused and sent again
    assert max(sizes) <= WINDOW - OUTPUT
    assert sum(after < before for before, after in pairwise(sizes)) >= 4
    assert kept["messages"] == len(history) - 1


async def told(client: Official, speaker: Speaker, history: Sequence[Json], *, turn: int) -> Said:
    """The reply to the history: some are streamed, some asked for by the client's typed methods."""
    body = speaker.request(history, output=OUTPUT)
    if turn % 50 < 2:
        return speaker.heard(await client.ask(body, stream=turn % 100 < 2))
    return speaker.heard(await client.post(body))


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)
async def test_results_larger_than_the_window_reach_the_model_cut_as_the_answers_to_its_calls(
    speaker: Speaker,
) -> None:
    large = log_of(0, 1) + "Nothing more happened. " * 4_000 + log_of(0, 2)
    async with (
        FakeProvider(builder, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)
        history = [*speaker.begun(), speaker.user("Please build module 0")]
        called = speaker.heard(await client.ask(speaker.request(history)))
        history += [*called.items, *speaker.results(called.calls, [large, large])]
        done = speaker.heard(await client.ask(speaker.request(history)))
    assert done.text == "Module 0: 0-1, 0-2, 0-1, 0-2"  # the beginning and the end of both
    assert len(provider.requests) == 2


async def conversations(session: aiohttp.ClientSession, url: str, key: str = "k") -> Sequence[Any]:
    headers = {"Authorization": f"Bearer {key}"}
    async with session.get(f"{url}/autocompact/conversations", headers=headers) as told:
        return (await told.json())["conversations"]
