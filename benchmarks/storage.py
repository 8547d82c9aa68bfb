"""What a store costs: bytes per raw byte, and the time and memory of appending, loading and reading.

Run ``python -m benchmarks.storage [FOLDER]``; FOLDER holds recorded sessions (default: the data pack beside the
repository). Each session becomes one conversation, twice: as it was read (messages without raw JSON), and as an
OpenAI client would send it (each message with the bytes it came as). "Raw bytes" are those of the second form for
both: what went over the wire. The file is measured after it was closed, so the write-ahead log is in it.

Appending is timed with one commit per message, as a conversation does it, each flushed to the disk; loading with the
last compaction 20 messages before the end, on a file that was just opened and again on one in use.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

from msgspec import structs

from autocompact.compaction.record import Compaction, Receipt
from autocompact.core.messages import Message, text_message
from autocompact.core.redaction import redact
from autocompact.errors import UnreadableSession
from autocompact.ledger.entries import Ledger
from autocompact.ports import Key
from autocompact.sessions.read import read_session
from autocompact.stores.sqlite import SqliteStore
from autocompact.wire.request import export_messages, parse_message

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
TAIL = 20
LONG = 100_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 2 where there are no sessions."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path, nargs="?", default=DATA, help="recorded sessions")
    parser.add_argument("--load", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.load:
        asyncio.run(_load_once(options.load))
        return 0
    sessions = list(_sessions(options.folder))
    if not sessions:
        print(f"no recorded sessions in {options.folder}: name a folder", file=sys.stderr)
        return 2
    sent = [_as_sent(session) for session in sessions]
    raw_bytes = sum(len(message.raw or b"") for session in sent for message in session)
    print(f"{len(sessions)} sessions, {sum(map(len, sessions)):,} messages, {raw_bytes:,} raw bytes\n")
    print("| messages | stored bytes | per raw byte | append, one commit each | append, bulk | read |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for number, (what, logs) in enumerate(
            (("as read, without raw", sessions), ("as sent, with raw", sent))
        ):
            path = Path(name, f"{number}.db")
            bulk = asyncio.run(_fill(path, logs))
            size = path.stat().st_size
            single, read = asyncio.run(_use(path, logs))
            print(f"| {what} | {size:,} | {size / raw_bytes:.2f} | {single} | {bulk} | {read} |")
        print(f"\nthe disk takes {_flush(Path(name)) * 1e3:.2f} ms to write and flush 4 KB\n")
        path = Path(name, "long.db")
        asyncio.run(_long(path))
        command = [sys.executable, "-m", "benchmarks.storage", "--load", str(path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        print(f"- peak memory of a process that does nothing else: {done.stdout.strip()}")
    return 0


def _flush(folder: Path) -> float:
    taken: list[float] = []
    with (folder / "flushed").open("wb", buffering=0) as file:
        for _ in range(200):
            started = perf_counter()
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
            taken.append(perf_counter() - started)
    return median(taken)


def _sessions(folder: Path) -> Iterable[tuple[Message, ...]]:
    for path in sorted(folder.rglob("*.json*")):
        try:
            yield read_session(path).messages
        except UnreadableSession:
            continue


def _as_sent(session: Iterable[Message]) -> tuple[Message, ...]:
    sent: list[Message] = []
    for message in session:
        for raw in export_messages([message], dialect="openai_chat").messages:
            parsed = parse_message(raw, seq=len(sent) + 1, dialect="openai_chat")
            sent.append(structs.replace(parsed, time=message.time, model=message.model, usage=message.usage))
    return tuple(sent)


async def _fill(path: Path, logs: Sequence[Sequence[Message]]) -> str:
    async with SqliteStore(path) as store:
        started = perf_counter()
        for number, log in enumerate(logs):
            await store.append(Key(conversation=str(number)), log, after=0)
        taken = perf_counter() - started
    return f"{taken / sum(map(len, logs)) * 1e6:.0f} µs"


async def _use(path: Path, logs: Sequence[Sequence[Message]]) -> tuple[str, str]:
    async with SqliteStore(path) as store:
        await store.load(Key(conversation="0"))
        started = perf_counter()
        for number in range(len(logs)):
            await store.read(Key(conversation=str(number)))
        read = (perf_counter() - started) / sum(map(len, logs))
        taken: list[float] = []
        for message in max(logs, key=len)[:1000]:
            started = perf_counter()
            await store.append(Key(conversation="one by one"), [message], after=message.seq - 1)
            taken.append(perf_counter() - started)
    return f"{median(taken) * 1e3:.2f} ms", f"{read * 1e6:.0f} µs"


async def _long(path: Path) -> None:
    await _make_long(path)
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(5):
        async with SqliteStore(path) as store:
            cold.append(await _load(store))
            warm += [await _load(store) for _ in range(20)]
    print(f"load of {TAIL} messages after a compaction of {LONG - TAIL:,}:")
    print(f"- first on a file just opened: {median(cold) * 1e3:.2f} ms; then {median(warm) * 1e6:.0f} µs")


async def _make_long(path: Path) -> None:
    log = [text_message(seq, "user", f"message {seq} " + "words of it " * 30) for seq in range(1, LONG + 1)]
    receipt = Receipt(tokens_before=0, tokens_after=0, bytes_before=0, bytes_after=0, rung="summarise")
    record = Compaction(
        id="c",
        from_seq=1,
        through_seq=LONG - TAIL,
        summary=redact("long ago"),
        ledger=Ledger(),
        receipt=receipt,
    )
    async with SqliteStore(path) as store:
        await store.append(Key(conversation="long"), log, after=0)
        await store.commit(Key(conversation="long"), records=[record], active="c", expected=None, fence=0)


async def _load(store: SqliteStore) -> float:
    started = perf_counter()
    loaded = await store.load(Key(conversation="long"))
    taken = perf_counter() - started
    assert len(loaded.messages) == TAIL
    return taken


async def _load_once(path: Path) -> None:
    async with SqliteStore(path) as store:
        await store.load(Key(conversation="nothing"))
        opened = _peak()
        await store.load(Key(conversation="long"))
    print(f"{_peak():.0f} MB, of which {_peak() - opened:.1f} MB for the load")


def _peak() -> float:
    """Megabytes; unlike ``ru_maxrss`` without what the parent process had."""
    (line,) = [
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")
    ]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    sys.exit(main())
