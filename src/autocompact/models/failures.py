"""Interprets failed requests: which error it is, what it says, and whether to try again. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from autocompact.core.redaction import redact
from autocompact.errors import ModelError, ModelOverflow, ModelRefused, ModelUnavailable
from autocompact.models.overflow import error_texts, is_overflow

_OK = 200
_FIRST_ERROR, _FIRST_SERVER_ERROR = 400, 500
_PASSING = frozenset({408, 409, 425, 429})
# the two errors of a server that no later attempt changes: it lacks the method, or the version of HTTP
_FOR_GOOD = frozenset({501, 505})
_LONGEST_MESSAGE = 500
_SHORTEST_KEY = 8
# OpenAI says with the status of a rate limit that the money is spent
_SPENT = re.compile(r"insufficient_quota|current quota|billing|credit balance", re.IGNORECASE)
_BUSY = re.compile(
    r"overloaded|rate.?limit|server.?error|api_error|internal|time.?out|unavailable|capacity|try again",
    re.IGNORECASE,
)
_CODE = re.compile(rb'"(?:code|status|status_code)"\s*:\s*"?([45]\d\d)\b')
# bounded: from each lone < the whole page would be looked through for its end
_TAG = re.compile(r"<[^>]{0,500}>")
_HINTS: Mapping[int, str] = {
    401: "Check the API key.",
    403: "Check what this API key may use.",
    404: "Check the model's name and the base URL.",
}


class Secret:
    """A key. It goes into the header of a request and nowhere else: it has no readable form."""

    __slots__ = ("_value",)

    def __init__(self, value: str | None) -> None:
        self._value = (value or "").strip()

    def __repr__(self) -> str:
        return "Secret(***)"

    def __bool__(self) -> bool:
        return bool(self._value)

    def reveal(self) -> str:
        """The key itself."""
        return self._value

    def hidden_in(self, text: str) -> str:
        """The text without the key, should it stand there, and without any other that looks like one.

        What is shorter than 8 characters is no key but a word that a local server was given in place of one.
        """
        return redact(text.replace(self._value, "***") if len(self._value) >= _SHORTEST_KEY else text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The reason why an attempt failed.

    Attributes:
        error: what to raise.
        again: whether another attempt may do better; a number says after how many seconds.
    """

    error: ModelError
    again: bool | float = False


def failure(
    status: int, body: bytes, *, who: str, wait: float | None = None, clean: Callable[[str], str] = str
) -> Failure:
    """Interpret an error response.

    Args:
        status: of the response; 200 where the error came as the answer, or in the midst of a stream.
        body: of the response.
        who: names the model and the server.
        wait: seconds that the server wants one to wait.
        clean: takes credentials out of a text.
    """
    overflow = is_overflow(status, body)
    if overflow is not None:
        message = f"the request is larger than {who} can take: {clean(overflow.message)}"
        return Failure(error=ModelOverflow(message, status=status))
    texts = error_texts(status, body)
    said = clean(_message(texts, status))
    told = _CODE.search(body) if status == _OK else None
    meant = int(told[1]) if told else status
    if _passes(meant, "\n".join(texts)):
        pause = f" It asks to wait {wait:,.0f} s." if wait else ""
        error = ModelUnavailable(f"{who} is not available now ({meant}): {said}{pause}", status=meant)
        return Failure(error=error, again=True if wait is None else wait)
    if meant < _FIRST_ERROR:
        return Failure(error=ModelError(f"{who} answered with an error ({meant}): {said}", status=meant))
    hint = f" {_HINTS[meant]}" if meant in _HINTS else ""
    return Failure(error=ModelRefused(f"{who} refused the request ({meant}): {said}{hint}", status=meant))


def _passes(status: int, text: str) -> bool:
    if status in _FOR_GOOD or (status == HTTPStatus.TOO_MANY_REQUESTS and _SPENT.search(text)):
        return False
    if status < _FIRST_ERROR:
        return _BUSY.search(text) is not None
    return status in _PASSING or status >= _FIRST_SERVER_ERROR


def _message(texts: list[str], status: int) -> str:
    """The longest of what was said, on one line; a proxy's page without its tags."""
    said = " ".join(_TAG.sub(" ", max(texts, key=len, default="")).split())
    if said:
        return said[:_LONGEST_MESSAGE]
    known = {each.value: each.phrase for each in HTTPStatus}
    return known.get(status, "no reason given")


def asked_wait(headers: Mapping[str, str], *, now: str) -> float | None:
    """Seconds to wait by ``Retry-After``: a number or an HTTP date (RFC 9110); None without, or if it is neither.

    Args:
        headers: of the response; names in any case if the mapping does not mind.
        now: ISO 8601.
    """
    given = headers.get("Retry-After", "").strip()
    try:
        # OpenAI and Azure send it besides, and more exactly
        seconds = float(headers["retry-after-ms"]) / 1000 if "retry-after-ms" in headers else float(given)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        due = parsedate_to_datetime(given)
    except ValueError:
        return None
    if due.tzinfo is None:
        due = due.replace(tzinfo=UTC)
    return max(0.0, (due - datetime.fromisoformat(now)).total_seconds())
