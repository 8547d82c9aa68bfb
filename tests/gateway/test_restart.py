"""A gateway that dies while it writes loses nothing that the client's next request does not bring."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from autocompact.core.messages import Message
from autocompact.ports import Key
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before
from tests.gateway.test_compaction import WINDOW, big, listed, send

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
            *(sys.executable, "-m", "tests.gateway.child", str(database), provider.url, step),
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
