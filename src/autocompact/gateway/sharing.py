"""What clients may ask for with a key that they share: only what leaves nothing behind at the provider.

With ``--upstream-key`` all clients are one account for the provider. Files, batches, fine-tuned models, assistants, vector
stores and stored responses belong to the account: each client could list, read and delete those of the others. So only
requests that are answered at once, from what they bring along, go upstream.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from autocompact.gateway.exchange import Exchange
from autocompact.gateway.refusals import Refusal, Refused

_GET, _POST = ("GET", "HEAD"), ("POST",)
ALLOWED: Mapping[str, tuple[str, ...]] = {
    "/v1/chat/completions": _POST,
    "/v1/completions": _POST,
    "/v1/complete": _POST,
    "/v1/responses": _POST,
    "/v1/responses/compact": _POST,
    "/v1/responses/input_tokens": _POST,
    "/v1/messages": _POST,
    "/v1/messages/count_tokens": _POST,
    "/v1/embeddings": _POST,
    "/v1/moderations": _POST,
    "/v1/rerank": _POST,
    "/v1/audio/speech": _POST,
    "/v1/audio/transcriptions": _POST,
    "/v1/audio/translations": _POST,
    "/v1/images/generations": _POST,
    "/v1/images/edits": _POST,
    "/v1/images/variations": _POST,
    "/v1/models": _GET,
}
"""The paths that go upstream with a shared key, and their methods; ``/v1/models/NAME`` besides."""

_MODEL = re.compile(r"/v1/models/[^?#]+")
_OWN_KEY = "run a gateway without --upstream-key, where each client sends its own key"


class _Stored(msgspec.Struct):
    """The fields of a request to ``/v1/responses`` that name what the provider keeps."""

    previous_response_id: Any = None
    conversation: Any = None
    background: Any = None
    input: msgspec.Raw = msgspec.Raw(b"")


class _Item(msgspec.Struct):
    type: Any = None


_stored = msgspec.json.Decoder(_Stored).decode
_items = msgspec.json.Decoder(list[_Item]).decode


def check_path(exchange: Exchange) -> None:
    """Let only requests through that leave nothing behind.

    Raises:
        Refused: the path or the method is not among those that are allowed.
    """
    methods = _GET if _MODEL.fullmatch(exchange.path) else ALLOWED.get(exchange.path, ())
    if exchange.method not in methods:
        raise Refused(
            Refusal(
                status=403,
                message=f"{exchange.method} {exchange.path} is not served with the gateway's key: what the provider "
                f"keeps would be shared by all clients of it. For this, {_OWN_KEY}.",
            )
        )


def check_body(body: bytes) -> None:
    """Let only requests to ``/v1/responses`` through that bring all they refer to.

    Raises:
        Refused: it cannot be read, or refers to what the provider keeps of an earlier one.
    """
    try:
        asked = _stored(body)
        named = [
            name for name in ("previous_response_id", "conversation", "background") if getattr(asked, name)
        ]
        if b"item_reference" in body and bytes(asked.input).startswith(b"["):
            named += ["item_reference"] * any(item.type == "item_reference" for item in _items(asked.input))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(Refusal(status=400, message=f"the request cannot be read: {error}")) from error
    if named:
        raise Refused(
            Refusal(
                status=400,
                message=f"{named[0]} is not served with the gateway's key: responses that the provider keeps would be "
                f'shared by all clients of it. Send the whole list of items and "store": false, or {_OWN_KEY}.',
                code="stored_responses_are_shared",
            )
        )
