"""Commands under bubblewrap, where the system has it: they write the workspace alone, and do not see the usual places of keys.

The whole system is there to be read, but for folders and files that hold keys, the sockets below ``/run`` (a container
engine, an agent of keys) and what other programs keep below ``/tmp``. What a command writes outside of the workspace goes
nowhere or is refused. Processes are its own: with it all that it started ends. The network is that of the system.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

SECRETS = (
    *(
        ".ssh",
        ".gnupg",
        ".aws",
        ".azure",
        ".kube",
        ".docker",
        ".config/gcloud",
        ".config/gh",
        ".config/autocompact",
    ),
    *(
        ".local/share/autocompact",
        ".local/share/keyrings",
        ".mozilla",
        ".config/google-chrome",
        ".config/chromium",
    ),
    *(
        ".netrc",
        ".git-credentials",
        ".npmrc",
        ".pypirc",
        ".cargo/credentials.toml",
        ".claude.json",
        ".codex/auth.json",
    ),
)
"""What holds keys, below the home folder."""
_RESOLVER = "/run/systemd/resolve"
"""Where the system's list of name servers is: without it no name is found."""
_TRIAL_SECONDS = 10.0

INSIDE = "It runs under bubblewrap: it can write this folder alone, and does not see ~/.ssh and other usual places of keys."
OUTSIDE = "It runs without a sandbox, with all your rights: {}."


class Sandbox:
    """Whether commands run under bubblewrap here; found out at the first one.

    Args:
        wanted: False never uses it.
    """

    def __init__(self, *, wanted: bool) -> None:
        self._why = "" if wanted else "the settings say so"
        self._program: str | None = None if wanted else ""

    async def program(self) -> str:
        """The path of a bubblewrap that works here; "" if there is none, or none is wanted."""
        if self._program is None:
            found = shutil.which("bwrap") if sys.platform == "linux" else None
            self._why = "bubblewrap is not installed"
            if found and not await _works(found):
                self._why, found = "bubblewrap is installed, but the system does not let it work", None
            self._program = found or ""
        return self._program

    async def words(self) -> str:
        """How a command runs here, for the person who is asked."""
        return INSIDE if await self.program() else OUTSIDE.format(self._why)


async def _works(program: str) -> bool:
    """True if it may make namespaces: some systems and containers forbid that."""
    arguments = ("--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true")
    with contextlib.suppress(OSError, TimeoutError):
        process = await asyncio.create_subprocess_exec(
            program,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            return await asyncio.wait_for(process.wait(), _TRIAL_SECONDS) == 0
        finally:
            if process.returncode is None:
                process.kill()
    return False


def sandboxed(program: str, command: str, *, folder: Path, home: Path) -> list[str]:
    """The words that run a line of the shell under bubblewrap.

    Args:
        program: bubblewrap.
        command: the line.
        folder: the workspace, which it may write.
        home: of the person.
    """
    folder = folder.resolve()
    words = [program, "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run"]
    words += ["--ro-bind-try", _RESOLVER, _RESOLVER]
    # a link would be followed to a place that cannot be covered: its target is
    hidden = [path.resolve() for name in SECRETS if (path := home / name).exists()]
    # what comes later lies above: a workspace in a hidden folder is seen, a hidden folder in the workspace is not
    words += _covered(path for path in hidden if folder.is_relative_to(path))
    words += ["--bind", str(folder), str(folder)]
    words += _covered(path for path in hidden if not folder.is_relative_to(path))
    return [*words, "--chdir", str(folder), "/bin/sh", "-c", command]


def _covered(paths: Iterable[Path]) -> Iterator[str]:
    """The words that put something empty over each of them."""
    for path in paths:
        yield from ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", "/dev/null", str(path))
