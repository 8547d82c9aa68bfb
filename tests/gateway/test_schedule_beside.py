"""Upkeep by the calendar runs beside the gateway, as the settings say."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from autocompact.gateway import Gateway
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.server import running
from autocompact.gateway.turns import Turns
from autocompact.settings import load_settings
from autocompact.settings.schedule import schedule_of
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeClock, FakeProvider
from tests.gateway.serving import config
from tests.gateway.test_compaction import big, send

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


class Closed(MemoryStore):
    """Knows whether it was closed."""

    is_closed = False

    async def aclose(self) -> None:
        self.is_closed = True


async def test_what_fails_as_the_gateway_ends_keeps_nothing_else_from_being_written_and_closed() -> None:
    """The store was left open, with all that waited to be written."""

    class Failing:
        ended = 0

        def start(self) -> None:
            pass

        async def aclose(self) -> None:
            self.ended += 1
            raise OSError("the folder of its notes is gone")

    store, failing = Closed(), Failing()
    async with FakeProvider("Fine.", window=8_000) as provider:
        gateway = Gateway(config(provider, window=8_000), store=store)
        for _ in range(2):
            gateway.run_beside(failing)
        async with running(gateway) as url:
            await send(url, big(50))
    assert failing.ended == 2
    assert store.is_closed
    (namespace,) = await store.namespaces()
    (kept,) = await store.conversations(namespace)
    assert kept.last_seq == len(big(50))


async def test_what_prepares_for_a_model_that_is_not_remembered_ends_before_the_store() -> None:
    """Of more models than are remembered the oldest was forgotten with what ran for it, which then found the store closed."""
    store = Closed()
    async with FakeProvider("Fine.") as provider:
        turns = Turns(config(provider), store=store, summaries=None, metrics=Metrics())
        oldest = turns.compactors.of_model("model 0", namespace="a")
        found: list[bool] = []

        async def preparing() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                found.append(store.is_closed)

        oldest.tasks.add(asyncio.create_task(preparing()))
        for number in range(1, 100):
            turns.compactors.of_model(f"model {number}", namespace="a")
        assert turns.compactors.of_model("model 0", namespace="a") is not oldest
        await asyncio.sleep(0)
        await turns.aclose()
    assert found == [False]
