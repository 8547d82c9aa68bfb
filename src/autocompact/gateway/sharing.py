"""What clients may ask for with a key that they share: only what leaves nothing behind at the provider.

With ``--upstream-key`` all clients are one account for the provider. Files, batches, fine-tuned models, assistants, vector
stores and stored responses belong to the account: each client could list, read and delete those of the others. So only
requests that are answered at once, from what they bring along, go upstream, and none that names what is kept there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast

import msgspec

from autocompact.gateway.exchange import Exchange, Refusal, Refused

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


_REFERENCES = frozenset(
    "file_id file_ids vector_store_id vector_store_ids container_id skill_id previous_response_id".split()
)
"""Fields whose value names what a provider keeps, wherever they stand in a request."""
_AT_TOP = ("conversation", "background")
_WITH_ID = ("container", "prompt", "audio")
"""Objects that name what a provider keeps by an ``id``; a container may also be a text."""
_OF_CLIENTS = frozenset(
    "input_schema parameters schema input_examples metadata arguments annotations citations".split()
)
"""Fields whose content the client or a model made up: a tool may have a parameter ``file_id``."""
_NAMES = re.compile(
    rb'\\u|"(?:%s|item_reference)"' % "|".join((*sorted(_REFERENCES), *_AT_TOP, *_WITH_ID)).encode()
)
"""What a request has that names something; an escape may hide a name."""
_is_json = msgspec.json.Decoder(msgspec.Raw).decode
_value = msgspec.json.Decoder().decode


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
    """Let only requests through that bring all they refer to.

    Raises:
        Refused: it cannot be read, or names what the provider keeps: a file, a vector store, a container, a response.
    """
    try:
        _is_json(body)
        named = next(_named(_value(body)), None) if _NAMES.search(body) else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(Refusal(status=400, message=f"the request cannot be read: {error}")) from error
    if named in _OF_RESPONSES:
        raise Refused(
            Refusal(
                status=400,
                message=f"{named} is not served with the gateway's key: responses that the provider keeps would be "
                f'shared by all clients of it. Send the whole list of items and "store": false, or {_OWN_KEY}.',
                code="stored_responses_are_shared",
            )
        )
    if named is not None:
        raise Refused(
            Refusal(
                status=400,
                message=f"{named} is not served with the gateway's key: what the provider keeps would be shared by all "
                f"clients of it. Send the content itself in the request, or {_OWN_KEY}.",
                code="stored_objects_are_shared",
            )
        )


_OF_RESPONSES = ("previous_response_id", "item_reference", *_AT_TOP)


def _named(request: object) -> Iterator[str]:
    """The fields of a request that name what the provider keeps."""
    top = cast("dict[str, object]", request) if isinstance(request, dict) else {}
    yield from (name for name in _AT_TOP if top.get(name))
    left: list[object] = [request]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            fields = cast("dict[str, object]", value)
            yield from _names_in(fields)
            left += (each for name, each in fields.items() if not _is_of_clients(fields, name))
        elif isinstance(value, list):
            left += cast("list[object]", value)


def _names_in(fields: Mapping[str, object]) -> Iterator[str]:
    if fields.get("type") == "item_reference":
        yield "item_reference"
    # the skills that a provider brings are everybody's
    given = _REFERENCES - ({"skill_id"} if fields.get("type") == "anthropic" else set())
    yield from (name for name in fields.keys() & given if fields[name])
    for name in _WITH_ID:
        value = fields.get(name)
        if isinstance(value, dict) and cast("dict[str, object]", value).get("id"):
            yield f"{name}.id"
        elif name == "container" and isinstance(value, str) and value:
            yield name


def _is_of_clients(fields: Mapping[str, object], name: str) -> bool:
    """True for what no provider looks into: a schema, or what a model called a tool with."""
    return name in _OF_CLIENTS or (name == "input" and str(fields.get("type")).endswith("tool_use"))
