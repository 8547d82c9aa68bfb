from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from autocompact.gateway import AccessToken
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before
from tests.gateway.test_passing import post

pytestmark = pytest.mark.anyio

WINDOW = 16_000


def words(number: int) -> str:
    return f"The build of module {number} printed line after line and nothing of interest to anybody. " * 12


async def test_a_compacted_anthropic_conversation_keeps_the_marks_of_its_last_request() -> None:
    system: Any = [{"type": "text", "text": "You build.", "cache_control": {"type": "ephemeral"}}]
    messages: list[Any] = []
    async with (
        FakeProvider(lambda asked: f"Reply {len(asked.messages)}", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
        anthropic.AsyncAnthropic(api_key="sk-ant", base_url=url, max_retries=0) as client,
    ):
        for turn in range(60):
            marked = {"type": "text", "text": words(turn) * 2, "cache_control": {"type": "ephemeral"}}
            sent: list[Any] = [*messages, {"role": "user", "content": [marked]}]
            reply = await client.messages.create(model="m", max_tokens=400, system=system, messages=sent)
            messages.append({"role": "user", "content": words(turn) * 2})
            block: Any = reply.content[0]
            messages.append({"role": "assistant", "content": block.text})
    last = provider.requests[-1]
    assert len(provider.requests) == 60
    assert len(last.messages) < 40
    assert last.body["system"] == system
    assert last.raw.count(b"cache_control") == 2
    assert last.messages[-1]["content"][0]["cache_control"] == {"type": "ephemeral"}


async def test_the_prefix_is_stable_between_compactions() -> None:
    messages: list[Any] = []
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
        openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as client,
    ):
        for turn in range(40):
            messages.append({"role": "user", "content": words(turn) * 2})
            await client.chat.completions.create(model="m", messages=messages, max_tokens=100)
            messages.append({"role": "assistant", "content": "Fine."})
    asked = [request.messages for request in provider.requests]
    broken = [n for n in range(1, 40) if asked[n][: len(asked[n - 1])] != asked[n - 1]]
    assert 0 < len(broken) < 8


def big(turns: int, *, first: str = "Start") -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": first}]
    for turn in range(turns):
        messages += [
            {"role": "assistant", "content": f"Done {turn}."},
            {"role": "user", "content": words(turn)},
        ]
    return messages


async def listed(url: str, key: str = "k") -> list[Any]:
    import aiohttp

    headers = {"Authorization": f"Bearer {key}"}
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{url}/autocompact/conversations", headers=headers) as told,
    ):
        return (await told.json())["conversations"]


async def send(url: str, messages: list[Any], key: str = "k", **members: Any) -> tuple[Any, bytes]:
    body = json.dumps(
        {"model": "m", "max_tokens": 100, "messages": messages} | members, separators=(",", ":")
    ).encode()
    status, headers, told = await post(f"{url}/v1/chat/completions", body, Authorization=f"Bearer {key}")
    assert status == 200, told
    return headers, told


async def test_branches_are_conversations_of_their_own_and_never_take_turns() -> None:
    left, right = [*big(50), *big(1, first="left")], [*big(50), *big(1, first="right")]
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
    ):
        names: dict[str, set[str]] = {"left": set(), "right": set()}
        for _ in range(4):
            for side, messages in (("left", left), ("right", right)):
                headers, _ = await send(url, messages)
                names[side].add(headers["x-autocompact-conversation"])
                messages += [{"role": "assistant", "content": "Fine."}, {"role": "user", "content": "More"}]
        kept = await listed(url)
    assert len(names["left"]) == len(names["right"]) == 1
    assert names["left"] != names["right"]
    assert len(kept) == 2


