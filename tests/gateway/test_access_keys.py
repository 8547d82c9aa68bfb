"""A gateway that asks for access keys, as clients meet it: what they may, what they have left, and how they are refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest

from autocompact.core.access import Allowance
from autocompact.errors import InvalidInput
from autocompact.gateway import Config, Gateway
from autocompact.gateway.access import Access
from autocompact.gateway.exchange import Exchange
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.server import running
from autocompact.stores.access import AccessKeys
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from autocompact.testing.provider import Received, Script
from tests.gateway.serving import NAMESPACE_KEY, config

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E9")]


@dataclass
class Served:
    """A gateway with its keys."""

    url: str
    keys: AccessKeys
    provider: FakeProvider

    async def ask(
        self,
        secret: str,
        path: str = "/v1/chat/completions",
        *,
        model: str = "gpt-5",
        method: str = "POST",
        stream: bool = False,
        models: object = None,
    ) -> tuple[int, Any, dict[str, str]]:
        """Status, JSON or text, and headers."""
        body: dict[str, Any] = {
            "model": model,
            "max_tokens": 100,
            "messages": [{"role": "user", "content": "Hello"}],
        }
        body |= {"stream": True} if stream else {}
        body |= {} if models is None else {"models": models}
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                method, f"{self.url}{path}", json=body if method == "POST" else None, headers=headers
            ) as told,
        ):
            text = await told.text()
            is_json = told.content_type == "application/json"
            lowered = {name.lower(): value for name, value in told.headers.items()}
            return told.status, json.loads(text) if is_json else text, lowered


@asynccontextmanager
async def served(folder: Path, reply: Script = "Fine.", **settings: Any) -> AsyncGenerator[Served]:
    store = SqliteStore(folder / "gateway.db")
    keys = AccessKeys(store)
    async with FakeProvider(reply) as provider:
        given = {"upstream_keys": {"openai": "sk-up", "anthropic": "sk-up"}, "access_keys": True} | settings
        gateway = Gateway(config(provider, **given), store=store, keys=keys)
        async with running(gateway) as url:
            yield Served(url=url, keys=keys, provider=provider)


async def test_who_has_a_key_gets_an_answer_by_the_gateways_own_key_upstream(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway:
        key, secret = await gateway.keys.create(name="build", tenant="red")
        client = openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key=secret, max_retries=0)
        said = await client.chat.completions.create(
            model="gpt-5", messages=[{"role": "user", "content": "Hello"}]
        )
        assert said.choices[0].message.content == "Fine."
        assert said.usage is not None
        with pytest.raises(openai.AuthenticationError):
            await client.with_options(api_key="ak-other").models.list()
        await client.close()
        used = await spent(gateway, key.id)
        assert used.requests == 1
        assert used.tokens == said.usage.prompt_tokens + said.usage.completion_tokens
        assert used.micros > 0


async def spent(gateway: Served, id: str) -> Any:
    """What a key used this month, once that is counted."""
    while not (used := (await gateway.keys.spent(id))["month"]).tokens:
        pass
    return used


async def test_who_has_no_valid_key_gets_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway:
        key, secret = await gateway.keys.create(name="build", tenant="red")
        await gateway.keys.revoke(key.id)
        for wrong in ("", "ak-unknown", secret):
            status, told, headers = await gateway.ask(wrong)
            assert status == 401
            assert told["error"]["code"] == "invalid_api_key"
            assert headers["x-autocompact-action"] == "refused"
        assert not gateway.provider.requests


@pytest.mark.parametrize("stream", [False, True])
async def test_a_budget_that_is_used_up_ends_in_429_with_the_time_to_wait(
    tmp_path: Path, stream: bool
) -> None:
    async with served(tmp_path, "One two three. " * 20) as gateway:
        # a stream that reports nothing is counted by what came
        key, secret = await gateway.keys.create(
            name="build", tenant="red", allowance=Allowance(tokens_per_day=10)
        )
        assert (await gateway.ask(secret, stream=stream))[0] == 200
        await spent(gateway, key.id)
        status, told, headers = await gateway.ask(secret, stream=stream)
        assert (status, told["error"]["code"], told["error"]["type"]) == (429, *["insufficient_quota"] * 2)
        assert 1 <= int(headers["retry-after"]) <= 86_400
        assert headers["x-should-retry"] == "false"
        status, told, _ = await gateway.ask(secret, "/v1/messages", model="claude-opus-5")
        assert (status, told["type"], told["error"]["type"]) == (429, "error", "rate_limit_error")
        assert len(gateway.provider.requests) == 1


async def test_requests_that_run_at_once_do_not_exceed_a_budget_together(tmp_path: Path) -> None:
    """All were let in until one of them was counted."""
    go = asyncio.Event()

    async def held(_: Received) -> str:
        await go.wait()
        return "Fine."

    async with served(tmp_path, held) as gateway:
        # each is taken for 100 tokens of a reply, and 22 of its bytes
        one = Allowance(tokens_per_day=200)
        _, secret = await gateway.keys.create(name="build", tenant="red", allowance=one)
        asking = [asyncio.create_task(gateway.ask(secret)) for _ in range(10)]
        for _, done in zip(range(8), asyncio.as_completed(asking), strict=False):
            status, told, headers = await done
            assert (status, headers["retry-after"]) == (429, "5")
            assert told["error"]["code"] == "rate_limit_exceeded"
            assert "that run now" in told["error"]["message"]
            assert "x-should-retry" not in headers
        go.set()
        assert sorted([status for status, _, _ in await asyncio.gather(*asking)]) == [200] * 2 + [429] * 8
        # they took little after all
        assert (await gateway.ask(secret))[0] == 200


async def test_a_rate_limit_tells_seconds_and_another_key_is_not_held_up(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway:
        one = Allowance(requests_per_minute=1)
        _, secret = await gateway.keys.create(name="build", tenant="red", allowance=one)
        _, other = await gateway.keys.create(name="build", tenant="blue", allowance=one)
        statuses = [(await gateway.ask(each))[0] for each in (secret, secret, other)]
        if statuses[1] == 200:  # a minute began in between
            statuses[1] = (await gateway.ask(secret))[0]
        assert statuses == [200, 429, 200]
        _, told, headers = await gateway.ask(secret)
        assert told["error"]["code"] == "rate_limit_exceeded"
        assert 1 <= int(headers["retry-after"]) <= 60


async def test_models_routes_and_scopes_that_are_not_allowed_are_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway:
        _, some = await gateway.keys.create(name="n", tenant="t", models=["gpt-5*"], routes=["/v1/chat/*"])
        _, reads = await gateway.keys.create(name="n", tenant="t", scopes=["conversations"])
        paid = Allowance(dollars_per_month=1)
        _, priced = await gateway.keys.create(name="n", tenant="t", allowance=paid)
        wanted = [
            (some, "/v1/chat/completions", "gpt-5-mini", 200, None),
            (some, "/v1/chat/completions", "gpt-4o", 403, "model_not_found"),
            (some, "/v1/responses", "gpt-5", 403, "insufficient_permissions"),
            (reads, "/v1/chat/completions", "gpt-5", 403, "insufficient_permissions"),
            (priced, "/v1/chat/completions", "nobody-knows", 403, "model_not_found"),
            (priced, "/v1/chat/completions", "gpt-5", 200, None),
        ]
        for secret, path, model, status, code in wanted:
            found, told, _ = await gateway.ask(secret, path, model=model)
            assert (found, told.get("error", {}).get("code")) == (status, code)
        for secret, models, status in (
            (some, ["gpt-5-mini"], 200),
            (some, ["gpt-5-mini", "gpt-4o"], 403),
            (some, "gpt-4o", 403),
            (priced, ["gpt-4o", "nobody-knows"], 403),
            (priced, ["gpt-4o"], 200),
        ):
            assert (await gateway.ask(secret, models=models))[0] == status
        for secret, path, method, status in (
            (reads, "/autocompact/conversations", "GET", 200),
            (reads, "/autocompact/conversations", "DELETE", 403),
            (reads, "/autocompact/keys", "GET", 403),
        ):
            assert (await gateway.ask(secret, path, method=method))[0] == status


@pytest.mark.parametrize(
    "members, status",
    [
        ('"model": "gpt-4o", "model": "gpt-5"', 400),
        ('"mod\\u0065l": "gpt-4o", "model": "gpt-5"', 400),
        (
            '"model": "gpt-5", "metadata": {"model": "model"}, "tools": [{"type": "function", "function": {"name": "model"}}]',
            200,
        ),
        ('"model": "gpt-5", "user": "\\u0065"', 200),
    ],
)
async def test_a_request_names_one_model(tmp_path: Path, members: str, status: int) -> None:
    """Of two, the last one was looked at, and the provider may take the first."""
    async with served(tmp_path) as gateway, aiohttp.ClientSession() as session:
        _, secret = await gateway.keys.create(name="n", tenant="t", models=["gpt-5*"])
        body = f'{{{members}, "messages": [{{"role": "user", "content": "Hello"}}]}}'
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        url = f"{gateway.url}/v1/chat/completions"
        async with session.post(url, data=body, headers=headers) as told:
            assert told.status == status, await told.text()
        assert len(gateway.provider.requests) == (status == 200)


async def test_keys_of_one_user_share_conversations_and_nobody_else_sees_them(tmp_path: Path) -> None:
    async with served(tmp_path, keep_from=0.0) as gateway:
        secrets = [
            (await gateway.keys.create(name="n", tenant=tenant, user=user))[1]
            for tenant, user in (("red", "ann"), ("red", "ann"), ("red", "bob"), ("blue", "ann"))
        ]
        assert (await gateway.ask(secrets[0]))[0] == 200
        seen: list[int] = []
        for secret in secrets:
            _, told, _ = await gateway.ask(secret, "/autocompact/conversations", method="GET")
            seen.append(len(told["conversations"]))
        assert seen == [1, 1, 0, 0]
        assert (await gateway.ask(secrets[1], "/autocompact/conversations", method="DELETE"))[0] == 200
        assert (await gateway.keys.notes())[0].action == "delete all"


async def test_an_admin_sees_keys_their_use_and_the_log_and_revokes(tmp_path: Path) -> None:
    async with served(tmp_path) as gateway:
        key, secret = await gateway.keys.create(name="build", tenant="red")
        _, admin = await gateway.keys.create(name="boss", tenant="red", scopes=["admin"])
        assert (await gateway.ask(secret))[0] == 200
        await spent(gateway, key.id)
        status, told, _ = await gateway.ask(admin, "/autocompact/keys", method="GET")
        assert status == 200
        (line, _) = told["keys"]
        assert (line["id"], line["used"]["month"]["requests"], line["allowance"]) == (key.id, 1, {})
        assert "digest" not in line
        assert (await gateway.ask(admin, f"/autocompact/keys/{key.id}", method="DELETE"))[0] == 204
        assert (await gateway.ask(secret))[0] == 401
        _, log, _ = await gateway.ask(admin, "/autocompact/log", method="GET")
        actions = [entry["action"] for entry in log["entries"]]
        assert actions == ["refused: revoked", "key revoked", "key created", "key created"]
        assert (await gateway.ask(admin, "/autocompact/keys/none", method="DELETE"))[0] == 404
        status, page, headers = await gateway.ask("", "/autocompact/admin", method="GET")
        assert status == 200
        assert "<h1>Access keys</h1>" in page
        assert headers["content-security-policy"].startswith("default-src 'none'")


async def test_a_gateway_without_access_keys_has_no_list_of_them(tmp_path: Path) -> None:
    async with served(tmp_path, access_keys=False, upstream_keys={}) as gateway:
        for path in ("/autocompact/keys", "/autocompact/log"):
            assert (await gateway.ask("anything", path, method="GET"))[0] == 404


async def test_a_stream_that_nobody_waited_for_is_counted(tmp_path: Path) -> None:
    async with served(tmp_path, "One two three. " * 400) as gateway:
        key, secret = await gateway.keys.create(name="build", tenant="red")
        body = {"model": "gpt-5", "stream": True, "messages": [{"role": "user", "content": "Hello " * 400}]}
        headers = {"Authorization": f"Bearer {secret}"}
        async with aiohttp.ClientSession() as session:
            told = await session.post(f"{gateway.url}/v1/chat/completions", json=body, headers=headers)
            await told.content.readany()
            told.close()
        used = await asyncio.wait_for(spent(gateway, key.id), 30)
        assert used.tokens > 300


def test_keys_need_a_database_and_a_key_upstream(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="belong together"):
        Config(upstreams={}, namespace_key=NAMESPACE_KEY, access_keys=True)
    given = Config(
        upstreams={}, namespace_key=NAMESPACE_KEY, access_keys=True, upstream_keys={"openai": "sk"}
    )
    with pytest.raises(InvalidInput, match="--db"):
        Gateway(given, store=MemoryStore())


def asked_with(secret: str) -> Exchange:
    """The head of a request for an answer."""
    head = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "query_string": b""}
    credential = (b"authorization", f"Bearer {secret}".encode())
    return Exchange.of({**head, "headers": [credential]}, configured=["openai"])


async def test_a_request_that_ends_while_it_waits_for_the_counting_of_others_ends_that_of_none(
    tmp_path: Path,
) -> None:
    """It took the counting with it: what an answer took was never held against the budget."""

    class Slow(AccessKeys):
        may_count = asyncio.Event()

        async def spend(self, id: str, *, tokens: int, micros: int) -> None:
            await self.may_count.wait()
            await super().spend(id, tokens=tokens, micros=micros)

    async with SqliteStore(tmp_path / "gateway.db") as store, FakeProvider("Fine.") as provider:
        keys = Slow(store)
        access = Access(
            config(provider, upstream_keys={"openai": "sk-up"}, access_keys=True),
            keys=keys,
            metrics=Metrics(),
        )
        key, secret = await keys.create(name="build", tenant="red")
        exchange = asked_with(secret)
        grant = await access.entering(exchange, scope="models")

        async def ask() -> int:
            async with (
                access.admitted(grant, exchange, body=b'{"model":"gpt-5"}') as spending,
                aiohttp.ClientSession() as session,
            ):
                assert spending is not None
                asked = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hello"}]}
                response = await session.post(f"{provider.url}/v1/chat/completions", json=asked)
                metered = spending.metered(response, sent=400)
                body = b""
                while piece := await metered.content.readany():
                    body += piece
                metered.close()
                return json.loads(body)["usage"]["total_tokens"]

        took = await ask()
        waiting, other = asyncio.create_task(ask()), asyncio.create_task(ask())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        keys.may_count.set()
        await other
        await access.aclose()
        used = (await keys.spent(key.id))["month"]
        assert (used.requests, len(provider.requests)) == (2, 2)
        assert used.tokens == 2 * took > 0


async def test_no_credential_of_an_open_gateway_leads_to_the_conversations_of_an_access_key(
    tmp_path: Path,
) -> None:
    """Two gateways on one database: what names the user of a key could be sent as the credential of a client."""
    path = tmp_path / "gateway.db"
    said = [{"role": ("user", "assistant")[turn % 2], "content": f"Step {turn}. " * 40} for turn in range(61)]
    async with FakeProvider("Fine.", window=8_000) as provider, aiohttp.ClientSession() as session:
        store = SqliteStore(path)
        keys = AccessKeys(store)
        closed = config(
            provider, window=8_000, upstream_keys={"openai": "sk-up"}, access_keys=True, keep_from=0.0
        )
        async with running(Gateway(closed, store=store, keys=keys)) as url:
            _, secret = await keys.create(name="build", tenant="red", scopes=("models", "conversations"))
            headers = {"Authorization": f"Bearer {secret}"}
            body = {"model": "gpt-5", "max_tokens": 100, "messages": said}
            await (await session.post(f"{url}/v1/chat/completions", json=body, headers=headers)).read()
            async with session.get(f"{url}/autocompact/conversations", headers=headers) as told:
                assert len((await told.json())["conversations"]) == 1
        opened = Gateway(config(provider, window=8_000), store=SqliteStore(path))
        async with running(opened) as url:
            for name in ("Authorization", "x-api-key"):
                headers = {name: '["access key","red",""]'}
                async with session.get(f"{url}/autocompact/conversations", headers=headers) as told:
                    answer = await told.json()
                    assert (told.status, answer["error"]["code"]) == (401, "invalid_api_key"), answer
