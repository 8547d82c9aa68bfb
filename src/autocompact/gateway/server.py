"""Serves a gateway with uvicorn: HTTP/1.1, uvloop where there is one, headers and idle connections limited."""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, TypeVar

from autocompact.errors import InvalidInput
from autocompact.gateway.app import Gateway

if TYPE_CHECKING:
    import uvicorn

T = TypeVar("T")

_GRACE_SECONDS = 10


def listening(host: str, port: int) -> socket.socket:
    """A socket bound to the address; port 0 is any free one.

    Raises:
        InvalidInput: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small packets at once only where it knows that the protocol is TCP
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise InvalidInput(
            f"cannot listen on {host}:{port} ({error.strerror or error}): choose another --port"
        ) from error
    return bound


def address_of(bound: socket.socket) -> str:
    """The base address of what listens there."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def configuration(gateway: Gateway) -> uvicorn.Config:
    """How uvicorn serves: `uvicorn.Server` takes it."""
    import uvicorn

    from autocompact.gateway.connections import limited

    limits = gateway.config.limits
    return uvicorn.Config(
        gateway,
        http=limited(limits),
        access_log=False,
        log_config=None,
        lifespan="on",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        timeout_keep_alive=math.ceil(limits.idle_seconds),
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


def run(work: Coroutine[object, object, T]) -> T:
    """The result of ``work``, on uvloop where there is one."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        new_event_loop = None
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work)


async def served(gateway: Gateway, bound: socket.socket) -> None:
    """Serve until a signal says to stop; what runs then has ten seconds to end."""
    import uvicorn

    await uvicorn.Server(configuration(gateway)).serve(sockets=[bound])


@asynccontextmanager
async def running(gateway: Gateway, *, host: str = "127.0.0.1", port: int = 0) -> AsyncGenerator[str]:
    """Serve within this block, which gets the base address, without ``/v1``. Signals are left to the caller.

    Raises:
        InvalidInput: the address cannot be had.
    """
    import uvicorn

    up = asyncio.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            up.set()

        @contextmanager
        def capture_signals(self) -> Generator[None, None, None]:
            yield

    bound = listening(host, port)
    serving = Server(configuration(gateway))
    task = asyncio.create_task(serving.serve(sockets=[bound]))
    waiting = asyncio.create_task(up.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        yield address_of(bound)
    finally:
        waiting.cancel()
        serving.should_exit = True
        await task
        bound.close()
