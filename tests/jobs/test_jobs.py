"""Jobs on a real queue: a gateway's work done by workers, and by itself where there are none; a worker that is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from procrastinate import App

from autocompact.cli.worker_job import work_of
from autocompact.compaction.modes import DEFAULT
from autocompact.core.budget import Budget, Policy
from autocompact.core.messages import text_message
from autocompact.core.tokens import Cost
from autocompact.engine import Conversation
from autocompact.engine.compactor import NamedCompactor
from autocompact.errors import ModelUnavailable
from autocompact.gateway.config import Config
from autocompact.gateway.conversations import Conversations
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.retention import Retention
from autocompact.jobs import orders, queue
from autocompact.jobs.orders import QueuedWorkers
from autocompact.jobs.queue import MOST_ATTEMPTS, PREPARE, arguments_of, connector_of, lock_of
from autocompact.jobs.running import run_worker, sweep
from autocompact.jobs.schema import install, migrations
from autocompact.jobs.work import Work
from autocompact.memory.schedule import Schedule, Upkeep
from autocompact.ports import Key, Model, Order, Workers
from autocompact.settings import Settings
from autocompact.stores.naming import ServerUrl
from autocompact.stores.postgres import PostgresStore
from autocompact.stores.postgres_index import PostgresIndex
from autocompact.testing import FakeProvider
from autocompact.testing.clock import FakeClock
from autocompact.testing.provider import Received
from tests.cli.test_serve import ended
from tests.engine.support import HeldModel, TalkingModel, step
from tests.house.source import ROOT
from tests.stores.cluster import USER, Cluster
from tests.stores.wire import Wire
from tests.warm import command

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E9")]

KEY = Key(conversation="task")
MODE = replace(DEFAULT, policy=Policy(tail_tokens=0))
BUDGET = Budget(window=8_000, reserve=800)
ORDER = Order(
    model="gpt-5",
    window=8_000,
    reserve=800,
    limit=7_200,
    target=2_000,
    summary_tokens=1_000,
    tail_tokens=500,
    first_rung="summarise",
    overhead=Cost(tokens=100, bytes=300),
)
DAY = 86_400


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def url(database: str) -> ServerUrl:
    return ServerUrl(database)


def work_on(store: PostgresStore, *, summaries: Model | None = None, **more: Any) -> Work:
    return Work(store=store, mode=lambda _: MODE, summaries=summaries, **more)


def gateways(
    store: PostgresStore, *, workers: Workers | None = None, summaries: Model | None = None
) -> NamedCompactor:
    return NamedCompactor(store, name="gpt-5", budget=BUDGET, mode=MODE, summaries=summaries, workers=workers)


@asynccontextmanager
async def working(work: Work, **more: Any) -> AsyncGenerator[None]:
    """A worker of this process."""
    stop, begun = asyncio.Event(), asyncio.Event()
    running = asyncio.create_task(run_worker(work, stop=stop.wait(), begins=begun.set, **more))
    starting = asyncio.create_task(begun.wait())
    await asyncio.wait({running, starting}, return_when=asyncio.FIRST_COMPLETED)
    try:
        assert not running.done(), running.result()
        await until(lambda: is_registered(work.store))
        yield
    finally:
        stop.set()
        await running


async def is_registered(store: PostgresStore) -> bool:
    count = (
        "SELECT count(*) > 0 FROM procrastinate_workers WHERE last_heartbeat > now() - interval '1 second'"
    )
    return await store.reading(lambda connection: connection.execute(count).get)


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again; each look asks a server."""
    async with asyncio.timeout(60):
        while not await true():
            pass


async def talked(conversation: Conversation, *, until: Callable[[Conversation], bool]) -> int:
    number = 0
    while not until(conversation):
        await step(conversation, number)
        await conversation.ready()
        await conversation.internals.background.wait_idle()
        number += 1
    return number


