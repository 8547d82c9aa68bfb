"""The server for one client at the other end of stdin and stdout.

Newer clients first ask ``server/discover``; where no answer comes in time, they send the handshake of the older protocol behind
it, into the same pipe (Claude Code 2.1 after two seconds, which a start of Python on a busy computer takes). The SDK lets the
first request decide on the protocol, so it would take the question for the decision and refuse the handshake. Here the
question decides nothing: it is answered, and the request behind it decides.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server import MCPServer, Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

_QUESTION = "server/discover"

_Received: TypeAlias = SessionMessage | Exception


class _Writes(Protocol):
    """The way to the client. The SDK's own names for the two streams are private."""

    async def send(self, item: SessionMessage, /) -> None: ...


class StdioServer(MCPServer[Any]):
    """A server that answers what a client asks before it decides on a protocol."""

    async def run_stdio_async(self) -> None:
        """Serve the client until it closes stdin."""
        async with stdio_server() as (read, write):
            await self.serve(read, write)

    async def serve(self, read: AsyncIterable[_Received], write: _Writes) -> None:
        """Serve the client of a pair of streams until it closes the first of them."""
        send, received = anyio.create_memory_object_stream[_Received]()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._relay, read, (send, write))
            await self._run(received, write)
            tasks.cancel_scope.cancel()

    async def _relay(
        self,
        read: AsyncIterable[_Received],
        ways: tuple[MemoryObjectSendStream[_Received], _Writes],
    ) -> None:
        """Hand on what the client sends, without the questions before its first other request: these are answered.

        Args:
            read: what the client sends.
            ways: to the server, and to the client.
        """
        (send, write), decided = ways, False
        async with send:
            async for item in read:
                request = item.message if isinstance(item, SessionMessage) else None
                if isinstance(request, JSONRPCRequest) and not decided:
                    if request.method == _QUESTION:
                        await self._answer(item, write)
                        continue
                    decided = True
                await send.send(item)

    async def _answer(self, question: _Received, write: _Writes) -> None:
        """Answer one question, on a connection of its own."""
        send, received = anyio.create_memory_object_stream[_Received](1)
        answered, answers = anyio.create_memory_object_stream[SessionMessage](1)
        async with anyio.create_task_group() as tasks, send, answers:
            tasks.start_soon(self._run, received, answered)
            await send.send(question)
            await write.send(await answers.receive())

    async def _run(self, read: Any, write: Any) -> None:
        server = self._session_server
        await server.run(read, write, server.create_initialization_options())

    @cached_property
    def _session_server(self) -> Server[Any]:
        """The server of one session; the SDK names it only where it serves it over HTTP."""
        self.streamable_http_app()
        return self.session_manager.app
