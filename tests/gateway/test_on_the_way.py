"""A request on its way: what may happen to it, to its client, to its upstream, and to its conversation meanwhile."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiohttp
import pytest

from autocompact.core.budget import Compact, Refuse
from autocompact.core.messages import Usage
from autocompact.gateway import Config
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.turns import Turn, Turns
from autocompact.ports import ConversationStore
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeProvider
from autocompact.wire import parse_request
from tests.gateway.serving import NAMESPACE_KEY, gateway_before
from tests.gateway.speakers import SPEAKERS, Json, Speaker, Wire, encoded
from tests.gateway.test_long_conversations import conversations
from tests.lengths import some, turns

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7")]

WINDOW = 8_000

by_api = pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)


class Prepared:
    """Requests as the gateway prepares them, without HTTP.

    Args:
        speaker: the API.
        store: where conversations are kept.
        settings: of the gateway.
    """

    def __init__(self, speaker: Speaker, *, store: ConversationStore | None = None, **settings: Any) -> None:
        chosen: Json = {"window": WINDOW, "keep_from": 0.0} | settings
        config = Config(upstreams={}, namespace_key=NAMESPACE_KEY, **chosen)
        self.turns = Turns(config, store=store or MemoryStore(), summaries=None, metrics=Metrics())
        self._speaker = speaker

    async def ask(self, body: Json) -> Turn:
        """What goes upstream."""
        request = parse_request(encoded(body), dialect=self._speaker.dialect)
        recognised = await self.turns.recognise(request, namespace="n")
        assert recognised is not None, "every conversation is kept"
        return await self.turns.prepare(recognised)


def talk(speaker: Speaker, turns: int, *, words: str = "It printed line after line. " * 20) -> list[Json]:
    said = [*speaker.begun(), speaker.user("Start. " * 1_200)]
    for turn in range(turns):
        said += [{"role": "assistant", "content": f"Done {turn}."}, speaker.user(f"{turn} {words}")]
    return said


@by_api
@pytest.mark.parametrize("factor", some([0.7, 1.6, 1.0], gate=2))
async def test_whatever_is_reported_no_request_goes_upstream_that_is_due_to_be_compacted(
    speaker: Speaker, factor: float
) -> None:
    prepared = Prepared(speaker, window=4 * WINDOW)
    compactions: set[str] = set()
    for number in range(turns(30, long=150)):
        said = talk(speaker, number, words="It printed line after line. " * 180)
        turn = await prepared.ask(speaker.request(said))
        assert turn.kept is not None
        assert turn.load is not None
        assert not isinstance(turn.kept.conversation.internals.decisions.decide(), Compact | Refuse)
        usage = Usage(prompt=int(turn.load.tokens * factor), completion=4)
        prepared.turns.learn(turn, usage if number % 3 else None)
        compactions.add(turn.kept.conversation.internals.replica.active_id)
    await prepared.turns.aclose()
    assert len(compactions) > 1


class HeldStore(MemoryStore):
    """Commits only when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.go.set()
        self.committing = asyncio.Event()

    async def commit(self, *place: Any, **rest: Any) -> None:
        self.committing.set()
        await self.go.wait()
        await super().commit(*place, **rest)


@by_api
async def test_a_request_that_comes_while_its_compaction_is_undone_is_compacted_anew(
    speaker: Speaker,
) -> None:
    store = HeldStore()
    prepared = Prepared(speaker, store=store)
    said = talk(speaker, 100)
    turn = await prepared.ask(speaker.request(said))
    assert turn.kept is not None
    assert turn.kept.conversation.records.active is not None
    store.go.clear()
    store.committing.clear()
    undoing = asyncio.ensure_future(turn.kept.conversation.records.undo())
    await store.committing.wait()
    asking = asyncio.ensure_future(prepared.ask(speaker.request([*said, speaker.user("Go on.")])))
    await asyncio.sleep(0)  # it is on its way, and waits for the undo
    store.go.set()
    await undoing
    turn = await asking
    assert turn.action == "compacted"
    assert turn.used < WINDOW
    await prepared.turns.aclose()


@by_api
async def test_a_new_message_that_nobody_can_read_goes_upstream_once(speaker: Speaker) -> None:
    said = talk(speaker, 1)
    async with (
        FakeProvider("Fine.") as provider,
        gateway_before(provider, window=WINDOW, keep_from=0.0) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)
        assert (await client.post(encoded(speaker.request(said))))[0] == 200
        status, headers, told = await client.post(encoded(speaker.request([*said, {"role": 1}])))
    assert (status, headers["x-autocompact-action"], len(provider.requests)) == (400, "forwarded", 2), told


