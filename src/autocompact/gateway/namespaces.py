"""Whose a request is: a keyed hash of the client's credential. The credential itself is neither stored nor logged."""

from __future__ import annotations

import hmac
import os
import secrets
from hashlib import blake2b
from pathlib import Path

from autocompact.errors import InvalidInput, StoreUnavailable
from autocompact.gateway.config import Config
from autocompact.gateway.exchange import Exchange
from autocompact.gateway.refusals import Refusal, Refused

KEY_BYTES = 32
ANONYMOUS = "anonymous"


def namespace_of(exchange: Exchange, *, config: Config) -> str:
    """The namespace of a request; clients without a credential share one.

    Raises:
        Refused: access tokens are asked for, and the client has none of them.
    """
    credential = exchange.credential
    if config.access_tokens and not _is_known(credential, config.access_tokens):
        raise Refused(
            Refusal(
                status=401, message="this gateway asks for an access token of its own", code="invalid_api_key"
            )
        )
    if not credential:
        return ANONYMOUS
    return blake2b(credential, key=config.namespace_key[:64], digest_size=16).hexdigest()


def _is_known(credential: bytes, tokens: frozenset[str]) -> bool:
    """Compared with every token, each in a time that says nothing about it."""
    return sum(hmac.compare_digest(credential, token.encode()) for token in tokens) > 0


def passing_key() -> bytes:
    """A namespace key for conversations that nobody finds again after this process."""
    return secrets.token_bytes(KEY_BYTES)


def key_beside(database: Path) -> bytes:
    """The namespace key in the folder of the database; made at random if there is none.

    Raises:
        StoreUnavailable: it cannot be read or written.
        InvalidInput: the file is no such key.
    """
    path = database.with_name(database.name + ".key")
    try:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            key = path.read_bytes()
        else:
            key = passing_key()
            with open(handle, "wb") as file:
                file.write(key)
    except OSError as error:
        raise StoreUnavailable(f"the namespace key {str(path)!r} cannot be used: {error.strerror}") from error
    if len(key) != KEY_BYTES:
        raise InvalidInput(f"{str(path)!r} is no namespace key: it must have {KEY_BYTES} bytes")
    return key
