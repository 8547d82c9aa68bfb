"""Faults of a provider, on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from aiohttp import web

from autocompact.core.messages import Dialect
from autocompact.testing.provider_refusals import Flavour, Refusal, error, overflow
from autocompact.testing.provider_script import Answer

FaultKind: TypeAlias = Literal[
    "rate_limit",
    "quota",
    "server_error",
    "bad_gateway",
    "unavailable",
    "overloaded",
    "overflow",
    "reset",
    "silent",
    "stalled",
    "slow",
    "cut",
    "stream_error",
    "garbage",
    "empty",
    "large",
    "unstreamed",
]
"""How a request fails.

==============  =======================================================================
rate_limit      429, with Retry-After
quota           429 that waiting does not cure (OpenAI ``insufficient_quota``), 400 at Anthropic
server_error    500
bad_gateway     502, an HTML page of a proxy
unavailable     503, with Retry-After
overloaded      529 (Anthropic), 503 in the other APIs
overflow        400 of the flavour: larger than the window, whatever its size
reset           the connection is closed without an answer
silent          accepted, and then not one byte
stalled         the answer begins, and then not one byte more
slow            the answer comes a few bytes at a time
cut             the connection is closed in the midst of the answer
stream_error    200, some text, then an error event (500 where nothing is streamed)
garbage         200, and bytes that are no JSON
empty           200, an answer that says nothing
large           200, an answer of a million characters
unstreamed      the answer in one piece although a stream was asked for
==============  =======================================================================
"""

LARGE = 1_000_000
"""Characters of the large answer."""

SLOW_PIECES = 24

_GARBAGE = b"\x00\xff<<this is no answer of any API>>\n\n"
_SERVER = ("server_error", "api_error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A failure to come.

    Attributes:
        kind: how.
        retry_after: value of the header, where the kind sends one: seconds or an HTTP date; "" sends none.
        pause: seconds between the pieces of a slow answer.
    """

    kind: FaultKind
    retry_after: str = ""
    pause: float = 0.02

    @property
    def harmless(self) -> bool:
        """True if the client gets the answer all the same."""
        return self.kind in ("slow", "unstreamed")

    @property
    def wordless(self) -> bool:
        """True if nothing of what the model would say arrives."""
        return self.kind in ("reset", "silent", "bad_gateway", "garbage", "empty", "large")


def refusal_of(fault: Fault, dialect: Dialect, *, flavour: Flavour, window: int) -> Refusal | None:
    """The error response of a fault; None where the fault is in the answer."""
    match fault.kind:
        case "rate_limit":
            message = "Rate limit reached for requests per min (RPM): Limit 3, Used 3, Requested 1."
            made = error(dialect, message, status=429, types=("rate_limit_exceeded", "rate_limit_error"))
        case "quota":
            made = _spent(dialect)
        case "server_error" | "stream_error":
            made = error(dialect, "Internal server error", status=500, types=_SERVER)
        case "unavailable":
            made = error(dialect, "Service temporarily unavailable", status=503, types=_SERVER)
        case "overloaded":
            status = 529 if dialect == "anthropic" else 503
            made = error(dialect, "Overloaded", status=status, types=("server_error", "overloaded_error"))
        case "overflow":
            made = overflow(dialect, flavour, window=window, prompt=window + 1_000, output=0)
        case _:
            return None
    if made is not None and fault.retry_after:
        return replace(made, headers={**made.headers, "Retry-After": fault.retry_after})
    return made


def _spent(dialect: Dialect) -> Refusal:
    if dialect == "anthropic":
        message = (
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or "
            "purchase credits."
        )
        return error(dialect, message, status=400, types=("", "invalid_request_error"))
    message = "You exceeded your current quota, please check your plan and billing details."
    return error(dialect, message, status=429, types=("insufficient_quota", ""))


def answer_under(fault: Fault | None, answer: Answer) -> Answer:
    """The answer that a fault makes of ``answer``."""
    match fault.kind if fault else "":
        case "empty":
            return Answer()
        case "large":
            return Answer(text="0123456789 abcdefgh\n" * (LARGE // 20))
        case _:
            return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """Puts an answer on the wire, as a fault will have it.

    Attributes:
        request: what is answered.
        fault: what goes wrong.
        closing: set when the server ends, so that nothing waits longer than that.
    """

    request: web.Request
    fault: Fault | None
    closing: asyncio.Event

    async def send(
        self, pieces: Sequence[bytes], *, content_type: str, stream_error: bytes = b""
    ) -> web.StreamResponse:
        """Send the pieces of a 200 response."""
        kind = self.fault.kind if self.fault else ""
        if kind in ("silent", "reset"):
            return await self._nothing(kind)
        if kind == "bad_gateway":
            page = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
            return web.Response(status=502, text=page, content_type="text/html")
        response = web.StreamResponse(headers={"Content-Type": content_type, "Cache-Control": "no-cache"})
        await response.prepare(self.request)
        await self._pieces(response, pieces, stream_error=stream_error)
        if kind == "stalled":
            await self.closing.wait()
        elif kind == "cut":
            self._hang_up()
        else:
            await response.write_eof()
        return response

    async def _nothing(self, kind: str) -> web.StreamResponse:
        if kind == "silent":
            await self.closing.wait()
        self._hang_up()
        return web.Response()

    def _hang_up(self) -> None:
        if self.request.transport is not None:
            self.request.transport.close()

    async def _pieces(
        self, response: web.StreamResponse, pieces: Sequence[bytes], *, stream_error: bytes
    ) -> None:
        whole = b"".join(pieces)
        match self.fault.kind if self.fault else "":
            case "stalled" | "cut":
                await response.write(whole[: len(whole) // 2])
            case "garbage":
                await response.write(_GARBAGE)
            case "stream_error":
                await response.write(b"".join(pieces[: len(pieces) // 2]) + stream_error)
            case "slow":
                assert self.fault is not None, "its kind is known"
                step = max(1, -(-len(whole) // SLOW_PIECES))
                for start in range(0, len(whole), step):
                    await response.write(whole[start : start + step])
                    await asyncio.sleep(self.fault.pause)
            case _:
                for piece in pieces:
                    await response.write(piece)
