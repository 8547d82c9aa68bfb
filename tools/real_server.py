"""Run the tests in ``tests/real`` against llama.cpp's server with a tiny model of random weights.

    python tools/real_server.py [arguments for pytest]

The server gets an environment of its own below ``build/.venvs``: the first time, this compiles llama.cpp, which takes
about six minutes and needs cmake and a C++ compiler. Nothing is downloaded but Python packages.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"
ENVIRONMENT = BUILD / ".venvs" / "llama"
PACKAGES = ("llama-cpp-python[server]==0.3.36", "gguf==0.19.0", "numpy>=2,<3")
WINDOW = 8192
PATIENCE_SECONDS = 120.0


def installed() -> Path:
    """The interpreter of the server's environment, made if it is not there."""
    python = ENVIRONMENT / "bin" / "python"
    done = ENVIRONMENT / ".installed"
    wanted = "\n".join(PACKAGES)
    if not done.exists() or done.read_text() != wanted:
        sys.stderr.write("Installing llama.cpp's server: it is compiled, which takes about six minutes.\n")
        venv.create(ENVIRONMENT, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        done.write_text(wanted)
    return python


@contextmanager
def serving(python: Path) -> Generator[str]:
    """The server, within this block; its address without ``/v1``."""
    model = BUILD / "tiny.gguf"
    subprocess.run([python, ROOT / "tools" / "tiny_gguf.py", model, str(WINDOW)], check=True)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
    options = {"model": model, "host": "127.0.0.1", "port": port, "n_ctx": WINDOW, "n_threads": 1}
    flags = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    url = f"http://127.0.0.1:{port}"
    with (BUILD / "llama-server.log").open("wb") as log:
        server = subprocess.Popen([python, "-m", "llama_cpp.server", *flags], stdout=log, stderr=log)
        try:
            _wait(url, server)
            yield url
        finally:
            server.terminate()
            server.wait()


def _wait(url: str, server: subprocess.Popen[bytes]) -> None:
    last = time.monotonic() + PATIENCE_SECONDS
    while server.poll() is None and time.monotonic() < last:
        try:
            urllib.request.urlopen(f"{url}/v1/models", timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
        else:
            return
    sys.exit(f"the server did not start: see {BUILD / 'llama-server.log'}")


def main(arguments: Sequence[str]) -> int:
    """Install, serve, test; pytest's exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server ends too
    with serving(installed()) as url:
        environment = os.environ | {"AUTOCOMPACT_REAL_SERVER": url, "AUTOCOMPACT_REAL_WINDOW": str(WINDOW)}
        command = [sys.executable, "-m", "pytest", "tests/real", *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
