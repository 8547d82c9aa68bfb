"""Whose a request is: a keyed hash of the client's credential. The credential itself is neither stored nor logged."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import blake2b, sha256

import msgspec

from autocompact.core.access import AccessKey
from autocompact.gateway.config import AccessToken, Config
from autocompact.gateway.exchange import Exchange, Refusal, Refused

ANONYMOUS = "anonymous"

_OF_A_KEY = "access key"
_BEGINS_AS_A_KEYS = msgspec.json.encode([_OF_A_KEY])[:-1]


def namespace_of(exchange: Exchange, *, config: Config) -> str:
    """The namespace of a request; clients without a credential share one.

    Raises:
        Refused: access tokens are asked for, and the client has none of them; or it sends what no provider gives out.
    """
    credential = exchange.credential
    if config.access_tokens:
        token = _known(credential, config.access_tokens)
        return namespace_of_token(token, namespace_key=config.namespace_key)
    if not credential:
        return ANONYMOUS
    # it would be hashed to the namespace of an access key's user, of whom a gateway on the same database asks the key
    if credential.startswith(_BEGINS_AS_A_KEYS):
        raise _unknown("this is no credential of a provider")
    return _hashed(credential, namespace_key=config.namespace_key)


def is_access_token(exchange: Exchange, *, config: Config) -> bool:
    """True if the client has one of the access tokens."""
    return bool(_same(exchange.credential, config.access_tokens))


def namespace_of_token(token: AccessToken, *, namespace_key: bytes) -> str:
    """The namespace of an access token."""
    return _hashed(bytes.fromhex(token.digest), namespace_key=namespace_key)


def namespace_of_key(key: AccessKey, *, namespace_key: bytes) -> str:
    """The namespace of a tenant's user: the same for all of their keys, so that one can take the place of another."""
    # as JSON, in which no two pairs of names are written alike
    return _hashed(msgspec.json.encode([_OF_A_KEY, key.tenant, key.user]), namespace_key=namespace_key)


def _hashed(secret: bytes, *, namespace_key: bytes) -> str:
    # BLAKE2b takes keys of 64 bytes at most
    return blake2b(secret, key=namespace_key[:64], digest_size=16).hexdigest()


def _known(credential: bytes, tokens: Sequence[AccessToken]) -> AccessToken:
    """The token that the credential is."""
    found = _same(credential, tokens)
    if not found:
        raise _unknown("this gateway asks for an access token of its own: send it as Authorization: Bearer")
    return found[0]


def _unknown(message: str) -> Refused:
    headers = [(b"www-authenticate", b'Bearer realm="autocompact"')]
    return Refused(Refusal(status=401, message=message, code="invalid_api_key", headers=headers))


def _same(credential: bytes, tokens: Sequence[AccessToken]) -> list[AccessToken]:
    """The tokens that the credential is: its digest is compared with every one, in a time that says nothing of them."""
    digest = sha256(credential).hexdigest()
    return [token for token in tokens if hmac.compare_digest(digest, token.digest)]
