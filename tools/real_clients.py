"""Run the tests of the real clients: install what is missing, run, write the table of the documents.

    python tools/real_clients.py [--newest] [--no-table] [arguments for pytest]

Everything goes below ``build/clients``. What is pinned is in ``tools/clients``: agents from npm in ``package.json`` and its
lock, SDKs and aider from PyPI with hashes. ``--newest`` installs the newest releases instead, into a folder of their own.
A client that cannot be installed fails its tests in CI, and is skipped with the reason elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
PINNED = ROOT / "tools" / "clients"
BUILD = ROOT / "build" / "clients"
NEWEST = ROOT / "build" / "clients-newest"
TABLE = ROOT / "docs" / "reference" / "clients.md"
UV = Path(sys.executable).with_name("uv")
NEEDED = {
    "npm": ("claude", "codex", "opencode", "pi", "qwen", "cline", "node"),
    "sdks": ("python", "llm"),
    "aider": ("aider",),
}
"""Programs of each environment that must be there after its installation."""

INSTALL_SECONDS = 600


def main(arguments: Sequence[str]) -> int:
    """Install, test, and write the table; pytest's exit code."""
    newest = "--newest" in arguments
    table = "--no-table" not in arguments
    rest = [each for each in arguments if each not in ("--newest", "--no-table")]
    programs = NEWEST if newest else BUILD
    programs.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(programs / "reports", ignore_errors=True)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: install(name, programs, newest=newest), NEEDED))
    environment = os.environ | {"AUTOCOMPACT_REAL_CLIENTS": str(programs)}
    command = [sys.executable, "-m", "pytest", "-n", "2", "-q", "--no-header", *rest]
    tests = ROOT / "tests" / "real" / "test_real_clients.py"
    code = subprocess.run([*command, tests], check=False, cwd=ROOT, env=environment).returncode
    if table and not rest and not newest and not os.environ.get("CI"):
        subprocess.run([sys.executable, "-m", "tests.real.table", programs, TABLE], check=True, cwd=ROOT)
    return code


def install(name: str, programs: Path, *, newest: bool) -> None:
    """Install one environment unless it is as pinned; a failure is written to ``NAME.missing``."""
    folder, missing, done = programs / name, programs / f"{name}.missing", programs / f"{name}.done"
    wanted = _wanted(name, newest=newest)
    if done.exists() and done.read_text() == wanted and not newest:
        return
    done.unlink(missing_ok=True)
    missing.unlink(missing_ok=True)
    sys.stderr.write(f"Installing the real clients: {name}\n")
    try:
        _INSTALLERS[name](folder, newest)
        _check(name, folder)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        reason = f"installing {name} failed: {said.strip()[-600:]}"
        sys.stderr.write(f"{reason}\n")
        missing.write_text(reason)
        return
    done.write_text(wanted)


def _wanted(name: str, *, newest: bool) -> str:
    """A digest of what is pinned, to see a change of it."""
    files = ("package.json", "package-lock.json") if name == "npm" else (f"{name}.txt",)
    content = b"".join((PINNED / each).read_bytes() for each in files)
    return f"{hashlib.sha256(content).hexdigest()} {newest}"


def _npm(folder: Path, newest: bool) -> None:
    # Not "npm ci": it refuses a lock without the optional packages of platforms that a registry does not carry.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    given = json.loads((PINNED / "package.json").read_text())
    if newest:
        given["dependencies"] = {
            name: "^22" if name == "node" else "latest" for name in given["dependencies"]
        }
    else:
        shutil.copy(PINNED / "package-lock.json", folder)
    (folder / "package.json").write_text(json.dumps(given))
    if shutil.which("npm") is None:
        raise OSError("npm is not on the PATH: install Node.js")
    _run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"], folder)


def _python(name: str) -> Callable[[Path, bool], None]:
    def install(folder: Path, newest: bool) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        _run([str(UV), "venv", "--quiet", "--python", sys.executable, str(folder)], ROOT)
        listed = ["-r", str(PINNED / f"{name}.in")] if newest else []
        listed = listed or ["--require-hashes", "-r", str(PINNED / f"{name}.txt")]
        _run(
            [str(UV), "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), *listed], ROOT
        )

    return install


_INSTALLERS = {"npm": _npm, "sdks": _python("sdks"), "aider": _python("aider")}


def _check(name: str, folder: Path) -> None:
    programs = folder / "node_modules" / ".bin" if name == "npm" else folder / "bin"
    if lost := [each for each in NEEDED[name] if not (programs / each).exists()]:
        raise OSError(f"these programs are not there afterwards: {', '.join(lost)}")


def _run(command: Sequence[str], folder: Path) -> None:
    subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
