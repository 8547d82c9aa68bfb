"""Requests whose body comes with a content encoding: they are read, and go on, without it."""

from __future__ import annotations

import zlib
from dataclasses import replace

from autocompact.gateway.exchange import Exchange
from autocompact.gateway.refusals import Refused, too_large

_NAME = b"content-encoding"
_READ = frozenset({b"gzip", b"x-gzip", b"deflate"})
_GZIP_OR_ZLIB = 47


def without_encoding(exchange: Exchange, body: bytes, *, most: int) -> tuple[Exchange, bytes]:
    """The request and its body in plain; both as they came where there is nothing to decode, or nothing that we can.

    Raises:
        Refused: the plain body is larger than ``most`` bytes.
    """
    if exchange.header(_NAME).strip().lower() not in _READ:
        return exchange, body
    decoder = zlib.decompressobj(wbits=_GZIP_OR_ZLIB)
    try:
        plain = decoder.decompress(body, most + 1)
    except zlib.error:
        return exchange, body  # the provider says what is wrong with it
    if len(plain) > most:
        raise Refused(too_large(most))
    if not decoder.eof or decoder.unused_data:
        return exchange, body
    headers = tuple(header for header in exchange.headers if header[0] != _NAME)
    return replace(exchange, headers=headers), plain
