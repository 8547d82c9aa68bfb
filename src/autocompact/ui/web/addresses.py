"""Addresses of what the page serves. A conversation's name comes from a file or a person, and may hold anything."""

from __future__ import annotations

from urllib.parse import quote


def page_address(id: str) -> str:
    """The path of a conversation's page; it holds no quotation mark."""
    return f"/c/{quote(id, safe='')}"


def export_address(id: str, *, format: str) -> str:
    """The path of a conversation's export; it holds no quotation mark."""
    return f"/export/{quote(id, safe='')}/{format}"


def markdown_address(id: str, *, seq: int) -> str:
    """The path of a message as it was written; it holds no quotation mark."""
    return f"/markdown/{quote(id, safe='')}/{seq}"


def attached_address(id: str, *, seq: int, index: int) -> str:
    """The path of a part of a message; it holds no quotation mark."""
    return f"/attached/{quote(id, safe='')}/{seq}/{index}"


def disposition(name: str) -> str:
    """The header by which a browser stores an answer as the file ``name`` (RFC 6266)."""
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}"
