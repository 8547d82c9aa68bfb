"""What an installation takes on disk, and what `import autocompact` and the first commands take in time.

    python -m benchmarks.install

Builds the wheel, installs it with its base dependencies into an environment of its own under benchmarks/.venvs, and
measures there. This needs a package index; where there is none, only times are measured, in the project's environment.
Times are CPU time, the median of eleven: of imports over that of an empty program, of commands as a whole process.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.speed import reason, verdict

HERE = Path(__file__).parent
VENV = HERE / ".venvs" / "install"
TIMES = 11
SESSION = HERE.parent / "examples" / "sessions" / "fix-invoice-rounding.jsonl"
# with the seconds of CPU time that they may take
COMMANDS = ((("--help",), 0.3), (("compact", str(SESSION)), 0.8))
PROGRAMS = ("import autocompact", "import autocompact.engine", "import autocompact.cli")


def site_packages(python: Path) -> Path:
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    done = subprocess.run([python, "-c", code], capture_output=True, check=True, text=True)
    return Path(done.stdout.strip())


def megabytes(folder: Path) -> float:
    """Bytes of all files, without the bytecode that Python adds."""
    files = (file for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc")
    return sum(file.stat().st_size for file in files) / 1e6


def seconds(python: Path, *arguments: str) -> float:
    # compiled modules are kept, as an installation has them: some containers forbid it
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([python, *arguments], check=True, capture_output=True, cwd=HERE, env=kept)
    spent: list[float] = []
    for _ in range(TIMES):
        before = os.times()
        subprocess.run([python, *arguments], check=True, capture_output=True, cwd=HERE, env=kept)
        after = os.times()
        user = after.children_user - before.children_user
        spent.append(user + after.children_system - before.children_system)
    return statistics.median(spent)


def install() -> Path:
    """The interpreter of an environment that holds the base installation and nothing else.

    Raises:
        OSError, subprocess.SubprocessError: that is not possible.
    """
    python = VENV / "bin" / "python"
    uv = Path(sys.executable).with_name("uv")
    _run(uv, "venv", "--clear", "--python", sys.executable, VENV)
    _run(uv, "pip", "install", "--no-deps", "--python", python, HERE.parent)
    own = megabytes(site_packages(python))
    _run(uv, "pip", "install", "--python", python, HERE.parent)
    print(f"base installation: autocompact {own:.2f} MB; largest dependencies:")
    return python


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)


def largest(folder: Path) -> None:
    sizes = {part.name: megabytes(part) for part in folder.iterdir() if part.is_dir()}
    for name in sorted(sizes, key=lambda name: -sizes[name])[:6]:
        print(f"- {name} {sizes[name]:.1f} MB")


def main() -> None:
    python = Path(sys.executable)
    try:
        python = install()
        largest(site_packages(python))
        verdict("MB installed", megabytes(site_packages(python)), most=60)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"not installed: {reason(error)}; imports are timed in the project's environment")
    empty = seconds(python, "-c", "pass")
    print(f"python alone {empty * 1e3:.0f} ms; on top of that:")
    for program in PROGRAMS:
        try:
            spent = (seconds(python, "-c", program) - empty) * 1e3
        except subprocess.CalledProcessError as error:
            print(f"- {program}: fails: {reason(error)}")
            continue
        if program == PROGRAMS[0]:
            verdict(f"ms of {program}", spent, most=50)
        else:
            print(f"- ms of {program}: {spent:.0f}")
    for arguments, most in COMMANDS:
        shown = " ".join(Path(each).name for each in arguments)
        verdict(f"s of autocompact {shown}", seconds(python, "-m", "autocompact", *arguments), most=most)


if __name__ == "__main__":
    main()