async def a_worker_seems_to_be_there(cluster: Cluster, url: ServerUrl) -> None:
    async with PostgresStore(url):
        await install(url)
    cluster.sql("INSERT INTO procrastinate_workers DEFAULT VALUES", database=url.url)


def jobs(cluster: Cluster, url: ServerUrl) -> list[str]:
    """Name and status of each job of a conversation."""
    found = cluster.sql(
        f"SELECT status FROM procrastinate_jobs WHERE task_name = '{PREPARE.task}' ORDER BY id",
        database=url.url,
    )
    return found.split()


async def test_a_worker_prepares_what_a_gateway_orders_and_the_gateway_activates_it(url: ServerUrl) -> None:
    async with PostgresStore(url) as ours, PostgresStore(url) as theirs:
        await install(url)
        made, own = TalkingModel(), TalkingModel()
        workers = QueuedWorkers(url)
        conversation = await gateways(ours, workers=workers, summaries=own).open("task")
        async with working(work_on(theirs, summaries=made)):
            number = await talked(conversation, until=lambda c: c.internals.background.elsewhere is not None)

            async def prepared() -> bool:
                return (await ours.load(KEY)).prepared is not None

            await until(prepared)
            assert conversation.records.prepared is None  # it stays in the store until the threshold
            while conversation.records.active is None:
                await step(conversation, number)
                await conversation.ready()
                number += 1
        await workers.aclose()
        records = await ours.compactions(KEY)
        assert [(record.id, record.status) for record in records] == [("c1", "active")]
        assert records[0].receipt.trigger == "prepared"
        assert (len(made.requests), len(own.requests)) == (1, 0)


async def test_without_a_worker_a_gateway_prepares_by_itself(cluster: Cluster, url: ServerUrl) -> None:
    async with PostgresStore(url) as store:
        own = TalkingModel()
        for number, tables in enumerate(("missing", "there")):
            if tables == "there":
                await install(url)
            workers = QueuedWorkers(url)
            conversation = await gateways(store, workers=workers, summaries=own).open(f"task {number}")
            await talked(conversation, until=lambda c: c.records.prepared is not None)
            await workers.aclose()
        assert len(own.requests) == 2
        assert not jobs(cluster, url)


async def test_a_worker_that_never_comes_back_costs_a_gateway_nothing_but_time(
    cluster: Cluster, url: ServerUrl
) -> None:
    await a_worker_seems_to_be_there(cluster, url)
    async with PostgresStore(url) as store:
        own, workers = TalkingModel(), QueuedWorkers(url)
        conversation = await gateways(store, workers=workers, summaries=own).open("task")
        await talked(conversation, until=lambda c: c.records.active is not None)
        assert jobs(cluster, url) == ["todo"]
        assert len(own.requests) == 1
        assert conversation.records.active is not None
        assert conversation.records.active.receipt.trigger == "threshold"
        await workers.aclose()


async def test_one_job_of_a_conversation_waits_at_most(cluster: Cluster, url: ServerUrl) -> None:
    await a_worker_seems_to_be_there(cluster, url)
    workers = [QueuedWorkers(url) for _ in range(3)]
    keys = [Key(conversation=f"talk {number}") for number in range(4)]
    taken = await asyncio.gather(*(each.prepare(key, ORDER) for each in workers for key in keys * 3))
    assert all(taken)
    assert jobs(cluster, url) == ["todo"] * len(keys)
    for each in workers:
        await each.aclose()


async def test_a_worker_whose_program_is_cancelled_ends_with_it(url: ServerUrl) -> None:
    async with PostgresStore(url) as store:
        await install(url)
        others, begun = asyncio.all_tasks(), asyncio.Event()
        running = asyncio.create_task(
            run_worker(work_on(store), stop=asyncio.Event().wait(), begins=begun.set)
        )
        await begun.wait()
        await until(lambda: is_registered(store))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert asyncio.all_tasks() <= others


