"""Provider JSON to core and back, lossless.

A request is parsed into messages (`parse_request`), the core decides what the model is to see, and `render_request`
puts it back: what was not changed keeps its bytes. `export_messages` writes any messages for any of the three APIs.
Answers are read whole (`parse_reply`) or as a stream (`autocompact.wire.stream`).
"""

from __future__ import annotations

from autocompact.wire.mapping import from_mapping, plain_messages
from autocompact.wire.pieces import Exported
from autocompact.wire.rendering import Renderer, render_request
from autocompact.wire.reply import Reply, parse_reply, parse_usage
from autocompact.wire.request import (
    EarlierRequest,
    Request,
    check_raw,
    export_messages,
    is_intact,
    parse_message,
    parse_request,
    render_message,
)

__all__ = [
    "EarlierRequest",
    "Exported",
    "Renderer",
    "Reply",
    "Request",
    "check_raw",
    "export_messages",
    "from_mapping",
    "is_intact",
    "parse_message",
    "parse_reply",
    "parse_request",
    "parse_usage",
    "plain_messages",
    "render_message",
    "render_request",
]