async def test_a_conversation_is_found_again_after_a_restart(tmp_path: Path) -> None:
    messages = big(50)
    async with FakeProvider("Fine.", window=WINDOW) as provider:
        async with gateway_before(provider, window=WINDOW, store=SqliteStore(tmp_path / "gw.db")) as url:
            before, _ = await send(url, messages)
        messages += [{"role": "assistant", "content": "Fine."}, {"role": "user", "content": "More"}]
        async with gateway_before(provider, window=WINDOW, store=SqliteStore(tmp_path / "gw.db")) as url:
            after, _ = await send(url, messages)
    assert after["x-autocompact-conversation"] == before["x-autocompact-conversation"]
    assert after["x-autocompact-compaction"] == before["x-autocompact-compaction"] == "c1"
    assert provider.requests[1].raw.startswith(provider.requests[0].raw.rpartition(b"}]")[0])


async def test_clients_with_other_keys_never_meet() -> None:
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
    ):
        await send(url, big(50), key="one")
        await send(url, big(50), key="two")
        mine, other, nobody = [await listed(url, key) for key in ("one", "two", "three")]
    assert (len(mine), len(other), nobody) == (1, 1, [])


def everything_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def test_keys_go_upstream_and_nowhere_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    path = tmp_path / "gw.db"
    async with (
        FakeProvider("Fine.", window=WINDOW, api_key="sk-very-secret") as provider,
        gateway_before(provider, window=WINDOW, store=SqliteStore(path)) as url,
    ):
        await send(url, big(50), key="sk-very-secret")
        await post(f"{url}/v1/messages", b'{"model":"m"}', Authorization="Bearer sk-very-secret")
    assert b"sk-very-secret" not in everything_in(tmp_path)
    assert "sk-very-secret" not in caplog.text


