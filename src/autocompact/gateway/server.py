"""Serves a gateway with uvicorn: HTTP/1.1, uvloop where there is one, headers and idle connections limited."""

from __future__ import annotations

import asyncio
import errno
import gc
import math
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType
from typing import TypeVar

import uvicorn

from autocompact.errors import InvalidInput
from autocompact.gateway.app import Gateway
from autocompact.gateway.connections import limited
from autocompact.gateway.page_mount import Application, PageMount

T = TypeVar("T")

_BACKLOG = 2_048
_SWITCH_SECONDS = 0.001
_COLLECTIONS = (10_000, 10, 50)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens on the address, so that who connects from now on is served; port 0 is any free one.

    Raises:
        InvalidInput: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small packets at once only where it knows that the protocol is TCP
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # Windows takes it for leave to share a port that somebody listens on
    if os.name == "posix":
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        raise InvalidInput(
            f"cannot listen on {host}:{port} ({error.strerror or error}): {_way_out(error)}"
        ) from error
    return bound


def _way_out(error: OSError) -> str:
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return "choose another --host, an address of this machine"
    return "choose another --port" + (", above 1023" if isinstance(error, PermissionError) else "")


def address_of(bound: socket.socket) -> str:
    """The base address of what listens there."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def configuration(gateway: Gateway, *, page: Application | None = None) -> uvicorn.Config:
    """How uvicorn serves the gateway, and beside it the page: `uvicorn.Server` takes it."""
    limits = gateway.config.limits
    return uvicorn.Config(
        gateway if page is None else PageMount(gateway, page),
        http=limited(limits),
        access_log=False,
        log_config=None,
        lifespan="on",
        # the provider's own go through, and stand alone
        server_header=False,
        date_header=False,
        # nobody's word is taken for where a client is
        proxy_headers=False,
        ws="none" if page is None else "auto",
        timeout_keep_alive=math.ceil(limits.idle_seconds),
        timeout_graceful_shutdown=math.ceil(limits.drain_seconds),
    )


def run(work: Coroutine[object, object, T]) -> T:
    """The result of ``work``, on uvloop where there is one."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        new_event_loop = None
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work)


def share_the_interpreter() -> None:
    """Keep one request's long work in a thread from holding up the others: for the process of a server, once, at its start.

    A thread that computes hands the interpreter's lock over after a millisecond instead of five. What was imported is
    never looked at again by the garbage collector, and the whole heap seldom: a look at it takes 100 ms while a large
    session is read, and stops every thread.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)


async def served(
    gateway: Gateway,
    bound: socket.socket,
    *,
    page: Application | None = None,
    begins: Callable[[], object] | None = None,
) -> None:
    """Serve until a signal says to stop; what runs then has `Limits.drain_seconds` to end.

    Args:
        gateway: what is served.
        bound: where.
        page: an ASGI application for every path that is not the gateway's.
        begins: called when it starts; a signal is heard from then on.

    Raises:
        KeyboardInterrupt: it was SIGINT.
    """

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Generator[None, None, None]:
            """As uvicorn, but a SIGTERM that was obeyed does not kill the process after all."""
            with _handled(self.handle_exit):
                yield
            if signal.SIGINT in self._captured_signals:
                raise KeyboardInterrupt

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            """As uvicorn, but a signal that comes meanwhile ends it as orderly as a later one."""
            if begins is not None:
                begins()
            await super().startup(sockets)
            # uvicorn looks at the flag in its main loop, which it would not reach
            if self.started and self.should_exit:
                await self.shutdown(sockets)

    share_the_interpreter()
    await Server(configuration(gateway, page=page)).serve(sockets=[bound])


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Generator[None]:
    """Let ``handler`` have the signals that stop a process."""
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


@asynccontextmanager
async def running(
    gateway: Gateway, *, host: str = "127.0.0.1", port: int = 0, page: Application | None = None
) -> AsyncGenerator[str]:
    """Serve within this block, which gets the base address, without ``/v1``. Signals are left to the caller.

    Args:
        gateway: what is served.
        host: address to listen on.
        port: 0 is any free one.
        page: an ASGI application for every path that is not the gateway's.

    Raises:
        InvalidInput: the address cannot be had.
    """
    up = asyncio.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            up.set()

        @contextmanager
        def capture_signals(self) -> Generator[None, None, None]:
            yield

    bound = listening(host, port)
    serving = Server(configuration(gateway, page=page))
    task = asyncio.create_task(serving.serve(sockets=[bound]))
    waiting = asyncio.create_task(up.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        yield address_of(bound)
    finally:
        # also where the server ended before it was up: then nobody sets the event
        waiting.cancel()
        serving.should_exit = True
        await task
        bound.close()
