"""A worker: runs jobs until it is told to stop, and has the jobs of dead workers begun anew."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager

from procrastinate import App
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException, UniqueViolation
from procrastinate.jobs import Job as Queued
from procrastinate.jobs import Status

from autocompact.errors import AutocompactError, StoreUnavailable
from autocompact.jobs.orders import ALIVE_SECONDS
from autocompact.jobs.queue import JOBS, KEPT_HOURS, MOST_ATTEMPTS, connector_of, queue_of
from autocompact.jobs.schema import install
from autocompact.jobs.work import Work
from autocompact.stores.naming import ServerUrl

_BEATS = 3
"""Signs of life within the time after which a worker without one is taken for dead."""

_SPARE_CONNECTIONS = 3

log = logging.getLogger("autocompact.jobs")


async def run_worker(
    work: Work,
    *,
    concurrency: int = 4,
    drain_seconds: float = 60.0,
    stalled_seconds: float = ALIVE_SECONDS,
    begins: Callable[[], object] = lambda: None,
    stop: Awaitable[object] | None = None,
) -> None:
    """Work until SIGINT or SIGTERM; what runs then has ``drain_seconds`` to end.

    Args:
        work: what the jobs do; its store is left open.
        concurrency: jobs at the same time.
        drain_seconds: then what runs is cancelled: nothing is half written, and another worker does it.
        stalled_seconds: without a sign of life, after which a worker is dead and its jobs are begun anew.
        begins: called when it takes jobs.
        stop: ends it in place of a signal.

    Raises:
        StoreUnavailable: the server cannot be reached, or not any more, or its user may not make the tables.
    """
    await install(work.store.url)
    app = queue_of(work, connector_of(work.store.url, connections=concurrency + _SPARE_CONNECTIONS))
    with _lost(work.store.url):
        async with app.open_async():
            await _defer_all(app)
            begins()
            working = asyncio.ensure_future(
                app.run_worker_async(
                    queues=_queues(work),
                    name="autocompact",
                    concurrency=concurrency,
                    delete_jobs="successful",
                    shutdown_graceful_timeout=drain_seconds,
                    update_heartbeat_interval=stalled_seconds / _BEATS,
                    stalled_worker_timeout=stalled_seconds,
                    install_signal_handlers=stop is None,
                )
            )
            with _one_line_each():
                await _ended(working, stop=stop, sweeping=_sweeping(app, stalled_seconds=stalled_seconds))


@contextmanager
def _lost(url: ServerUrl) -> Generator[None]:
    """Within this block, a server that is gone is told as a store's is; the queue gives up where it cannot take a job."""
    try:
        yield
    except ConnectorException as error:
        raise StoreUnavailable(
            f"{url} does not answer any more: start the worker again, which what runs it in `deploy/` does by itself"
        ) from error


def _queues(work: Work) -> list[str]:
    """What it takes jobs from: without a memory folder it leaves the upkeep to workers that have one."""
    has_folder = work.schedule is not None and work.schedule.has_folder
    return [job.task for job in JOBS if job.name != "upkeep" or has_folder]


@contextmanager
def _one_line_each() -> Generator[None]:
    """Within this block, the queue says nothing of failures that its jobs have told of on one line."""
    of_queue = logging.getLogger("procrastinate.worker")
    of_queue.addFilter(_is_new)
    try:
        yield
    finally:
        of_queue.removeFilter(_is_new)


def _is_new(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], AutocompactError))


async def _ended(
    working: asyncio.Future[None],
    *,
    stop: Awaitable[object] | None,
    sweeping: Coroutine[None, None, None],
) -> None:
    """Wait for the end of a worker, beside which ``sweeping`` goes on; ``stop`` ends it."""
    beside = asyncio.ensure_future(sweeping)
    ending = {working} if stop is None else {working, asyncio.ensure_future(stop)}
    try:
        await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
    finally:
        # a first cancellation is the queue's own way to stop: it drains, and cancels its jobs only after that
        for each in (*ending, beside):
            each.cancel()
        await asyncio.wait([*ending, beside])
    if not working.cancelled():
        working.result()


async def _defer_all(app: App) -> None:
    """Have everything that is due by the clock done once now: what came due while no worker was there."""
    for job in JOBS:
        if job.cron:
            task = app.configure_task(job.task, queue=job.task, lock=job.task, queueing_lock=job.task)
            try:
                # no time of its own: what is due by now is looked up when it runs
                await task.defer_async(timestamp=0)
            except AlreadyEnqueued:
                continue


async def _sweeping(app: App, *, stalled_seconds: float) -> None:
    while True:
        try:
            await sweep(app, stalled_seconds=stalled_seconds)
        except (ConnectorException, OSError) as error:
            log.warning("stalled jobs could not be looked for", extra={"reason": type(error).__name__})
        await asyncio.sleep(stalled_seconds / 2)


async def sweep(app: App, *, stalled_seconds: float) -> int:
    """Have the jobs of workers that died begun anew; how many.

    Nobody else does: a job whose worker is gone stays as one that runs.
    """
    manager, again = app.job_manager, 0
    for job in await manager.get_stalled_jobs(seconds_since_heartbeat=stalled_seconds):
        again += await _begun_anew(app, job)
    await manager.prune_stalled_workers(seconds_since_heartbeat=stalled_seconds)
    await manager.delete_old_jobs(nb_hours=KEPT_HOURS, include_failed=True, include_aborted=True)
    return again


async def _begun_anew(app: App, job: Queued) -> bool:
    # a job that ends each worker that takes it must not end them all
    if job.attempts + 1 < MOST_ATTEMPTS:
        try:
            await app.job_manager.retry_job(job)
        except UniqueViolation:
            pass  # the same waits already
        else:
            log.info("a job is begun anew: its worker died", extra={"job": job.task_name})
            return True
    else:
        log.error("a job was given up: its workers died", extra={"job": job.task_name})
    await app.job_manager.finish_job(job, status=Status.FAILED, delete_job=False)
    return False
