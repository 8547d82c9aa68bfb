"""``python server.py SOCKET [PARENT]``: has read the modules of our programs, and forks a process for each client that asks.

It ends when its stdin does, or when the process PARENT does: then it removes the folder of its socket. See `tests.warm`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

MODULES = (
    "autocompact.agents.hook",
    "autocompact.chat.commands",
    "autocompact.cli.access_keys",
    "autocompact.cli.chat",
    "autocompact.cli.compact",
    "autocompact.cli.compacting",
    "autocompact.cli.counting",
    "autocompact.cli.health",
    "autocompact.cli.inspect",
    "autocompact.cli.kept",
    "autocompact.cli.replay",
    "autocompact.cli.replaying",
    "autocompact.cli.report",
    "autocompact.cli.serving",
    "autocompact.cli.settings",
    "autocompact.cli.shelf",
    "autocompact.cli.store",
    "autocompact.cli.supposing",
    "autocompact.cli.survey",
    "autocompact.cli.talking",
    "autocompact.cli.tape",
    "autocompact.cli.upkeep",
    "autocompact.cli.what_if",
    "autocompact.gateway",
    "autocompact.history.archive",
    "autocompact.history.incoming",
    "autocompact.history.library",
    "autocompact.history.outgoing",
    "autocompact.history.recorded.inspecting",
    "autocompact.memory.upkeep",
    "autocompact.stores.doctor",
    "autocompact.stores.opening",
    "autocompact.stores.server_doctor",
    "autocompact.testing",
    "autocompact.testing.clock",
    "autocompact.testing.records",
    "autocompact.ui.deletion",
    "autocompact.ui.terminal.dialogue",
    "autocompact.ui.web.app",
    "autocompact.what_if",
    "apsw",
    "openai",
    "anthropic",
    "pydantic_ai",
    "pydantic_ai.models.openai",
    "prompt_toolkit",
    "rich.console",
    "tiktoken",
)
OURS = ("tests.engine.support", "tests.gateway.serving", "tests.stores.support")
"""Modules of programs that only tests have."""

STREAMS = 3
ROOT = Path(__file__).parents[2]
SESSION = ROOT / "examples" / "sessions" / "fix-invoice-rounding.jsonl"


class Server:
    """Forks a process for each client, and tells it how that one ended.

    Args:
        path: of the socket to listen on.
        ends: the file descriptor whose first or last word ends it.
    """

    def __init__(self, path: str, *, ends: int) -> None:
        self._path, self._ends = Path(path), ends
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(64)
        self._ended, self._wakes = os.pipe()
        self._clients: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, "client")
        self._selector.register(self._ended, selectors.EVENT_READ, "ended")
        self._selector.register(ends, selectors.EVENT_READ, "stop")
        os.set_blocking(self._wakes, False)
        signal.set_wakeup_fd(self._wakes)
        signal.signal(signal.SIGCHLD, _noted)

    def run(self) -> Callable[[], object]:
        """Serve; returns in each forked process alone, with what runs its program."""
        while True:
            for key, _ in self._selector.select():
                if key.data == "stop":
                    if self._ends:
                        shutil.rmtree(self._path.parent, ignore_errors=True)
                    os._exit(0)
                elif key.data == "ended":
                    self._tell_how_it_ended()
                elif key.data == "client":
                    if (run := self._accept()) is not None:
                        return run
                else:
                    self._pass_on(key.data)

    def _accept(self) -> Callable[[], object] | None:
        client, _ = self._listener.accept()
        said, streams, _, _ = socket.recv_fds(client, 1 << 20, STREAMS)
        while not said.endswith(b"\n"):
            said += client.recv(1 << 20)
        pid = os.fork()
        if not pid:
            self._forget(client)
            return _prepared(json.loads(said), streams)
        for stream in streams:
            os.close(stream)
        self._clients[pid] = client
        self._selector.register(client, selectors.EVENT_READ, pid)
        return None

    def _forget(self, client: socket.socket) -> None:
        """Close in a forked process what is the server's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for each in (self._listener, client, *self._clients.values()):
            each.close()
        for each in {0, self._ends, self._ended, self._wakes}:
            os.close(each)

    def _tell_how_it_ended(self) -> None:
        os.read(self._ended, 4096)
        while self._clients:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            client = self._clients.pop(pid)
            if client.fileno() in self._selector.get_map():
                self._selector.unregister(client)
            with contextlib.suppress(OSError):  # it was killed
                client.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))
            client.close()

    def _pass_on(self, pid: int) -> None:
        """Send the signals on that a client got; if it was killed, its program is."""
        if pid in self._clients:
            numbers = self._clients[pid].recv(64)
            for number in numbers or [signal.SIGKILL]:
                os.kill(pid, number)
            if not numbers:
                self._selector.unregister(self._clients[pid])


def _noted(_number: int, _frame: object) -> None:
    """Do nothing: a signal wakes the server only if somebody handles it."""


def _prepared(told: dict[str, Any], streams: list[int]) -> Callable[[], object]:
    """Take over what the client was started with."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        if stream >= STREAMS:
            os.close(stream)
    os.environ.clear()
    os.environ.update(told["env"])
    time.tzset()
    os.chdir(told["cwd"])
    os.umask(told["umask"])
    for each in told["ignored"]:
        signal.signal(each, signal.SIG_IGN)
    sys.argv = [told["program"], *told["arguments"]]
    sys.stdin, sys.stdout, sys.stderr = _text(0, "r"), _text(1, "w"), _text(2, "w")
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    if told["program"] == "compress-context":
        from autocompact.cli.upkeep import main as run
    elif told["program"] == "autocompact":
        from autocompact.cli import main as run
    else:
        sys.path[0] = told["cwd"]
        return partial(runpy.run_module, told["program"], run_name="__main__", alter_sys=True)
    return lambda: sys.exit(run())


def _text(number: int, mode: str) -> io.TextIOWrapper:
    """A standard stream as Python opens it."""
    raw = io.FileIO(number, mode, closefd=False)
    buffered = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    return io.TextIOWrapper(
        buffered,
        encoding=os.environ.get("PYTHONIOENCODING") or "utf-8",
        errors="backslashreplace" if number == 2 else "strict",
        line_buffering=number == 2 or raw.isatty(),
    )


def _compact() -> None:
    """Compact a session: the vocabulary and the patterns, which take as long as the rest of most commands, are made once."""
    from autocompact.history.recorded import Options, compact_session
    from autocompact.models.vocabulary import load_counter
    from autocompact.ports import SystemClock
    from autocompact.sessions.read import read_session

    compact_session(
        read_session(SESSION), Options(window=80_000, to=12_000), counter=load_counter(), clock=SystemClock()
    )
    assert threading.active_count() == 1, "a thread does not live on in a forked process"


def main(path: str, parent: str = "") -> None:
    """Read the modules and serve; in a forked process, run the program."""
    sys.path[0] = str(ROOT)
    for name in (*MODULES, *OURS):
        importlib.import_module(name)
    _compact()
    gc.collect()
    gc.freeze()  # pages that no collection touches stay shared
    server = Server(path, ends=os.pidfd_open(int(parent)) if parent else 0)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    run = server.run()
    run()


if __name__ == "__main__":
    main(*sys.argv[1:])
