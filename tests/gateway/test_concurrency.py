"""Several requests at once, retries, edits, and clients that go away."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from autocompact.gateway import Limits
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import Answer, FakeProvider, Received, Recorded
from tests.gateway.serving import gateway_before
from tests.gateway.speakers import SPEAKERS, Json, Speaker, Wire, encoded
from tests.gateway.test_long_conversations import conversations
from tests.gateway.test_overflow import long_history

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7")]

WINDOW = 8_000

by_api = pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)


@by_api
async def test_the_same_request_again_is_forwarded_in_the_same_bytes_and_kept_once(speaker: Speaker) -> None:
    body = encoded(speaker.request(long_history(speaker)))
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)
        provider.fail("server_error")
        told = [await client.post(body) for _ in range(3)]
        kept = await conversations(session, url)
    assert [status for status, _, _ in told] == [500, 200, 200]
    assert len({asked.raw for asked in provider.requests}) == 1
    assert len({headers["x-autocompact-conversation"] for _, headers, _ in told}) == 1
    assert [one["messages"] for one in kept] == [len(long_history(speaker))]


async def test_a_new_conversation_does_not_wait_for_what_the_file_is_given_of_another_one(
    tmp_path: Path,
) -> None:
    """Ten megabytes of somebody else's first message take seconds to be indexed, in the one thread that writes."""
    written = threading.Event()
    speaker = SPEAKERS[0]

    def hold(step: str) -> None:
        assert step != "append:begun" or written.wait(60), "nobody waits for this one"

    store = SqliteStore(tmp_path / "gw.db", failpoint=hold)
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, keep_from=0.0, store=store) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)
        for said in ("Read this.", "Hello.", "Good morning."):
            status, headers, _ = await client.post(encoded(speaker.request([speaker.user(said)])))
            assert (status, "x-autocompact-conversation" in headers) == (200, True)
        assert not written.is_set()
        written.set()
        kept = await conversations(session, url)
    assert [one["messages"] for one in kept] == [1, 1, 1]


@by_api
async def test_an_edit_goes_on_from_where_it_was_made_and_the_old_log_stays(speaker: Speaker) -> None:
    history = long_history(speaker)
    edited = [*history[:-1], speaker.user("Something else instead.")]
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)
        for said in (history, edited):
            status, _, _ = await client.post(encoded(speaker.request(said)))
            assert status == 200
        kept = await conversations(session, url)
    before, after = provider.requests
    assert after.messages[-1] == edited[-1]
    assert json.dumps(history[-1]) not in json.dumps(after.messages)
    assert json.dumps(edited[-1]) not in json.dumps(before.messages)
    assert [one["messages"] for one in kept] == [len(history)] * 2


@by_api
async def test_two_clients_in_step_on_one_conversation_both_get_their_answers(speaker: Speaker) -> None:
    """Two windows of one agent, say: they agree, then each goes its own way."""
    shared = long_history(speaker)
    async with (
        FakeProvider(lambda asked: f"Re: {speaker.words(asked.messages[-1])}", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)

        async def talk(name: str) -> list[str]:
            said, heard = list(shared), list[str]()
            for turn in range(6):
                said.append(speaker.user(f"{name if turn > 2 else 'both'} {turn}"))
                told = speaker.heard(await client.ask(speaker.request(said)))
                heard.append(told.text)
                said += told.items
            return heard

        told = await asyncio.gather(talk("left"), talk("right"))
        kept = await conversations(session, url)
    for name, heard in zip(("left", "right"), told, strict=True):
        agreed = [f"Re: both {turn}" for turn in range(3)]
        assert heard == agreed + [f"Re: {name} {turn}" for turn in range(3, 6)]
    assert max(asked.tokens for asked in provider.requests) <= WINDOW - 500
    assert len(provider.requests) == 12
    assert len(kept) <= 3
    assert max(one["messages"] for one in kept) == len(shared) + 11


@by_api
async def test_many_requests_of_one_conversation_at_once_agree_on_what_it_is(speaker: Speaker) -> None:
    history = long_history(speaker)
    bodies = [
        encoded(speaker.request(history[:length])) for length in range(len(history) - 20, len(history), 2)
    ]
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=MemoryStore()) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)
        told = await asyncio.gather(*(client.post(body) for body in [*bodies, *reversed(bodies)]))
        kept = await conversations(session, url)
    assert {status for status, _, _ in told} == {200}
    assert len(provider.requests) == len(told)
    assert max(one["messages"] for one in kept) == len(history) - 2


@by_api
async def test_a_client_that_goes_away_in_mid_stream_can_ask_again(speaker: Speaker) -> None:
    body = encoded(speaker.request(long_history(speaker)) | {"stream": True})
    async with (
        FakeProvider("Some words of an answer.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
        aiohttp.ClientSession() as session,
    ):
        provider.fail("stalled")
        headers = {"Authorization": "Bearer k", "anthropic-version": "2023-06-01"}
        async with session.post(url + speaker.path, data=body, headers=headers) as begun:
            assert await begun.content.readany()
        await asyncio.wait_for(provider.wait_for_abandoned(), 30)
        status, told, answer = await Wire(session, url, path=speaker.path).post(body)
        kept = await conversations(session, url)
    assert (status, told["x-autocompact-action"]) == (200, "compacted")
    assert b"answer" in answer
    assert provider.requests[0].raw == provider.requests[1].raw
    assert len(kept) == 1


@by_api
async def test_more_requests_than_the_limit_are_told_to_wait_in_the_words_of_the_api(
    speaker: Speaker,
) -> None:
    body = encoded(speaker.request([*speaker.begun(), speaker.user("Hi")]))
    go = asyncio.Event()

    async def reply(asked: Received) -> Answer:
        del asked
        await go.wait()
        return Answer(text="Fine.")

    async with (
        FakeProvider(reply) as provider,
        gateway_before(provider, limits=Limits(concurrent=2)) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)
        running = [asyncio.ensure_future(client.post(body)) for _ in range(2)]
        await provider.wait_for_requests(2)
        status, headers, told = await client.post(body)
        go.set()
        answered = [(await each)[0] for each in running]
        again, _, _ = await client.post(body)
    assert (status, headers["Retry-After"], answered, again) == (503, "1", [200, 200], 200)
    error: Json = json.loads(told)
    if speaker.dialect == "anthropic":
        assert (error["type"], error["error"]["type"]) == ("error", "overloaded_error")
    else:
        assert error["error"]["type"] == "server_error"
    assert "try again" in error["error"]["message"]


@by_api
@pytest.mark.parametrize(
    "comment", [b": ping\n\n", b":\r\n\r\n", b": keep-alive\n\nevent: ping\ndata: {}\n\n"]
)
async def test_comments_and_pings_of_a_stream_are_passed_on(speaker: Speaker, comment: bytes) -> None:
    body = encoded(speaker.request(long_history(speaker)) | {"stream": True})
    async with FakeProvider("Fine.") as bare, aiohttp.ClientSession() as session:
        _, _, words = await Wire(session, bare.url, path=speaker.path).post(body)
    told = comment + words.replace(b"\n\n", b"\n\n" + comment)
    always: Any = Recorded(body=told, content_type="text/event-stream")
    async with (
        FakeProvider([always]) as provider,
        gateway_before(provider, window=WINDOW) as url,
        aiohttp.ClientSession() as session,
    ):
        _, headers, through = await Wire(session, url, path=speaker.path).post(body)
    assert through == told
    assert headers["x-autocompact-action"] == "compacted"
