"""A plain aiohttp pass-through: what a proxy in Python costs that does nothing. ``… UPSTREAM_PORT``; prints its port."""

from __future__ import annotations

import asyncio
import sys

import aiohttp
import uvloop
from aiohttp import web


async def main(upstream: str) -> None:
    async with aiohttp.ClientSession(auto_decompress=False) as session:

        async def passed(request: web.Request) -> web.StreamResponse:
            url = f"http://127.0.0.1:{upstream}{request.path_qs}"
            headers = {name: value for name, value in request.headers.items() if name.lower() != "host"}
            async with session.post(url, data=await request.content.read(), headers=headers) as answer:
                response = web.StreamResponse(status=answer.status)
                response.content_type = answer.content_type
                await response.prepare(request)
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
                return response

        server = web.Server(passed)
        listening = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
        print(listening.sockets[0].getsockname()[1], flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(sys.argv[1]))
