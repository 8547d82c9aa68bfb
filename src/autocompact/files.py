"""Files are replaced whole, so that no reader ever sees half of one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def replace_file(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write ``content`` to ``path`` so that it is there whole or not at all, also after a power cut.

    A link stays a link, to the new content. The mode of an existing file stays, a new one gets that of the process
    (umask). What is no file (a device, a pipe) is written to, never replaced.

    Args:
        path: the file.
        content: all of it, or its pieces in order; an error while they are made leaves ``path`` as it was.

    Raises:
        OSError: the folder is missing or cannot be written; ``path`` is as it was.
    """
    pieces = (content,) if isinstance(content, bytes) else content
    try:
        _replace(path.resolve(), pieces)
    except OSError as error:
        # The caller knows nothing of the temporary file; an error while writing names none at all.
        error.filename, error.filename2 = str(path), None
        raise


def _replace(target: Path, pieces: Iterable[bytes]) -> None:
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("wb") as device:
            device.writelines(pieces)
        return
    temporary = target.with_name(f".autocompact-{secrets.token_hex(6)}")
    with os.fdopen(os.open(temporary, _NEW_FILE, 0o666), "wb") as file:
        try:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o777)
            file.close()
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
