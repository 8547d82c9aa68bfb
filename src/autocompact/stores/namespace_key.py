"""The key with which a gateway makes namespaces of its clients' credentials: it belongs to a store, and goes where that goes.

Who has the store without the key cannot tell whose conversations are whose; a server keeps it for all its gateways.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path

from autocompact.errors import InvalidInput, StoreUnavailable
from autocompact.runtime.files import close_to_others, make_file_with
from autocompact.stores.naming import StorePlace

KEY_BYTES = 32


def passing_key() -> bytes:
    """A key for conversations that nobody finds again after this process."""
    return secrets.token_bytes(KEY_BYTES)


def key_of(place: StorePlace, *, made: bytes = b"") -> bytes:
    """The key of a store: beside its file, or in the server's database.

    Args:
        place: of the store.
        made: the key if there is none; b"" makes one at random.

    Raises:
        StoreUnavailable: it cannot be read or written, or the server cannot be reached.
        InvalidInput: the file beside the store is no such key.
    """
    wanted = made or passing_key()
    if isinstance(place, Path):
        return _key_beside(place, made=wanted)
    from autocompact.stores.postgres import shared_secret

    return shared_secret(place, name="namespace key", made=wanted)


def carry_key(source: StorePlace, target: StorePlace) -> None:
    """Give a store the key of another one, so that a gateway finds its clients' conversations there.

    Raises:
        StoreUnavailable: it cannot be read or written.
        InvalidInput: the target has another one already.
    """
    if isinstance(source, Path) and not _file_beside(source).exists():
        return
    key = key_of(source)
    if key_of(target, made=key) != key:
        raise InvalidInput(
            f"a gateway has kept conversations in {target} already, under another namespace key: no client of a gateway "
            "would find there what is moved. Move it to a store that no gateway has used"
        )


def _key_beside(database: Path, *, made: bytes) -> bytes:
    path = _file_beside(database)
    try:
        if not path.exists():
            # whole or not at all: an empty file, of a program that was killed here, would be no key for ever
            with suppress(FileExistsError):
                make_file_with(path, made)
        close_to_others(path)
        key = path.read_bytes()
    except OSError as error:
        raise StoreUnavailable(f"the namespace key {str(path)!r} cannot be used: {error.strerror}") from error
    if len(key) != KEY_BYTES:
        raise InvalidInput(f"{str(path)!r} is no namespace key: it must have {KEY_BYTES} bytes")
    return key


def _file_beside(database: Path) -> Path:
    return database.with_name(database.name + ".key")
