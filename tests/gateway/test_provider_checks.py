"""Where the provider compacts by itself: its summary is checked, and what it lacks stands beside it."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from autocompact.core.messages import Dialect
from autocompact.engine import Compactor
from autocompact.errors import InvalidInput, StoreUnavailable
from autocompact.gateway.provider_checks import ADDED_TOKENS
from autocompact.models.vocabulary import default_counter
from autocompact.stores.doctor import examine
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider, Received, Recorded
from autocompact.testing.provider_compaction import sealed_item
from tests.gateway.managed import CAUSE, DIALECTS, RULE, SECRET, Agent, Sends, added, agent, build, model
from tests.gateway.serving import gateway_before
from tests.gateway.speakers import SPEAKERS, Json, Wire, encoded
from tests.gateway.test_native_contexts import COMPACT, ITEM, SUMMARY
from tests.gateway.test_overflow import long_history

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E1", "E7")]

by_api = pytest.mark.parametrize("dialect", DIALECTS)
either_way = pytest.mark.parametrize("sends", ["whole", "block"])

SAYS = "Modules are being built."


def checking(provider: FakeProvider, **settings: Any) -> AbstractAsyncContextManager[str]:
    return gateway_before(provider, check_provider_compaction=True, **settings)


@by_api
@either_way
@pytest.mark.parametrize("stream", [False, True], ids=["in one piece", "streamed"])
async def test_what_the_providers_summary_lacks_stands_beside_it_in_every_later_request(
    dialect: Dialect, sends: Sends, stream: bool
) -> None:
    async with (
        FakeProvider(model, summary=SAYS, cache_minimum=0) as provider,
        checking(provider) as url,
        agent(dialect, url, sends=sends, stream=stream) as client,
    ):
        await build(client)
    assert len(client.compactions) == 2
    texts = [added(asked) for asked in provider.requests]
    first = next(place for place, found in enumerate(texts) if found)
    assert set(client.actions[:first]) == {"forwarded"}
    assert set(client.actions[first:]) == {"checked"}
    distinct = list(
        dict.fromkeys(text for (text,) in texts[first:])
    )  # one in each, the same until the next compaction
    assert len(distinct) == 2
    for text in distinct:
        assert RULE in text
        assert CAUSE in text
        assert SECRET not in text
        assert default_counter("m").count(text) <= ADDED_TOKENS
    caches = [(asked.tokens, asked.cached) for asked in provider.requests[first + 1 :]]
    assert sum(cached < 0.5 * tokens for tokens, cached in caches) <= 2  # after the compactions alone


def first_added(provider: FakeProvider) -> str:
    return next(text for asked in provider.requests for text in added(asked))


@by_api
async def test_all_but_the_addition_goes_upstream_as_it_came(dialect: Dialect) -> None:
    async with (
        FakeProvider(model, summary=SAYS) as provider,
        checking(provider) as url,
        agent(dialect, url) as client,
    ):
        await build(client, 7)
        body = plain_body(client)
        async with aiohttp.ClientSession() as session:
            path = "/v1/messages" if dialect == "anthropic" else "/v1/responses"
            status, headers, _ = await Wire(session, url, path=path).post(body)
    assert (status, headers["x-autocompact-action"]) == (200, "checked")
    asked = provider.requests[-1]
    kind = "text" if dialect == "anthropic" else "input_text"
    block = encoded({"type": kind, "text": added(asked)[0]})
    item = b'{"type":"message","role":"user","content":[' + block + b"]},"
    assert asked.raw.replace(item if dialect == "openai_responses" else b"," + block, b"") == body
    assert all(encoded(compaction) in asked.raw for compaction in client.compactions)


def plain_body(client: Agent) -> bytes:
    """A request of the client with white space that no encoder of ours writes."""
    name = "messages" if client.dialect == "anthropic" else "input"
    history = b" ,\n".join(map(encoded, [*client.history, {"role": "user", "content": "Go on."}]))
    listed = b'{ "model": "m", "max_tokens": 500, "max_output_tokens": 500, "odd": [1.0],\n "%b": [ %b ] }'
    return listed % (name.encode(), history)


@either_way
async def test_after_a_restart_the_same_stands_there(sends: Sends, tmp_path: Path) -> None:
    async with FakeProvider(model, summary=SAYS) as provider:
        async with (
            checking(provider, store=SqliteStore(tmp_path / "gw.db")) as url,
            agent("anthropic", url, sends=sends) as client,
        ):
            await build(client, 7)
            history = client.history
        async with (
            checking(provider, store=SqliteStore(tmp_path / "gw.db")) as url,
            agent("anthropic", url, sends=sends, history=history) as client,
        ):
            await build(client, 1, first=7)
            shown = await records(url)
    before, after = provider.requests[-3:-1]
    assert added(after) == added(before) == [first_added(provider)]
    (record,) = shown
    assert record["status"] == "undone"
    assert record["summary"] == first_added(provider)
    assert record["receipt"]["trigger"] == "import"
    assert record["receipt"]["notes"][0].startswith("The provider's own compaction: ")
    assert examine(tmp_path / "gw.db", deep=True).findings == ()
    with pytest.raises(
        InvalidInput, match="edited since"
    ):  # nothing but the addition would be left of the history
        await _restored(tmp_path / "gw.db", record["id"])


async def _restored(file: Path, record: str) -> None:
    async with Compactor(SqliteStore(file)) as compactor:
        (namespace,) = await compactor.store.namespaces()
        for info in await compactor.store.conversations(namespace):
            conversation = await compactor.open(info.key.conversation, namespace=namespace)
            if record in [one.id for one in await conversation.records.all()]:
                await conversation.records.restore(record)


async def records(url: str) -> list[Any]:
    """The compactions of all conversations, as administration shows them."""
    found: list[Any] = []
    async with aiohttp.ClientSession(headers={"x-api-key": "k"}) as session:
        async with session.get(f"{url}/autocompact/conversations") as told:
            names = [each["id"] for each in (await told.json())["conversations"]]
        for name in names:
            async with session.get(f"{url}/autocompact/conversations/{name}") as told:
                found += (await told.json())["compactions"]
    return found


@by_api
async def test_a_request_that_is_refused_with_the_addition_goes_as_it_came_and_gets_none_again(
    dialect: Dialect,
) -> None:
    def refuses(asked: Received) -> str | None:
        return "no records, please" if added(asked) else None

    async with (
        FakeProvider(model, summary=SAYS, rules=[refuses]) as provider,
        checking(provider) as url,
        agent(dialect, url) as client,
    ):
        await build(client, 7)
    assert client.compactions
    assert set(client.actions) == {"forwarded"}
    refused = [place for place, asked in enumerate(provider.requests) if added(asked)]
    assert len(refused) == 1
    assert len(provider.requests) == len(client.actions) + 1


async def test_another_namespace_has_nothing_to_do_with_a_block() -> None:
    async with (
        FakeProvider(model, summary=SAYS) as provider,
        checking(provider) as url,
        agent("anthropic", url, sends="block") as client,
    ):
        await build(client, 6)
        assert len(client.compactions) == 1
        async with aiohttp.ClientSession() as session:
            wire = Wire(session, url, path="/v1/messages", key="another")
            _, headers, _ = await wire.post(plain_body(client))
    assert headers["x-autocompact-action"] == "forwarded"
    assert added(provider.requests[-1]) == []


async def test_without_room_in_the_window_nothing_is_added() -> None:
    async with (
        FakeProvider(model, summary=SAYS) as provider,
        checking(provider, window=1_200) as url,
        agent("anthropic", url) as client,
    ):
        await build(client, 6)
        _, large = await _with_words(url, client, "word " * 1_000)
        _, small = await _with_words(url, client, "word")
    assert (large, small) == ("forwarded", "checked")


async def _with_words(url: str, client: Agent, text: str) -> tuple[int, str]:
    history = [*client.history, {"role": "user", "content": text}]
    async with aiohttp.ClientSession() as session:
        body = {"model": "m", "max_tokens": 50, "messages": history}
        status, headers, _ = await Wire(session, url, path="/v1/messages").post(encoded(body))
    return status, headers["x-autocompact-action"]


class Broken(MemoryStore):
    """A store that takes no messages."""

    async def append(self, *_: Any, **__: Any) -> str | None:
        raise StoreUnavailable("the disk is full")


async def test_what_cannot_be_kept_goes_as_it_came_even_where_the_gateway_fails_closed() -> None:
    async with (
        FakeProvider(model, summary=SAYS) as provider,
        checking(provider, store=Broken(), fail_closed=True) as url,
        agent("anthropic", url) as client,
    ):
        await build(client, 7)
    assert client.compactions
    assert set(client.actions) == {"failed-open"}
    assert not any(map(added, provider.requests))


async def test_a_compaction_by_its_own_endpoint_is_checked_too() -> None:
    async with (
        FakeProvider(model, summary=SAYS) as provider,
        checking(provider) as url,
        agent("openai_responses", url, limit=10**6) as client,
    ):
        await build(client, 4)
        compact = client.client.responses.with_raw_response.compact
        client.history = json.loads((await compact(model="m", input=client.history)).text)["output"]
        await client.say("Go on.", turn=9)
    assert provider.requests[-3].path.endswith("/compact")
    assert [len(added(asked)) for asked in provider.requests[-3:]] == [0, 1, 1]
    assert RULE in first_added(provider)
    assert client.actions[-2:] == ["checked", "checked"]


async def test_a_compaction_that_is_asked_for_alone_is_checked_too() -> None:
    async with (
        FakeProvider(model, summary=SAYS) as provider,
        checking(provider) as url,
        agent("anthropic", url, limit=10**6) as client,
    ):
        await build(client, 4)
        told = await client.client.beta.messages.create(
            model="m", max_tokens=500, messages=client.history, compaction={"type": "summarize"}
        )
        assert told.stop_reason == "compaction"
        client.history = [{"role": "user", "content": [told.content[0].to_dict(exclude_none=True)]}]
        await client.ask()
    assert RULE in first_added(provider)
    blocks = provider.requests[-1].messages[0]["content"]
    assert [block["type"] for block in blocks] == ["compaction", "text"]


async def test_a_compaction_that_an_item_asks_for_is_learned_of() -> None:
    speaker = SPEAKERS[1]
    item = sealed_item(SAYS, 1)
    asking = [*speaker.begun(), speaker.user(RULE), {"type": "compaction_trigger"}]
    reply = Recorded(body=encoded({"id": "resp_1", "output": [item]}))
    async with (
        FakeProvider([reply, "Fine."]) as provider,
        checking(provider) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)
        _, first, _ = await client.post(encoded(speaker.request(asking)))
        _, second, _ = await client.post(encoded(speaker.request([item, speaker.user("Go on.")])))
    assert (first["x-autocompact-action"], second["x-autocompact-action"]) == ("forwarded", "checked")
    assert RULE in first_added(provider)


@pytest.mark.parametrize(
    "member", [{"previous_response_id": "r"}, {"conversation": "c"}, {"prompt": {"id": "p"}}]
)
async def test_a_history_that_the_provider_keeps_is_left_alone(member: Json) -> None:
    speaker = SPEAKERS[1]
    body = encoded(speaker.request([*long_history(speaker, 3), ITEM, speaker.user("Go on.")]) | member)
    async with (
        FakeProvider("Fine.") as provider,
        checking(provider) as url,
        aiohttp.ClientSession() as session,
    ):
        _, headers, _ = await Wire(session, url, path=speaker.path).post(body)
    assert headers["x-autocompact-action"] == "forwarded"
    assert "x-autocompact-conversation" not in headers
    assert provider.requests[-1].raw == body


async def test_a_failed_compaction_and_one_without_a_history_get_nothing() -> None:
    failed = {
        "role": "assistant",
        "content": [{"type": "compaction", "content": None}, {"type": "text", "text": "So."}],
    }
    speaker = SPEAKERS[2]
    bodies = [
        encoded(speaker.request([*before, block, speaker.user("Go on.")]) | {"context_management": COMPACT})
        for before, block in (([speaker.user("Begin.")], failed), ([], SUMMARY))
    ]
    async with (
        FakeProvider("Fine.") as provider,
        checking(provider) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)
        actions = [(await client.post(body))[1]["x-autocompact-action"] for body in bodies]
    assert actions == ["forwarded", "forwarded"]
    assert [asked.raw for asked in provider.requests] == bodies


async def test_what_no_api_describes_goes_as_it_came() -> None:
    odd = [
        b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"compaction","content":"x"},7]}]}',
        b'{"model":"m","max_tokens":9,"messages":[1,{"type":"compaction"}]}',
        b'{"model":"m","messages":{"type":"compaction"}}',
    ]
    async with (
        FakeProvider("Fine.") as provider,
        checking(provider) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path="/v1/messages")
        for body in odd:
            status, _, _ = await client.post(body)
            assert status == 400
    assert [asked.raw for asked in provider.requests] == odd


async def test_it_is_off_unless_it_is_asked_for() -> None:
    async with (
        FakeProvider(model, summary=SAYS) as provider,
        gateway_before(provider) as url,
        agent("anthropic", url) as client,
    ):
        await build(client, 7)
        assert client.compactions
        assert await records(url) == []
    assert set(client.actions) == {"forwarded"}
    assert not any(map(added, provider.requests))
