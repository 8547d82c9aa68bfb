"""Run the tests of the real clients: install what is missing, run, write the table of the documents.

    python tools/real_clients.py [--newest] [--install] [--no-table] [arguments for pytest]

Everything goes below ``build/clients``. What is pinned is in ``tools/clients``: agents from npm in ``package.json`` and its
lock, SDKs and aider from PyPI with hashes. ``--newest`` installs the newest releases instead, into a folder of their own; ``--install`` does no more than that.
A client that cannot be installed fails its tests in CI, and is skipped with the reason elsewhere. Nothing here waits
without a bound.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tools.lock_clients import NODE, NPM, PINNED, UV  # noqa: E402 - as a script, only its own folder is on the path

BUILD = ROOT / "build" / "clients"
NEWEST = ROOT / "build" / "clients-newest"
TABLE = ROOT / "docs" / "reference" / "clients.md"
TESTS = (
    ROOT / "tests" / "real" / "test_real_clients.py",
    ROOT / "tests" / "real" / "test_claude_code_resume.py",
    *sorted((ROOT / "tests" / "real").glob("test_*_plugin.py")),
)
NEEDED = {
    "npm": ("claude", "codex", "opencode", "pi", "qwen", "cline"),
    "sdks": ("python", "llm"),
    "aider": ("aider",),
}
"""Programs of each environment that must be there after its installation."""

INSTALL_SECONDS = 480
"""For one environment. It takes about one minute."""

TRIES = 2
"""A registry may fail once, but not be slow twice. What a client does is never tried again."""

RELEASES = 3
"""Newest releases of an agent from npm that are tried."""

TEST_SECONDS = 1_200
ENDING_SECONDS = 20


def main(arguments: Sequence[str]) -> int:
    """Install, test, and write the table; pytest's exit code."""
    newest = "--newest" in arguments
    table = "--no-table" not in arguments
    rest = [each for each in arguments if each not in ("--newest", "--install", "--no-table")]
    programs = NEWEST if newest else BUILD
    programs.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(programs / "reports", ignore_errors=True)
    begun = time.monotonic()
    with ThreadPoolExecutor() as pool:
        list(pool.map(partial(install, programs=programs, newest=newest), NEEDED))
    missing = [each for each in NEEDED if (programs / f"{each}.missing").exists()]
    state = f"not installed: {', '.join(missing)}," if missing else "there"
    sys.stderr.write(f"The real clients are {state} after {time.monotonic() - begun:.0f} s\n")
    if "--install" in arguments:
        return 0  # what is missing fails its tests
    code = run_tests(rest, programs)
    if table and not rest and not os.environ.get("CI"):
        subprocess.run([sys.executable, "-m", "tests.real.table", BUILD, NEWEST, TABLE], check=True, cwd=ROOT)
    return code


def run_tests(arguments: Sequence[str], programs: Path) -> int:
    """Run pytest on them, two at a time; its exit code, or 1 if it did not end in time."""
    environment = os.environ | {"AUTOCOMPACT_REAL_CLIENTS": str(programs)}
    command = (sys.executable, "-m", "pytest", "-n", "2", "--dist", "worksteal", "-q", "--no-header")
    process = subprocess.Popen(
        (*command, *arguments, *map(str, TESTS)), cwd=ROOT, env=environment, process_group=0
    )
    code = _ended(process, TEST_SECONDS)
    if code is None:
        sys.stderr.write(f"the tests of the real clients did not end within {TEST_SECONDS} s\n")
    return 1 if code is None else code


