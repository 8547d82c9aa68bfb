"""A keyring for the package ``keyring`` that keeps what it is given in a file, or refuses all."""

from __future__ import annotations

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import PasswordSetError


class FileKeyring(KeyringBackend):
    priority = 5.0  # pyright: ignore[reportAssignmentType] - a class property there

    def __init__(self) -> None:
        super().__init__()
        self._file = Path(os.environ["FILE_KEYRING"])
        if not self._file.exists():
            self._file.write_text("{}")

    def _kept(self) -> dict[str, str]:
        return json.loads(self._file.read_text())

    def set_password(self, service: str, username: str, password: str) -> None:
        if "FILE_KEYRING_BROKEN" in os.environ:
            raise PasswordSetError("it is locked")
        self._file.write_text(json.dumps({**self._kept(), f"{service} {username}": password}))

    def get_password(self, service: str, username: str) -> str | None:
        return self._kept().get(f"{service} {username}")

    def delete_password(self, service: str, username: str) -> None:
        self._file.write_text(
            json.dumps({name: key for name, key in self._kept().items() if name != f"{service} {username}"})
        )