async def test_with_an_upstream_key_clients_need_an_access_token() -> None:
    settings: Any = {"upstream_keys": {"openai": "sk-real"}, "access_tokens": (AccessToken.of("token-1"),)}
    async with (
        FakeProvider("Fine.", window=WINDOW, api_key="sk-real") as provider,
        gateway_before(provider, window=WINDOW, **settings) as url,
    ):
        await send(url, big(50), key="token-1")
        status, _, told = await post(f"{url}/v1/chat/completions", b"{}", Authorization="Bearer sk-real")
    assert status == 401
    assert json.loads(told)["error"]["type"] == "authentication_error"
    assert len(provider.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_an_overflow_is_answered_by_one_compaction_and_one_retry(stream: bool) -> None:
    said = {"model": "m", "max_tokens": 100, "stream": stream, "messages": big(50)}
    async with (
        FakeProvider("Fine.", window=8_000) as provider,
        gateway_before(provider, window=100_000) as url,
    ):
        status, headers, body = await post(f"{url}/v1/chat/completions", json.dumps(said).encode())
    assert (status, headers["x-autocompact-action"]) == (200, "retried")
    assert b"Fine." in body
    assert len(provider.requests) == 2
    assert provider.requests[1].tokens < 8_000


async def test_an_overflow_that_no_compaction_cures_reaches_the_client_as_it_is() -> None:
    said = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": words(0) * 60}]}
    async with (
        FakeProvider("Fine.", window=8_000) as provider,
        gateway_before(provider, window=100_000) as url,
    ):
        status, _, body = await post(f"{url}/v1/chat/completions", json.dumps(said).encode())
    assert status == 400
    assert json.loads(body)["error"]["code"] == "context_length_exceeded"
    assert len(provider.requests) == 1


class BrokenStore(MemoryStore):
    broken = True

    async def append(self, *place: Any, **rest: Any) -> str | None:
        if self.broken:
            raise OSError("the disk is gone")
        return await super().append(*place, **rest)


async def test_what_fails_on_our_side_costs_nobody_the_answer() -> None:
    body = json.dumps({"model": "m", "max_tokens": 100, "messages": big(30)}).encode()
    async with (
        FakeProvider("Fine.") as provider,
        gateway_before(provider, window=WINDOW, store=BrokenStore()) as url,
    ):
        status, headers, _ = await post(f"{url}/v1/chat/completions", body)
        metrics = await post_get(f"{url}/autocompact/metrics")
    assert (status, headers["x-autocompact-action"]) == (200, "failed-open")
    assert provider.requests[0].raw == body
    assert 'autocompact_failures_total{kind="OSError"} 1.0' in metrics


async def test_what_could_not_be_stored_is_stored_with_the_next_request_that_can_be() -> None:
    store, messages = BrokenStore(), big(3)
    names: set[str] = set()
    async with (
        FakeProvider("Fine.") as provider,
        gateway_before(provider, window=WINDOW, store=store, keep_from=0.0) as url,
    ):
        for broken in (False, True, False):
            store.broken = broken
            headers, _ = await send(url, messages)
            names |= set() if broken else {headers["x-autocompact-conversation"]}
            kept = await listed(url)  # who reads waits for what is being stored
            assert [info["messages"] for info in kept] == [7 if broken else len(messages)]
            messages += [{"role": "assistant", "content": "Fine."}, {"role": "user", "content": "More"}]
        metrics = await post_get(f"{url}/autocompact/metrics")
    assert len(names) == 1
    assert 'autocompact_failures_total{kind="OSError"} 1.0' in metrics


async def test_failing_closed_refuses_instead() -> None:
    body = json.dumps({"model": "m", "max_tokens": 100, "messages": big(30)}).encode()
    async with (
        FakeProvider("Fine.") as provider,
        gateway_before(provider, window=WINDOW, store=BrokenStore(), fail_closed=True) as url,
    ):
        status, _, told = await post(f"{url}/v1/chat/completions", body)
    assert (status, provider.requests) == (503, [])
    assert json.loads(told)["error"]["type"] == "server_error"


@pytest.mark.parametrize(
    "member",
    [{"context_management": [{"type": "compaction"}]}, {"previous_response_id": "resp_1"}],
)
async def test_a_conversation_that_the_provider_manages_is_left_alone(member: dict[str, Any]) -> None:
    body = json.dumps({"model": "m", "max_tokens": 100, "messages": big(60)} | member).encode()
    async with FakeProvider("Fine.") as provider, gateway_before(provider, window=WINDOW) as url:
        _, headers, _ = await post(f"{url}/v1/chat/completions", body)
        kept = await listed(url, key="sk-secret")
    assert provider.requests[0].raw == body
    assert "x-autocompact-conversation" not in headers
    assert kept == []


async def post_get(url: str, method: str = "GET", body: bytes = b"") -> str:
    import aiohttp

    headers = {"Authorization": "Bearer k"}
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, url, headers=headers, data=body) as told,
    ):
        return f"{await told.text()}"


async def test_administration_shows_compacts_undoes_and_deletes_ones_own_conversations() -> None:
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
    ):
        headers, _ = await send(url, big(50))
        one = f"{url}/autocompact/conversations/{headers['x-autocompact-conversation']}"
        shown = json.loads(await post_get(one))
        undone = json.loads(await post_get(f"{one}/undo", "POST"))
        compacted = json.loads(await post_get(f"{one}/compact", "POST", b'{"focus":"the build"}'))
        metrics = await post_get(f"{url}/autocompact/metrics")
        foreign = await post(f"{one}/undo", b"", Authorization="Bearer other")
        health = json.loads(await post_get(f"{url}/autocompact/health"))
        ready = json.loads(await post_get(f"{url}/autocompact/ready"))
        await post_get(one, "DELETE")
        kept = await listed(url)
    assert shown["active"] == "c1"
    assert (
        shown["compactions"][0]["receipt"]["tokens_after"]
        < shown["compactions"][0]["receipt"]["tokens_before"]
    )
    assert undone == {"active": None}
    assert compacted["success"]
    assert "autocompact_compactions_total{trigger=" in metrics
    assert foreign[0] == 404
    assert (health["status"], ready["status"]) == ("ok", "ready")
    assert kept == []
