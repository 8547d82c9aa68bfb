"""What one client's huge request costs the others: a small request beside it against the same one with no neighbour.

    python -m benchmarks.neighbour [--megabytes 10] [--rounds 3] [--first] [--json FILE]

One gateway over a SQLite file on the first core, its clients and the upstream on the second. A small request (2 KB, kept;
every tenth begins a new conversation) is sent every 20 ms and its whole answer awaited: for some seconds alone, then
while a neighbour sends requests of so many megabytes, each a new conversation, one after the other. Every latency
between the neighbour's first byte and two seconds after its last answer counts. "Beside" is the figure of the target.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import datetime
import itertools
import json
import os
import platform
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

from benchmarks.gateway import before_others, own, pin, stopped
from benchmarks.gateways.traffic import Client, post, turns, upstream
from benchmarks.speed import verdict

WINDOW = "128000"
KEEP_FROM = "0"
TURNS = 10
EVERY_SECONDS = 0.02
ALONE_SECONDS = 5.0
SETTLED_SECONDS = 2.0
"""After the neighbour's answer: what its request left to be done in the background disturbs others as well."""

Row = dict[str, Any]

_SENTENCE = (
    "The build of module {0} printed line {1} of src/pkg_{0}/file_{1}.py and nothing else of interest.\n"
)


