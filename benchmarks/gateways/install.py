"""Other proxies, each installed into an environment of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any


def installed(requirement: str, *, program: str) -> Path:
    """The program of a peer, installed into an environment of its own.

    Raises:
        OSError, subprocess.SubprocessError: that is not possible.
    """
    folder = Path(__file__).parents[1] / ".venvs" / program
    stamp = folder / "installed.txt"
    if not stamp.exists() or stamp.read_text() != requirement:
        print(f"installing {requirement} into {folder} ...", file=sys.stderr)
        uv = Path(sys.executable).with_name("uv")
        python = folder / "bin" / "python"
        quiet: dict[str, Any] = {"check": True, "capture_output": True, "text": True, "timeout": 600}
        subprocess.run([uv, "venv", "--clear", "--python", sys.executable, folder], **quiet)
        subprocess.run([uv, "pip", "install", "--compile-bytecode", "--python", python, requirement], **quiet)
        stamp.write_text(requirement)
    return folder / "bin" / program


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
