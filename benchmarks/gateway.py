"""What the gateway adds to a request, and whether it grows: one run, one upstream, one client for all.

    python -m benchmarks.gateway [--no-peers] [--quick] [--json FILE]

The servers run on the first core, the client and the upstream on the second (benchmarks/gateways). Each measured
conversation goes on: a request has two messages more than the one before. "Added" is the time to the whole answer, less
that of the upstream asked directly; the targets take turns, so that what else the machine does meets all of them. "One
compaction": one was asked for after the first request, and stays in force. "Processor time" is what the server's process
takes for a request (Linux only); unlike the clock it hardly depends on what else the machine does. With ``--first`` all
of it runs before other work (a negative nice value, which needs the right to it).

The peers are installed once into benchmarks/.venvs (litellm, headroom); what cannot be installed or started is left
out, and the reason printed. They run as their documentation starts them, telemetry and rate limits off. A slow server
gets fewer requests (ROUND_SECONDS), and of fewer than 100 "p99" is the slowest.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.gateways.install import free_port, installed
from benchmarks.gateways.traffic import Client, latencies, post, rate, turns, upstream
from benchmarks.speed import reason, verdict

HERE = Path(__file__).parent
SIZES = {2_000: 300, 200_000: 150, 2_000_000: 36}
ROUNDS = 6
LITELLM = "litellm[proxy]==1.106.2"
HEADROOM = "headroom-ai[proxy]==0.42.0"
START_SECONDS = 120
ROUND_SECONDS = 5
"""What one round of one server may take: a slow one has fewer requests, so that the whole run stays below 12 minutes."""

PATIENCE = 60
"""Seconds beyond that after which a server that does not answer is given up."""

BIG_WINDOW = "4000000"

Row = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Target:
    """A server to be measured, and what was measured.

    Attributes:
        name: in the tables.
        port: on 127.0.0.1.
        process: None for the upstream itself.
        compacts: one compaction is to be in force.
        figures: seconds of each request, by the bytes of the conversation.
        spent: seconds of the server's processor time for all of them.
        problem: why it was given up.
    """

    name: str
    port: int
    process: asyncio.subprocess.Process | None = None
    compacts: bool = False
    figures: dict[int, list[float]] = field(default_factory=dict[int, list[float]])
    spent: dict[int, float] = field(default_factory=dict[int, float])
    problem: str = ""


def processor_seconds(target: Target) -> float:
    """What all threads of the server have taken so far, ended ones too; 0.0 where that cannot be told."""
    if target.process is None or sys.platform != "linux":
        return 0.0
    return time.clock_gettime(~target.process.pid << 3 | 2)  # clock_getcpuclockid(3), by the nanosecond


def pin(core: int) -> None:
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(0, {core})


@contextlib.contextmanager
def before_others() -> Iterator[None]:
    """Run before other work of the machine, servers included; where Linux shares by session, that is the session's."""
    os.nice(-15)
    group = Path("/proc/self/autogroup")
    if not group.exists():
        yield
        return
    usual = group.read_text().split()[-1]
    group.write_text("-15")
    try:
        yield
    finally:
        group.write_text(usual)


async def started(
    *command: str | Path, environment: dict[str, str] | None = None, output: Path | None = None
) -> Any:
    """A server on the first core. Its output goes to a file, or is read, because it prints its port."""
    file = output.open("wb") if output else asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *command,
        cwd=HERE.parent,
        env=os.environ | (environment or {}),
        stdin=asyncio.subprocess.PIPE,
        stdout=file,
        stderr=asyncio.subprocess.STDOUT if output else None,
        preexec_fn=lambda: pin(0),
    )


async def own(name: str, *arguments: str | Path, module: str, compacts: bool = False) -> Target:
    """A server of benchmarks/gateways, which prints its port."""
    process = await started(sys.executable, "-m", f"benchmarks.gateways.{module}", *map(str, arguments))
    return Target(name=name, port=int(await process.stdout.readline()), process=process, compacts=compacts)


async def stopped(target: Target) -> None:
    if target.process is not None and target.process.returncode is None:
        target.process.terminate()
        try:
            await asyncio.wait_for(target.process.wait(), 15)
        except TimeoutError:
            target.process.kill()
            await target.process.wait()


# The peers


