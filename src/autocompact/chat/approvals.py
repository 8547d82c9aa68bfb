"""What the person allowed or refused for good in a folder: kept in a file in their data folder."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from autocompact.runtime.files import make_folder, replace_file

FILE = "approvals.json"

log = logging.getLogger("autocompact")


class _Document(msgspec.Struct, frozen=True, kw_only=True):
    """Answers by subject, by folder."""

    folders: Mapping[str, Mapping[str, bool]] = {}


class Approvals:
    """The standing answers of one folder.

    Attributes:
        folder: "" without one.

    Args:
        file: where they are kept; None keeps them in memory.
        folder: the workspace that they hold in; None is where there is none.
    """

    def __init__(self, file: Path | None, *, folder: Path | None) -> None:
        self._file = file
        self.folder = str(folder.resolve()) if folder else ""
        self._answers: dict[str, bool] = dict(self._read().folders.get(self.folder, {}))

    def decided(self, subject: str) -> bool | None:
        """The standing answer on a subject; None if there is none."""
        return self._answers.get(subject)

    def remember(self, subject: str, *, allow: bool) -> None:
        """Let an answer stand from now on. It blocks."""
        self._answers[subject] = allow
        if self._file is None:
            return
        kept = self._read().folders
        # another program may have added answers meanwhile
        here = {**kept.get(self.folder, {}), subject: allow}
        content = msgspec.json.encode(_Document(folders={**kept, self.folder: here}))
        try:
            make_folder(self._file.parent)
            replace_file(self._file, msgspec.json.format(content, indent=2) + b"\n")
        except OSError as error:  # it holds until the program ends
            log.warning("an approval could not be kept", extra={"reason": error.strerror or str(error)})

    def _read(self) -> _Document:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=_Document) if self._file else _Document()
        except FileNotFoundError:
            return _Document()
        except (OSError, msgspec.DecodeError) as error:  # the person is asked again
            log.warning("the approvals cannot be read", extra={"reason": type(error).__name__})
            return _Document()
