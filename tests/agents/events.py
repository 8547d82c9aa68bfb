"""Runs the hook as an agent's plugin runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.warm import command

HOOK = ("-P", "-m", "autocompact.agents.hook")


def hooked(
    home: Path,
    event: object,
    *arguments: str,
    cwd: Path | None = None,
    before: Sequence[str] = (),
    **variables: str,
) -> subprocess.CompletedProcess[bytes]:
    """The ended hook, run by the command ``before`` it; nothing that it starts sees the environment of the tests."""
    return subprocess.run(
        (*before, sys.executable, *HOOK, *arguments),
        input=event if isinstance(event, bytes) else json.dumps(event).encode(),
        capture_output=True,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), **variables},
        check=False,
    )


def told(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    """What it answered; it must end silently."""
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout or b"{}")


def state(home: Path, agent: str) -> Path:
    """The folder of the agent's sessions."""
    return home / "data" / "autocompact" / "agents" / agent


def log(home: Path) -> bytes:
    """What is noted of failures."""
    file = home / "data" / "autocompact" / "agents" / "hook.log"
    return file.read_bytes() if file.exists() else b""


def shown(home: Path, name: str) -> bytes:
    """What `autocompact show` prints of a message in the store."""
    done = subprocess.run(
        (*command(), "show", name),
        capture_output=True,
        env={"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(home / "data")},
        check=True,
    )
    return done.stdout
