"""Real agents and SDKs through the gateway, far beyond a small window: ``make test-clients`` installs and runs them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.real.agents import BY_WRAP, CLIENTS, LAST_WORDS, TURNS, Client
from tests.real.judge import compactions, faults
from tests.real.report import write_report
from tests.real.running_clients import run, run_wrapped

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


def installed(client: Client) -> Path:
    """The folder of the programs; without this client the test fails in CI, and is skipped elsewhere."""
    missing = Path(PROGRAMS) / f"{client.package.partition(':')[0]}.missing"
    if missing.exists():
        reason = f"{client.name} is not installed: {missing.read_text().strip()}"
        assert not os.environ.get("CI"), reason
        pytest.skip(reason)
    return Path(PROGRAMS)


@pytest.mark.parametrize("client", CLIENTS, ids=[each.name for each in CLIENTS])
async def test_a_client_outlives_its_window_and_keeps_its_instructions(
    client: Client, tmp_path: Path
) -> None:
    programs = installed(client)
    done = await run(client, tmp_path, programs=programs)
    found = faults(client, done.exchanges, done.received)
    write_report(programs, client, done, faults=found)
    said = f"see {tmp_path / 'bodies'}\n{done.output[-2000:]}"
    assert done.exchanges, f"no request of {client.name} came through; {said}"
    assert found == [], said
    assert (done.turns, done.code) == (TURNS, 0), said
    assert not client.tool or LAST_WORDS in done.output
    assert compactions(done.exchanges)


@pytest.mark.parametrize("client", BY_WRAP, ids=[each.name for each in BY_WRAP])
async def test_wrap_knows_how_a_client_is_pointed_at_the_gateway(client: Client, tmp_path: Path) -> None:
    done = await run_wrapped(client, tmp_path, programs=installed(client))
    assert done.turns == 2, done.output[-2000:]
    assert done.code == 0, done.output[-2000:]
    assert "came through the gateway" in done.output
    assert not client.tool or LAST_WORDS in done.output
