"""The tables of the queue are where the programs' role finds them, whatever their owner is called."""

from __future__ import annotations

import pytest
from procrastinate import App
from procrastinate.schema import SchemaManager

from autocompact.jobs.queue import PREPARE, arguments_of, connector_of
from autocompact.jobs.schema import migrations
from autocompact.stores.naming import ServerUrl
from tests.cli.test_serve import ended
from tests.jobs.test_jobs import KEY, ORDER
from tests.stores.cluster import PROGRAM, USER, Cluster

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E9")]

OWNER = "autocompact"
"""As in `deploy/compose.yaml`, and as the store's schema."""


@pytest.fixture
def owned(cluster: Cluster, database: str) -> str:
    """The URL of an empty database, as its owner."""
    name = database.split("@/")[1].split("?")[0]
    cluster.sql(
        f"DO $$ BEGIN CREATE ROLE {OWNER} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;"
        f"ALTER DATABASE {name} OWNER TO {OWNER}"
    )
    return database.replace(f"{USER}@", f"{OWNER}@")


def _astray() -> str:
    """What earlier programs made: the queue in the store's schema."""
    noted = ", ".join(f"('{name}')" for name in migrations())
    return (
        f"SET ROLE {OWNER}; CREATE SCHEMA autocompact; SET search_path = autocompact; {SchemaManager.get_schema()};"
        f"CREATE TABLE autocompact.job_migrations (name TEXT PRIMARY KEY); INSERT INTO job_migrations VALUES {noted}"
    )


@pytest.mark.parametrize("made_before", [False, True], ids=["new", "made before"])
async def test_an_owner_called_as_the_stores_schema_makes_a_queue_that_the_programs_find(
    cluster: Cluster, owned: str, made_before: bool
) -> None:
    """The worker of `deploy/compose.yaml` ended with a traceback, and gateways had nobody to give work to."""
    if made_before:
        cluster.sql(_astray(), database=owned)
    for _ in range(2):  # the second time nothing is left to do
        code, _, said = await ended("migrate", f"--db={owned}", f"--grant={PROGRAM}")
        assert code == 0, said
    url = ServerUrl(owned.replace(f"{OWNER}@", f"{PROGRAM}@"))
    async with App(connector=connector_of(url, connections=1)).open_async() as app:
        await app.configure_task(PREPARE.task).defer_async(**arguments_of(KEY, ORDER))
    where = "SELECT relnamespace::regnamespace FROM pg_class WHERE relname = 'procrastinate_jobs'"
    assert cluster.sql(where, database=owned) == "public"
    assert cluster.sql("SELECT count(*) FROM public.procrastinate_jobs", database=owned) == "1"
