"""The files in `deploy/`: their commands are autocompact's, their figures are counted, and the gateways come up as they say."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from autocompact.cli.working import worker
from autocompact.core.messages import text_message
from autocompact.errors import StoreUnavailable
from autocompact.gateway.endpoints import ENDPOINTS
from autocompact.gateway.metrics import Metrics
from autocompact.stores.postgres import PostgresStore
from autocompact.testing import FakeProvider
from autocompact.testing.records import KEY
from tests.cli.test_serve import ended, free_port, serving, started
from tests.house.source import ROOT
from tests.stores.cluster import PROGRAM, SUPERUSER, USER, Cluster, Pooler

pytestmark = pytest.mark.requirement("E9")

DEPLOY = ROOT / "deploy"


def services() -> dict[str, Any]:
    """Those of `compose.yaml`."""
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]


def kubernetes(kind: str, *, name: str = "autocompact") -> dict[str, Any]:
    """The object of this kind in `kubernetes.yaml`; of several, the one of that name."""
    objects = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8"))
    found = [each for each in objects if each["kind"] == kind]
    (chosen,) = found if len(found) == 1 else (each for each in found if each["metadata"]["name"] == name)
    return chosen


def container(kind: str, *, name: str = "autocompact") -> dict[str, Any]:
    """The one of the pods that an object makes."""
    (found,) = kubernetes(kind, name=name)["spec"]["template"]["spec"]["containers"]
    return found


def on_this_machine(arguments: list[str], *, port: int) -> list[str]:
    """What a container is told, for an address here."""
    return [*(each for each in arguments if not each.startswith("--host=")), "--port", str(port)]


async def status(url: str, *, host: str) -> int:
    async with aiohttp.ClientSession() as session, session.get(url, headers={"Host": host}) as response:
        return response.status


@pytest.mark.anyio
@pytest.mark.parametrize("where", ["compose", "kubernetes"])
async def test_a_gateway_comes_up_on_a_migrated_database_behind_a_pooler(
    where: str, cluster: Cluster, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compose = services()
    migrate = compose["migrate"]["command"] if where == "compose" else container("Job")["args"]
    assert (migrate[0], migrate[2:]) == ("migrate", [f"--grant={PROGRAM}"])
    assert re.fullmatch(r"--db=(postgresql://\S+|\$\(DATABASE\))", migrate[1])
    assert (await ended("migrate", f"--db={database}", *migrate[2:]))[0] == 0
    serve = compose["gateway-1"]["command"] if where == "compose" else container("Deployment")["args"]
    port = free_port()
    pooler = Pooler(cluster, connections=4)
    try:
        monkeypatch.setenv("AUTOCOMPACT_GATEWAY_DB", pooler.url(database.replace(f"{USER}@", f"{PROGRAM}@")))
        arguments = on_this_machine(serve[1:], port=port)
        async with FakeProvider() as provider, serving(provider, *arguments):
            asked = ("/autocompact/health", "/autocompact/ready", "/metrics")
            urls = [f"http://127.0.0.1:{port}{path}" for path in asked]
            assert [await status(url, host="autocompact:8787") for url in urls] == [200, 200, 200]
    finally:
        pooler.stop()


@pytest.mark.anyio
async def test_after_an_outage_a_gateway_gets_through_the_pooler_as_soon_as_the_database_is_there(
    cluster: Cluster, database: str
) -> None:
    """PgBouncer lets nobody through for 15 s after it was refused, unless it is told otherwise."""
    told = {name.lower(): value for name, value in services()["pooler"]["environment"].items()}
    named = ("server_login_retry", "dns_max_ttl", "dns_nxdomain_ttl")
    assert [float(told[name]) for name in named] == [1, 1, 1]
    pooler = Pooler(cluster, connections=2, settings={name: told[name] for name in named})
    try:
        async with PostgresStore(pooler.url(database), busy_seconds=0.2) as store:
            await store.append(KEY, [text_message(1, "user", "Begin.")], after=0)
            cluster.kill()
            try:
                with pytest.raises(StoreUnavailable):
                    await store.load(KEY)
            finally:
                cluster.start()
            while store.is_away:
                with suppress(StoreUnavailable):
                    await store.load(KEY)
            assert (await store.load(KEY)).last_seq == 1
    finally:
        pooler.stop()


@contextmanager
def balanced(
    ports: list[int], folder: Path, *, every: str = "100ms"
) -> Generator[tuple[str, Callable[[], bool]]]:
    """HAProxy as in `deploy/` before gateways on these ports: its address, and whether it holds any of them for ready.

    Args:
        ports: of two or more.
        folder: for its files.
        every: so often it asks each of them whether it is ready.
    """
    front, socket_ = free_port(), folder / "h"
    configured = (DEPLOY / "haproxy.cfg").read_text("utf-8")
    changes = {"bind :8787": f"bind 127.0.0.1:{front}", "inter 2s": f"inter {every}"}
    further = "".join(f"    server gateway-{n} 127.0.0.1:{port}\n" for n, port in enumerate(ports[2:], 3))
    changes |= {"gateway-2:8787\n": f"gateway-2:8787\n{further}"}
    changes |= {f"gateway-{n}:8787": f"127.0.0.1:{port}" for n, port in enumerate(ports[:2], 1)}
    changes |= {"global\n": f"global\n    stats socket {socket_}\n"}
    for here, there in changes.items():
        assert here in configured
        configured = configured.replace(here, there)
    file = folder / "haproxy.cfg"
    file.write_text(configured, "utf-8")
    process = subprocess.Popen(["/usr/sbin/haproxy", "-db", "-q", "-f", str(file)])

    def any_is_ready() -> bool:
        with socket.socket(socket.AF_UNIX) as asking, asking.makefile("rw") as stream:
            asking.connect(str(socket_))
            stream.write("show stat\n")
            stream.flush()
            (line,) = (line for line in stream if line.startswith("gateways,BACKEND,"))
            return ",UP," in line

    try:
        while not socket_.exists():
            assert process.poll() is None
        yield f"http://127.0.0.1:{front}", any_is_ready
    finally:
        process.terminate()
        process.wait()


@pytest.mark.anyio
@pytest.mark.skipif(not Path("/usr/sbin/haproxy").exists(), reason="needs Debian's package haproxy")
async def test_while_the_database_is_away_the_balancer_still_has_gateways(
    cluster: Cluster, tmp_path: Path
) -> None:
    """It went by whether they reach the database, so that none was left though each forwards requests without it."""
    database, ports = cluster.for_programs(), [free_port(), free_port()]
    async with FakeProvider("Fine.", window=8_000) as provider, AsyncExitStack() as running:
        for port in ports:
            gateway = serving(provider, "--port", port, "--db", database, "--window", 8_000)
            await running.enter_async_context(gateway)
        url, any_is_ready = running.enter_context(balanced(ports, tmp_path))
        session = await running.enter_async_context(aiohttp.ClientSession())

        async def asked(text: str) -> int:
            body = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": text}]}
            async with session.post(f"{url}/v1/chat/completions", json=body) as told:
                return told.status

        assert await asked("Begin.") == 200
        cluster.kill()
        try:
            while any_is_ready():
                assert await asked("Go on.") == 200
            for number in range(10):
                assert await asked(f"Go on, {number}.") == 200
        finally:
            cluster.start()
        while not any_is_ready():
            assert await asked("Go on.") == 200


@pytest.mark.anyio
@pytest.mark.skipif(not Path("/usr/sbin/haproxy").exists(), reason="needs Debian's package haproxy")
async def test_where_several_gateways_are_gone_at_once_a_request_gets_past_all_of_them(
    tmp_path: Path,
) -> None:
    """It went from one that was gone to the next and back, and was refused, until three checks had failed."""

    checked = asyncio.Semaphore(0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            if b"/autocompact/" in await reader.readuntil(b"\r\n\r\n"):
                checked.release()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            await writer.drain()
        writer.close()

    gateways = [await asyncio.start_server(answer, "127.0.0.1", 0) for _ in range(4)]
    ports = [gateway.sockets[0].getsockname()[1] for gateway in gateways]
    with balanced(ports, tmp_path, every="2s") as (url, _):
        # those of both backends are up, and no three checks come before the requests
        for _ in range(2 * len(ports)):
            await checked.acquire()
        for gateway in gateways[:2]:
            gateway.close()
        async with aiohttp.ClientSession() as session:
            for number in range(40):
                async with session.get(url, headers={"Authorization": f"Bearer {number}"}) as told:
                    assert told.status == 200
    for gateway in gateways[2:]:
        gateway.close()


@pytest.mark.anyio
async def test_a_gateway_says_when_its_role_is_held_to_no_tenant(cluster: Cluster) -> None:
    process = await started(
        "serve", "--no-page", "--port", 0, "--db", cluster.for_programs().replace(PROGRAM, SUPERUSER)
    )
    assert process.stderr is not None
    said = b""
    while b"kept in" not in said:
        said += await process.stderr.readline()
    process.terminate()
    await process.communicate()
    assert b"Tenants: the role 'keeper' is a superuser" in said
    assert b"--grant ROLE" in said


def test_what_is_probed_and_scraped_is_there() -> None:
    paths = {endpoint.path for endpoint in ENDPOINTS if endpoint.open}
    gateway = container("Deployment")
    probed = {gateway[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")}
    scraped = kubernetes("Deployment")["spec"]["template"]["metadata"]["annotations"]["prometheus.io/path"]
    checked = re.findall(r"httpchk GET (\S+)", (DEPLOY / "haproxy.cfg").read_text("utf-8"))
    tested = re.findall(r"127\.0\.0\.1:8787(/[\w/]+)", str(services()["gateway-1"]["healthcheck"]))
    assert {*probed, scraped, *checked, *tested} <= paths
    assert checked
    assert tested


def test_whoever_stops_a_gateway_waits_longer_than_its_streams_may_run() -> None:
    drain = drained(services()["gateway-1"]["command"])
    assert int(services()["gateway-1"]["stop_grace_period"].removesuffix("s")) > drain
    pod = kubernetes("Deployment")["spec"]["template"]["spec"]
    (sleep,) = (int(each) for each in container("Deployment")["lifecycle"]["preStop"]["exec"]["command"][1:])
    assert pod["terminationGracePeriodSeconds"] > drained(container("Deployment")["args"]) + sleep


@pytest.mark.parametrize("where", ["compose", "kubernetes"])
def test_a_worker_goes_round_the_pooler_and_has_time_to_end_its_jobs(where: str) -> None:
    if where == "compose":
        service = services()["worker"]
        arguments, patience = service["command"], int(service["stop_grace_period"].removesuffix("s"))
        assert f"//{PROGRAM}@database:" in service["environment"]["AUTOCOMPACT_GATEWAY_DB"]
        assert f"CREATE ROLE {PROGRAM} LOGIN" in (DEPLOY / "roles.sh").read_text("utf-8")
    else:
        arguments = container("Deployment", name="autocompact-worker")["args"]
        pod = kubernetes("Deployment", name="autocompact-worker")["spec"]["template"]["spec"]
        patience = pod["terminationGracePeriodSeconds"]
        (database,) = (
            each["valueFrom"]["secretKeyRef"]["key"]
            for each in pod["containers"][0]["env"]
            if each["name"] == "AUTOCOMPACT_GATEWAY_DB"
        )
        assert database == "direct-url"
    assert arguments[0] == "worker"
    named = {name for option in worker.params for name in option.opts}
    given = dict(argument.split("=") for argument in arguments[1:])
    assert given.keys() <= named
    assert patience > float(given["--drain-seconds"])


def drained(arguments: list[str]) -> int:
    (found,) = (each for each in arguments if each.startswith("--limit=drainSeconds="))
    return int(found.rpartition("=")[2])


@pytest.fixture
def asked_for() -> list[str]:
    """What the rules and the board ask Prometheus."""
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text("utf-8"))["groups"][0]["rules"]
    board = json.loads((DEPLOY / "dashboard.json").read_text("utf-8"))
    return [rule["expr"] for rule in rules] + [
        target["expr"] for panel in board["panels"] for target in panel["targets"]
    ]


@pytest.mark.anyio
async def test_every_figure_and_label_that_is_asked_for_is_in_a_gateways_figures(
    asked_for: list[str], cluster: Cluster
) -> None:
    port, database = free_port(), cluster.for_programs()
    url = f"http://127.0.0.1:{port}"
    said = "Look at src/invoice.py, and round half to even. " * 60
    async with (
        FakeProvider("Fine.", window=8_000) as provider,
        serving(provider, "--port", port, "--db", database, "--window", 8_000),
        aiohttp.ClientSession() as session,
    ):

        async def asked(messages: list[dict[str, str]]) -> str:
            body = {"model": "m", "max_tokens": 10, "messages": messages}
            async with session.post(f"{url}/v1/chat/completions", json=body) as told:
                assert told.status == 200, await told.text()
            async with session.get(f"{url}/metrics") as told:
                return await told.text()

        messages: list[dict[str, str]] = []
        while "autocompact_compactions_total{" not in await asked(
            [*messages, {"role": "user", "content": said}]
        ):
            messages += [{"role": "user", "content": said}, {"role": "assistant", "content": "Fine."}]
        assert await status(f"{url}/v1/models", host="elsewhere.example") == 403
        cluster.sql(f"REVOKE USAGE ON SCHEMA autocompact FROM {PROGRAM}", database=database)
        counted = await asked([{"role": "user", "content": f"Another one. {said}"}, *messages[1:]])
    # no model of this test calls a memory tool
    tools = Metrics()
    tools.recalled("memory_search")
    counted += tools.text().decode()
    names = {name for each in asked_for for name in re.findall(r"autocompact_\w+", each)}
    assert names <= set(re.findall(r"^(autocompact_\w+)[{ ]", counted, re.MULTILINE))
    labelled = {
        (label, name)
        for each in asked_for
        for label, name in re.findall(r"sum by \((\w+)\) \(\w+\((\w+)", each)
    } | {
        (label, name) for each in asked_for for name, label in re.findall(r"(autocompact_\w+){(\w+)=~", each)
    }
    assert len(labelled) > 5
    for label, name in labelled:
        assert re.search(rf'^{name}{{[^}}]*{label}="', counted, re.MULTILINE), name
    assert re.search(r'^autocompact_failures_total{kind="Store\w+"} [1-9]', counted, re.MULTILINE)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool, of Debian's package prometheus")
def test_prometheus_takes_the_rules_and_what_the_board_asks_and_the_rules_fire_as_they_should(
    asked_for: list[str], tmp_path: Path
) -> None:
    board = tmp_path / "board.yaml"
    rules = [
        {"record": f"asked:{number}", "expr": each.replace("$__rate_interval", "5m")}
        for number, each in enumerate(asked_for)
    ]
    board.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}), "utf-8")
    for arguments in (
        ["check", "rules", str(DEPLOY / "alerts.yaml"), str(board)],
        ["test", "rules", str(ROOT / "tests" / "alerts.yaml")],
    ):
        done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def copied_into_the_image() -> set[str]:
    lines = re.findall(r"^COPY (?!--)(.+) \S+$", (DEPLOY / "Containerfile").read_text("utf-8"), re.MULTILINE)
    return {name.removeprefix("./") for line in lines for name in line.split()}


def test_the_image_has_what_the_commands_need() -> None:
    assert "[gateway,postgres]" in (DEPLOY / "Containerfile").read_text("utf-8")
    assert all((ROOT / name).exists() for name in copied_into_the_image())


def test_who_builds_the_image_sends_what_it_takes_and_no_more() -> None:
    """A checkout with its environment has a gigabyte, and may hold conversations."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    kept = [line for line in lines if line and not line.startswith("#")]
    assert kept[0] == "*"
    assert {line.removeprefix("!") for line in kept if line.startswith("!")} == copied_into_the_image()


@pytest.mark.skipif(shutil.which("buildah") is None, reason="needs Debian's package buildah")
def test_a_builder_gets_the_source_without_what_lies_beside_it(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    there = [
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "src/autocompact/__init__.py",
        "src/autocompact/sql/one.sql",
    ]
    beside = [
        ".git/HEAD",
        ".venv/bin/python",
        "build/site/index.html",
        ".autocompact/chat.db",
        "src/autocompact/__pycache__/a.pyc",
    ]
    for name in (*there, *beside):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).touch()
    shutil.copy(ROOT / ".dockerignore", checkout)
    everything = tmp_path / "Containerfile"
    everything.write_text("FROM scratch\nCOPY . /\n", "utf-8")
    storage = ["--storage-driver=vfs", f"--root={tmp_path / 'root'}", f"--runroot={tmp_path / 'run'}"]

    def buildah(*arguments: str) -> str:
        done = subprocess.run(["buildah", *storage, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    buildah("bud", "--isolation=chroot", f"--file={everything}", "--tag=all", str(checkout))
    image = Path(buildah("mount", buildah("from", "all")))
    assert sorted(str(each.relative_to(image)) for each in image.rglob("*") if each.is_file()) == sorted(
        there
    )
    buildah("rm", "--all")
