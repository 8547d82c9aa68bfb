"""Real agents and SDKs through the gateway, far beyond a small window: ``make test-clients`` installs and runs them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.real.agents import CLIENTS, LAST_WORDS, TURNS, Client
from tests.real.judge import compactions, faults
from tests.real.report import write_report
from tests.real.running_clients import run

PROGRAMS = os.environ.get("AUTOCOMPACT_REAL_CLIENTS", "")
"""The folder into which ``tools/real_clients.py`` has installed them."""

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.requirement("E7"),
    pytest.mark.skipif(not PROGRAMS, reason="no clients are installed: `make test-clients` installs them"),
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("client", CLIENTS, ids=[each.name for each in CLIENTS])
async def test_a_client_outlives_its_window_and_keeps_its_instructions(
    client: Client, tmp_path: Path
) -> None:
    programs = Path(PROGRAMS)
    missing = programs / f"{client.package.partition(':')[0]}.missing"
    if missing.exists():
        reason = f"{client.name} is not installed: {missing.read_text().strip()}"
        assert not os.environ.get("CI"), reason
        pytest.skip(reason)
    done = await run(client, tmp_path, programs=programs)
    found = faults(client, done.exchanges, done.received)
    write_report(programs, client, done, faults=found)
    said = f"see {tmp_path / 'bodies'}\n{done.output[-2000:]}"
    assert done.exchanges, f"no request of {client.name} came through; {said}"
    assert found == [], said
    assert (done.turns, done.code) == (TURNS, 0), said
    assert not client.tool or LAST_WORDS in done.output
    assert compactions(done.exchanges)
