"""Two gateways on one file that are sent the same new conversation at the same time: it is begun once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

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

    async def load(self, *place: Any, **rest: Any) -> Any:
        if rest.get("after") == NO_MESSAGES and (overtake := self.overtake) is not None:
            self.overtake = None
            await overtake()
        return await super().load(*place, **rest)


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
        said += [{"role": "assistant", "content": "Fine."}, {"role": "user", "content": "More"}]
        again, _ = await send(second, said)
        (grown,) = await listed(second)
    assert kept["id"] == grown["id"] == again["x-autocompact-conversation"]
    assert headers["x-autocompact-conversation"] == kept["id"]
    assert grown["messages"] == len(said)
