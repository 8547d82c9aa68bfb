"""Requests about a conversation, for a count or for the provider's compaction, are about what would really be sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest

from autocompact.core.usage import MARGIN
from autocompact.models.vocabulary import default_counter, load_counter
from autocompact.stores.memory import MemoryStore
from autocompact.stores.memory_index import MemoryIndex
from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before
from tests.gateway.speakers import SPEAKERS, Json, Speaker, Wire, encoded
from tests.gateway.test_overflow import long_history

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7")]

WINDOW = 8_000
COUNTING = {"anthropic": "/v1/messages/count_tokens", "openai_responses": "/v1/responses/input_tokens"}

by_api = pytest.mark.parametrize("speaker", SPEAKERS[1:], ids=lambda speaker: speaker.dialect)


async def counted(session: aiohttp.ClientSession, url: str, speaker: Speaker, body: Json) -> tuple[str, int]:
    """What the gateway did with a request for a count, and the count."""
    plain = {name: value for name, value in body.items() if name != "max_tokens"}
    status, headers, told = await Wire(session, url, path=COUNTING[speaker.dialect]).post(encoded(plain))
    assert status == 200, told
    return headers["x-autocompact-action"], json.loads(told)["input_tokens"]


@by_api
@pytest.mark.parametrize("tools", [True, False], ids=["with tools", "without"])
async def test_of_a_compacted_conversation_that_is_counted_which_goes_upstream(
    speaker: Speaker, tools: bool
) -> None:
    history: list[Any] = long_history(speaker, 80)
    store = MemoryStore(indexer=MemoryIndex() if tools else None)
    async with (
        FakeProvider("Fine.") as provider,
        gateway_before(provider, window=WINDOW, store=store, memory_tools=tools) as url,
        aiohttp.ClientSession() as session,
    ):
        before = await counted(session, url, speaker, speaker.request(history))
        client = Wire(session, url, path=speaker.path)
        await client.post(encoded(speaker.request(history)))
        same = await counted(session, url, speaker, speaker.request(history))
        first, second = provider.requests[1:]
        assert same == ("compacted", first.tokens)
        assert second.messages == first.messages
        assert second.body.get("tools") == first.body.get("tools")
        history += [{"role": "assistant", "content": "Fine."}, speaker.user("And now?")]
        ahead = await counted(session, url, speaker, speaker.request(history))
        await client.post(encoded(speaker.request(history)))
        third = provider.requests[-1]
        assert ahead == ("compacted", third.tokens)
        assert provider.requests[-2].messages == third.messages
        async with session.get(
            f"{url}/autocompact/conversations", headers={"Authorization": "Bearer k"}
        ) as kept:
            (one,) = (await kept.json())["conversations"]
    assert one["messages"] == len(history)
    assert before[0] == "forwarded"
    assert before[1] > 2 * same[1]
    assert ("memory_search" in str(third.body["tools"])) == tools


@by_api
async def test_what_is_not_compacted_is_counted_as_it_came(speaker: Speaker) -> None:
    body = speaker.request(long_history(speaker, 3))
    odd = b'{ "model": "m", "messages": [1], "input": 7 }'
    async with (
        FakeProvider("Fine.") as provider,
        gateway_before(provider, window=WINDOW) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=COUNTING[speaker.dialect])
        actions = [(await client.post(raw))[1]["x-autocompact-action"] for raw in (encoded(body), odd)]
    assert actions == ["forwarded", "forwarded"]
    assert [asked.raw for asked in provider.requests] == [encoded(body), odd]


def with_trigger(body: Json) -> Json:
    return body | {"input": [*body["input"], {"type": "compaction_trigger"}]}


def summarise(body: Json) -> Json:
    return body | {"compaction": {"type": "summarize"}}


def alone(body: Json) -> Json:
    return {name: body[name] for name in ("model", "input", "instructions")}


@pytest.mark.parametrize("checks", [False, True], ids=["left alone", "checked"])
@pytest.mark.parametrize(
    ("speaker", "path", "asking"),
    [
        (SPEAKERS[1], "/v1/responses", with_trigger),
        (SPEAKERS[1], "/v1/responses/compact", alone),
        (SPEAKERS[2], "/v1/messages", summarise),
    ],
    ids=["an item", "an endpoint", "a member"],
)
async def test_a_client_can_compact_what_was_compacted_before(
    speaker: Speaker, path: str, asking: Callable[[Json], Json], *, checks: bool
) -> None:
    """Codex 0.169 on ``/compact`` sends its whole history, which did not fit the window any more."""
    history: list[Any] = long_history(speaker, 80)
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, check_provider_compaction=checks) as url,
        aiohttp.ClientSession() as session,
    ):
        await Wire(session, url, path=speaker.path).post(encoded(speaker.request(history)))
        history += [{"role": "assistant", "content": "Fine."}, speaker.user("And now?")]
        body = asking(speaker.request(history))
        status, headers, told = await Wire(session, url, path=path).post(encoded(body))
        (turn, compaction) = provider.requests
    assert status == 200, told
    assert headers["x-autocompact-action"] == "compacted"
    assert b'"compaction"' in told
    sent = compaction.messages
    assert sent[: len(turn.messages)] == turn.messages
    assert sent[len(turn.messages) :] == [*history[-2:], *body.get("input", ())[len(history) :]]
    assert ("tools" in compaction.body) == ("tools" in body)


async def test_what_was_not_compacted_before_the_provider_gets_as_it_came() -> None:
    speaker = SPEAKERS[1]
    body = encoded(with_trigger(speaker.request(long_history(speaker, 3))))
    async with (
        FakeProvider("Fine.") as provider,
        gateway_before(provider, window=WINDOW) as url,
        aiohttp.ClientSession() as session,
    ):
        _, headers, told = await Wire(session, url, path=speaker.path).post(body)
    assert headers["x-autocompact-action"] == "forwarded"
    assert provider.requests[-1].raw == body
    assert [item["type"] for item in json.loads(told)["output"]] == ["compaction"]


@pytest.mark.parametrize("model", ["deepseek-chat", "gpt-5"])
async def test_a_first_request_is_counted_with_the_models_own_vocabulary_where_its_extra_is_installed(
    model: str,
) -> None:
    text = "お誕生日おめでとう・カナ 2026年 totals[17] = 'rounded'\n" * 200
    body = {"model": model, "messages": [{"role": "user", "content": text}]}
    async with (
        FakeProvider("Fine.", counter=default_counter(model)) as provider,
        gateway_before(provider, keep_from=0.0) as url,
        aiohttp.ClientSession() as session,
    ):
        _, headers, _ = await Wire(session, url, path="/v1/chat/completions").post(encoded(body))
        (asked,) = provider.requests
    assert int(headers["x-autocompact-tokens"]) == pytest.approx(MARGIN * asked.tokens, rel=0.01)
    assert load_counter().count(text) != pytest.approx(default_counter("deepseek-chat").count(text), rel=0.03)
