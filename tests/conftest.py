"""How hard hypothesis looks, the certificates, Ctrl-C as a terminal has it, and a PostgreSQL server for who asks for one."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import certifi
import pytest
from hypothesis import HealthCheck, settings

from tests.lengths import PROFILE
from tests.stores.cluster import Cluster

# No deadline and no "too slow": both measure the machine, not the code.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)

settings.register_profile("dev", _UNTIMED, max_examples=25)
settings.register_profile("ci", _UNTIMED, max_examples=12, derandomize=True, database=None)
settings.register_profile("long", _UNTIMED, max_examples=1_000)
settings.register_profile("lowest", _UNTIMED, max_examples=4, derandomize=True, database=None)
settings.load_profile(PROFILE)

# Each client of a provider reads all authorities of the world, 80 ms of a processor: nothing here leaves this machine, and one
# authority is enough.
_CERTIFICATES = tempfile.NamedTemporaryFile("w", suffix=".pem", prefix="autocompact-authority-")  # noqa: SIM115 - until the end
_END = "-----END CERTIFICATE-----\n"
_CERTIFICATES.write(certifi.contents().partition(_END)[0] + _END)
_CERTIFICATES.flush()
atexit.register(_CERTIFICATES.close)
os.environ["SSL_CERT_FILE"] = _CERTIFICATES.name

# Who runs the tests in the background ignores Ctrl-C, and each program that a test starts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test marked ``uncovered`` without coverage; pytest-cov's own ``no_cover`` goes on tracing in a process of xdist."""
    if item.get_closest_marker("uncovered") is None:
        return (yield)
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)


@pytest.fixture(scope="session")
def cluster() -> Generator[Cluster]:
    """A PostgreSQL server of this process of tests."""
    cluster = Cluster()
    cluster.start()
    yield cluster
    cluster.remove()


@pytest.fixture
def database(cluster: Cluster) -> str:
    """The URL of an empty database on it."""
    return cluster.new_database()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store is: a file that is yet to be made, or an empty database on the server."""
    return str(tmp_path / "chats.db" if request.param == "sqlite" else request.getfixturevalue("database"))
