"""A request that is sure to go upstream as it came goes before the rest is done, and everything else is as ever."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiohttp
import pytest

from autocompact.compactor.compactor import ConversationStore
from autocompact.core.budget import Continue
from autocompact.core.messages import Usage
from autocompact.gateway import Config
from autocompact.gateway.conversations import Conversations, Incoming, Kept
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.turns import Turn, Turns
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeProvider
from autocompact.wire import parse_request
from tests.gateway.serving import NAMESPACE_KEY, gateway_before
from tests.gateway.speakers import SPEAKERS, Json, Speaker, Wire, encoded
from tests.gateway.test_long_conversations import conversations

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7")]

WINDOW = 8_000

by_api = pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)


class Prepared:
    """Requests as the gateway prepares them, without HTTP.

    Args:
        speaker: the API.
        store: where conversations are kept.
        settings: of the gateway.

    Attributes:
        sure: of so many requests it was sure that nothing is due.
    """

    def __init__(self, speaker: Speaker, *, store: ConversationStore | None = None, **settings: Any) -> None:
        chosen: Json = {"window": WINDOW, "keep_from": 0.0} | settings
        config = Config(upstreams={}, namespace_key=NAMESPACE_KEY, **chosen)
        self.turns = Turns(config, store=store or MemoryStore(), summaries=None, metrics=Metrics())
        self.sure = 0
        self._speaker = speaker

    async def ask(self, body: Json) -> tuple[bool, Turn]:
        """Whether it was sure beforehand that the request goes as it came, and what goes."""
        raw = encoded(body)
        earlier = self.turns.conversations.earlier("n")
        request = parse_request(raw, dialect=self._speaker.dialect, earlier=earlier)
        recognised = await self.turns.recognised(request, namespace="n")
        assert recognised is not None, "every conversation is kept"
        turn = await self.turns.prepare(recognised)
        assert turn.kept is not None
        assert not recognised.goes_first or turn.body is request.raw
        assert not recognised.nothing_due or isinstance(turn.kept.conversation.decide(), Continue)
        self.sure += recognised.nothing_due
        turn.written()
        return recognised.goes_first, turn


def talk(speaker: Speaker, turns: int, *, words: str = "It printed line after line. " * 20) -> list[Json]:
    said = [*speaker.begun(), speaker.user("Start. " * 1_200)]
    for turn in range(turns):
        said += [{"role": "assistant", "content": f"Done {turn}."}, speaker.user(f"{turn} {words}")]
    return said


@by_api
async def test_what_is_foreseen_comes_true_all_through_a_conversation(speaker: Speaker) -> None:
    prepared = Prepared(speaker)
    told: list[tuple[bool, bool, str]] = []
    for turns in range(80):
        foreseen, turn = await prepared.ask(speaker.request(talk(speaker, turns)))
        assert turn.kept is not None
        told.append((foreseen, turn.kept.conversation.active is not None, turn.action))
    await prepared.turns.aclose()
    compacted = [active for _, active, _ in told].index(True)
    assert told[0] == (False, False, "forwarded"), "a new conversation is not known yet"
    assert all(each == (True, False, "forwarded") for each in told[1 : compacted // 2])
    assert all(each[0] is False for each in told[compacted:])
    assert told[compacted][2] == "compacted"


@by_api
@pytest.mark.parametrize("factor", [0.7, 1.0, 1.6])
async def test_under_compactions_and_whatever_is_reported_nothing_is_missed(
    speaker: Speaker, factor: float
) -> None:
    prepared = Prepared(speaker, window=4 * WINDOW)
    compactions: set[str] = set()
    for turns in range(150):
        said = talk(speaker, turns, words="It printed line after line. " * 60)
        _, turn = await prepared.ask(speaker.request(said))
        assert turn.kept is not None
        assert turn.load is not None
        if turns % 3:
            turn.report(Usage(prompt=int(turn.load.tokens * factor), completion=4))
        compactions.add(turn.kept.conversation.active_id)
    await prepared.turns.aclose()
    assert len(compactions) > 1
    assert 50 < prepared.sure < 145


@by_api
async def test_what_is_known_does_not_outlive_what_changes_it(speaker: Speaker) -> None:
    prepared = Prepared(speaker, window=100 * WINDOW)
    said = talk(speaker, 20)
    _, turn = await prepared.ask(speaker.request(said))
    assert turn.kept is not None
    conversation, foresight = turn.kept.conversation, turn.kept.foresight
    assert foresight.of(conversation, [b"x"]).nothing_due
    turn.report(Usage(prompt=79 * WINDOW))
    turn.report(Usage(prompt=80 * WINDOW))  # believed the second time: nobody counted what is sent there
    assert not foresight.of(conversation, [b"x"]).nothing_due
    await conversation.compact()
    assert foresight.of(conversation, [b"x"]).nothing_due
    await conversation.records.undo()
    await conversation.say("word " * 70 * WINDOW)
    assert not foresight.of(conversation, [b"x"]).nothing_due
    await prepared.turns.aclose()


class Forgetful(Conversations):
    def remember(self, kept: Kept, incoming: Incoming) -> None:
        raise ZeroDivisionError


@by_api
async def test_what_cannot_be_remembered_costs_no_request_its_way(speaker: Speaker) -> None:
    prepared = Prepared(speaker)
    prepared.turns.conversations = Forgetful(prepared.turns.conversations.store, size=8)
    told = [await prepared.ask(speaker.request(talk(speaker, turns))) for turns in range(3)]
    await prepared.turns.aclose()
    assert [turn.action for _, turn in told] == ["forwarded"] * 3
    assert len({turn.kept.conversation.key for _, turn in told if turn.kept is not None}) == 1


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
async def test_what_was_foreseen_is_void_once_the_compaction_is_undone_in_that_very_moment(
    speaker: Speaker,
) -> None:
    store = HeldStore()
    prepared = Prepared(speaker, store=store)
    said = talk(speaker, 100)
    _, turn = await prepared.ask(speaker.request(said))
    assert turn.kept is not None
    assert turn.kept.conversation.active is not None
    store.go.clear()
    store.committing.clear()
    undoing = asyncio.ensure_future(turn.kept.conversation.records.undo())
    await store.committing.wait()
    asking = asyncio.ensure_future(prepared.ask(speaker.request([*said, speaker.user("Go on.")])))
    await asyncio.sleep(0)  # it knows what is due, and waits for the undo
    store.go.set()
    await undoing
    _, turn = await asking
    assert prepared.sure == 1, "it was foreseen"
    assert turn.action == "compacted"
    assert turn.used < WINDOW
    await prepared.turns.aclose()


@by_api
async def test_nothing_is_foreseen_where_it_might_come_otherwise(speaker: Speaker) -> None:
    large = speaker.user("word " * WINDOW)
    tools: list[Json] = [{"type": "function", "name": "f", "function": {"name": "f"}}]
    picture = speaker.user("x") | {"content": [{"type": "image", "source": {"type": "url", "url": "x"}}]}
    said = talk(speaker, 1)
    for later, is_sure in (
        (speaker.request([*said, speaker.user("Go on.")]), True),
        (speaker.request([*said, large]), False),
        (speaker.request([*said, picture]), False),
        (speaker.request(said) | {"tools": tools}, False),
        (speaker.request([*said[:-1], speaker.user("Something else.")]), False),
        (speaker.request(said) | {"model": "another"}, False),
    ):
        prepared = Prepared(speaker)
        await prepared.ask(speaker.request(said))
        recognised = await prepared.turns.recognised(
            parse_request(encoded(later), dialect=speaker.dialect), namespace="n"
        )
        assert recognised is not None
        assert (recognised.nothing_due, recognised.goes_first) == (is_sure, is_sure)
        await prepared.turns.aclose()


@by_api
async def test_who_fails_closed_sends_nothing_before_it_is_stored(speaker: Speaker) -> None:
    prepared = Prepared(speaker, fail_closed=True)
    told = [await prepared.ask(speaker.request(talk(speaker, turns))) for turns in range(3)]
    await prepared.turns.aclose()
    assert [foreseen for foreseen, _ in told] == [False] * 3


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
async def test_a_client_that_goes_away_ends_what_went_first(speaker: Speaker) -> None:
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
async def test_what_went_first_and_was_too_large_is_compacted_and_sent_again(speaker: Speaker) -> None:
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=100 * WINDOW, keep_from=0.0) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)
        actions: list[str] = []
        for turns in (1, 20, 100):
            status, headers, _ = await client.post(encoded(speaker.request(talk(speaker, turns))))
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
        _, later, _ = await client.post(encoded(speaker.request(said)))
    assert (status, headers["x-autocompact-action"]) == (200, "forwarded")
    assert bodies[1] == encoded(speaker.request(more))
    assert (len(bodies), later["x-autocompact-action"]) == (3, "compacted")
