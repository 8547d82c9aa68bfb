"""What it takes to open a conversation of the chat, and to page through its history.

    python -m benchmarks.chat

The conversation lies in a SQLite file, compacted until near its end; a quarter of its messages are tool results, each
with a note of how long the tool took. "open" is from a service without anything in memory to a session; "view" is
what a page shows beside the history; "jump" is the page in the middle when nothing else was read yet. Each is the
median of several services, so file caches are warm and nothing else is.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from time import perf_counter

from autocompact.chat import ChatConfig, opened
from autocompact.chat.notes import Took
from autocompact.core.messages import Message, Text, ToolCall, ToolResult

SIZES = (500, 5_000)
TAIL = 200
RUNS = 5
CONFIG = ChatConfig(model="offline")


def turn(number: int) -> list[Message]:
    """A request, a call, its result, an answer."""
    call = ToolCall(id=f"call_{number}", name="read_file", arguments=f'{{"path": "part{number}.txt"}}')
    return [
        Message(seq=0, role="user", parts=(Text(text=f"What stands in part {number}? " + "word " * 20),)),
        Message(seq=0, role="assistant", parts=(call,)),
        Message(
            seq=0,
            role="tool",
            parts=(ToolResult(call_id=call.id, text=f"part {number}, line of text\n" * 40),),
        ),
        Message(seq=0, role="assistant", parts=(Text(text=f"Part {number} says: " + "answer " * 60),)),
    ]


async def fill(path: Path, size: int) -> str:
    """A conversation of ``size`` messages; its id."""
    async with opened(path, config=CONFIG, environ={}) as service:
        session = await service.create("Long")
        log = [message for number in range(size // 4) for message in turn(number)]
        await session.conversation.extend(log[:-TAIL])
        await session.compact()
        await session.conversation.extend(log[-TAIL:])
        await session.notes.add(*(Took(seq=seq, seconds=0.1) for seq in range(3, size + 1, 4)))
        return session.id


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    began = perf_counter()
    await work()
    return perf_counter() - began


async def look(path: Path, id: str, *, size: int) -> dict[str, float]:
    """What each step takes for somebody who just started the program."""
    figures: dict[str, float] = {}
    async with opened(path, config=CONFIG, environ={}) as service:
        figures["open"] = await timed(lambda: service.open(id))
        session = await service.open(id)
        page = await session.history()
        figures["last page"] = await timed(session.history)
        figures["page before"] = await timed(lambda: session.history(before_seq=page.earlier))
        began = perf_counter()
        session.view()
        figures["view"] = perf_counter() - began
        figures["jump"] = await timed(lambda: session.history(before_seq=size // 2))
    return figures


async def measure(size: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chats.db")
        id = await fill(path, size)
        rows = [await look(path, id, size=size) for _ in range(RUNS)]
    return {name: median(row[name] for row in rows) for name in rows[0]}


def main() -> None:
    rows = {size: asyncio.run(measure(size)) for size in SIZES}
    print("| ms | " + " | ".join(f"{size:,} messages" for size in rows) + " |")
    print("|---|" + "---:|" * len(rows))
    for name in rows[SIZES[0]]:
        print(f"| {name} | " + " | ".join(f"{row[name] * 1e3:.1f}" for row in rows.values()) + " |")


if __name__ == "__main__":
    main()
