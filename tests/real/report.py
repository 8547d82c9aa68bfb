"""What a run of the real clients found, for the table in ``docs/reference/clients.md``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

from tests.real.agents import Client
from tests.real.judge import compactions
from tests.real.running_clients import Run


def write_report(programs: Path, client: Client, done: Run, *, faults: Sequence[str]) -> None:
    """Write one client's figures into the folder ``reports``."""
    figures = {
        "name": client.name,
        "package": client.package.partition(":")[2],
        "version": version(programs, client.package),
        "api": client.api,
        "window": client.window,
        "requests": len([each for each in done.received if not each.counting]),
        "compactions": len(compactions(done.exchanges)),
        "most_tokens": max((each.tokens for each in done.received), default=0),
        "sum_tokens": sum(each.tokens for each in done.received),
        "cached_tokens": sum(each.cached for each in done.received),
        "faults": list(faults),
    }
    folder = programs / "reports"
    folder.mkdir(exist_ok=True)
    (folder / f"{client.name}.json").write_text(json.dumps(figures, indent=1))


def version(programs: Path, package: str) -> str:
    """The installed version of a client."""
    where, _, name = package.partition(":")
    if where == "npm":
        return json.loads((programs / "npm" / "node_modules" / name / "package.json").read_text())["version"]
    site = next((programs / where / "lib").glob("python*/site-packages"))
    found: Distribution = next(
        each for each in distributions(path=[str(site)]) if each.metadata["Name"] == name
    )
    return found.version