@by_api
async def test_a_client_that_goes_away_ends_its_request_upstream(speaker: Speaker) -> None:
    said = talk(speaker, 1)
    more = [*said, {"role": "assistant", "content": "Done."}, speaker.user("Go on.")]
    async with (
        FakeProvider("Some words of an answer.") as provider,
        gateway_before(provider, window=WINDOW, keep_from=0.0) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)
        await client.ask(speaker.request(said))
        provider.fail("silent")
        asking = asyncio.ensure_future(client.ask(speaker.request(more)))
        await provider.wait_for_requests(2)
        asking.cancel()
        await asyncio.wait_for(provider.wait_for_abandoned(), 30)
        status, headers, _ = await client.post(encoded(speaker.request(more)))
        (kept,) = await conversations(session, url)
    assert (status, headers["x-autocompact-action"], kept["messages"]) == (200, "forwarded", len(more))


@by_api
async def test_an_upstream_that_is_gone_is_told_of_once(speaker: Speaker) -> None:
    said = talk(speaker, 1)
    async with FakeProvider("Fine.") as provider:
        gateway = gateway_before(provider, window=WINDOW, keep_from=0.0)
        url = await gateway.__aenter__()
        async with aiohttp.ClientSession() as session:
            client = Wire(session, url, path=speaker.path)
            await client.ask(speaker.request(said))
    async with aiohttp.ClientSession() as session:
        client = Wire(session, url, path=speaker.path)
        status, headers, told = await client.post(encoded(speaker.request(said)))
    await gateway.__aexit__(None, None, None)
    assert (status, headers["x-autocompact-action"]) == (502, "refused")
    assert b"cannot be reached" in told


@by_api
async def test_what_was_too_large_is_compacted_and_sent_again(speaker: Speaker) -> None:
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=100 * WINDOW, keep_from=0.0) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)
        actions: list[str] = []
        for length in (1, 20, 100):
            status, headers, _ = await client.post(encoded(speaker.request(talk(speaker, length))))
            assert status == 200
            actions.append(headers["x-autocompact-action"])
    assert actions == ["forwarded", "forwarded", "retried"]
    assert len(provider.requests) == 4


FINE = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 6\r\n\r\n"fine"'


@asynccontextmanager
async def hesitant(begun: asyncio.Event, go: asyncio.Event) -> AsyncGenerator[tuple[str, list[bytes]]]:
    """An upstream that reads the second request only when it may, and the bodies that it got."""
    bodies: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                if bodies:
                    begun.set()
                    await go.wait()
                (size,) = re.findall(rb"content-length: *(\d+)", head.lower())
                bodies.append(await reader.readexactly(int(size)))
                writer.write(FINE)
        writer.close()

    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    async with await asyncio.start_server(handle, sock=listening):
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", bodies


async def test_a_compaction_in_the_very_moment_does_not_send_the_request_twice() -> None:
    """More than the system's buffers hold, so that it is still on its way when somebody asks for the compaction."""
    speaker = SPEAKERS[0]
    said = talk(speaker, 60)
    more = [*said, {"role": "assistant", "content": "Done."}, speaker.user("word " * 1_200_000)]
    begun, go = asyncio.Event(), asyncio.Event()
    async with (
        hesitant(begun, go) as (address, bodies),
        FakeProvider() as provider,
        gateway_before(provider, upstreams={"openai": address}, window=1 << 28, keep_from=0.0) as url,
        aiohttp.ClientSession(headers={"Authorization": "Bearer k"}) as session,
    ):
        client = Wire(session, url, path=speaker.path)
        _, headers, _ = await client.post(encoded(speaker.request(said)))
        asking = asyncio.ensure_future(client.post(encoded(speaker.request(more))))
        await begun.wait()
        name = headers["x-autocompact-conversation"]
        async with session.post(f"{url}/autocompact/conversations/{name}/compact", json={}) as told:
            assert told.status == 200, await told.text()
        go.set()
        status, headers, _ = await asking
        _, later, _ = await client.post(encoded(speaker.request(more)))
    assert (status, headers["x-autocompact-action"]) == (200, "forwarded")
    assert bodies[1] == encoded(speaker.request(more))
    assert (len(bodies), later["x-autocompact-action"]) == (3, "compacted")
