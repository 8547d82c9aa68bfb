"""Starts our programs without their imports, which take a second or three of a processor each time: forked from one that has them.

``COMMAND`` begins a command as ``[sys.executable, "-m", "autocompact"]`` does. What runs is a process of its own, with the
arguments, environment, folder, streams and signals that it was started with; only its modules were read before. What
tests how a program starts (its imports, its encoding, a stream that is closed) or kills one from outside starts it in the
usual way.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent


@cache
def command(program: str = "autocompact") -> list[str]:
    """What starts a program; the first time in a process of tests, the one that has the modules is started as well.

    Args:
        program: ``autocompact``, ``compress-context``, or the name of a module, to run as ``python -m`` does.
    """
    return [sys.executable, "-I", "-S", str(HERE / "client.py"), str(_server()), program]


def scripts(folder: Path) -> Path:
    """Write our programs into a folder for a PATH, to be started by a shell; the folder."""
    for program in ("autocompact", "compress-context"):
        script = folder / program
        script.write_text(f'#!/bin/sh\nexec {shlex.join(command(program))} "$@"\n')
        script.chmod(0o755)
    return folder


@cache
def _server() -> Path:
    """The socket of the one that has the modules; it ends with this process, or with all processes of tests that share it."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", "")
    if run and hasattr(os, "pidfd_open"):
        return _shared(Path(tempfile.gettempdir(), f"autocompact-warm-{run}"))
    folder = tempfile.TemporaryDirectory(prefix="autocompact-warm-")
    path = Path(folder.name, "socket")
    process = _started(path, stdin=subprocess.PIPE)

    def end(owner: int = os.getpid()) -> None:
        if os.getpid() == owner:
            process.kill()
            process.communicate()
            folder.cleanup()

    atexit.register(end)
    return path


def _shared(folder: Path) -> Path:
    """The socket of the one that the first of several processes of tests starts; it ends when their parent does."""
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / "socket"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            process = _started(path, str(os.getppid()), stdin=subprocess.DEVNULL)
            assert process.stdout is not None
            process.stdout.close()
            process.returncode = 0  # it may outlive this process, and nobody waits for it
    return path


def _started(path: Path, *parent: str, stdin: int) -> subprocess.Popen[bytes]:
    """One that has the modules, and listens."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "server.py"), str(path), *parent], stdin=stdin, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process
