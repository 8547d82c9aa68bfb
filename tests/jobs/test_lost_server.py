"""A worker whose server dies says so, and ends: what runs it starts it again."""

from __future__ import annotations

import pytest

from tests.cli.test_serve import started
from tests.stores.cluster import Cluster

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E9")]


async def test_a_worker_whose_server_dies_says_so_in_a_line_and_no_traceback(
    cluster: Cluster, database: str
) -> None:
    worker = await started("worker", "--db", database, "--stalled-after", "2")
    assert worker.stderr is not None
    while b"Working for" not in (line := await worker.stderr.readline()):
        assert line
    cluster.kill()
    try:
        said = (await worker.communicate())[1].decode()
    finally:
        cluster.start()
    assert worker.returncode == 2
    assert "does not answer any more" in said
    assert "Traceback" not in said, said
