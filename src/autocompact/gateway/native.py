"""Whether the provider manages the context of a request itself: then the gateway leaves the request alone.

Only what really drops or compacts history counts: Anthropic's edits ``compact_…`` and ``clear_tool_uses_…``, its request
for a compaction, OpenAI's ``compaction``, and whatever refers to a history that the provider keeps. An edit that clears
the model's thinking, which Claude Code sends with every request, leaves the history as long as it is.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from autocompact.errors import InvalidRequest
from autocompact.wire import Request, json

_MEMBERS = ("previous_response_id", "conversation", "prompt", "compaction")
_EDITS = ("compact", "clear_tool_uses_")
_BLOCK = re.compile(rb'"type"\s*:\s*"compaction')


class _Edit(msgspec.Struct, gc=False):
    type: Any = None


class _Edits(msgspec.Struct, gc=False):
    """Anthropic's ``context_management``; OpenAI's is the list itself."""

    edits: list[_Edit] = []


_DECODER = msgspec.json.Decoder(_Edits | list[_Edit] | None)


def is_managed(request: Request) -> bool:
    """Whether the provider is asked to drop or compact history of this request, or keeps it itself."""
    if any(request.fields.get(name, b"null") != b"null" for name in _MEMBERS):
        return True
    management = request.fields.get("context_management")
    return management is not None and _shortens(management)


def _shortens(management: bytes) -> bool:
    """Whether one of the edits takes something out of the history. What cannot be read is the provider's to refuse."""
    try:
        told = json.decode(management, _DECODER, path="context_management")
    except InvalidRequest:
        return False
    edits = told.edits if isinstance(told, _Edits) else told or []
    return any(isinstance(edit.type, str) and edit.type.startswith(_EDITS) for edit in edits)


def holds_compaction(raw: bytes) -> bool:
    """Whether a message holds a compaction of the provider's, or asks for one."""
    return b'"compaction' in raw and _BLOCK.search(raw) is not None