async def answering(target: Target) -> None:
    """Wait until it answers a request.

    Raises:
        RuntimeError: it does not.
    """
    request = next(turns(500, name="hello"))
    for _ in range(START_SECONDS * 2):
        try:
            client = await Client.connect(target.port)
            await client.ask(request)
        except OSError:
            if target.process is not None and target.process.returncode is not None:
                raise RuntimeError(f"it ended at once, with exit code {target.process.returncode}") from None
            await asyncio.sleep(0.5)
        else:
            client.close()
            return
    raise RuntimeError(f"it does not answer within {START_SECONDS} seconds")


async def litellm(to: int, folder: Path) -> Target:
    program = await asyncio.to_thread(installed, LITELLM, program="litellm")
    settings = folder / "litellm.yaml"
    settings.write_text(
        "model_list:\n  - model_name: gpt-4o\n    litellm_params:\n      model: openai/gpt-4o\n"
        f"      api_base: http://127.0.0.1:{to}/v1\n      api_key: sk-bench\n"
    )
    port = free_port()
    process = await started(
        *(program, "--config", settings, "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"),
        environment={
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_LOG": "ERROR",
            "LITELLM_MASTER_KEY": "sk-bench",
        },
        output=folder / "litellm.log",
    )
    return Target(name=LITELLM.replace("[proxy]==", " "), port=port, process=process)


async def headroom(to: int, folder: Path) -> Target:
    program = await asyncio.to_thread(installed, HEADROOM, program="headroom")
    port = free_port()
    process = await started(
        *(program, "proxy", "--host", "127.0.0.1", "--port", str(port), "--no-rate-limit", "--no-cache"),
        environment={
            "OPENAI_TARGET_API_URL": f"http://127.0.0.1:{to}",
            "HEADROOM_TELEMETRY": "off",
            "HF_HUB_OFFLINE": "1",
            "HOME": str(folder),
        },
        output=folder / "headroom.log",
    )
    return Target(name=HEADROOM.replace("[proxy]==", " "), port=port, process=process)


PEERS: tuple[Callable[[int, Path], Awaitable[Target]], ...] = (headroom, litellm)


# Latency


def problem(error: Exception) -> str:
    """Why a server was given up."""
    waited = f"it did not answer within {PATIENCE} seconds" if isinstance(error, TimeoutError) else ""
    return waited or f"{type(error).__name__}: {error}"


async def measured(target: Target, requests: Iterator[bytes], *, size: int, count: int) -> None:
    """Some more requests of a conversation; a target that fails is given up."""
    try:
        client = await Client.connect(target.port)
        before = processor_seconds(target)
        async with asyncio.timeout(ROUND_SECONDS + PATIENCE):
            taken = await latencies(client, requests, count=count, seconds=ROUND_SECONDS)
        target.figures.setdefault(size, []).extend(taken)
        target.spent[size] = target.spent.get(size, 0.0) + processor_seconds(target) - before
        client.close()
    except (OSError, RuntimeError) as error:
        target.problem = problem(error)
        print(f"{target.name}: given up at {size:,} bytes: {target.problem[:200]}")


async def prepared(target: Target, requests: Iterator[bytes]) -> None:
    """The conversation is known, and compacted where that is wanted."""
    client = await Client.connect(target.port)
    answer = await client.ask(next(requests))
    if target.compacts:
        found = re.search(rb"x-autocompact-conversation: (\S+)", answer)
        assert found is not None, "every conversation is kept"
        await client.ask(post(b"{}", path=f"/autocompact/conversations/{found[1].decode()}/compact"))
    for request in islice(requests, 3):
        await client.ask(request)
    client.close()