async def test_a_server_that_is_not_there_has_no_workers() -> None:
    others = asyncio.all_tasks()
    workers = QueuedWorkers(ServerUrl("postgresql://me:geheim@127.0.0.1:1/chats?connect_timeout=1"))
    assert not await workers.prepare(KEY, ORDER)
    assert not await workers.there()
    await workers.aclose()
    assert asyncio.all_tasks() <= others
    await workers.aclose()


async def test_a_server_that_hangs_has_no_workers_until_it_goes_on(cluster: Cluster, url: ServerUrl) -> None:
    """Who asked waited for as long as it hung, and everybody else for them: nothing was prepared or deleted any more."""
    await a_worker_seems_to_be_there(cluster, url)
    async with Wire(cluster).laid() as wire:
        workers = QueuedWorkers(ServerUrl(wire.url(url.url)), answer_seconds=1)
        assert await workers.prepare(KEY, ORDER)
        wire.freeze()
        assert not await workers.prepare(Key(conversation="another"), ORDER)
        wire.mend()
        while not await workers.prepare(Key(conversation="a third"), ORDER):
            pass
        await workers.aclose()


async def test_a_conversation_that_was_deleted_meanwhile_does_not_come_back(url: ServerUrl) -> None:
    async with PostgresStore(url) as store:
        await work_on(store).prepare(KEY, ORDER)
        assert not await store.conversations("default")


async def test_workers_delete_what_expired_and_gateways_leave_it_to_them(
    cluster: Cluster, url: ServerUrl
) -> None:
    clock = FakeClock()
    async with PostgresStore(url, clock=clock) as store:
        await store.append(KEY, [text_message(1, "user", "old words")], after=0)
        clock.advance(8 * DAY)
        new = Key(conversation="new")
        await store.append(new, [text_message(1, "user", "new words")], after=0)
        await a_worker_seems_to_be_there(cluster, url)
        workers, pause = QueuedWorkers(url), asyncio.Event()
        kept = Retention(
            Config(upstreams={}, namespace_key=b"k" * 16, expire_after_days=7),
            conversations=Conversations(store, size=4),
            metrics=Metrics(),
            clock=clock,
            pause=lambda _: _paused(pause),
            workers=workers,
        )
        kept.start()
        await pause.wait()
        await kept.aclose()
        assert len(await store.conversations("default")) == 2
        async with working(work_on(store, days=_week, clock=clock)):

            async def gone() -> bool:
                return len(await store.conversations("default")) == 1

            await until(gone)
        assert [info.key for info in await store.conversations("default")] == [new]
        await workers.aclose()


def _week(namespace: str) -> int:
    return 7


async def _paused(begun: asyncio.Event) -> None:
    begun.set()
    await asyncio.Event().wait()


async def test_a_worker_indexes_what_was_stored_without_an_index(url: ServerUrl) -> None:
    async with PostgresStore(url, indexer=None) as without, PostgresStore(url) as store:
        await without.append(KEY, [text_message(1, "user", "a word about invoices")], after=0)
        index = PostgresIndex(store)
        assert not await index.search("default", "invoices", k=1)
        async with working(work_on(store)):

            async def found() -> bool:
                return bool(await index.search("default", "invoices", k=1))

            await until(found)


