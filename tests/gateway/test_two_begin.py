"""Two gateways on one file that are sent the same conversation: it is begun once, opened once, and each request stored once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from autocompact.core.messages import Message
from autocompact.ports import NO_MESSAGES
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before
from tests.gateway.test_compaction import big, listed, send

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7")]

WINDOW = 8_000


class OvertakenStore(SqliteStore):
    """Has another program be faster just before a name for a new conversation is looked for."""

    overtake: Callable[[], Awaitable[object]] | None = None
    after = NO_MESSAGES

    async def load(self, *place: Any, **rest: Any) -> Any:
        if rest.get("after") == self.after and (overtake := self.overtake) is not None:
            self.overtake = None
            await overtake()
        return await super().load(*place, **rest)


class CountingStore(OvertakenStore):
    """Notes each append and each reading of a log."""

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        self.asked: list[str] = []

    async def append(self, *place: Any, **rest: Any) -> str | None:
        self.asked.append("append")
        return await super().append(*place, **rest)

    async def read(self, *place: Any, **rest: Any) -> tuple[Message, ...]:
        found = await super().read(*place, **rest)
        if found:
            self.asked.append(f"read {len(found)}")
        return found


def went_on(said: list[Any]) -> list[Any]:
    return [*said, {"role": "assistant", "content": "Fine."}, {"role": "user", "content": "More"}]


async def test_a_conversation_that_another_gateway_begins_meanwhile_is_gone_on_with(tmp_path: Path) -> None:
    """The second one took the next free name, and the client's conversation was kept twice from then on."""
    file, said = tmp_path / "gw.db", big(50)
    store = OvertakenStore(file)

    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=SqliteStore(file)) as first,
        gateway_before(provider, window=WINDOW, store=store) as second,
    ):

        async def faster() -> None:
            await send(first, said)
            await listed(first)

        store.overtake = faster
        headers, _ = await send(second, said)
        (kept,) = await listed(second)
        assert store.overtake is None
        said = went_on(said)
        again, _ = await send(second, said)
        (grown,) = await listed(second)
    assert kept["id"] == grown["id"] == again["x-autocompact-conversation"]
    assert headers["x-autocompact-conversation"] == kept["id"]
    assert grown["messages"] == len(said)


async def test_of_gateways_that_take_turns_each_stores_a_request_by_one_append(tmp_path: Path) -> None:
    """What the other one stored comes with the request, too: it was a conflict, and the conversation was read anew."""
    file, said = tmp_path / "gw.db", big(50)
    stores = [CountingStore(file), CountingStore(file)]
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=stores[0]) as first,
        gateway_before(provider, window=WINDOW, store=stores[1]) as second,
    ):
        for number in range(8):
            url = (first, second)[number % 2]
            await send(url, said)
            (kept,) = await listed(url)
            assert kept["messages"] == len(said)
            said = went_on(said)
            if number == 1:
                for store in stores:
                    store.asked.clear()
    assert [store.asked for store in stores] == [["append"] * 3] * 2


async def test_a_conversation_that_another_gateway_goes_on_with_while_it_is_opened_is_opened_once(
    tmp_path: Path,
) -> None:
    file, said = tmp_path / "gw.db", big(50)
    store = CountingStore(file)
    store.after = 0
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=SqliteStore(file)) as first,
        gateway_before(provider, window=WINDOW, store=store) as second,
    ):
        await send(first, said)
        await listed(first)
        asked = went_on(said)

        async def faster() -> None:
            await send(first, asked)
            await listed(first)

        store.overtake = faster
        await send(second, went_on(asked))
        (kept,) = await listed(second)
    assert store.overtake is None
    assert kept["messages"] == len(said) + 4
    assert [each for each in store.asked if each.startswith("read")] == [f"read {len(said)}", "read 2"]
