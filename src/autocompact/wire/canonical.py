"""Canonical form of a message: equal for all JSON that says the same, whatever a client changes from request to request.

Clients move the ``cache_control`` marks of Anthropic's prompt cache, and write a lone text as a string or as a list of one
block. That does not make another message of it.
"""

from __future__ import annotations

import re

import msgspec

from autocompact.wire import json

_MARK = re.compile(
    rb'\s*,\s*"cache_control"\s*:\s*(?:\{[^{}]*\}|null)|"cache_control"\s*:\s*(?:\{[^{}]*\}|null)\s*,?\s*'
)
_LONE_TEXT = re.compile(
    rb'"content"\s*:\s*\[\s*\{\s*"type"\s*:\s*"text"\s*,\s*"text"\s*:\s*("(?:[^"\\]++|\\.)*+")\s*\}\s*\]',
    re.DOTALL,
)


def without_marks(raw: bytes) -> bytes:
    """The JSON without ``cache_control`` members. Words that look like one are escaped in JSON, and stay."""
    return _MARK.sub(b"", raw) if b'"cache_control"' in raw else raw


def canonical(raw: bytes) -> bytes:
    """The JSON in the form in which messages are compared and hashed."""
    raw = without_marks(raw)
    # a look at the beginning: role and content stand there, and most messages of tools have no text at all
    return _LONE_TEXT.sub(rb'"content":\1', raw) if b'"text"' in raw[:200] else raw


def says_the_same(one: bytes, other: bytes) -> bool:
    """True if two messages, given as valid JSON, differ in nothing but their canonical form and the order of members."""
    return one == other or _sorted(one) == _sorted(other)


def _sorted(raw: bytes) -> bytes:
    return msgspec.json.encode(json.plain(canonical(raw)), order="sorted")