async def test_a_job_that_ends_every_worker_is_given_up(cluster: Cluster, url: ServerUrl) -> None:
    await a_worker_seems_to_be_there(cluster, url)
    async with App(connector=connector_of(url, connections=2)).open_async() as app:
        lock = lock_of(KEY)
        task = app.configure_task(PREPARE.task, queue=PREPARE.task, lock=lock, queueing_lock=lock)
        await task.defer_async(**arguments_of(KEY, ORDER))
        taken = "UPDATE procrastinate_jobs SET status = 'doing', worker_id = NULL WHERE status = 'todo'"
        for attempt in range(1, MOST_ATTEMPTS):
            cluster.sql(taken, database=url.url)
            assert await sweep(app, stalled_seconds=30) == 1
            assert jobs(cluster, url) == ["todo"], attempt
        cluster.sql(taken, database=url.url)
        assert await sweep(app, stalled_seconds=30) == 0
        assert jobs(cluster, url) == ["failed"]
        # the same once more while it waits already: one is enough
        for _ in range(2):
            await task.defer_async(**arguments_of(KEY, ORDER))
            cluster.sql(
                f"{taken} AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs WHERE status = 'doing')",
                database=url.url,
            )
        assert await sweep(app, stalled_seconds=30) == 0
        assert jobs(cluster, url) == ["failed", "failed", "todo"]


async def test_what_a_model_could_not_do_is_tried_again_and_the_log_says_so(
    cluster: Cluster, url: ServerUrl, caplog: pytest.LogCaptureFixture
) -> None:
    answers: list[Any] = [ModelUnavailable("no answer"), None]
    model = TalkingModel()
    usual = model.reply
    model.reply = lambda messages: answers.pop(0) or usual(messages)
    async with PostgresStore(url) as store:
        conversation = await gateways(store).open("task")
        for number in range(6):
            await step(conversation, number)
        await a_worker_seems_to_be_there(cluster, url)
        workers = QueuedWorkers(url)
        assert await workers.prepare(KEY, ORDER)
        async with working(work_on(store, summaries=model)):

            async def prepared() -> bool:
                return (await store.load(KEY)).prepared is not None

            await until(prepared)
        await workers.aclose()
        assert not answers
    (told,) = (vars(record) for record in caplog.records if record.levelname == "WARNING")
    said = {name: told[name] for name in ("msg", "job", "attempt", "of", "reason")}
    assert said == {
        "msg": "a job failed, and is tried again",
        "job": PREPARE.task,
        "attempt": 1,
        "of": MOST_ATTEMPTS,
        "reason": "ModelUnavailable",
    }


async def test_a_job_that_fails_for_good_is_one_line_in_the_log(
    cluster: Cluster, url: ServerUrl, caplog: pytest.LogCaptureFixture
) -> None:
    model = TalkingModel()
    model.reply = _unavailable
    async with PostgresStore(url) as store:
        conversation = await gateways(store).open("task")
        for number in range(6):
            await step(conversation, number)
        await a_worker_seems_to_be_there(cluster, url)
        workers = QueuedWorkers(url)
        assert await workers.prepare(KEY, ORDER)
        cluster.sql(f"UPDATE procrastinate_jobs SET attempts = {MOST_ATTEMPTS - 1}", database=url.url)
        async with working(work_on(store, summaries=model)):

            async def failed() -> bool:
                return await asyncio.to_thread(jobs, cluster, url) == ["failed"]

            await until(failed)
        await workers.aclose()
    (told,) = (record for record in caplog.records if record.levelname in {"WARNING", "ERROR"})
    assert (told.msg, vars(told)["attempt"], told.exc_info) == (
        "a job failed for good",
        MOST_ATTEMPTS,
        None,
    )


def _unavailable(_: object) -> Any:
    raise ModelUnavailable("no answer")