async def compare(targets: Sequence[Target], sizes: dict[int, int]) -> None:
    for size, count in sizes.items():
        running: list[tuple[Target, Iterator[bytes]]] = []
        for target in targets:
            requests = turns(size, name=target.name)
            try:
                async with asyncio.timeout(PATIENCE):
                    await prepared(target, requests)
                running.append((target, requests))
            except (OSError, RuntimeError) as error:
                print(f"{target.name}: not measured at {size:,} bytes: {problem(error)[:300]}")
        for _ in range(ROUNDS):
            for target, requests in running:
                if not target.problem:
                    await measured(target, requests, size=size, count=count // ROUNDS)


def latency_table(targets: Sequence[Target]) -> list[Row]:
    direct = targets[0]
    print("\n| added p50, p99; processor time | " + " | ".join(f"{size:,} bytes" for size in SIZES) + " |")
    print("|---|" + "---:|" * len(SIZES))
    rows: list[Row] = []
    for target in targets:
        cells: list[str] = []
        for size in SIZES:
            taken = target.figures.get(size, [])
            if len(taken) < ROUNDS:
                cells.append("-")
                continue
            less = 0.0 if target is direct else median(direct.figures[size])
            highest = quantiles(taken, n=100)[98] if len(taken) > 100 else max(taken)
            middle, high = median(taken) - less, highest - less
            spent = target.spent[size] / len(taken)
            rows.append({"name": target.name, "bytes": size, "p50": middle, "p99": high, "spent": spent})
            cells.append(f"{middle * 1e3:.2f}, {high * 1e3:.2f}; {spent * 1e3:.2f} ms")
        what = f"{target.name} (whole time)" if target is direct else target.name
        print(f"| {what} | " + " | ".join(cells) + " |", flush=True)
    return rows


# Throughput


async def rated(target: Target, request: bytes, *, count: int) -> tuple[float, float]:
    """Requests a second, the middle of three rounds, and the processor time of one; a short round warms it up."""

    async def once(count: int) -> tuple[float, int]:
        async with asyncio.timeout(ROUND_SECONDS + PATIENCE):
            return await rate(target.port, request, connections=16, count=count, seconds=ROUND_SECONDS)

    await once(176)
    before = processor_seconds(target)
    rounds = [await once(count) for _ in range(3)]
    spent = processor_seconds(target) - before
    return median(speed for speed, _ in rounds), spent / sum(done for _, done in rounds)


async def throughput(targets: Sequence[Target], *, count: int) -> list[Row]:
    print("\n| requests/s, 16 connections (by processor time) | one small answer | stream of 50 events |")
    print("|---|---:|---:|")
    rows: list[Row] = []
    for target in targets:
        if target.compacts:
            continue
        cells: list[str] = []
        for stream in (False, True):
            request = next(turns(2_000, name="rate", stream=stream))
            try:
                speed, spent = await rated(target, request, count=count)
            except (OSError, RuntimeError) as error:
                print(f"{target.name}: its rate was not measured: {problem(error)[:200]}")
                cells.append("-")
                continue
            rows.append({"name": target.name, "stream": stream, "rate": speed, "spent": spent})
            cells.append(f"{speed:,.0f}" + (f" ({1 / spent:,.0f})" if spent else ""))
        print(f"| {target.name} | {' | '.join(cells)} |", flush=True)
    return rows


# Growth


async def state(target: Target) -> Row:
    """Megabytes, threads, open files, tasks and conversations in memory of a gateway of ours."""
    process = target.process
    assert process is not None
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"\n")
    tasks, known = map(int, (await process.stdout.readline()).split())
    proc = Path("/proc", str(process.pid))
    told = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    return {
        "rss": int(told["VmRSS"].split()[0]) / 1024,
        "threads": int(told["Threads"]),
        "files": len(list((proc / "fd").iterdir())),
        "tasks": tasks,
        "known": known,
    }


async def grown(target: Target, requests: Iterator[bytes], *, at: Sequence[int], what: str) -> list[Row]:
    """What the gateway takes after so many requests."""
    print(f"\n| {what} | RSS | open files | threads | tasks | conversations in memory |")
    print("|---:|---:|---:|---:|---:|---:|")
    client = await Client.connect(target.port)
    rows: list[Row] = []
    done = 0
    for goal in at:
        for request in islice(requests, goal - done):
            await client.ask(request)
        done = goal
        now = await state(target)
        rows.append({"requests": goal} | now)
        print(
            f"| {goal:,} | {now['rss']:.0f} MB | {now['files']} | {now['threads']} | {now['tasks']} | {now['known']} |",
            flush=True,
        )
    client.close()
    return rows


def many() -> Iterator[bytes]:
    number = 0
    while True:
        yield next(turns(4_000, name=f"conversation {number}"))
        number += 1


