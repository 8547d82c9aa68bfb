"""Errors of the gateway's own, in the words of the API that the client speaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from autocompact.gateway.config import Provider
from autocompact.gateway.exchange import Header

_OPENAI = {401: "authentication_error", 404: "not_found_error"}
_ANTHROPIC = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    502: "api_error",
    503: "overloaded_error",
}
_SERVER = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An answer that no provider gave.

    Attributes:
        status: of HTTP.
        message: what is wrong and what to do.
        code: OpenAI's ``code``.
        kind: OpenAI's ``type``; None goes by the status.
        headers: further ones.
    """

    status: int
    message: str
    code: str | None = None
    kind: str | None = None
    headers: Sequence[Header] = ()

    def body(self, provider: Provider) -> bytes:
        """The JSON in the API's own format."""
        if provider == "anthropic":
            kind = _ANTHROPIC.get(self.status, "invalid_request_error")
            return msgspec.json.encode({"type": "error", "error": {"type": kind, "message": self.message}})
        fallback = "server_error" if self.status >= _SERVER else "invalid_request_error"
        kind = self.kind or _OPENAI.get(self.status, fallback)
        told = {"message": self.message, "type": kind, "param": None, "code": self.code}
        return msgspec.json.encode({"error": told})


def too_large(most: int) -> Refusal:
    """The answer to a body of more than so many bytes."""
    return Refusal(status=413, message=f"the request is larger than {most:,} bytes")


class ClientGone(Exception):
    """The client went away before its request was here whole: nobody waits for an answer."""


class Refused(Exception):
    """The request ends here: ``refusal`` is the answer."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(refusal.message)