@pytest.mark.requirement("C6")
async def test_the_month_is_reported_on_by_the_worker_that_has_the_memory_folder(
    cluster: Cluster, url: ServerUrl, tmp_path: Path
) -> None:
    clock = FakeClock("2026-10-31T23:50:00.000+00:00")

    def upkeep(folder: Path) -> Schedule:
        made = Upkeep(folder=folder, databases=[url], clock=clock)
        return Schedule(folder, jobs=made.jobs(), clock=clock, zone=UTC)

    def waiting() -> int:
        told = cluster.sql(
            "SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'autocompact.upkeep'", database=url.url
        )
        return int(told)

    async def done() -> bool:
        return not await asyncio.to_thread(waiting)

    async with PostgresStore(url, clock=clock) as store:
        for tenant in ("one", "two"):
            said = [text_message(1, "user", "old words"), text_message(2, "assistant", "an answer")]
            await store.append(Key(namespace=tenant, conversation="talk"), said, after=0)
        async with working(work_on(store, schedule=upkeep(tmp_path))):
            await until(done)
        assert not (tmp_path / "reports").exists()  # the month is not over
        clock.advance(20 * 60)
        async with working(work_on(store, schedule=upkeep(tmp_path / "none"))):
            pass
        assert waiting() == 1
        async with working(work_on(store, schedule=upkeep(tmp_path))):
            await until(done)
    report = (tmp_path / "reports" / "2026-10.md").read_text("utf-8")
    assert "| Sessions | 2 |" in report
    assert "not over" not in report