def busy(conversations: int = 40, length: int = 60) -> Iterator[bytes]:
    """The turns of a user with many agents: each conversation has so many turns, then another one takes its place."""
    number = 0
    running: list[Iterator[bytes]] = []
    while True:
        while len(running) < conversations:
            # of different lengths, so that they do not all end at once
            turn_count = length // 2 + number * 7 % length
            running.append(islice(turns(8_000, name=f"session {number}", message=1_500), turn_count))
            number += 1
        for one in tuple(running):
            request = next(one, None)
            if request is None:
                running.remove(one)
            else:
                yield request


@contextlib.asynccontextmanager
async def servers(to: int, folder: Path, *, with_peers: bool) -> AsyncIterator[list[Target]]:
    """The upstream itself first, then all that stand before it."""
    targets = [Target(name="the upstream itself", port=to)]
    try:
        targets.append(await own("aiohttp pass-through", str(to), module="passing"))
        for name, compacts, keep in (
            ("autocompact, defaults", False, "1"),
            ("autocompact, kept", False, "0"),
            ("autocompact, kept, one compaction", True, "0"),
        ):
            place = folder / f"{keep}-{compacts}"
            place.mkdir()
            target = await own(name, str(to), place, BIG_WINDOW, keep, module="ours", compacts=compacts)
            targets.append(target)
        for peer in PEERS if with_peers else ():
            await _with(peer, targets, to=to, folder=folder)
        yield targets
    finally:
        for target in targets:
            await stopped(target)


async def _with(
    peer: Callable[[int, Path], Awaitable[Target]], targets: list[Target], *, to: int, folder: Path
) -> None:
    target = None
    try:
        target = await peer(to, folder)
        await answering(target)
    except (OSError, subprocess.SubprocessError, RuntimeError) as error:
        print(f"{getattr(peer, '__name__', '')}: left out: {reason(error)}")
        if target is not None:
            await stopped(target)
    else:
        targets.append(target)


def verdicts(found: Row) -> None:
    print("\nTargets:")
    for row in found["latency"]:
        if row["bytes"] == 200_000 and row["name"].startswith("autocompact"):
            verdict(f"ms added at 200,000 bytes, p50, {row['name']}", row["p50"] * 1e3, most=1)
            print(f"  - its processor time, HTTP on both sides included: {row['spent'] * 1e3:.2f} ms")
    for stream, kind in ((False, "small"), (True, "streams")):
        rows = {row["name"]: row for row in found["rate"] if row["stream"] == stream}
        ours = rows["autocompact, defaults"]
        if not stream:
            verdict("requests/s, small", ours["rate"], least=2_000)
        for name, other in rows.items():
            if name.startswith("litellm"):
                verdict(f"requests/s against LiteLLM's, {kind}", ours["rate"] / other["rate"], least=5)
                verdict("  - by processor time", other["spent"] / ours["spent"], least=5)


async def measure(options: argparse.Namespace) -> Row:
    found: Row = {}
    share = 10 if options.quick else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with upstream() as to:
            async with servers(to, folder, with_peers=not options.no_peers) as targets:
                counts = {size: max(count // share, 2 * ROUNDS) for size, count in SIZES.items()}
                await compare(targets, counts)
                found["latency"] = latency_table(targets)
                found["rate"] = await throughput(targets, count=4_000 // share)
            for what, requests, at, window in (
                ("conversations", many(), (500, 1_000, 2_500, 5_000, 10_000), BIG_WINDOW),
                ("turns", busy(), (2_000, 4_000, 8_000, 12_000, 16_000, 20_000), "12000"),
            ):
                place = folder / what
                place.mkdir()
                target = await own(what, str(to), place, window, "0", module="ours")
                steps = [number // share for number in at]
                found[what] = await grown(target, requests, at=steps, what=what)
                await stopped(target)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-peers", action="store_true", help="only our own figures; nothing is installed")
    parser.add_argument("--quick", action="store_true", help="a tenth of the requests")
    parser.add_argument("--first", action="store_true", help="before other work of the machine")
    parser.add_argument("--json", type=Path, help="write all figures there as well")
    options = parser.parse_args()
    import uvloop

    pin(1)
    today = datetime.datetime.now(datetime.UTC).date()
    load = os.getloadavg()[0]
    print(f"{today}, Python {platform.python_version()}, {os.cpu_count()} CPUs, load {load:.1f} at the start")
    first = before_others() if options.first else contextlib.nullcontext()
    with first, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        found = runner.run(measure(options))
    verdicts(found)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
