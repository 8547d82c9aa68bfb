"""Run the tests of each adapter with the lowest release of its framework that its extra allows.

    python tools/adapters.py [--lock] [NAME...]

Everything goes below ``build/adapters``, one environment for each ``tools/adapters/NAME.txt``. That file is locked with hashes
from ``NAME.in``, which pins the framework, and from what autocompact itself needs; ``--lock`` writes it anew. A framework that
cannot stand in ``.venv`` is tested here with the release of ``uv.lock`` too (``NAME.locked``); one that needs a newer Python
than the project, with whichever interpreter of that version is found. What cannot be installed fails here in CI, and is left
out with the reason elsewhere; where there is no such interpreter, which no package registry has, that is said and the adapter
left out. Nothing here waits without a bound.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
PINNED = ROOT / "tools" / "adapters"
BUILD = ROOT / "build" / "adapters"
UV = Path(sys.executable).with_name("uv")
PYTHON = "3.11"
"""The oldest Python that the project runs on: what it can install, all can."""

NEWER = {"openhands": "3.12"}
"""Adapters whose framework needs a newer Python, and which."""

APART = {"openhands": "suite", "strands": "suite-strands"}
"""Adapters whose framework asks for other releases of what stands in ``.venv`` (see the conflicts in pyproject.toml), and the
dependency group of their tests."""

LOCKED = ".locked"
"""Ends the name of an environment with the release of ``uv.lock``."""

INSTALL_SECONDS = 300
TEST_SECONDS = 600
AT_ONCE = 3
"""How many adapters: while one is installed, another is tested."""


class NoInterpreterError(OSError):
    """No interpreter of the version that a framework needs is on this machine."""


def main(arguments: Sequence[str]) -> int:
    """Install and test; 1 if a test failed."""
    names = [each for each in arguments if not each.startswith("-")]
    names = names or sorted(path.stem for path in PINNED.glob("*.in"))
    if "--lock" in arguments:
        for name in names:
            lock(name)
        return 0
    names += [f"{name}{LOCKED}" for name in names if name in APART]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return max(pool.map(check, names), default=0)


def lock(name: str) -> None:
    """Write ``NAME.txt`` anew."""
    target = PINNED / f"{name}.txt"
    options = ("--quiet", "--upgrade", "--generate-hashes", "--no-header", "--no-annotate")
    sources = ("pyproject.toml", str(PINNED / f"{name}.in"))
    version = NEWER.get(name, PYTHON)
    command = (str(UV), "pip", "compile", *options, "--python-version", version, "-o", str(target), *sources)
    _run(command, seconds=INSTALL_SECONDS, quiet=True)


def check(name: str) -> int:
    """Test one adapter; pytest's exit code."""
    try:
        install(name)
    except OSError as error:
        sys.stderr.write(f"the adapter {name} is not tested: {error}\n")
        return left_out(error, in_ci=bool(os.environ.get("CI")))
    command = (
        str(BUILD / name / "bin" / "python"),
        "-m",
        "pytest",
        "-q",
        "--no-header",
        "-p",
        "no:cacheprovider",
        "-W",
        "default",  # what an old release of somebody else warns of is none of our errors
    )
    # few random talks: with the framework's current release the suite looks at more of them
    found = {"HYPOTHESIS_PROFILE": "lowest"} | os.environ | {"PYTHONPATH": str(ROOT / "src")}
    try:
        process = subprocess.run(
            (*command, f"tests/adapters/test_{name.removesuffix(LOCKED)}.py"),
            cwd=ROOT,
            env=found,
            timeout=TEST_SECONDS,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    except subprocess.TimeoutExpired as error:
        code, output = 1, f"It did not end within {error.timeout:.0f} s.\n"
    else:
        code, output = process.returncode, process.stdout
    release = "locked" if name.endswith(LOCKED) else "lowest"
    said = f"The adapter {name.removesuffix(LOCKED)} with the {release} release of its framework\n{output}"
    sys.stderr.write(said)  # at once: others run beside it
    return code


def left_out(error: OSError, *, in_ci: bool) -> int:
    """The exit code for an adapter that cannot be tested: a failure in CI, but for a Python that the machine does not have."""
    return int(in_ci and not isinstance(error, NoInterpreterError))


def install(name: str) -> None:
    """Make the environment, unless it is as locked.

    Raises:
        OSError: it cannot be installed.
    """
    folder, done = BUILD / name, BUILD / f"{name}.done"
    extra = name.removesuffix(LOCKED)
    locked = export(extra) if extra != name else PINNED / f"{name}.txt"
    wanted = hashlib.sha256(locked.read_bytes()).hexdigest()
    if done.exists() and done.read_text() == wanted:
        return
    done.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    python = interpreter(NEWER.get(extra, PYTHON))
    _run((str(UV), "venv", "--quiet", "--python", str(python), str(folder)), seconds=INSTALL_SECONDS)
    target = ("--python", str(folder / "bin" / "python"))
    _run(
        (str(UV), "pip", "install", "--quiet", *target, "--require-hashes", "-r", str(locked)),
        seconds=INSTALL_SECONDS,
    )
    done.write_text(wanted)


def export(extra: str) -> Path:
    """Write down what ``uv.lock`` has for an extra and for its tests; where that is.

    Raises:
        OSError: uv cannot.
    """
    target = BUILD / f"{extra}{LOCKED}.txt"
    target.parent.mkdir(parents=True, exist_ok=True)
    what = ("--frozen", "--no-emit-project", "--no-default-groups", "--group", APART[extra], "--extra", extra)
    command = (str(UV), "export", "--quiet", "--no-header", "--no-annotate", *what, "-o", str(target))
    _run(command, seconds=INSTALL_SECONDS, quiet=True)
    return target


def interpreter(version: str) -> Path:
    """A Python of that version or a newer one: the one that runs this, one of pyenv's, one that uv finds.

    Raises:
        NoInterpreterError: there is none.
    """
    wanted = tuple(map(int, version.split(".")))
    if sys.version_info[: len(wanted)] >= wanted:
        return Path(sys.executable)
    found = next(_of_pyenv(version), None)
    if found is not None:
        return found
    command = (str(UV), "python", "find", "--no-project", version)
    process = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    if process.returncode:
        raise NoInterpreterError(
            f"it needs Python {version} or newer, and there is none: install one (`pyenv install {version}`, "
            f"`uv python install {version}`), or make .venv with it (`make clean`, `make PYTHON=python{version} …`)"
        )
    return Path(process.stdout.strip())


def _of_pyenv(version: str) -> Iterator[Path]:
    """The interpreters of that version in pyenv's folder: its programs on the PATH run only the version that is chosen."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    return root.glob(f"versions/{version}.*/bin/python")


def _run(command: Sequence[str], *, seconds: float, quiet: bool = False) -> None:
    """Run a step.

    Raises:
        OSError: it failed, or did not end in time.
    """
    try:
        subprocess.run(
            command, cwd=ROOT, timeout=seconds, check=True, stdout=subprocess.DEVNULL if quiet else None
        )
    except subprocess.SubprocessError as error:
        raise OSError(str(error)) from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