@asynccontextmanager
async def a_process(
    store: PostgresStore, provider: FakeProvider
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """``autocompact worker``, whose summaries a model makes."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("AUTOCOMPACT")}
    environ |= {
        "OPENAI_BASE_URL": f"{provider.url}/v1",
        "OPENAI_API_KEY": "sk-none",
        "AUTOCOMPACT_COMPACTION_SUMMARY_MODEL": "gpt-5-mini",
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "autocompact", "worker", "--db", store.url.url, "--stalled-after", "2"),
        cwd=ROOT,
        env=environ,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        line = await process.stderr.readline()
        assert line.startswith(b"Working for postgresql://tester@/"), line + await process.stderr.read()
        await until(lambda: is_registered(store))
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def test_the_job_of_a_worker_that_was_killed_is_done_by_another_one(
    cluster: Cluster, url: ServerUrl
) -> None:
    asked = asyncio.Event()
    victims: list[asyncio.subprocess.Process] = []

    async def reply(received: Received) -> str:
        del received
        asked.set()
        if victims:
            victims.pop().kill()
            await asyncio.Event().wait()
        return "<summary>\n## Summary\nThe totals were rounded per line.\n</summary>"

    async with PostgresStore(url) as store, FakeProvider(reply) as provider:
        conversation = await gateways(store).open("task")
        for number in range(6):
            await step(conversation, number)
        log = await store.read(KEY)
        async with a_process(store, provider) as first:
            victims.append(first)
            workers = QueuedWorkers(url)
            assert await workers.prepare(KEY, ORDER)
            await asked.wait()
            assert await first.wait() == -signal.SIGKILL
        assert jobs(cluster, url) in (["doing"], ["todo"])  # swept already, where the machine is slow
        assert (await store.load(KEY)).prepared is None
        # what it held expires by itself after some seconds
        cluster.sql("UPDATE autocompact.leases SET expires = 0", database=url.url)
        async with a_process(store, provider):

            async def prepared() -> bool:
                return (await store.load(KEY)).prepared is not None

            await until(prepared)
        await workers.aclose()
        assert await store.read(KEY) == log
        (record,) = await store.compactions(KEY)
        assert record.status == "prepared"


@asynccontextmanager
async def mortal_workers(url: ServerUrl) -> AsyncGenerator[Callable[[str, int], Awaitable[str]]]:
    """Begins a job in a process that dies at a step; how that ended, see `tests.jobs.child`."""
    process = await asyncio.create_subprocess_exec(
        *(*command("tests.jobs.child"), url.url),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    async def begin(job: str, step: int) -> str:
        stdin.write(f"{job} {step}\n".encode())
        return (await stdout.readline()).decode().strip()

    try:
        yield begin
    finally:
        stdin.close()
        await process.wait()


@pytest.mark.requirement("E7")
async def test_a_worker_may_die_at_any_step_of_a_job_and_the_next_one_does_it(url: ServerUrl) -> None:
    """Preparing, indexing and expiry; `tests/memory` does the same to the upkeep of a memory folder."""
    clock = FakeClock()
    async with (
        PostgresStore(url, indexer=None, clock=clock) as store,
        mortal_workers(url) as begin,
    ):
        conversation = await gateways(store).open("task")
        for number in range(6):
            await step(conversation, number)
        log, index = await store.read(KEY), PostgresIndex(store)
        steps: dict[str, int] = {}
        for job in ("index", "prepare", "expire"):
            number = 0
            while (ended := await begin(job, number)) == "killed":
                number += 1
                records = [record.status for record in await store.compactions(KEY)]
                # all of it or nothing, and never twice
                assert await store.read(KEY) == log or (job, number) == ("expire", 3)
                assert records in ([], ["prepared"])
            steps[job] = number
            assert ended == "done", (job, number)
            if job == "index":
                hits = await index.search("default", "Looking", k=50)
                assert sorted(hit.seq for hit in hits) == [message.seq for message in log if message.text]
            elif job == "prepare":
                assert [record.status for record in await store.compactions(KEY)] == ["prepared"]
        assert await store.conversations("default") == ()
        # what was committed is not made once more: the fatal steps after that are never reached
        assert steps == {"index": 2, "prepare": 6, "expire": 3}


async def test_a_worker_that_is_told_to_stop_ends_what_it_does(url: ServerUrl) -> None:
    model = HeldModel()
    async with PostgresStore(url) as store:
        conversation = await gateways(store).open("task")
        for number in range(6):
            await step(conversation, number)
        workers = QueuedWorkers(url)
        async with working(work_on(store, summaries=model)):
            assert await workers.prepare(KEY, ORDER)
            await model.asked.wait()
            asyncio.get_running_loop().call_soon(model.go_on.set)
        assert (await store.load(KEY)).prepared is not None
        await workers.aclose()


async def test_the_tables_are_made_once_by_however_many_workers(url: ServerUrl) -> None:
    async with PostgresStore(url):
        ran = await asyncio.gather(*(install(url) for _ in range(4)))
    assert sorted(map(len, ran)) == [0, 0, 0, len(migrations())]


async def test_tables_of_before_get_what_is_missing_and_what_ends_older_programs_last(
    cluster: Cluster, url: ServerUrl
) -> None:
    pre, post = (name for name in migrations() if name.startswith("03.04"))
    before = [name for name in migrations() if name < pre]
    async with PostgresStore(url) as store:
        for name in before:
            cluster.sql(f"SET ROLE {USER}; {migrations()[name].read_text('utf-8')}", database=url.url)
        rows = ", ".join(f"('{name}')" for name in before)
        made = "CREATE TABLE autocompact.job_migrations (name TEXT PRIMARY KEY)"
        cluster.sql(
            f"SET ROLE {USER}; {made}; INSERT INTO autocompact.job_migrations VALUES {rows}", database=url.url
        )
        assert await install(url, post=False) == [pre]
        assert await install(url, post=False) == []
        assert await install(url) == []  # a worker leaves what its owner left
        assert await install(url, post=True) == [post]
        async with working(work_on(store)):
            workers = QueuedWorkers(url)
            assert await workers.there()
            await workers.aclose()


async def test_a_worker_needs_a_server() -> None:
    code, out, err = await ended("worker", "--db", "chats.db")
    assert (code, out) == (2, "")
    assert "a worker needs a store on a PostgreSQL server" in err


async def test_the_work_follows_the_settings(url: ServerUrl) -> None:
    work = work_of(Settings(), url)
    assert work.mode("claude-opus-5").placement == "user"
    assert work.days("any") == 0
    assert work.schedule is not None
    await work.store.aclose()


def test_every_job_is_named_once_and_says_what_it_does() -> None:
    names = [job.name for job in queue.JOBS]
    assert len({*names}) == len(names)
    assert all(job.does and (job.cron or job is PREPARE) for job in queue.JOBS)
    assert all(hasattr(Work, name) for name in names)
    assert orders.ALIVE_SECONDS > 0
