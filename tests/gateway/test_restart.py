"""A gateway that dies while it writes loses nothing that the client's next request does not bring."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from autocompact.core.messages import Message
from autocompact.core.tokens import Estimator
from autocompact.ports import Key
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before
from tests.gateway.test_compaction import WINDOW, big, listed, send
from tests.house.source import ROOT
from tests.warm import command

pytestmark = pytest.mark.anyio


async def spoken(store: SqliteStore, name: str) -> list[str]:
    infos = [info for space in await store.namespaces() for info in await store.conversations(space)]
    (key,) = [info.key for info in infos if info.key.conversation == name]
    log: tuple[Message, ...] = await store.read(Key(conversation=name, namespace=key.namespace))
    return [message.text for message in log]


@pytest.mark.parametrize("step", ["append:begun", "append:written", "append:committed"])
async def test_after_a_crash_the_next_request_brings_what_was_not_stored(tmp_path: Path, step: str) -> None:
    database, messages = tmp_path / "gw.db", big(3)
    async with FakeProvider("Fine.") as provider:
        child = await asyncio.create_subprocess_exec(
            *(*command("tests.gateway.child"), str(database), provider.url, step),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        assert child.stdout is not None
        url = (await child.stdout.readline()).decode().strip()
        before, _ = await send(url, messages)
        await listed(url)
        messages += [{"role": "assistant", "content": "Fine."}, {"role": "user", "content": "More"}]
        asking = asyncio.create_task(send(url, messages))  # it may be answered before the process is gone
        assert await child.wait() < 0
        await asyncio.wait([asking])
        assert isinstance(asking.exception(), aiohttp.ClientError | None)
        async with SqliteStore(database) as store:
            kept = await spoken(store, before["x-autocompact-conversation"])
        said: list[Any] = [message["content"] for message in messages]
        assert kept == said[: len(said) if step == "append:committed" else len(said) - 2]
        messages += [{"role": "assistant", "content": "Fine."}, {"role": "user", "content": "Still more"}]
        store = SqliteStore(database)
        async with gateway_before(provider, window=WINDOW, store=store, keep_from=0.0) as url:
            after, _ = await send(url, messages)
            await listed(url)
            name = after["x-autocompact-conversation"]
            assert name == before["x-autocompact-conversation"]
            assert await spoken(store, name) == [message["content"] for message in messages]


async def test_a_conversation_is_found_again_though_one_that_began_like_it_was_deleted(
    tmp_path: Path,
) -> None:
    """Agents that begin every run with the same words; the oldest run expires first."""
    database, logs = tmp_path / "gw.db", [[*big(1), *big(1, first=run)] for run in "abc"]
    names: list[str] = []
    async with FakeProvider("Fine.") as provider:
        async with gateway_before(provider, window=WINDOW, store=SqliteStore(database), keep_from=0.0) as url:
            for messages in logs:
                headers, _ = await send(url, messages)
                names.append(headers["x-autocompact-conversation"])
            await listed(url)
        assert len(set(names)) == len(logs)
        async with SqliteStore(database) as store:
            (space,) = await store.namespaces()
            for name in names[:-1]:
                assert await store.delete(Key(conversation=name, namespace=space))
        async with gateway_before(provider, window=WINDOW, store=SqliteStore(database), keep_from=0.0) as url:
            headers, _ = await send(url, [*logs[-1], {"role": "user", "content": "More"}])
        assert headers["x-autocompact-conversation"] == names[-1]


class Dense(Estimator):
    """A provider whose tokenizer makes half as many tokens again as ours."""

    def count(self, text: str) -> int:
        return super().count(text) * 3 // 2


@pytest.mark.requirement("A8")
async def test_after_a_restart_the_first_request_is_counted_as_its_provider_reported(tmp_path: Path) -> None:
    database, messages = tmp_path / "gw.db", big(12)
    async with FakeProvider("Fine.", counter=Dense()) as provider:
        for requests in (2, 2, 1):  # what is reported for the last one before the end nobody stores any more
            store = SqliteStore(database)
            async with gateway_before(provider, window=100_000, store=store, keep_from=0.0) as url:
                for number in range(requests):
                    headers, _ = await send(url, messages)
                    first = number == 0 and len(messages) > 25
                    counted, told = int(headers["x-autocompact-tokens"]), provider.requests[-1].tokens
                    assert not first or abs(counted - told) <= 0.05 * told
                    messages += [{"role": "assistant", "content": "Fine."}, *big(1)]


async def test_usage_of_a_context_that_was_compacted_since_is_not_taken_for_that_of_the_new_one(
    tmp_path: Path,
) -> None:
    messages = big(12)
    async with (
        FakeProvider("Fine.") as provider,
        gateway_before(provider, window=100_000, store=SqliteStore(tmp_path / "gw.db"), keep_from=0.0) as url,
        aiohttp.ClientSession(url, headers={"authorization": "Bearer k"}) as session,
    ):
        headers, _ = await send(url, messages)
        name = headers["x-autocompact-conversation"]
        async with session.post(f"/autocompact/conversations/{name}/compact") as response:
            assert response.status == 200
        messages += [{"role": "assistant", "content": "Fine."}, {"role": "user", "content": "More"}]
        headers, _ = await send(url, messages)
        assert int(headers["x-autocompact-tokens"]) < 2 * provider.requests[-1].tokens
