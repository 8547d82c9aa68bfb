from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from autocompact.errors import StoreUnavailable
from autocompact.gateway import AccessToken, Gateway
from autocompact.gateway.server import running
from autocompact.ports import Key, Lease, Snapshot
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeClock, FakeProvider
from tests.gateway.serving import config, gateway_before
from tests.gateway.test_compaction import WINDOW, BrokenStore, big, send
from tests.gateway.test_passing import ODD, post

pytestmark = pytest.mark.anyio


async def get(url: str, *, key: str = "k", method: str = "GET") -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession() as session, session.request(method, url, headers=headers) as told:
        return told.status, await told.json()


async def test_health_says_what_answers_and_in_which_version() -> None:
    async with FakeProvider() as provider, gateway_before(provider) as url:
        status, told = await get(f"{url}/autocompact/health")
    assert (status, told["status"], told["name"]) == (200, "ok", "autocompact")
    assert told["version"][0].isdigit()


class Unreadable(MemoryStore):
    async def load(self, key: Key, *, after: int = 0) -> Snapshot:
        raise OSError("the disk is gone")


class Full(MemoryStore):
    full = True

    async def acquire(self, *place: Any, **rest: Any) -> Lease | None:
        if self.full:
            raise StoreUnavailable("the disk is full")
        return await super().acquire(*place, **rest)


async def test_a_gateway_is_not_ready_while_its_store_can_only_be_read() -> None:
    store = Full()
    async with FakeProvider() as provider, gateway_before(provider, store=store) as url:
        full = await get(f"{url}/autocompact/ready")
        store.full = False
        freed = [await get(f"{url}/autocompact/ready") for _ in range(2)]
    assert full[0] == 503
    assert full[1]["problems"] == ["the store cannot be read and written (StoreUnavailable)"]
    assert [status for status, _ in freed] == [200, 200]


async def test_a_gateway_is_ready_when_its_store_answers_and_there_is_an_upstream() -> None:
    async with FakeProvider() as provider:
        async with gateway_before(provider) as url:
            ready = await get(f"{url}/autocompact/ready")
        async with gateway_before(provider, store=Unreadable(), upstreams={}) as url:
            broken = await get(f"{url}/autocompact/ready")
            metrics = await text(f"{url}/metrics")
    assert ready == (200, {"status": "ready", "upstreams": ["anthropic", "openai"], "problems": []})
    assert (broken[0], broken[1]["status"]) == (503, "not ready")
    assert [problem.split()[0] for problem in broken[1]["problems"]] == ["no", "the"]
    assert 'autocompact_failures_total{kind="OSError"} 1.0' in metrics


async def test_a_failure_that_nobody_thought_of_is_said_in_the_format_of_the_api() -> None:
    async with FakeProvider() as provider, gateway_before(provider, store=Unreadable()) as url:
        status, told = await get(f"{url}/autocompact/conversations/x")
    assert (status, told["error"]["type"]) == (500, "server_error")
    assert "the disk is gone" not in told["error"]["message"]


async def text(url: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(url) as told:
        assert told.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return await told.text()


async def test_prometheus_reads_what_happened_in_base_units(tmp_path: Path) -> None:
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=SqliteStore(tmp_path / "gw.db")) as url,
    ):
        await send(url, big(50))
        await post(f"{url}/v1/chat/completions", b"{}", **{"Sec-Fetch-Site": "cross-site"})
        one, two = await text(f"{url}/metrics"), await text(f"{url}/autocompact/metrics")
    values = dict(line.rsplit(" ", 1) for line in one.splitlines() if not line.startswith("#"))
    assert values['autocompact_requests_total{action="compacted",api="openai_chat"}'] == "1.0"
    assert float(values["autocompact_tokens_saved_total"]) > 1_000
    assert sum(float(values[name]) for name in values if "autocompact_compactions_total" in name) == 1
    assert values['autocompact_refusals_total{status="403"}'] == "1.0"
    assert values["autocompact_overhead_seconds_count"] == "1.0"
    assert one == two


async def test_conversations_come_page_by_page() -> None:
    clock = FakeClock()
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=MemoryStore(clock=clock), expire_after_days=9) as url,
    ):
        for number in range(5):
            await send(url, big(30, first=f"Start {number}"))
            clock.advance(number % 2)
        pages: list[list[str]] = []
        after, listing = "", f"{url}/autocompact/conversations?limit=2"
        while True:
            _, told = await get(f"{listing}&after={after}")
            pages.append([line["title"] for line in told["conversations"]])
            if not (after := (told["next"] or "").replace("+", "%2B")):
                break
        _, whole = await get(f"{url}/autocompact/conversations")
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [title for page in pages for title in page] == [line["title"] for line in whole["conversations"]]
    assert whole["expire_after_days"] == 9


