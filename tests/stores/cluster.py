"""A PostgreSQL server of the tests' own: its data in a folder of its own, reached through a socket there, nothing on the network.

PostgreSQL refuses to run as root: then it runs as the user ``postgres`` that Debian's package makes.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote, urlsplit

PORT = 5432
"""Only part of the socket's name."""

USER = "tester"
"""Owner of the databases; no superuser, since row-level security does not hold for one."""

PROGRAM = "programs"
"""A role that owns nothing, see `Cluster.for_programs`."""

SUPERUSER = "keeper"

_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",  # no test survives a crash of the machine
    "shared_buffers": "32MB",
    "max_connections": "60",
    "autovacuum": "off",
    "log_min_messages": "fatal",
}


def programs() -> Path:
    """The folder of ``initdb`` and ``postgres``: on the path, Debian's, or that of the wheel ``pgserver``, which needs no root.

    Raises:
        FileNotFoundError: PostgreSQL is not installed; `make postgres` installs it.
    """
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -int(path.parent.name)):
        if (folder / "initdb").exists():
            return folder
    if wheel := find_spec("pgserver"):
        return Path(str(wheel.origin)).parent / "pginstall" / "bin"
    raise FileNotFoundError(
        "the tests of the store on PostgreSQL need its server: `make postgres` installs it, or `pip install pgserver` without root"
    )


def as_its_user() -> list[str]:
    """What a command begins with that may not run as root."""
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []


