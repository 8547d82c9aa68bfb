"""Real agents and SDKs through the gateway, far beyond a small window: ``make test-clients`` installs and runs them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.real.agents import BY_WRAP, CLIENTS, LAST_WORDS, TURNS, Client
from tests.real.judge import faults
from tests.real.recorded import session_faults
from tests.real.report import write_report
from tests.real.running_clients import SECONDS, Run, run, run_wrapped

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
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return Path(PROGRAMS)


def judge(client: Client, done: Run, faults: Sequence[str], *, turns: int, bodies: Path) -> None:
    """Fail with everything that is wrong, where the requests are, and the end of what the client printed."""
    wrong = list(faults)
    if done.code is None:
        wrong.append(f"it did not end within {SECONDS} s")
    elif done.code != 0:
        wrong.append(f"exit code {done.code}")
    if done.turns != turns:
        wrong.append(f"{done.turns} of {turns} turns")
    if client.tool and LAST_WORDS not in done.output:
        wrong.append(f"it did not print the last words of its model, {LAST_WORDS!r}")
    if wrong:
        found = "\n".join(f"- {each}" for each in wrong)
        said = f"Its requests are in {bodies}. It printed at last:\n{done.output[-2000:]}"
        pytest.fail(f"{client.name} does not hold:\n{found}\n{said}", pytrace=False)


@pytest.mark.parametrize("client", CLIENTS, ids=[each.name for each in CLIENTS])
async def test_a_client_outlives_its_window_and_keeps_its_instructions(
    client: Client, tmp_path: Path
) -> None:
    programs = installed(client)
    done = await run(client, tmp_path, programs=programs)
    found = [
        *faults(client, done.exchanges, done.received),
        *session_faults(client, tmp_path, done.exchanges),
    ]
    write_report(programs, client, done, faults=found)
    judge(client, done, found, turns=TURNS, bodies=tmp_path / "bodies")


@pytest.mark.parametrize("client", BY_WRAP, ids=[each.name for each in BY_WRAP])
async def test_wrap_knows_how_a_client_is_pointed_at_the_gateway(client: Client, tmp_path: Path) -> None:
    done = await run_wrapped(client, tmp_path, programs=installed(client))
    told = "came through the gateway" in done.output
    judge(
        client,
        done,
        [] if told else ["nothing was told of its requests"],
        turns=2,
        bodies=tmp_path / "bodies",
    )
