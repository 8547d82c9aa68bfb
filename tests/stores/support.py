"""What the tests of the stores share."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import apsw

from autocompact.stores.connection import Connection
from tests.house.source import ROOT
from tests.warm import command


def connect(path: Path) -> Connection:
    """A connection past the store, by the very library that the store uses."""
    return cast("Connection", apsw.Connection(str(path)))


def child(*arguments: object) -> subprocess.Popen[str]:
    """A process that runs a command of `tests.stores.child`, talking line by line."""
    return subprocess.Popen(
        [*command("tests.stores.child"), *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    )


def ask(process: subprocess.Popen[str], line: str = "") -> str:
    """The line that the process answers."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    assert answer, process.communicate()[1]
    return answer.rstrip("\n")


def finish(process: subprocess.Popen[str]) -> int:
    """End its input and wait for it; its exit code. It must not have complained."""
    _, problems = process.communicate(timeout=60)
    assert not problems, problems
    return process.returncode


def contents(folder: Path, *, but: Sequence[str] = ()) -> dict[str, bytes]:
    """Every file of the folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix not in but}
