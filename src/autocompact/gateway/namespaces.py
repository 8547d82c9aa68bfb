"""Whose a request is: a keyed hash of the client's credential. The credential itself is neither stored nor logged."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import blake2b, sha256

from autocompact.gateway.config import AccessToken, Config
from autocompact.gateway.exchange import Exchange, Refusal, Refused

ANONYMOUS = "anonymous"


def namespace_of(exchange: Exchange, *, config: Config) -> str:
    """The namespace of a request; clients without a credential share one.

    Raises:
        Refused: access tokens are asked for, and the client has none of them.
    """
    credential = exchange.credential
    if config.access_tokens:
        token = _known(credential, config.access_tokens)
        return namespace_of_token(token, namespace_key=config.namespace_key)
    if not credential:
        return ANONYMOUS
    return _hashed(credential, namespace_key=config.namespace_key)


def is_access_token(exchange: Exchange, *, config: Config) -> bool:
    """True if the client has one of the access tokens."""
    return bool(_same(exchange.credential, config.access_tokens))


def namespace_of_token(token: AccessToken, *, namespace_key: bytes) -> str:
    """The namespace of an access token."""
    return _hashed(bytes.fromhex(token.digest), namespace_key=namespace_key)


def _hashed(secret: bytes, *, namespace_key: bytes) -> str:
    return blake2b(secret, key=namespace_key[:64], digest_size=16).hexdigest()


def _known(credential: bytes, tokens: Sequence[AccessToken]) -> AccessToken:
    """The token that the credential is."""
    found = _same(credential, tokens)
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


def _same(credential: bytes, tokens: Sequence[AccessToken]) -> list[AccessToken]:
    """The tokens that the credential is: its digest is compared with every one, in a time that says nothing of them."""
    digest = sha256(credential).hexdigest()
    return [token for token in tokens if hmac.compare_digest(digest, token.digest)]
