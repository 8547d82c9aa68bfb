"""Finds the gateway that this user runs already, so that a client can join it.

Something that answers on a port of 127.0.0.1 may belong to another user, who would be handed keys. So a gateway holds
a lock in its user's data folder as long as it runs: whoever else cannot hold it, and the system lets go of it when the
process ends, however it ends.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import msgspec
from filelock import FileLock, Timeout

from autocompact.history.paths import data_folder
from autocompact.runtime.files import PRIVATE_FILE, make_folder

_SECONDS = 2.0
_MOST_BYTES = 10_000
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def address(host: str, port: int) -> str:
    """The base address at which a gateway that listens there is reached from this machine."""
    name = _ANY.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


@contextmanager
def announced(host: str, port: int, *, environ: Mapping[str, str] | None = None) -> Generator[None]:
    """Within this block, this process is the user's gateway at that address; nobody looks for one at port 0."""
    if port == 0:
        yield
        return
    path = _lock_file(host, port, environ=environ)
    make_folder(path.parent)
    lock = FileLock(path, timeout=_SECONDS, mode=PRIVATE_FILE)
    try:
        lock.acquire()
    except Timeout:
        # Only somebody who asks holds it besides; then this one is not joined.
        yield
        return
    try:
        yield
    finally:
        lock.release()


def found(host: str, port: int, *, environ: Mapping[str, str] | None = None) -> str | None:
    """The base address of this user's running gateway of the same version; None if there is none."""
    path = _lock_file(host, port, environ=environ)
    if not path.exists():
        return None
    try:
        # whoever gets the lock knows that nobody holds it: there is no gateway
        with FileLock(path, timeout=0, mode=PRIVATE_FILE):
            return None
    except Timeout:
        pass
    url = address(host, port)
    return url if _is_alike(_version_at(url)) else None


def _lock_file(host: str, port: int, *, environ: Mapping[str, str] | None) -> Path:
    name = host.replace(":", "_").replace("/", "_")
    return data_folder(environ=environ) / "gateways" / f"{name}-{port}.lock"


class _Health(msgspec.Struct):
    version: str = ""


def _version_at(url: str) -> str:
    """The version of the gateway there; "" if nothing of ours answers."""
    try:
        # no proxy: an address of this machine must not leave it
        with build_opener(ProxyHandler({})).open(f"{url}/autocompact/health", timeout=_SECONDS) as response:
            return msgspec.json.decode(response.read(_MOST_BYTES), type=_Health).version
    except (OSError, msgspec.DecodeError):
        return ""


def _is_alike(other: str) -> bool:
    """The same major version; before 1.0 the same minor one as well."""
    mine, theirs = version("autocompact").split("."), other.split(".")
    count = 2 if mine[0] == "0" else 1
    return mine[:count] == theirs[:count]
