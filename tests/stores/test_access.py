"""Access keys in a file and on a server: kept as digests, counted together, and told what was done with them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from autocompact.core.access import Allowance
from autocompact.core.prices import Price
from autocompact.errors import InvalidInput
from autocompact.stores.access import AccessKeys, micros_of
from autocompact.stores.naming import store_place
from autocompact.stores.opening import open_store
from autocompact.stores.table_store import TableStore
from autocompact.testing.clock import FakeClock
from tests.stores.support import contents

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E9")]


def opened(place: str, clock: FakeClock | None = None) -> TableStore[Any]:
    return open_store(store_place(place), clock=clock)


async def test_a_key_is_found_by_what_a_client_sends_and_kept_as_a_digest(place: str) -> None:
    async with opened(place) as store:
        keys = AccessKeys(store)
        key, secret = await keys.create(name="build", tenant="red", user="ann", models=["gpt-5*"])
        assert secret.startswith("ak-")
        assert len(secret) > 40
        assert await keys.find(secret.encode()) == key
        assert await keys.find(secret[:-1].encode()) is None
        assert await keys.find(key.digest.encode()) is None
        assert await keys.find(b"\xff\0") is None
        assert await keys.keys() == (key,)
        assert secret not in repr((key, await keys.notes()))
    assert "://" in place or all(
        secret.encode() not in kept for kept in contents(Path(place).parent).values()
    )


async def test_a_revoked_key_is_not_valid_and_stays_in_the_list(place: str) -> None:
    clock = FakeClock()
    async with opened(place, clock) as store, opened(place, clock) as another:
        keys = AccessKeys(store, clock=clock)
        key, secret = await keys.create(name="build", tenant="red")
        revoked = await AccessKeys(another, clock=clock).revoke(key.id, actor="boss")
        found = await keys.find(secret.encode())
        assert found == revoked
        assert not revoked.is_valid(clock.now())
        clock.advance(60)
        assert await keys.revoke(key.id) == revoked
        with pytest.raises(InvalidInput, match="no access key 'other'"):
            await keys.revoke("other")
        notes = await keys.notes()
        assert [(note.action, note.actor, note.key) for note in notes] == [
            ("key revoked", "boss", key.id),
            ("key created", "operator", key.id),
        ]


async def test_gateways_on_one_database_count_together(place: str) -> None:
    clock = FakeClock()
    allowance = Allowance(requests_per_minute=5, tokens_per_day=100)
    async with opened(place, clock) as one, opened(place, clock) as other:
        gateways = [AccessKeys(store, clock=clock) for store in (one, other)]
        key, _ = await gateways[0].create(name="build", tenant="red", allowance=allowance)
        asked = [keys.admit(key, model="gpt-5", is_priced=True) for keys in gateways * 6]
        denied = await asyncio.gather(*asked)
        assert [each.reason for each in denied if each] == ["requests"] * 7
        used = await gateways[1].spent(key.id)
        assert (used["minute"].requests, used["minute"].refused) == (5, 7)
        # however often it is refused, that is noted once a day
        assert [note.action for note in await gateways[0].notes()] == ["refused: requests", "key created"]
        clock.advance(60)
        await asyncio.gather(*(keys.spend(key.id, tokens=50, micros=7) for keys in gateways))
        refused = await gateways[0].admit(key, model="gpt-5", is_priced=True)
        assert refused is not None
        assert refused.reason == "budget"
        used = await gateways[0].spent(key.id)
        assert (used["minute"].requests, used["day"].requests, used["month"].micros) == (0, 5, 14)
        clock.advance(86_400)
        assert await gateways[0].admit(key, model="gpt-5", is_priced=True) is None
        rows = await one.reading(
            lambda c: list(c.execute(_PERIODS if "://" in place else _PERIODS.replace("autocompact.", "")))
        )
        assert len(rows) == 3 + (len({name for (name,) in rows if len(name) == 7}) - 1)


_PERIODS = "SELECT period FROM autocompact.access_spent"


@pytest.mark.parametrize(
    "given",
    [{"name": " "}, {"tenant": ""}, {"name": "two\nlines"}, {"expires": "2000-01-01T00:00:00.000+00:00"}],
)
async def test_a_key_that_nobody_could_use_is_not_made(tmp_path: Path, given: dict[str, Any]) -> None:
    async with opened(str(tmp_path / "keys.db")) as store:
        usual: dict[str, Any] = {"name": "build", "tenant": "red"}
        with pytest.raises(InvalidInput):
            await AccessKeys(store).create(**(usual | given))
        assert not await AccessKeys(store).keys()


async def test_keys_move_with_the_conversations(tmp_path: Path, database: str) -> None:
    async with opened(str(tmp_path / "keys.db")) as old, opened(database) as new:
        key, secret = await AccessKeys(old).create(name="build", tenant="red")
        assert await AccessKeys(new).copy_from(AccessKeys(old)) == 1
        assert await AccessKeys(new).copy_from(AccessKeys(old)) == 0
        assert await AccessKeys(new).find(secret.encode()) == key


def test_money_is_rounded_up() -> None:
    assert micros_of(Price(input=0.25, output=2), prompt=1, completion=1) == 3
    assert micros_of(Price(input=3, output=15), prompt=1_000_000, completion=100_000) == 4_500_000
