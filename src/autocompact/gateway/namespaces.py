"""Whose a request is: a keyed hash of the client's credential. The credential itself is neither stored nor logged."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Sequence
from hashlib import blake2b, sha256
from pathlib import Path

from autocompact.errors import InvalidInput, StoreUnavailable
from autocompact.files import close_to_others
from autocompact.gateway.config import AccessToken, Config
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
    if config.access_tokens:
        return namespace_of_token(_known(credential, config.access_tokens), config=config)
    if not credential:
        return ANONYMOUS
    return _hashed(credential, config=config)


def namespace_of_token(token: AccessToken, *, config: Config) -> str:
    """The namespace of an access token."""
    return _hashed(bytes.fromhex(token.digest), config=config)


def _hashed(secret: bytes, *, config: Config) -> str:
    return blake2b(secret, key=config.namespace_key[:64], digest_size=16).hexdigest()


def _known(credential: bytes, tokens: Sequence[AccessToken]) -> AccessToken:
    """The token that the credential is: its digest is compared with every one, in a time that says nothing of them."""
    digest = sha256(credential).hexdigest()
    found = [token for token in tokens if hmac.compare_digest(digest, token.digest)]
    if not found:
        raise Refused(
            Refusal(
                status=401,
                message="this gateway asks for an access token of its own: send it as Authorization: Bearer",
                code="invalid_api_key",
                headers=[(b"www-authenticate", b'Bearer realm="autocompact"')],
            )
        )
    return found[0]


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
            close_to_others(path)
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
