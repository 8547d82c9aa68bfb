"""A network between a program and the server of the tests, which can be cut."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Self

from tests.stores.cluster import PORT, Cluster


class Wire:
    """Carries bytes between a port of this machine and the server's socket.

    Attributes:
        port: of 127.0.0.1.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._target = str(cluster.folder / f".s.PGSQL.{PORT}")
        self._is_cut = False
        self._flows = asyncio.Event()
        self._flows.set()
        self._ends: set[asyncio.StreamWriter] = set()
        self._carrying: set[asyncio.Task[None]] = set()
        self.port = 0

    @asynccontextmanager
    async def laid(self) -> AsyncGenerator[Self]:
        """Within this block it carries."""
        listening = socket.create_server(("127.0.0.1", 0))
        self.port = listening.getsockname()[1]
        server = await asyncio.start_server(self._accepted, sock=listening)
        try:
            yield self
        finally:
            server.close()
            self.cut()
            await asyncio.gather(*self._carrying, return_exceptions=True)

    def url(self, database: str) -> str:
        """As `Cluster.new_database` gave it, by way of the wire."""
        user, name = database.removeprefix("postgresql://").split("?")[0].split("@/")
        return f"postgresql://{user}@127.0.0.1:{self.port}/{name}?sslmode=disable&gssencmode=disable"

    def cut(self) -> None:
        """Break every connection; new ones are refused."""
        self._is_cut = True
        self._flows.set()
        for end in self._ends:
            end.transport.abort()

    def freeze(self) -> None:
        """Carry nothing any more, and say nothing of it: what a lost route looks like."""
        self._flows.clear()

    def mend(self) -> None:
        """Carry again: new connections, and what was frozen."""
        self._is_cut = False
        self._flows.set()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        try:
            there, back = await asyncio.open_unix_connection(self._target)
        except OSError:  # the server is down
            writer.transport.abort()
            return
        self._ends |= {writer, back}
        for source, target in ((reader, back), (there, writer)):
            task = asyncio.create_task(self._carried(source, target))
            self._carrying.add(task)
            task.add_done_callback(self._carrying.discard)

    async def _carried(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(65_536):
                await self._flows.wait()
                target.write(data)
                await target.drain()
        with suppress(OSError, RuntimeError):
            target.close()
        self._ends.discard(target)
