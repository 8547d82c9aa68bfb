"""What the gateways are measured with: an upstream that answers at once, and a client that waits for the whole answer.

Both write bytes that were made before, on plain asyncio protocols, so that they take little of the time that is measured.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from time import perf_counter
from typing import cast

EVENTS = 50
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_STREAM = re.compile(rb'"stream": ?true')
_WORDS = "The build of the module printed line after line and nothing of interest. "


class _Http(asyncio.Protocol):
    """Collects whole messages of HTTP/1.1."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport
        self._data = bytearray()
        self._size = 0
        self._chunked = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        if not self._size:
            end = self._data.find(b"\r\n\r\n") + 4
            if end < 4:
                return
            head = bytes(self._data[:end])
            length = _LENGTH.search(head)
            self._chunked = _CHUNKED.search(head) is not None
            self._size = end + int(length[1]) if length else end
        whole = self._data.endswith(b"0\r\n\r\n") if self._chunked else len(self._data) >= self._size
        if whole:
            message, self._data, self._size = bytes(self._data), bytearray(), 0
            self.received(message)

    def received(self, message: bytes) -> None:
        """One whole request or response."""
        raise NotImplementedError


def _answer(usage: int) -> bytes:
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Fine."}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": usage, "completion_tokens": 2, "total_tokens": usage + 2},
    }
    raw = json.dumps(body).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % len(raw) + raw


def _events() -> list[bytes]:
    event = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
    choice = {"index": 0, "delta": {"content": "word "}, "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": "stop"}
    said = [json.dumps(event | {"choices": [choice]}).encode()] * (EVENTS - 2)
    lines = [b"data: %s\n\n" % raw for raw in (*said, json.dumps(event | {"choices": [last]}).encode())]
    lines.append(b"data: [DONE]\n\n")
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return [head, *(b"%x\r\n%s\r\n" % (len(line), line) for line in lines), b"0\r\n\r\n"]


class _Upstream(_Http):
    stream = _events()

    def received(self, message: bytes) -> None:
        if _STREAM.search(message):
            for event in self.stream:
                self.transport.write(event)
        else:
            self.transport.write(_answer(len(message) // 4))


@asynccontextmanager
async def upstream() -> AsyncIterator[int]:
    """The port of an upstream that says "Fine." to everything."""
    server = await asyncio.get_running_loop().create_server(_Upstream, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


class Client(_Http):
    """One connection."""

    def __init__(self) -> None:
        super().__init__()
        self._answered: asyncio.Future[bytes]

    @classmethod
    async def connect(cls, port: int) -> Client:
        """Connected to 127.0.0.1."""
        _, client = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return client

    def received(self, message: bytes) -> None:
        if not self._answered.done():
            self._answered.set_result(message)

    def connection_lost(self, exc: Exception | None) -> None:
        if hasattr(self, "_answered") and not self._answered.done():
            self._answered.set_exception(exc or ConnectionResetError("the server closed the connection"))

    async def ask(self, request: bytes) -> bytes:
        """The whole answer.

        Raises:
            RuntimeError: it is not 200.
            OSError: the connection broke.
        """
        self._answered = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        answer = await self._answered
        if not answer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(answer[:300].decode(errors="replace"))
        return answer

    def close(self) -> None:
        """Close the connection."""
        self.transport.close()


def post(body: bytes, *, path: str = "/v1/chat/completions", key: str = "sk-bench") -> bytes:
    """A request as an OpenAI client sends it."""
    return (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {key}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    ).encode() + body


def turns(size: int, *, name: str, message: int = 500, stream: bool = False) -> Iterator[bytes]:
    """Requests of one conversation that has ``size`` bytes already: each with two messages more than the one before.

    It begins with a tool's output of two such messages' size, so that a small one has something to compact too.
    """
    listed: list[str] = []
    number = written = 0

    def say(text: str | None, **members: object) -> None:
        nonlocal number, written
        role = "assistant" if number % 2 else "user"
        listed.append(json.dumps({"role": role, "content": text} | members))
        number, written = number + 1, written + len(listed[-1])

    call = {
        "id": "call-1",
        "type": "function",
        "function": {"name": "read", "arguments": '{"path": "words.txt"}'},
    }
    say(f"{name}: read words.txt")
    say(None, tool_calls=[call])
    say(_WORDS * (2 * message // len(_WORDS)), role="tool", tool_call_id="call-1")
    while written + message < size or not number % 2:
        say(f"{name} {number}: {_WORDS * (message // len(_WORDS))}")
    while True:
        messages = ", ".join(listed)
        members = f'"model": "gpt-4o", "stream": {"true" if stream else "false"}, "messages": [{messages}]'
        yield post(b"{" + members.encode() + b"}")
        say("Fine.")
        say(f"{name}, go on with {number}")


async def latencies(client: Client, requests: Iterator[bytes], *, count: int, seconds: float) -> list[float]:
    """Seconds of each of so many requests, one after the other; fewer if they take longer than ``seconds`` together."""
    taken: list[float] = []
    while len(taken) < count and sum(taken) < seconds:
        request = next(requests)
        begun = perf_counter()
        await client.ask(request)
        taken.append(perf_counter() - begun)
    return taken


async def rate(
    port: int, request: bytes, *, connections: int, count: int, seconds: float
) -> tuple[float, int]:
    """Requests per second over so many connections, and how many they were: ``count``, or what fits ``seconds``."""
    clients = [await Client.connect(port) for _ in range(connections)]
    left = count

    async def work(client: Client) -> None:
        nonlocal left
        while left > 0 and perf_counter() < begun + seconds:
            left -= 1
            await client.ask(request)

    try:
        begun = perf_counter()
        await asyncio.gather(*map(work, clients))
        return (count - left) / (perf_counter() - begun), count - left
    finally:
        for client in clients:
            client.close()