class Cluster:
    """A server. Made once for the tests of a process; each test gets a database of its own."""

    def __init__(self) -> None:
        # A socket's path may have 107 bytes: not pytest's folder.
        self.folder = Path(tempfile.mkdtemp(prefix="autocompact-pg-"))
        self._programs = programs()
        self._server: subprocess.Popen[bytes] | None = None
        # the thread that kills it may not be through when another one starts it again
        self._changing = threading.Lock()
        self._numbers = count(1)
        self._has_roles = False
        self._template: str | None = None
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        initdb = [
            "--username",
            SUPERUSER,
            "--auth",
            "trust",
            "--encoding",
            "UTF8",
            "--locale",
            "C",
            "--no-sync",
        ]
        self._run("initdb", *initdb, "--pgdata", str(self._data))

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def process(self) -> int:
        """Id of the server's process."""
        assert self._server is not None
        return int(Path(self._data, "postmaster.pid").read_text("ascii").split()[0])

    def _as_its_user(self, program: str, arguments: Sequence[str]) -> list[str]:
        return [*as_its_user(), str(self._programs / program), *arguments]

    def _run(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            self._as_its_user(program, arguments),
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, **settings: str) -> None:
        """Run the server, and come back when it answers; ``settings`` go before those of tests."""
        with self._changing:
            self._start(settings)
        if not self._has_roles:
            self.sql(f"CREATE ROLE {USER} LOGIN; CREATE ROLE {PROGRAM} LOGIN")
            self._has_roles = True

    def _start(self, settings: Mapping[str, str]) -> None:
        options = [f"-c{name}={value}" for name, value in {**_SETTINGS, **settings}.items()]
        self._server = subprocess.Popen(
            self._as_its_user("postgres", ["-D", str(self._data), "-k", str(self.folder), *options]),
            cwd=self.folder,
            stderr=subprocess.PIPE,
        )
        waiting = ["--host", str(self.folder), "--username", SUPERUSER, "--quiet"]
        while subprocess.run(
            self._as_its_user("pg_isready", waiting), cwd=self.folder, check=False
        ).returncode:
            if self._server.poll() is not None:
                raise AssertionError(self._server.communicate()[1].decode())

    def kill(self) -> None:
        """End it as a crash does: the server and all that serve a connection, at once."""
        with self._changing:
            self._stop(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order."""
        with self._changing:
            self._stop(signal.SIGINT)

    def freeze(self) -> None:
        """Let it hang: the server and all that serve a connection are there, and say nothing."""
        self._signal(signal.SIGSTOP)

    def mend(self) -> None:
        """Go on after `freeze`."""
        self._signal(signal.SIGCONT)

    def _signal(self, what: signal.Signals) -> None:
        assert self._server is not None
        for process in (self._server.pid, *self._serving()):
            os.kill(process, what)

    def _serving(self) -> list[int]:
        assert self._server is not None
        children = Path(f"/proc/{self._server.pid}/task/{self._server.pid}/children")
        return [int(process) for process in children.read_text(encoding="ascii").split()]

    def _stop(self, by: signal.Signals) -> None:
        assert self._server is not None
        if by is signal.SIGKILL:
            self._signal(by)
        else:
            self._server.send_signal(by)
        self._server.communicate()
        self._server = None

    def new_database(self) -> str:
        """The URL of an empty one."""
        name = f"d{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name} OWNER {USER}")
        return self.url(name)

    def for_programs(self) -> str:
        """The URL of a database with empty tables, as a role that may use them and owns none of them."""
        if self._template is None:
            made = self.new_database()
            subprocess.run(
                [sys.executable, "-m", "autocompact", "migrate", "--db", made, "--grant", PROGRAM],
                check=True,
                capture_output=True,
            )
            self._template = urlsplit(made).path.strip("/")
        name = f"d{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name} OWNER {USER} TEMPLATE {self._template}")
        return self.url(name, user=PROGRAM)

    def url(self, database: str, *, user: str = USER, password: str = "") -> str:
        """Of a database on this server."""
        who = f"{user}:{quote(password)}" if password else user
        return f"postgresql://{who}@/{database}?host={quote(str(self.folder))}&port={PORT}"

    def sql(self, statements: str, *, database: str = "postgres") -> str:
        """What ``psql`` prints for statements of the superuser, values alone.

        Args:
            statements: one or several.
            database: its name or URL.
        """
        name = urlsplit(database).path.strip("/")
        where = ["--host", str(self.folder), "--username", SUPERUSER, "--dbname", name]
        return self._run("psql", "-qAtX", "-v", "ON_ERROR_STOP=1", *where, "-c", statements).strip()

    def remove(self) -> None:
        """End it, if it runs, and remove its folder."""
        if self._server is not None:
            self.stop()
        shutil.rmtree(self.folder)


class Pooler:
    """PgBouncer before a cluster: it gives connections out by the transaction, fewer than clients have.

    Args:
        cluster: the server.
        connections: to it.
        settings: others of PgBouncer.
    """

    def __init__(
        self, cluster: Cluster, *, connections: int, settings: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._cluster = cluster
        configured = cluster.folder / "pgbouncer.ini"
        users = cluster.folder / "users.txt"
        users.write_text("".join(f'"{name}" ""\n' for name in (USER, PROGRAM, SUPERUSER)), encoding="utf-8")
        configured.write_text(
            f"""[databases]
* = host={cluster.folder} port={PORT}
[pgbouncer]
listen_addr =
listen_port = {PORT + 1}
unix_socket_dir = {cluster.folder}
auth_type = trust
auth_file = {users}
pool_mode = transaction
default_pool_size = {connections}
logfile = {cluster.folder / "pgbouncer.log"}
{chr(10).join(f"{name} = {value}" for name, value in settings.items())}
""",
            encoding="utf-8",
        )
        self._process = subprocess.Popen(
            [
                *as_its_user(),
                str(shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")),
                "-q",
                str(configured),
            ],
            cwd=cluster.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not (cluster.folder / f".s.PGSQL.{PORT + 1}").exists():
            assert self._process.poll() is None, (cluster.folder / "pgbouncer.log").read_text(
                encoding="utf-8"
            )

    def url(self, database: str) -> str:
        """As `Cluster.new_database` gave it, by way of the pooler."""
        return database.replace(f"port={PORT}", f"port={PORT + 1}")

    def stop(self) -> None:
        """End it."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()
