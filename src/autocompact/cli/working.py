"""``autocompact worker``: jobs of gateways that share a PostgreSQL server."""

from __future__ import annotations

from contextlib import AsyncExitStack
from importlib import import_module

import click

from autocompact.cli.defaults import loaded
from autocompact.cli.queued import server_of
from autocompact.cli.running import run
from autocompact.errors import InvalidInput
from autocompact.runtime.extras import install_command
from autocompact.settings import Settings
from autocompact.ui.terminal.output import tell

_SECONDS = click.FloatRange(min=0, min_open=True)


@click.command()
@click.option(
    "--db", metavar="URL", help="The gateways' store: postgresql://…  [default: gateway.db of the settings]"
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    metavar="N",
    help="Jobs at the same time, 1 to 64.",
)
@click.option(
    "--drain-seconds",
    type=_SECONDS,
    default=60.0,
    show_default=True,
    metavar="N",
    help="What runs when it is told to stop may go on for so long; then another worker does it.",
)
@click.option(
    "--stalled-after",
    type=_SECONDS,
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="A worker without a sign of life for so long is dead: its jobs are begun anew.",
)
def worker(*, db: str | None, concurrency: int, drain_seconds: float, stalled_after: float) -> None:
    """Do the jobs of gateways on one PostgreSQL server: prepare compactions, index, delete what expired, and the upkeep.

    Start as many as you like, on any machine, with the settings of the gateways. It needs a connection of its own to the
    server, not one by way of PgBouncer. A gateway that finds no worker does the same by itself.
    """
    options = {} if db is None else {"gateway.db": ("--db", db)}
    settings = loaded(options=options).settings
    run(
        _worked(settings, concurrency=concurrency, drain_seconds=drain_seconds, stalled_seconds=stalled_after)
    )


async def _worked(
    settings: Settings, *, concurrency: int, drain_seconds: float, stalled_seconds: float
) -> None:
    url = server_of(settings)
    if url is None:
        raise InvalidInput(
            "a worker needs a store on a PostgreSQL server: --db postgresql://…, or the setting gateway.db"
        )
    _installed()
    from autocompact.cli.serving import logs_shown
    from autocompact.cli.worker_job import work_of
    from autocompact.jobs.running import run_worker

    with logs_shown("procrastinate"):
        work = work_of(settings, url)
        async with AsyncExitStack() as opened:
            await opened.enter_async_context(work.store)
            if work.summaries is not None:
                opened.push_async_callback(work.summaries.aclose)
            await run_worker(
                work,
                concurrency=concurrency,
                drain_seconds=drain_seconds,
                stalled_seconds=stalled_seconds,
                begins=lambda: tell(f"Working for {url}"),
            )


def _installed() -> None:
    """Raises what to do where the jobs, or the gateway whose settings they follow, are not."""
    try:
        for name in ("autocompact.gateway", "autocompact.jobs.running"):
            import_module(name)
    except ImportError as error:
        # a fault of ours, which no installation mends
        if (error.name or "").startswith("autocompact"):
            raise
        raise InvalidInput(
            f"workers are not installed: {install_command('gateway,postgres')} ({error.name})"
        ) from error
