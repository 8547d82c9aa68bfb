"""Results of earlier replays, kept by content: what was replayed once is not replayed again.

A result is found by the bytes of the session's file and of everything else that it depends on, this program included. It holds
what the page shows, so names of files and code without secrets, and is its owner's alone. What cannot be read or written is
replayed as if nothing had been kept.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import MsgspecError, msgpack

from autocompact.runtime.files import make_folder, replace_file
from autocompact.what_if.replays import Replayed

MOST_KEPT = 1_000
"""Results that stay; of more the longest unused go. One takes about 20 kilobytes."""

_CHUNK = 1 << 20
_ENDING = ".replay"


class Results:
    """The results that are kept in a folder.

    Args:
        folder: it is made when the first result is kept.
        depends: all that a result depends on besides the session, as bytes.
    """

    def __init__(self, folder: Path, *, depends: Sequence[bytes]) -> None:
        self._folder = folder
        self._depends = hashlib.blake2b(b"\0".join((_program(), *depends))).digest()

    def key(self, path: Path) -> str:
        """The name of the result for the session in ``path``; "" for what is no file that can be read."""
        digest = hashlib.blake2b(self._depends, digest_size=20)
        with suppress(OSError), path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
            return digest.hexdigest()
        return ""

    def find(self, key: str) -> Replayed | None:
        """The result of that name; None if there is none that can be read."""
        path = self._folder / f"{key}{_ENDING}"
        with suppress(OSError, zlib.error, MsgspecError):
            found = msgpack.decode(zlib.decompress(path.read_bytes()), type=Replayed)
            path.touch()  # what is asked for again is not the oldest
            return found
        return None

    def keep(self, key: str, result: Replayed) -> None:
        """Keep ``result`` under that name, if there is one and it can be done."""
        if not key:
            return
        with suppress(OSError):
            make_folder(self._folder)
            replace_file(self._folder / f"{key}{_ENDING}", zlib.compress(msgpack.encode(result)))
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        kept = list(self._folder.glob(f"*{_ENDING}"))
        if len(kept) <= MOST_KEPT:
            return
        for path in sorted(kept, key=lambda path: path.stat().st_mtime)[: len(kept) - MOST_KEPT]:
            path.unlink(missing_ok=True)


def _program() -> bytes:
    """The program: its files with their sizes and times, since a change of it may change every figure."""
    files = sorted(Path(__file__).parents[1].rglob("*.py"))
    told = (f"{path}:{stat.st_size}:{stat.st_mtime_ns}" for path in files for stat in (path.stat(),))
    return "\n".join(told).encode()
