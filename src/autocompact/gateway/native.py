"""Whether the provider manages the context of a request itself: then the gateway compacts nothing.

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

_ELSEWHERE = ("previous_response_id", "conversation", "prompt")
_COMPACTS = ("compact",)
_SHORTENS = ("compact", "clear_tool_uses_")
_BLOCK = re.compile(rb'"type"\s*:\s*"compaction(?!_trigger)')
_TRIGGER = re.compile(rb'"type"\s*:\s*"compaction_trigger"')


class _Edit(msgspec.Struct, gc=False):
    type: Any = None


class _Edits(msgspec.Struct, gc=False):
    """Anthropic's ``context_management``; OpenAI's is the list itself."""

    edits: list[_Edit] = []


_DECODER = msgspec.json.Decoder(_Edits | list[_Edit] | None)


def is_managed(request: Request) -> bool:
    """Whether the provider is asked to drop or compact history of this request, or keeps it itself."""
    return history_is_elsewhere(request) or _has(request, "compaction") or _edits(request, _SHORTENS)


def history_is_elsewhere(request: Request) -> bool:
    """Whether the request goes on from a history that the provider keeps, and that it does not bring."""
    return any(_has(request, name) for name in _ELSEWHERE)


def asks_for_compaction(request: Request) -> bool:
    """Whether the provider is asked to compact what this request brings, now or once it is long."""
    return asks_now(request) or _edits(request, _COMPACTS)


def asks_now(request: Request) -> bool:
    """Whether the answer is to be a compaction of what this request brings, and nothing else."""
    # the trigger is the last item: one further up is history, and was answered
    last = request.raws[-1] if b'"compaction_trigger"' in request.raw and request.raws else b""
    return _has(request, "compaction") or _TRIGGER.search(last) is not None


def _has(request: Request, name: str) -> bool:
    return request.fields.get(name, b"null") != b"null"


def _edits(request: Request, kinds: tuple[str, ...]) -> bool:
    """Whether one of the edits is of these kinds. What cannot be read is the provider's to refuse."""
    management = request.fields.get("context_management")
    if management is None:
        return False
    try:
        told = json.decode(management, _DECODER, path="context_management")
    except InvalidRequest:
        return False
    edits = told.edits if isinstance(told, _Edits) else told or []
    return any(isinstance(edit.type, str) and edit.type.startswith(kinds) for edit in edits)


def holds_compaction(raw: bytes) -> bool:
    """Whether a message holds a compaction of the provider's."""
    return b'"compaction' in raw and _BLOCK.search(raw) is not None