def prose(size: int, seed: int) -> str:
    lines = (_SENTENCE.format(seed, number) for number in range(size // 80))
    return "".join(lines)[:size]


def letters(size: int, seed: int) -> str:
    return random.Random(seed).randbytes(size // 2).hex()


def base64_line(size: int, seed: int) -> str:
    return base64.b64encode(random.Random(seed).randbytes(size * 3 // 4)).decode()


def one(text: Callable[[int, int], str]) -> Callable[[int, int], list[Row]]:
    """A conversation of one message."""
    return lambda size, seed: [{"role": "user", "content": f"{seed} {text(size, seed)}"}]


def session(size: int, seed: int) -> list[Row]:
    """A recorded agent's session: calls of a tool and their outputs, 8 KB each."""
    listed: list[Row] = [{"role": "user", "content": f"session {seed}: find the error"}]
    for number in range(size // 8_200):
        call = {"name": "read", "arguments": json.dumps({"path": f"src/pkg/file_{number}.py"})}
        listed += (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{number}", "content": prose(8_000, number)},
        )
    return [*listed, {"role": "user", "content": "What is the error?"}]


def output(size: int, seed: int) -> list[Row]:
    """A session whose first tool call printed all of it, as JSON."""
    record = {
        "id": 0,
        "user_name": "a person",
        "path": "src/pkg/file.py",
        "token_count": 4,
        "note": "as it was",
    }
    count = size // len(json.dumps(record))
    call = {"name": "fetch", "arguments": json.dumps({"path": f"records/{seed}"})}
    calls = [{"id": "c1", "type": "function", "function": call}]
    return [
        {"role": "user", "content": f"session {seed}: look at the records"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": json.dumps([record | {"id": number} for number in range(count)]),
        },
        {"role": "assistant", "content": "They are all alike."},
        {"role": "user", "content": "Then go on with the next ones."},
    ]


KINDS: dict[str, Callable[[int, int], list[Row]]] = {
    "one message of lines": one(prose),
    "one message of blanks": one(lambda size, _: " " * size),
    "one message of one letter": one(lambda size, _: "a" * size),
    "one message of hex digits": one(letters),
    "one line of base64": one(base64_line),
    "a tool's output of JSON": output,
    "an agent's session": session,
}


def body(kind: str, *, size: int, seed: int) -> bytes:
    return post(json.dumps({"model": "gpt-4o", "messages": KINDS[kind](size, seed)}).encode(), key="sk-big")


def small() -> Iterator[bytes]:
    for number in itertools.count():
        yield from itertools.islice(turns(2_000, name=f"small {number}"), TURNS)


async def paced(client: Client, requests: Iterator[bytes], *, until: asyncio.Event) -> list[float]:
    """Seconds of each small request, begun every `EVERY_SECONDS` or as soon as the one before is answered."""
    taken: list[float] = []
    while not until.is_set():
        begun = perf_counter()
        await client.ask(next(requests))
        taken.append(perf_counter() - begun)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(until.wait(), max(0.001, EVERY_SECONDS - taken[-1]))
    return taken


async def alone(client: Client, requests: Iterator[bytes]) -> list[float]:
    done = asyncio.Event()
    asyncio.get_running_loop().call_later(ALONE_SECONDS, done.set)
    return await paced(client, requests, until=done)


async def beside(
    client: Client, requests: Iterator[bytes], *, port: int, big: list[bytes]
) -> tuple[list[float], list[float], str]:
    """Latencies of the small requests, seconds of the big ones, and what was done to the last of these."""
    done = asyncio.Event()
    small = asyncio.create_task(paced(client, requests, until=done))
    took: list[float] = []
    action = ""
    for request in big:
        neighbour = await Client.connect(port)
        begun = perf_counter()
        answer = await neighbour.ask(request)
        took.append(perf_counter() - begun)
        found = re.search(rb"x-autocompact-action: (\S+)", answer)
        action = found[1].decode() if found else ""
        neighbour.close()
    await asyncio.sleep(SETTLED_SECONDS)
    done.set()
    return await small, took, action


def high(taken: list[float]) -> float:
    return quantiles(taken, n=100)[98] if len(taken) > 100 else max(taken)


async def measure(options: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    size = int(options.megabytes * 1_000_000)
    print("| neighbour | alone p50, p99 | beside p50, p99, slowest | ratio of p99 | the neighbour's own |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        async with upstream() as to:
            for number, kind in enumerate(options.kinds or KINDS):
                place = tempfile.mkdtemp(prefix=f"{number}-", dir=name)
                target = await own(kind, str(to), place, WINDOW, KEEP_FROM, module="ours")
                try:
                    client = await Client.connect(target.port)
                    requests = small()
                    first = perf_counter()
                    await client.ask(next(requests))
                    first = perf_counter() - first
                    quiet = await alone(client, requests)
                    big = [body(kind, size=size, seed=seed) for seed in range(options.rounds)]
                    busy, took, action = await beside(client, requests, port=target.port, big=big)
                    client.close()
                finally:
                    await stopped(target)
                row: Row = {
                    "kind": kind,
                    "bytes": size,
                    "first": first,
                    "alone": {"p50": median(quiet), "p99": high(quiet)},
                    "beside": {"p50": median(busy), "p99": high(busy), "max": max(busy), "count": len(busy)},
                    "neighbour": took,
                    "action": action,
                }
                rows.append(row)
                print(
                    f"| {kind} | {median(quiet) * 1e3:.1f}, {high(quiet) * 1e3:.1f} ms"
                    f" | {median(busy) * 1e3:.1f}, {high(busy) * 1e3:.1f}, {max(busy) * 1e3:.1f} ms"
                    f" | {high(busy) / high(quiet):.1f} | {median(took):.2f} s, {action} |",
                    flush=True,
                )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=float, default=10, help="of the neighbour's request")
    parser.add_argument("--rounds", type=int, default=3, help="requests of the neighbour")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, help="only these")
    parser.add_argument("--first", action="store_true", help="before other work of the machine")
    parser.add_argument("--json", type=Path, help="write all figures there as well")
    options = parser.parse_args()
    import uvloop

    pin(1)
    today = datetime.datetime.now(datetime.UTC).date()
    load = os.getloadavg()[0]
    print(
        f"{today}, Python {platform.python_version()}, {os.cpu_count()} CPUs, load {load:.1f} at the start\n"
    )
    first = before_others() if options.first else contextlib.nullcontext()
    with first, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        rows = runner.run(measure(options))
    print("\nTargets:")
    for row in rows:
        verdict(f"ms, p99, beside {row['kind']}", row["beside"]["p99"] * 1e3, most=100)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