async def test_the_log_is_given_back_in_the_very_json_that_was_sent() -> None:
    messages = [*big(50), {"role": "user", "content": "Grüße", "odd": {"b": 1, "a": [2.50]}}]
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
    ):
        headers, _ = await send(url, messages)
        log = f"{url}/autocompact/conversations/{headers['x-autocompact-conversation']}/messages"
        shown: list[Any] = []
        first: int | None = 1
        while first is not None:
            status, told = await get(f"{log}?from_seq={first}&limit=40")
            assert status == 200
            shown += told["messages"]
            first = told["next"]
        beyond = await get(f"{log}?from_seq=1000")
        last = await text_of(f"{log}?from_seq={len(messages)}")
    assert headers["x-autocompact-action"] == "compacted"
    assert [each["raw"] for each in shown] == messages
    assert [each["seq"] for each in shown] == list(range(1, len(messages) + 1))
    assert beyond == (200, {"messages": [], "next": None})
    assert json.dumps(messages[-1], separators=(",", ":")) in last


async def text_of(url: str) -> str:
    headers = {"Authorization": "Bearer k"}
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as told:
        return await told.text()


async def test_a_search_finds_what_left_the_context_in_ones_own_conversations_alone(tmp_path: Path) -> None:
    lost = "The password of the staging machine is on the yellow kestrel note."
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=SqliteStore(tmp_path / "gw.db")) as url,
    ):
        mine, _ = await send(url, big(50, first=lost))
        other, _ = await send(url, big(50, first=lost), key="other")
        search = f"{url}/autocompact/search"
        _, found = await get(f"{search}?q=yellow+kestrel")
        one = f"{search}?q=yellow+kestrel&conversation="
        _, within = await get(f"{one}{mine['x-autocompact-conversation']}")
        _, foreign = await get(f"{one}{other['x-autocompact-conversation']}")
        _, blank = await get(f"{search}?q=%20")
        missing = await get(search)
    async with FakeProvider() as provider, gateway_before(provider) as url:
        unindexed = await get(f"{url}/autocompact/search?q=x")
    (result,), (alone,) = found["results"], within["results"]
    name = mine["x-autocompact-conversation"]
    assert result.pop("beside") == f"→ [{name}:m2] the assistant: Done 0."
    assert alone.pop("beside") == "→ [m2] the assistant: Done 0."
    assert result == alone
    assert (result["conversation"], result["seq"]) == (name, 1)
    assert (result["source"], result["excerpt"]) == ("the user", lost)
    assert (result["match"], result["note"]) == (1.0, "")
    assert foreign == blank == {"results": []}
    assert (missing[0], unindexed[0]) == (400, 404)
    assert "--db" in unindexed[1]["error"]["message"]


@pytest.mark.parametrize("stream", [False, True])
async def test_every_kind_of_answer_says_what_the_gateway_did(stream: bool) -> None:
    def body(messages: list[Any]) -> bytes:
        return json.dumps({"model": "m", "max_tokens": 99, "messages": messages, "stream": stream}).encode()

    actions: list[str] = []
    async with FakeProvider("Fine.", models=["m"], window=WINDOW) as provider:
        async with gateway_before(provider, window=WINDOW) as url:
            turn = f"{url}/v1/chat/completions"
            for sent in (
                ODD,
                b"[1, 2",
                body(big(1)),
                body(big(50)),
                b'{"model":"m","messages":[{"role":1}]}',
            ):
                actions.append((await post(turn, sent))[1]["x-autocompact-action"])
            actions.append((await post(f"{url}/v1/unheard/of", b"x"))[1]["x-autocompact-action"])
        async with gateway_before(provider, window=100_000) as url:
            actions.append(
                (await post(f"{url}/v1/chat/completions", body(big(120))))[1]["x-autocompact-action"]
            )
        async with gateway_before(provider, window=WINDOW, store=BrokenStore()) as url:
            actions.append(
                (await post(f"{url}/v1/chat/completions", body(big(30))))[1]["x-autocompact-action"]
            )
        async with gateway_before(provider, upstreams={}) as url:
            actions.append((await post(f"{url}/v1/chat/completions", ODD))[1]["x-autocompact-action"])
    assert actions == [
        "forwarded",
        "forwarded",
        "forwarded",
        "compacted",
        "forwarded",
        "forwarded",
        "retried",
        "failed-open",
        "refused",
    ]


async def test_a_compaction_by_hand_may_find_nothing_to_gain() -> None:
    closed: Any = {"upstream_keys": {"openai": "sk"}, "access_tokens": (AccessToken.of("k"),)}
    store = MemoryStore()
    async with FakeProvider("Fine.", window=WINDOW) as provider:
        gateway = Gateway(config(provider, window=WINDOW, keep_from=0.0, **closed), store=store)
        async with running(gateway) as url:
            headers, _ = await send(url, [{"role": "user", "content": "Hi"}])
            one = f"{url}/autocompact/conversations/{headers['x-autocompact-conversation']}"
            status, told = await get(f"{one}/compact", method="POST")
    assert status == 409
    assert "nothing" in told["error"]["message"]
