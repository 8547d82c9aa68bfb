"""A folder that nothing leads out of.

Every path is walked from the folder's own descriptor, one name at a time, and no link is followed (``O_NOFOLLOW``,
openat(2)): there is no moment between a check and its use in which somebody could put a link in the way. Where the
system has no such calls (Windows), the resolved path is checked instead.

All methods block: call them in a thread.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autocompact.chat.tools.box import ToolError

LARGEST_FILE = 20_000_000
"""Bytes of a file that is read or written."""

SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"})
"""Folders that a walk leaves out."""

KEPT = frozenset({".git", ".hg", ".svn"})
"""Folders in which nothing is written: what stands there, the person's own tools run (hooks, ``core.fsmonitor``)."""

OURS = ".autocompact"
"""Likewise: memory files of it stand in the system prompt of every later conversation, and it holds settings."""

_ANCHORED = {os.open, os.stat, os.mkdir, os.unlink, os.rename} <= os.supports_dir_fd
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | _NO_FOLLOW
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | _NO_FOLLOW


class FileMissing(ToolError):
    """There is no such file in the workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A name in a folder; ``size`` in bytes, of files only."""

    path: str
    kind: str
    size: int = 0


class Workspace:
    """The folder.

    Args:
        root: where it is; must exist when it is used.
        memory: the folder of the memory files, in which nothing is written either.
    """

    def __init__(self, root: Path, *, memory: Path | None = None) -> None:
        self.root = root.expanduser().resolve()
        self._memory = memory.expanduser().resolve() if memory else self.root / OURS

    def names(self, path: str) -> tuple[str, ...]:
        """The names from the folder down to ``path``; () is the folder itself.

        Raises:
            ToolError: it leads out of the folder.
        """
        if "\0" in path:
            raise ToolError("a path cannot hold a zero byte")
        given = PurePosixPath(path.replace("\\", "/") if os.name == "nt" else path)
        if given.is_absolute():
            if not given.is_relative_to(self.root.as_posix()):
                raise ToolError(
                    f"{path!r} is outside of the workspace: name files by their paths inside of it"
                )
            given = given.relative_to(self.root.as_posix())
        if ".." in given.parts or (os.name == "nt" and any(":" in part for part in given.parts)):
            raise ToolError(
                f"{path!r} leads out of its folder: name files by their paths from the workspace, without '..'"
            )
        return tuple(part for part in given.parts if part != ".")

    @contextlib.contextmanager
    def _folder(self, names: tuple[str, ...], *, make: bool = False) -> Generator[int]:
        """A descriptor of a folder."""
        handle = os.open(self.root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            for name in names:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, 0o777, dir_fd=handle)
                below = os.open(name, _FOLDER, dir_fd=handle)
                os.close(handle)
                handle = below
            yield handle
        finally:
            os.close(handle)

    @contextlib.contextmanager
    def _errors(self, path: str) -> Generator[None]:
        try:
            yield
        except FileNotFoundError:
            raise FileMissing(
                f"there is no {path!r} in the workspace: list_files shows what there is"
            ) from None
        except NotADirectoryError:
            raise ToolError(
                f"{path!r} goes through something that is no folder, or through a link: links are not followed"
            ) from None
        except OSError as error:
            # O_NOFOLLOW on a link: ELOOP, on some systems EMLINK
            link = error.strerror in ("Too many levels of symbolic links", "Too many links")
            why = "it is a link, and those are not followed" if link else error.strerror or str(error)
            raise ToolError(f"{path!r} cannot be used: {why}") from None

    def read(self, path: str) -> bytes:
        """The content of a file.

        Raises:
            ToolError: it is no file in the folder, or too large.
        """
        names = self._file(path)
        with (
            self._errors(path),
            self._opened(names) as handle,
            os.fdopen(handle, "rb", closefd=False) as file,
        ):
            size = os.fstat(handle).st_size
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise ToolError(f"{path!r} is a folder or a device, no file")
            if size > LARGEST_FILE:
                raise ToolError(f"{path!r} has {size:,} bytes, at most {LARGEST_FILE:,} are read")
            return file.read(LARGEST_FILE)

    @contextlib.contextmanager
    def _opened(self, names: tuple[str, ...]) -> Generator[int]:
        if _ANCHORED:
            with self._folder(names[:-1]) as folder:
                handle = os.open(names[-1], _FILE, dir_fd=folder)
        else:
            handle = os.open(self._resolved(names), _FILE)
        try:
            yield handle
        finally:
            os.close(handle)

    def _resolved(self, names: tuple[str, ...]) -> Path:
        path = self.root.joinpath(*names)
        if path.resolve() != path:
            raise ToolError(f"{'/'.join(names)!r} goes through a link, and those are not followed")
        return path

    def write(self, path: str, content: bytes) -> bool:
        """Put ``content`` in place of a file, whole or not at all; its folders are made. Whether it is new.

        Raises:
            ToolError: it leads out, is no file, or the disk says no.
        """
        self.check_writable(path, size=len(content))
        names = self._file(path)
        with self._errors(path):
            if not _ANCHORED:
                return self._write_resolved(names, content)
            with self._folder(names[:-1], make=True) as folder:
                mode = self._mode(names[-1], folder=folder, path=path)
                temporary = f".autocompact-{secrets.token_hex(6)}"
                handle = os.open(temporary, _NEW, 0o666 if mode is None else mode, dir_fd=folder)
                try:
                    with os.fdopen(handle, "wb") as file:
                        file.write(content)
                        if mode is not None:
                            os.fchmod(handle, mode)
                    os.rename(temporary, names[-1], src_dir_fd=folder, dst_dir_fd=folder)
                except BaseException:
                    os.unlink(temporary, dir_fd=folder)
                    raise
                return mode is None

    def check_writable(self, path: str, *, size: int = 0) -> None:
        """Check that `write` may write a file of ``size`` bytes there.

        Raises:
            ToolError: it leads out, belongs to the version control or the memory, or is too large.
        """
        self._check_kept(path, self._file(path))
        if size > LARGEST_FILE:
            raise ToolError(f"{size:,} bytes are too much for one file: at most {LARGEST_FILE:,} are written")

    def _check_kept(self, path: str, names: tuple[str, ...]) -> None:
        # many file systems take capitals and small letters for the same
        folded = [name.casefold() for name in names]
        if not KEPT.isdisjoint(folded):
            raise ToolError(f"{path!r} belongs to the version control: use its commands")
        memory = Path(self._memory.as_posix().casefold())
        if OURS in folded or memory in Path(self.root.as_posix().casefold(), *folded).parents:
            raise ToolError(f"{path!r} belongs to the memory: use remember, or ask the person to change it")

    def _mode(self, name: str, *, folder: int, path: str) -> int | None:
        """The mode of the file that is there, None if there is none."""
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(found.st_mode):
            raise ToolError(f"{path!r} is a folder, a link or a device, no file: it was left as it is")
        return stat.S_IMODE(found.st_mode)

    def _write_resolved(self, names: tuple[str, ...], content: bytes) -> bool:
        self._resolved(names[:-1]).mkdir(parents=True, exist_ok=True)
        target = self._resolved(names)
        new = not target.exists()
        temporary = target.with_name(f".autocompact-{secrets.token_hex(6)}")
        temporary.write_bytes(content)
        temporary.replace(target)
        return new

    def _file(self, path: str) -> tuple[str, ...]:
        names = self.names(path)
        if not names:
            raise ToolError(f"{path!r} is the workspace itself, no file")
        return names

    def entries(self, path: str) -> list[Item]:
        """The entries of a folder, by name.

        Raises:
            ToolError: it is no folder in the workspace.
        """
        names = self.names(path)
        with self._errors(path or "."):
            if not _ANCHORED:
                return _items(self._resolved(names), names)
            with self._folder(names) as folder:
                return _items(folder, names)

    def walk(self, path: str = "") -> Iterator[Item]:
        """All files below a folder, in order; links and `SKIPPED` folders are left out.

        Raises:
            ToolError: it is no folder in the workspace.
        """
        for item in self.entries(path):
            if item.kind == "file":
                yield item
            elif item.kind == "folder" and item.path.rpartition("/")[2] not in SKIPPED:
                with contextlib.suppress(ToolError):  # gone meanwhile, or not ours to read
                    yield from self.walk(item.path)


def _items(folder: int | Path, names: tuple[str, ...]) -> list[Item]:
    items: list[Item] = []
    with os.scandir(folder) as found:
        for entry in sorted(found, key=lambda entry: entry.name):
            path = "/".join((*names, entry.name))
            if entry.is_symlink():
                items.append(Item(path=path, kind="link"))
            elif entry.is_dir(follow_symlinks=False):
                items.append(Item(path=path, kind="folder"))
            elif entry.is_file(follow_symlinks=False):
                items.append(Item(path=path, kind="file", size=entry.stat(follow_symlinks=False).st_size))
            else:
                items.append(Item(path=path, kind="device"))
    return items
