"""Upkeep by the calendar runs beside the gateway, as the settings say."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from autocompact.gateway import Gateway
from autocompact.gateway.server import running
from autocompact.settings import load_settings
from autocompact.settings.schedule import schedule_of
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeClock, FakeProvider
from tests.gateway.serving import config

pytestmark = pytest.mark.anyio
NOW = "2026-11-01T00:30:00.000+00:00"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "OBSERVATIONS.md").write_text(
        "- 2026-01-01: Old\n- 2026-01-01: Confirmed (9 confirmations)\n"
    )
    (tmp_path / "DONE.md").write_text(
        "".join(f"- 2026-10-{day:02}: T-{day} x (done)\n" for day in range(1, 13))
    )
    (tmp_path / ".schedule.json").write_text('{"weekly": "2026-09-06", "monthly": "2026-09-01"}')
    return tmp_path


async def served(folder: Path, provider: FakeProvider, **compaction: object) -> None:
    """Serve until the schedule has noted what it did."""
    own = folder / "settings.json"
    own.write_text(json.dumps({"compaction": compaction}))
    environ = {
        "AUTOCOMPACT_CHAT_MEMORY_FOLDER": str(folder),
        "AUTOCOMPACT_CHAT_DB": str(folder / "none.db"),
        "AUTOCOMPACT_GATEWAY_DB": ":memory:",
    }
    settings = load_settings(folder, user=own, environ=environ).settings
    clock = FakeClock(NOW)
    gateway = Gateway(config(provider), store=MemoryStore(clock=clock), clock=clock)
    gateway.run_beside(schedule_of(settings, clock=clock))
    async with running(gateway):
        async with asyncio.timeout(30):
            while "2026-11-01" not in state(folder).get("monthly", ""):
                await asyncio.to_thread(lambda: None)


def state(folder: Path) -> dict[str, Any]:
    return json.loads((folder / ".schedule.json").read_text())


@pytest.mark.requirement("C5")
async def test_a_server_makes_up_for_what_was_missed_when_it_starts(folder: Path):
    async with FakeProvider() as provider:
        await served(folder, provider)
        assert "Rule 1: Confirmed" in (folder / "ACTIVE_RULES.md").read_text()
        assert (folder / "TASK_ARCHIVE.md").read_text().count("| T-") == 2
        assert (folder / "reports" / "2026-10.html").is_file()
        assert state(folder) == {"weekly": "2026-11-01", "monthly": "2026-11-01", "sessions": 0}
        before = (folder / "ACTIVE_RULES.md").read_bytes()
        await served(folder, provider)
        assert (folder / "ACTIVE_RULES.md").read_bytes() == before


async def test_the_switches_of_the_settings_are_obeyed(folder: Path):
    off = {"observationAge": {"enabled": False}}
    async with FakeProvider() as provider:
        await served(folder, provider, triggers=off, monthlyReview=False)
    assert not (folder / "ACTIVE_RULES.md").exists()
    assert not (folder / "reports").exists()
    assert (folder / "TASK_ARCHIVE.md").exists()


async def test_with_everything_switched_off_nothing_runs(folder: Path):
    before = (folder / "DONE.md").read_bytes()
    async with FakeProvider() as provider:
        await served(folder, provider, enabled=False)
    assert (folder / "DONE.md").read_bytes() == before
    assert not (folder / "MEMORY.md").exists()
