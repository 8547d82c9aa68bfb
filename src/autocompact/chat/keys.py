"""Keys of models that a person pasted: in the system's keyring where there is one, else in a file of their own.

The file has the mode 0600. It also says which keys the keyring has, so that the keyring, which may ask to be unlocked,
is only asked for what is there. A key belongs to the base URL that it was entered for, and is sent nowhere else.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

import msgspec

from autocompact.errors import InvalidInput
from autocompact.history.paths import data_folder
from autocompact.runtime.extras import install_command
from autocompact.runtime.files import close_to_others, make_folder, replace_file

FILE = "keys.json"
SERVICE = "autocompact"
"""Name of the entries in the keyring; the user of each is its base URL."""
RECOMMENDED = 1
"""Least priority of a keyring that protects what it is given, by the convention of the package ``keyring``."""

Place: TypeAlias = Literal["keyring", "file"]

log = logging.getLogger("autocompact")


class _Key(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key by its base URL; without ``key`` the keyring has it."""

    base_url: str
    key: str = ""

    __repr__ = object.__repr__


class _Document(msgspec.Struct, frozen=True, kw_only=True):
    keys: tuple[_Key, ...] = ()


class Keys:
    """The kept keys. All methods but `known` block: call them in a thread.

    Args:
        file: where they are listed; None is ``keys.json`` in the user's data folder.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file or data_folder() / FILE
        self._known: dict[str, str] = {}

    @property
    def known(self) -> Mapping[str, str]:
        """The keys by base URL, as of the last `load`, `put` or `remove`."""
        return self._known

    def load(self) -> None:
        """Read the keys. One that the keyring does not give is left out, and a warning is logged.

        Raises:
            InvalidInput: the file cannot be read.
        """
        known: dict[str, str] = {}
        for each in self._read():
            if key := each.key or _from_keyring(each.base_url):
                known[each.base_url] = key
        self._known = known

    def load_or_warn(self) -> Self:
        """Read the keys; where that fails there are none, and a warning is logged."""
        try:
            self.load()
        except InvalidInput as error:
            log.warning("the kept keys cannot be used", extra={"reason": str(error)})
        return self

    def put(self, base_url: str, key: str) -> Place:
        """Keep ``key`` for ``base_url``, in place of an earlier one; returns where it is kept.

        Raises:
            InvalidInput: the key is empty or no single line, or the file cannot be written.
        """
        plain = key.strip()
        if not plain or not plain.isprintable() or not plain.isascii() or " " in plain:
            raise InvalidInput("this is no key: paste the one line that the provider gave you")
        place: Place = "keyring" if _to_keyring(base_url, plain) else "file"
        listed = _Key(base_url=base_url, key="" if place == "keyring" else plain)
        self._write(*(each for each in self._read() if each.base_url != base_url), listed)
        self._known = {**self._known, base_url: plain}
        return place

    @property
    def advice(self) -> str:
        """The command that makes the keyring of this system usable; "" where its package is installed."""
        try:
            import keyring
        except ImportError:
            return install_command("keyring")
        del keyring
        return ""

    def remove(self, base_url: str) -> None:
        """Forget the key of ``base_url``.

        Raises:
            InvalidInput: the file cannot be written.
        """
        listed = self._read()
        for each in listed:
            if each.base_url == base_url and not each.key:
                _drop_from_keyring(base_url)
        self._write(*(each for each in listed if each.base_url != base_url))
        self._known = {url: key for url, key in self._known.items() if url != base_url}

    def _read(self) -> tuple[_Key, ...]:
        try:
            content = self.file.read_bytes()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise InvalidInput(f"{self.file}: cannot be read: {error.strerror or error}") from error
        try:
            return msgspec.json.decode(content, type=_Document).keys
        except msgspec.DecodeError:
            # the text of the error may quote the file
            raise InvalidInput(
                f"{self.file}: is no list of keys: delete it, and paste your key again"
            ) from None

    def _write(self, *keys: _Key) -> None:
        content = msgspec.json.format(msgspec.json.encode(_Document(keys=keys)), indent=2)
        try:
            make_folder(self.file.parent)
            close_to_others(self.file)
            replace_file(self.file, content + b"\n")
        except OSError as error:
            raise InvalidInput(f"{self.file}: cannot be written: {error.strerror or error}") from error


def _keyring() -> Any:
    """The module, None where it is not installed or has no keyring to work with."""
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        return keyring if keyring.get_keyring().priority >= RECOMMENDED else None
    except (KeyringError, RuntimeError):  # a backend that was asked for and is not there
        return None


def _to_keyring(base_url: str, key: str) -> bool:
    """True if the keyring has taken the key, and gives it back."""
    ring = _keyring()
    if ring is None:
        return False
    try:
        ring.set_password(SERVICE, base_url, key)
        return ring.get_password(SERVICE, base_url) == key
    except Exception as error:  # noqa: BLE001 - backends raise what their systems raise; the file is there for that
        log.warning("the keyring did not take a key", extra={"reason": type(error).__name__})
        return False


def _from_keyring(base_url: str) -> str:
    ring = _keyring()
    try:
        found = ring.get_password(SERVICE, base_url) if ring else None
    except Exception as error:  # noqa: BLE001 - likewise: the page then asks for the key again
        log.warning("the keyring did not give a key", extra={"reason": type(error).__name__})
        return ""
    return found or ""


def _drop_from_keyring(base_url: str) -> None:
    ring = _keyring()
    try:
        if ring is not None:
            ring.delete_password(SERVICE, base_url)
    except Exception as error:  # noqa: BLE001 - likewise: it is not used any more
        log.warning("the keyring did not delete a key", extra={"reason": type(error).__name__})
