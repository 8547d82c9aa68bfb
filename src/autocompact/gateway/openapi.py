"""The OpenAPI description of a gateway, made of its table of endpoints."""

from __future__ import annotations

from typing import Any

import msgspec

from autocompact.gateway.endpoints import ENDPOINTS, Endpoint, Page, Ready, Refused
from autocompact.gateway.exchange import GENERATING

_REFERENCE = "#/components/schemas/{name}"

_WORDS = {
    400: "The request is not what this endpoint takes, or its head can be read in two ways",
    401: "An access token is missing or unknown",
    403: "The host name, or the page that asks, may not use this gateway",
    404: "There is no such thing in this namespace",
    409: "The state of the conversation does not allow it",
    413: "The request is too large",
    500: "The gateway failed",
    502: "The upstream cannot be reached, or broke off",
    503: "Not now: the store or the gateway cannot do it, or too much is running",
}

_ACTION = {
    "description": "What the gateway did",
    "schema": {"type": "string", "enum": ["forwarded", "compacted", "retried", "failed-open", "refused"]},
}
_TURN_HEADERS = {
    "x-autocompact-action": _ACTION,
    "x-autocompact-conversation": {
        "description": "The conversation, where one is kept",
        "schema": {"type": "string"},
    },
    "x-autocompact-compaction": {
        "description": "The active compaction, or none",
        "schema": {"type": "string"},
    },
    "x-autocompact-tokens": {
        "description": "Tokens of the context that went upstream, as the gateway counts",
        "schema": {"type": "integer"},
    },
}

_ANTHROPIC_ERROR = {
    "type": "object",
    "properties": {
        "type": {"const": "error"},
        "error": {
            "type": "object",
            "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
            "required": ["type", "message"],
        },
    },
    "required": ["type", "error"],
}

_OWN_REFUSALS = (400, 401, 403, 404, 413, 502, 503)
"""What a client below ``/v1`` may hear from the gateway itself, as from a provider: both use the API's own format."""

# so that what tries the API by this document (schemathesis) asks for conversations that there are
_LINKS = {
    endpoint.name: {
        "operationId": endpoint.name,
        "parameters": {"id": "$response.body#/conversations/0/id"},
    }
    for endpoint in ENDPOINTS
    if "{id}" in endpoint.path
}

_PASSED = (("GET", "/v1/models", "models"), ("POST", "/v1/messages/count_tokens", "count_tokens"))


def described(*, version: str, closed: bool) -> dict[str, Any]:
    """The document.

    Args:
        version: of autocompact.
        closed: whether clients need an access token.
    """
    answers = [one.answer for one in ENDPOINTS if isinstance(one.answer, type)]
    bodies = [one.body for one in ENDPOINTS if one.body is not None]
    _, components = msgspec.json.schema_components([*answers, *bodies, Refused], ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    for path, dialect in GENERATING.items():
        paths[path] = {"post": _turn(path, dialect)}
    for method, path, name in _PASSED:
        paths[path] = {method.lower(): _passed(path, name)}
    schemes: dict[str, Any] = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "autocompact gateway", "version": version, "license": {"name": "MIT"}},
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}, {"apiKey": []}, *([] if closed else [{}])],
        "paths": paths,
        "components": {
            "schemas": {**components, "AnthropicError": _ANTHROPIC_ERROR},
            "securitySchemes": schemes,
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    responses: dict[str, Any] = {"204": {"description": "Done"}}
    if endpoint.answer is not None:
        responses = {"200": {"description": endpoint.summary, "content": _content(endpoint)}}
    if endpoint.answer is Page:
        responses["200"]["links"] = _LINKS
    if endpoint.answer is Ready:
        responses["503"] = {"description": "Not ready", "content": _content(endpoint)}
    # any head may be unclear, and any host one that the gateway is not known by
    own = {400, 403, *endpoint.refusals, *(() if endpoint.open else (401, 500, 503))}
    responses |= {str(status): _refusal(status) for status in sorted(own) if str(status) not in responses}
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "tags": ["administration"],
        "parameters": _parameters(endpoint),
        "responses": responses,
    }
    if endpoint.body is not None:
        schema = {"$ref": _REFERENCE.format(name=endpoint.body.__name__)}
        operation["requestBody"] = {"required": False, "content": {"application/json": {"schema": schema}}}
    return operation | ({"security": []} if endpoint.open else {})


def _parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    path: list[dict[str, Any]] = []
    if "{id}" in endpoint.path:
        path = [
            {
                "name": "id",
                "in": "path",
                "required": True,
                "description": "As `x-autocompact-conversation` says.",
                "schema": {"type": "string", "minLength": 1, "pattern": "^[A-Za-z0-9_-]+$"},
            }
        ]
    query = [
        {
            "name": each.name,
            "in": "query",
            "required": each.required,
            "description": each.description,
            "schema": each.schema,
        }
        for each in endpoint.parameters
    ]
    return [*path, *query]


def _content(endpoint: Endpoint) -> dict[str, Any]:
    schema = {"type": "string" if endpoint.answer == "text" else "object"}
    if isinstance(endpoint.answer, type):
        schema = {"$ref": _REFERENCE.format(name=endpoint.answer.__name__)}
    return {endpoint.media: {"schema": schema}}


def _refusal(status: int, *, schema: str = "Refused") -> dict[str, Any]:
    headers: dict[str, Any] = {"x-autocompact-action": _ACTION}
    if status == 401:
        headers["www-authenticate"] = {"description": "Bearer", "schema": {"type": "string"}}
    return {
        "description": _WORDS[status],
        "headers": headers,
        "content": {"application/json": {"schema": {"$ref": _REFERENCE.format(name=schema)}}},
    }


def _turn(path: str, dialect: str) -> dict[str, Any]:
    """A request that a model answers."""
    operation = _passed(path, f"ask_{dialect}")
    operation["responses"]["default"]["headers"] = _TURN_HEADERS
    operation["requestBody"] = {
        "required": True,
        "description": "As the provider describes it; what it is not is for the provider to refuse.",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
    return operation


def _passed(path: str, name: str) -> dict[str, Any]:
    """A request that goes upstream."""
    schema = "AnthropicError" if path.startswith("/v1/messages") else "Refused"
    upstream: dict[str, Any] = {
        "description": "The provider's answer as it is",
        "headers": {"x-autocompact-action": _ACTION},
        "content": {each: {} for each in ("application/json", "text/event-stream")},
    }
    refusals = {str(status): _refusal(status, schema=schema) for status in _OWN_REFUSALS}
    return {
        "operationId": name,
        "summary": "Goes upstream",
        "tags": ["provider"],
        "responses": {**refusals, "default": upstream},
    }
