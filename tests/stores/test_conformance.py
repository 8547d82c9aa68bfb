"""Every store does what the port says."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocompact.ports import Clock
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing.stores import StoreConformance


class TestMemoryStore(StoreConformance):
    async def make_store(self, clock: Clock) -> MemoryStore:
        return MemoryStore(clock=clock)


class TestSqliteStore(StoreConformance):
    @pytest.fixture(autouse=True)
    def _in_a_folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    async def make_store(self, clock: Clock) -> SqliteStore:
        return SqliteStore(self.folder / "chats.db", clock=clock)
