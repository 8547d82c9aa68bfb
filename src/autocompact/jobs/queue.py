"""The jobs, in one table, and the queue that is made of it.

A job's arguments are names and figures, never anything that was said. A job that succeeded is removed at once, one that
failed for good after `KEPT_HOURS`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec

from autocompact.errors import AutocompactError, log_data
from autocompact.jobs.work import Work
from autocompact.ports import Key, Order
from autocompact.runtime.extras import install_command
from autocompact.stores.naming import ServerUrl
from autocompact.stores.postgres_server import KEPT_ALIVE

try:
    from procrastinate import App, PsycopgConnector, RetryDecision, RetryStrategy
    from procrastinate.jobs import Job as Queued
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"jobs need an extra: {install_command('postgres')}", name=error.name
    ) from error

JobName: TypeAlias = Literal["prepare", "index", "expire", "upkeep"]

PREFIX = "autocompact."
"""In front of the names of jobs: the queue may be shared with another program's."""

KEPT_HOURS = 72
MOST_ATTEMPTS = 5
"""Times that a job is begun, whether it fails or its worker dies with it."""

_FIRST_WAIT_SECONDS = 2
_PATIENCE_SECONDS = 3.0
"""For a connection."""

log = logging.getLogger("autocompact.jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A kind of job.

    Attributes:
        name: of it.
        does: in a few words, for the documents.
        cron: when it is due by itself, five fields; "" if it has to be ordered.
        priority: the larger, the sooner.
    """

    name: JobName
    does: str
    cron: str = ""
    priority: int = 0

    @property
    def task(self) -> str:
        """Its name in the queue, which is also the queue's."""
        return PREFIX + self.name


JOBS: tuple[Job, ...] = (
    Job(name="prepare", does="prepares a compaction of a conversation", priority=10),
    Job(name="index", does="indexes what was stored without an index", cron="*/10 * * * *"),
    Job(name="expire", does="deletes what has expired, and frees its space", cron="17 * * * *"),
    Job(
        name="upkeep",
        does="does what is due in the memory folder, the monthly report included",
        cron="3 * * * *",
    ),
)
"""Every job there is."""

PREPARE = JOBS[0]


def connector_of(url: ServerUrl, *, connections: int) -> PsycopgConnector:
    """The queue's way to the database. It relies on no session, so a pooler may stand between, but for who listens."""
    return PsycopgConnector(**pool_options(url, connections=connections))


def pool_options(url: ServerUrl, *, connections: int) -> dict[str, Any]:
    """Arguments of the pool of connections."""
    return {
        "conninfo": url.url,
        "kwargs": {
            "prepare_threshold": None,
            "application_name": "autocompact",
            "client_encoding": "utf8",
            "connect_timeout": 10,
            **KEPT_ALIVE,
        },
        "min_size": 1,
        "max_size": connections,
        "timeout": _PATIENCE_SECONDS,
        "name": "autocompact-jobs",
    }


class _Retry(RetryStrategy):
    """Says in the log, on one line, that a job failed and what becomes of it.

    The queue itself says the first below the level that is shown, and the second with the whole stack.
    """

    def get_retry_decision(self, *, exception: BaseException, job: Queued) -> RetryDecision | None:
        """See `procrastinate.BaseRetryStrategy`."""
        decision = super().get_retry_decision(exception=exception, job=job)
        if isinstance(exception, AutocompactError):
            said = {"job": job.task_name, "number": job.id, "attempt": job.attempts + 1, "of": MOST_ATTEMPTS}
            said |= log_data(exception)
            if decision is not None:
                log.warning("a job failed, and is tried again", extra=said)
            else:
                log.error("a job failed for good", extra=said)
        return decision


def queue_of(work: Work, connector: PsycopgConnector) -> App:
    """The queue with every job of `JOBS`."""
    app = App(connector=connector)
    # nothing but what was raised on purpose can be of use a second time
    retry = _Retry(
        # the queue counts those that follow the first
        max_attempts=MOST_ATTEMPTS - 1,
        exponential_wait=_FIRST_WAIT_SECONDS,
        retry_exceptions={AutocompactError},
    )
    for job in JOBS:
        run = _prepare(work) if job is PREPARE else _due(getattr(work, job.name))
        task = app.task(name=job.task, queue=job.task, priority=job.priority, retry=retry)(run)
        if job.cron:
            app.periodic(cron=job.cron, queueing_lock=job.task, lock=job.task)(task)
    return app


def lock_of(key: Key) -> str:
    """Of a conversation: one job of it waits at most, and one runs."""
    return f"{PREPARE.task}:{key.namespace}:{key.conversation}"


def arguments_of(key: Key, order: Order) -> dict[str, Any]:
    """An order as the arguments of its job."""
    return {
        "namespace": key.namespace,
        "conversation": key.conversation,
        "order": msgspec.to_builtins(order),
    }


def _prepare(work: Work) -> Callable[..., Awaitable[None]]:
    async def prepare(*, namespace: str, conversation: str, order: dict[str, Any]) -> None:
        key = Key(namespace=namespace, conversation=conversation)
        await work.prepare(key, msgspec.convert(order, Order))

    return prepare


def _due(work: Callable[[], Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    async def due(timestamp: int) -> None:
        del timestamp  # when it was due: each does what is due now
        await work()

    return due
