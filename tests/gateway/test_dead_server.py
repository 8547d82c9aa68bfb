"""A gateway whose PostgreSQL server dies and comes back: requests go on without it, and all of them is stored in the end."""

from __future__ import annotations

import logging

import pytest

from autocompact.gateway import Gateway
from autocompact.gateway.server import running
from autocompact.stores.postgres import PostgresStore
from autocompact.testing import FakeProvider
from tests.gateway.serving import config
from tests.gateway.test_compaction import listed, post_get
from tests.gateway.test_trouble_with_the_store import WINDOW, Talk
from tests.stores.cluster import Cluster

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7"), pytest.mark.requirement("E9")]

GAUGE = "autocompact_store_reachable"


def gauge(metrics: str) -> str:
    (line,) = [line for line in metrics.splitlines() if line.startswith(GAUGE)]
    return line.removeprefix(GAUGE).strip()


async def test_while_the_server_is_dead_requests_do_not_wait_for_it_and_the_next_one_after_is_stored(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    talk, database = Talk(), cluster.for_programs()
    async with FakeProvider("Fine.", window=WINDOW) as provider:
        gateway = Gateway(
            config(provider, window=WINDOW, keep_from=0.0), store=PostgresStore(database, busy_seconds=0.5)
        )
        async with running(gateway) as url:
            while "compacted" not in talk.actions:
                await talk.turn(url)
            await listed(url)  # waits until what was said is stored
            compacted = len(talk.actions)
            cluster.kill()
            try:
                for _ in range(15):
                    await talk.turn(url)  # too much for the window if it went as it came
                away = await post_get(f"{url}/autocompact/metrics")
                ready = await post_get(f"{url}/autocompact/ready")
                logged = [record.getMessage() for record in caplog.records]
            finally:
                cluster.start()
            back = await post_get(f"{url}/autocompact/ready")
            there = await post_get(f"{url}/autocompact/metrics")
            for _ in range(3):
                await talk.turn(url)
            kept = await talk.stored(url)
    assert set(talk.actions[compacted:]) == {"compacted"}
    assert kept == talk.messages[:-1]  # the last reply comes with the next request
    assert (gauge(away), gauge(there)) == ("0.0", "1.0")
    assert 'failures_total{kind="StoreUnreachable"}' in away
    assert ("StoreUnreachable" in ready, '"ready"' in back) == (True, True)
    # one line of the outage, beside those of whoever waited when it began
    assert len([text for text in logged if "does not answer" in text]) == 1
    assert len([text for text in logged if "could not" in text]) < 8, logged
