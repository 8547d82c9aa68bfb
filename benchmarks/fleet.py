"""Many machines on one PostgreSQL server: what tenants cost, a large database, its ranking, and four gateways against one.

    python -m benchmarks.fleet tenants [--rounds N]     row-level security: the same as a role that it holds for, and as one it does not
    python -m benchmarks.fleet large [--conversations N]     of 100 messages each: fills the database, then loads, searches, and lives a month
    python -m benchmarks.fleet ranking [--data DIR]     the retrieval sets, on a file and on the server
    python -m benchmarks.fleet gateways [--requests N --each N]  processor time of a request, of one gateway and of four on one database

The server is one of its own, with ``fsync`` on, reached through a socket of the same machine. Times of the clock are medians and 99th
percentiles; processor time (of this process and of all of the server's) says more where the machine has other work.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from multiprocessing import Process
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import aiohttp

from autocompact.core.messages import Message
from autocompact.core.tokens import Estimator
from autocompact.gateway.server import share_the_interpreter
from autocompact.ports import Key
from autocompact.stores.postgres import PostgresStore
from autocompact.testing import FakeProvider
from benchmarks.retrieval import DATA, Archive, lines, mean, over_documents, rated
from benchmarks.server import WORDS, message
from tests.cli.test_serve import free_port, serving
from tests.stores.cluster import PROGRAM, SUPERUSER, Cluster

MESSAGES = 100
"""Of a conversation of the large database."""

CONVERSATIONS = 50
"""Of each role, where tenants are measured."""

PROCESSES = 2
"""That fill the large database."""

AT_ONCE = 2
"""Conversations that each of them appends."""

DAYS = 30
MONTH = 600
"""Conversations of the large database that are deleted in a month, and as many are new; of a small one a half."""

ROUNDS = 400
"""Of each thing that the large database is asked."""

_TICKS = os.sysconf("SC_CLK_TCK")


def used(process: int) -> float:
    """Seconds of the processor that a process and its ended children took."""
    figures = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return sum(map(int, figures[11:15])) / _TICKS


def used_by(server: int) -> float:
    """The same of a server with all that serve a connection."""
    children = Path(f"/proc/{server}/task/{server}/children").read_text("ascii").split()
    return used(server) + sum(used(int(child)) for child in children)


def shown(times: Sequence[float]) -> str:
    return f"{median(times) * 1000:7.2f} {quantiles(times, n=100)[98] * 1000:7.2f} ms"


async def timed(work: Callable[[int], Awaitable[object]], rounds: Sequence[int]) -> list[float]:
    """Seconds of each."""
    taken: list[float] = []
    for number in rounds:
        start = time.perf_counter()
        await work(number)
        taken.append(time.perf_counter() - start)
    return taken


# What tenants cost


class Share:
    """The conversations of one role; each of its methods is one thing that a request does."""

    def __init__(self, url: str, *, role: str) -> None:
        self.store = PostgresStore(url)
        self.keys = [Key(conversation=f"talk {n}", namespace=f"{role} {n % 5}") for n in range(CONVERSATIONS)]
        self._ends: dict[Key, int] = defaultdict(int)
        self._chance = random.Random(7)

    async def append(self, number: int) -> None:
        """A message, or at first forty."""
        key = self.keys[number % CONVERSATIONS]
        count = 1 if self._ends[key] else 40
        new = [message(self._ends[key] + at, self._chance) for at in range(1, count + 1)]
        await self.store.append(key, new, after=self._ends[key])
        self._ends[key] += count

    async def load(self, number: int) -> None:
        """A conversation."""
        await self.store.load(self.keys[number % CONVERSATIONS])

    async def search(self, number: int) -> None:
        """All conversations of a tenant."""
        query = " ".join(self._chance.choices(WORDS[:400], k=3))
        await self.store.index.search(self.keys[number % CONVERSATIONS].namespace, query, k=5)


async def tenants(cluster: Cluster, *, rounds: int) -> None:
    """The same work in turns as the two roles, each in namespaces of its own of one database."""
    url = cluster.for_programs()
    held, free = Share(url, role="held"), Share(url.replace(f"{PROGRAM}@", f"{SUPERUSER}@"), role="free")
    for each in (held, free):
        await timed(each.append, range(CONVERSATIONS))
    found: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for number in range(rounds):
        for name in ("append", "load", "search"):
            # who goes first takes turns
            for place, each in ((0, held), (1, free)) if number % 2 else ((1, free), (0, held)):
                found[name][place].extend(await timed(getattr(each, name), [number]))
    print(f"{rounds} rounds; median, 99th percentile; ratio of the medians")
    for name, (ours, theirs) in found.items():
        print(
            f"{name:<8} held to it {shown(ours)}  not {shown(theirs)}  x {median(ours) / median(theirs):.2f}"
        )
    for each in (held, free):
        await each.store.aclose()


# A large database


def log_of(chance: random.Random) -> list[Message]:
    return [message(seq, chance) for seq in range(1, MESSAGES + 1)]


def fill(url: str, part: int, *, count: int) -> None:
    """Append every second conversation, or what `PROCESSES` makes of it; a process of its own."""

    async def work() -> None:
        chance, numbers = random.Random(part), iter(range(part, count, PROCESSES))

        async def one_after_the_other(store: PostgresStore) -> None:
            for number in numbers:
                await store.append(large_key(number), log_of(chance), after=0)

        async with PostgresStore(url) as store:
            await asyncio.gather(*(one_after_the_other(store) for _ in range(AT_ONCE)))

    asyncio.run(work())


def large_key(number: int) -> Key:
    """Every hundredth conversation is of one tenant, the others of one of ten."""
    return Key(
        conversation=f"talk {number}", namespace="small" if number % 100 == 0 else f"team {number % 10}"
    )


def large(cluster: Cluster, *, count: int) -> None:
    """Fill a database without the index of terms, which is made at the end, as a restored backup does; then use it."""
    url, messages = cluster.for_programs(), count * MESSAGES
    empty, begun, server = size(cluster, url), time.perf_counter(), used_by(cluster.process)
    cluster.sql("DROP INDEX autocompact.passages_words", database=url)
    filling = [Process(target=fill, args=(url, part), kwargs={"count": count}) for part in range(PROCESSES)]
    for process in filling:
        process.start()
    for process in filling:
        process.join()
    filled, ours = time.perf_counter() - begun, os.times().children_user + os.times().children_system
    cluster.sql(_INDEX, database=url)
    print(
        f"{count:,} conversations, {messages:,} messages: {filled:.0f} s, the index {time.perf_counter() - begun - filled:.0f} s; "
        f"processor {ours:.0f} s of ours, {used_by(cluster.process) - server:.0f} s of the server's"
    )
    cluster.sql("VACUUM ANALYZE", database=url)
    used_up(cluster, url, count=count, empty=empty)


def used_up(cluster: Cluster, url: str, *, count: int, empty: int) -> None:
    """What a filled database takes and how long it takes, now and after a month."""
    counter = Estimator()
    tokens = sum(counter.count(each.text) for each in log_of(random.Random(3))) / MESSAGES
    bytes_ = (size(cluster, url) - empty) / (count * MESSAGES)
    print(f"{bytes_:.0f} bytes a message, {bytes_ / tokens:.2f} a token")
    print(cluster.sql(_SIZES, database=url))

    async def use() -> None:
        # as a gateway does: a look at all that was imported takes 50 ms, once in some hundred searches
        share_the_interpreter()
        async with PostgresStore(url) as store:
            await asked(store, cluster, count=count)
            new = min(MONTH, count // 2)
            await month(store, cluster, count=count, new=new, held=lambda: size(cluster, url))
            await asked(store, cluster, count=count, gone=new)
        print(cluster.sql(_SIZES, database=url))

    asyncio.run(use())


async def asked(store: PostgresStore, cluster: Cluster, *, count: int, gone: int = 0) -> None:
    """The time of each thing; the first ``gone`` conversations are not there any more."""
    chance = random.Random(5)

    def query() -> str:
        return " ".join(chance.choices(WORDS[:400], k=3))

    def any_key() -> Key:
        return large_key(chance.randrange(gone, count))

    async def one(_: int) -> None:
        key = any_key()
        await store.index.search(key.namespace, query(), k=5, conversation=key.conversation)

    works: dict[str, Callable[[int], Awaitable[object]]] = {
        "load a conversation": lambda _: store.load(any_key()),
        "search a conversation": one,
        "search the small tenant": lambda _: store.index.search("small", query(), k=5),
        "search a tenth of all": lambda _: store.index.search(any_key().namespace, query(), k=5),
        "the same, rare words": lambda _: store.index.search(
            any_key().namespace, " ".join(chance.choices(WORDS[800:], k=3)), k=5
        ),
    }
    for name, work in works.items():
        # what is read for the first time comes from the disk
        await timed(work, range(20))
        before, server = time.process_time(), used_by(cluster.process)
        taken = await timed(work, range(ROUNDS))
        ours, theirs = time.process_time() - before, used_by(cluster.process) - server
        print(
            f"{name:<26}{shown(taken)}; processor {ours / ROUNDS * 1000:.2f} ms of ours, {theirs / ROUNDS * 1000:.2f} of the server's"
        )


async def month(
    store: PostgresStore, cluster: Cluster, *, count: int, new: int, held: Callable[[], int]
) -> None:
    """Each day a thirtieth of ``new`` conversations is deleted, and as many are appended."""
    chance, sizes, vacuums = random.Random(9), [held()], list[float]()
    begun, server = time.perf_counter(), used_by(cluster.process)
    for day in range(DAYS):
        for number in range(day * new // DAYS, (day + 1) * new // DAYS):
            await store.delete(large_key(number))
            await store.append(large_key(count + number), log_of(chance), after=0)
        before = time.perf_counter()
        await store.purge()
        vacuums.append(time.perf_counter() - before)
        sizes.append(held())
    print(
        f"a month, {new} conversations deleted and new: {sizes[0]:,} bytes, {sizes[len(sizes) // 2]:,} in the middle, {sizes[-1]:,} at its end; "
        f"a vacuum {median(vacuums):.1f} s, {max(vacuums):.1f} at most; in all {time.perf_counter() - begun:.0f} s, "
        f"processor of the server {used_by(cluster.process) - server:.0f} s"
    )


_INDEX = """SET maintenance_work_mem = '2GB';
CREATE INDEX passages_words ON autocompact.passages USING gin (words) WITH (fastupdate = off)"""

_SIZES = """SELECT relname, pg_size_pretty(pg_table_size(oid)), pg_size_pretty(pg_indexes_size(oid)) FROM pg_class
WHERE relnamespace = 'autocompact'::regnamespace AND relkind = 'r' AND pg_total_relation_size(oid) > 1000000 ORDER BY 1"""


def size(cluster: Cluster, url: str) -> int:
    """Bytes of a database."""
    return int(cluster.sql("SELECT pg_database_size(current_database())", database=url))


# Its ranking


async def ranking(cluster: Cluster, *, data: Path) -> None:
    """any@5 and nDCG@10 of the retrieval sets, in percent."""
    scopes: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for document in lines(data / "retrieval" / "documents.jsonl"):
        scopes[document["scope"]].append(document)
    questions = [query for query in lines(data / "retrieval" / "queries.jsonl") if query["relevant_doc_ids"]]
    with tempfile.TemporaryDirectory() as folder:
        for place in ("file", "server"):
            store = PostgresStore(cluster.for_programs()) if place == "server" else None
            archive = Archive(Path(folder), store=store)
            engine = {
                scope: await over_documents(archive, scope, documents=documents)
                for scope, documents in scopes.items()
            }
            for corpus in sorted({query["corpus"] for query in questions}):
                results = [
                    await rated(query, engine, scopes=scopes)
                    for query in questions
                    if query["corpus"] == corpus
                ]
                any5, gain = mean([one for one, _ in results]), mean([two for _, two in results])
                print(
                    f"{corpus:<22} {place:<7} n {len(results):4} any@5 {100 * any5:5.1f} nDCG@10 {100 * gain:5.1f}"
                )
            await archive.store.aclose()


# Four gateways


async def gateways(cluster: Cluster, *, requests: int, each: int) -> None:
    """The same conversations by one gateway, by four of which each has its clients, and by four in turns: processor time of a request.

    How often four do the work of one, on a core each, is four times the gateways' own time of a request at one, by that at four. What
    the server takes is not in it: that is one machine, whoever asks it.
    """
    figures: list[float] = []
    for count, stays in ((1, True), (4, True), (4, False)):
        url = cluster.for_programs()
        async with FakeProvider("Fine.", window=200_000) as provider:
            ports = [free_port() for _ in range(count)]
            # cold: one that is forked elsewhere has its processor time in another process
            running = [
                serving(provider, "--port", port, "--db", url, "--window", 200_000, cold=True)
                for port in ports
            ]
            processes = [await one.__aenter__() for one in running]
            try:
                await talked(ports, range(2 * count), each=each)
                before, server = sum(used(one.pid) for one in processes), used_by(cluster.process)
                await talked(ports, range(10 * each, 10 * each + requests), each=each, stays=stays)
                ours = (sum(used(one.pid) for one in processes) - before) / requests * 1000
                theirs = (used_by(cluster.process) - server) / requests * 1000
            finally:
                for one in running:
                    await one.__aexit__(None, None, None)
        figures.append(ours)
        how = "a client stays" if stays else "in turns"
        print(f"{count} gateways, {how}: {ours:.2f} ms of theirs a request, {theirs:.2f} ms of the server's")
    staying, turns = (4 * figures[0] / figure for figure in figures[1:])
    print(f"four on a core each: x {staying:.2f} of one where a client stays, x {turns:.2f} in turns")


async def talked(ports: Sequence[int], numbers: Sequence[int], *, each: int, stays: bool = False) -> None:
    """Conversations that grow by two messages a request, ``each`` requests long, one after the other.

    Args:
        ports: of the gateways.
        numbers: of the requests.
        each: requests of a conversation.
        stays: all requests of a conversation go to the same gateway; else each to the next.
    """
    async with aiohttp.ClientSession() as session:
        messages: list[dict[str, str]] = []
        for number in numbers:
            if number % each == 0:
                messages = [{"role": "user", "content": f"{number} of {os.getpid()}. " + "Begin. " * 20_000}]
            port = ports[(number // each if stays else number) % len(ports)]
            url = f"http://127.0.0.1:{port}/v1/chat/completions"
            async with session.post(url, json={"model": "m", "max_tokens": 10, "messages": messages}) as told:
                assert told.status == 200, await told.text()
                await told.read()
            said = "word " * 100
            messages += [{"role": "assistant", "content": "Fine."}, {"role": "user", "content": said}]


def main() -> None:
    """Run one of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("tenants", "large", "ranking", "gateways"))
    parser.add_argument("--rounds", type=int, default=600)
    parser.add_argument("--conversations", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--each", type=int, default=40, help="requests of a conversation")
    parser.add_argument("--data", type=Path, default=DATA)
    chosen = parser.parse_args()
    cluster = Cluster()
    cluster.start(fsync="on", shared_buffers="512MB", autovacuum="on", max_wal_size="4GB")
    print(f"load of the machine at the start: {os.getloadavg()[0]:.1f}", file=sys.stderr)
    try:
        match chosen.part:
            case "tenants":
                asyncio.run(tenants(cluster, rounds=chosen.rounds))
            case "large":
                large(cluster, count=chosen.conversations)
            case "ranking":
                asyncio.run(ranking(cluster, data=chosen.data))
            case _:
                asyncio.run(gateways(cluster, requests=chosen.requests, each=chosen.each))
    finally:
        cluster.remove()


if __name__ == "__main__":
    main()