def _ended(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """The exit code; None if it did not end in time: then it was ended, with its group.

    An interrupted pytest ends the clients that it runs.
    """
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        for sent in (signal.SIGINT, signal.SIGKILL):
            if process.poll() is None:
                os.killpg(process.pid, sent)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(ENDING_SECONDS)


def install(name: str, *, programs: Path, newest: bool) -> None:
    """Install one environment unless it is as pinned; a failure is written to ``NAME.missing``."""
    folder, missing, done = programs / name, programs / f"{name}.missing", programs / f"{name}.done"
    wanted = _wanted(name, newest=newest)
    if done.exists() and done.read_text() == wanted and not newest:
        return
    done.unlink(missing_ok=True)
    missing.unlink(missing_ok=True)
    sys.stderr.write(f"Installing the real clients: {name}\n")
    begun = time.monotonic()
    reason, tries = "", 0
    while tries == 0 or (tries < TRIES and time.monotonic() - begun < INSTALL_SECONDS / 2):
        tries += 1
        reason = _failure(name, folder, newest=newest)
        if not reason:
            done.write_text(wanted)
            return
        sys.stderr.write(f"{reason}\n")
    missing.write_text(reason)


def _failure(name: str, folder: Path, *, newest: bool) -> str:
    """Why the environment could not be installed into ``folder``, anew; "" if it could."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        _INSTALLERS[name](folder, newest)
        _check(name, folder)
    except OSError as error:
        return f"installing {name} failed: {error}"
    return ""


def _wanted(name: str, *, newest: bool) -> str:
    """A digest of what is pinned, to see a change of it."""
    files = ("package.json", "package-lock.json") if name == "npm" else (f"{name}.txt",)
    content = b"".join((PINNED / each).read_bytes() for each in files)
    return f"{hashlib.sha256(content).hexdigest()} {newest}"


_QUIET = ("--no-audit", "--no-fund", "--loglevel=error")


def _npm(folder: Path, newest: bool) -> None:
    folder.mkdir(parents=True)
    given = json.loads((PINNED / "package.json").read_text())
    if newest:
        names = list(given.pop("dependencies"))
        (folder / "package.json").write_text(json.dumps(given))
        for name in names:
            _newest_release(name, folder)
        return
    shutil.copy(PINNED / "package-lock.json", folder)
    (folder / "package.json").write_text(json.dumps(given))
    _run((*NPM, "ci", *_QUIET), folder)


def _newest_release(name: str, folder: Path) -> None:
    """Install the newest release of an agent that can be installed; a package that it needs may not be served yet.

    Raises:
        OSError: none of the newest few can.
    """
    latest: str = json.loads(_run((*NPM, "view", name, "version", "--json", "--loglevel=error"), folder))
    released: list[str] = json.loads(
        _run((*NPM, "view", name, "versions", "--json", "--loglevel=error"), folder)
    )
    before = released[: released.index(latest)] if latest in released else []
    plain = [each for each in before if "-" not in each]
    versions = [latest, *reversed(plain[-(RELEASES - 1) :])]
    for version in versions:
        try:
            _run((*NPM, "install", "--save-exact", *_QUIET, f"{name}@{version}"), folder)
        except OSError as error:
            sys.stderr.write(f"{name} {version} cannot be installed: {error}\n")
        else:
            return
    raise OSError(f"none of {', '.join(versions)} of {name} can be installed")


def _python(name: str) -> Callable[[Path, bool], None]:
    def install(folder: Path, newest: bool) -> None:
        _run((str(UV), "venv", "--quiet", "--python", sys.executable, str(folder)), ROOT)
        listed = ("-r", str(PINNED / f"{name}.in")) if newest else ()
        listed = listed or ("--require-hashes", "-r", str(PINNED / f"{name}.txt"))
        target = ("--python", str(folder / "bin" / "python"))
        _run((str(UV), "pip", "install", "--quiet", *target, *listed), ROOT)

    return install


_INSTALLERS: dict[str, Callable[[Path, bool], None]] = {
    "npm": _npm,
    "sdks": _python("sdks"),
    "aider": _python("aider"),
}


def _check(name: str, folder: Path) -> None:
    programs = folder / "node_modules" / ".bin" if name == "npm" else folder / "bin"
    if lost := [each for each in NEEDED[name] if not (programs / each).exists()]:
        raise OSError(f"these programs are not there afterwards: {', '.join(lost)}")


def _run(command: Sequence[str], folder: Path) -> str:
    """Run a step of an installation; returns what it said.

    Raises:
        OSError: it failed, or did not end in time; with the end of what it said.
    """
    path = f"{NODE / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | {"PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            process_group=0,
        )
        code = _ended(process, INSTALL_SECONDS)
        said.seek(0)
        text = said.read().decode(errors="replace").strip()
        if code != 0:
            end = text[-600:]
            how = f"not ended after {INSTALL_SECONDS} s" if code is None else f"exit code {code}"
            raise OSError(f"{' '.join(command[:4])}: {how}: {end}")
        return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
