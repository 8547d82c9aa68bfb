"""One request of a client: what it asks for and for whom, the headers both ways, and an answer of the gateway's own."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias
from urllib.parse import unquote

import aiohttp
import msgspec

from autocompact.core.messages import Dialect
from autocompact.errors import AutocompactError, log_data
from autocompact.gateway.config import Provider

Header: TypeAlias = tuple[bytes, bytes]
Scope: TypeAlias = Mapping[str, Any]

GENERATING: Mapping[str, Dialect] = {
    "/v1/chat/completions": "openai_chat",
    "/v1/responses": "openai_responses",
    "/v1/messages": "anthropic",
}
"""The paths of requests that a model answers; the others are only forwarded."""

COUNTING: Mapping[str, Dialect] = {
    "/v1/messages/count_tokens": "anthropic",
    "/v1/responses/input_tokens": "openai_responses",
}
"""The paths of requests whose tokens are asked for."""

COMPACT = "/v1/responses/compact"
"""The path of OpenAI's requests for a compaction alone."""

UNLOGGED: Mapping[str, Dialect] = {**COUNTING, COMPACT: "openai_responses"}
"""The paths of requests about a conversation that add nothing to it."""

_VERSION = "/v1"
_UNVERSIONED = ("/messages", "/chat/completions", "/responses", "/completions", "/embeddings", "/models")
PAGES = frozenset(("/", "/autocompact", "/autocompact/", "/autocompact/admin"))
"""What administration shows to people."""

_OURS_BELOW = (_VERSION, "/autocompact", "/metrics", *_UNVERSIONED)

CREDENTIALS = (b"authorization", b"x-api-key", b"api-key")

_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer "
    b"transfer-encoding upgrade".split()
)
"""They concern one connection, not the request (RFC 9110, 7.6.1)."""

_UNCLEAR = re.compile(r"[\\\x00-\x1f\x7f]|//|(?:^|/)\.{1,2}(?:;[^/]*)?(?:/|$)")
"""A dot segment may have parameters behind a semicolon (RFC 3986, 3.3): Java's servers drop these, and walk up all the same."""

_DECODINGS = 3
"""Times that a path is decoded to look at it: as it came, as we decode it, and as a server behind that decodes again."""

_OURS = frozenset((b"host", b"content-length", b"expect"))
"""They are about the way here: aiohttp names the upstream, and writes the length of what it sends; our server has told the client to
go on that waited for that."""


class Metered(Protocol):
    """Counts what an answer takes."""

    def __call__(self, response: aiohttp.ClientResponse, /, *, sent: int) -> aiohttp.ClientResponse:
        """The response, read along."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request as its head says.

    Attributes:
        method: of HTTP.
        path: decoded, without query, with the version that the client may have left out.
        raw_path: the same as it came.
        target: path and query as they came.
        headers: names in lower case, in the order in which they came.
        provider: whom it is for.
        dialect: the API, if a model is to answer; else None.
        metered: what each response of the provider goes through, with the number of bytes that were sent; None for nothing.
    """

    method: str
    path: str
    raw_path: bytes
    target: str
    headers: tuple[Header, ...]
    provider: Provider
    dialect: Dialect | None
    metered: Metered | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, scope: Scope, *, configured: Collection[Provider]) -> Exchange:
        """What the ASGI scope describes."""
        given: str = scope["path"]
        path = versioned(given)
        raw: bytes = scope.get("raw_path") or given.encode()
        if path != given:
            raw = _VERSION.encode() + raw
        query: bytes = scope["query_string"]
        headers = tuple((bytes(name), bytes(value)) for name, value in scope["headers"])
        method: str = scope["method"]
        return cls(
            method=method,
            path=path,
            raw_path=raw,
            target=(raw + b"?" + query if query else raw).decode("latin-1"),
            headers=headers,
            provider=_provider(path, headers, configured=configured),
            dialect=answered_by_models(method, path),
        )

    def header(self, name: bytes) -> bytes:
        """The first value of a header, b"" without."""
        return next((value for key, value in self.headers if key == name), b"")

    @property
    def credential(self) -> bytes:
        """What the client identifies itself with, b"" if nothing."""
        given = next((value for name in CREDENTIALS if (value := self.header(name))), b"")
        return given[7:].strip() if given[:7].lower() == b"bearer " else given

    @property
    def program(self) -> str:
        """The program that asks, by its ``User-Agent``."""
        return self.header(b"user-agent").decode("latin-1")

    @property
    def has_body(self) -> bool:
        """Whether one follows the head."""
        return bool(self.header(b"transfer-encoding")) or self.header(b"content-length") not in (b"", b"0")


def answered_by_models(method: str, path: str) -> Dialect | None:
    """The API of a request that a model answers, None for any other."""
    return GENERATING.get(versioned(path)) if method == "POST" else None


def versioned(path: str) -> str:
    """The path with ``/v1`` before it, which clients leave out that append ``/messages`` to the base URL they were given."""
    return f"{_VERSION}{path}" if _is_below(path, _UNVERSIONED) else path


def is_ours(path: str) -> bool:
    """Whether the gateway itself answers at ``path``."""
    return _is_below(path, _OURS_BELOW)


def _is_below(path: str, prefixes: Iterable[str]) -> bool:
    return any(path == prefix or path.startswith(f"{prefix}/") for prefix in prefixes)


def malformed(method: str, raw_path: bytes, *, hosts: int) -> tuple[int, str] | None:
    """Status and message for a head that servers on the way may understand in different ways; None if it is clear.

    Args:
        method: of HTTP.
        raw_path: as it came, without query.
        hosts: number of ``Host`` headers.
    """
    if method in ("TRACE", "CONNECT"):
        return 405, f"the method {method} is not served: use GET, POST or DELETE"
    if hosts > 1:
        return 400, f"the request has {hosts} Host headers: send one"
    path = raw_path.decode("latin-1")
    for _ in range(_DECODINGS):
        if _UNCLEAR.search(path):
            return (
                400,
                "the path holds a backslash, an empty or a dot segment, or a control character: leave it out",
            )
        path = unquote(path, "latin-1")
    return None


def host_name(header: bytes) -> str:
    """The name in a ``Host`` header, without the port and in lower case; an IPv6 address in its brackets."""
    host = header.decode("latin-1").lower()
    # an address of IPv6 has colons of its own
    return host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]


def is_foreign_origin(headers: Iterable[Header]) -> bool:
    """True if a web page of another origin asks: by ``Sec-Fetch-Site``, in older browsers by ``Origin``.

    Programs that are no browsers send neither.
    """
    given = {name.lower(): value.strip().lower() for name, value in headers}
    site = given.get(b"sec-fetch-site")
    if site is not None:
        return site not in (b"same-origin", b"none")
    origin = given.get(b"origin")
    return origin is not None and origin.partition(b"://")[2] != given.get(b"host", b"")


def is_visit(exchange: Exchange) -> bool:
    """True if a browser opens one of the gateway's pages in a tab, which no other page can look into."""
    how = exchange.header(b"sec-fetch-mode"), exchange.header(b"sec-fetch-dest")
    return exchange.method == "GET" and exchange.path in PAGES and how == (b"navigate", b"document")


def is_administration(path: str) -> bool:
    """Whether the gateway answers this path itself."""
    return path in ("/", "/autocompact", "/metrics") or path.startswith("/autocompact/")


def _provider(path: str, headers: tuple[Header, ...], *, configured: Collection[Provider]) -> Provider:
    if path == "/v1/messages" or path.startswith("/v1/messages/"):
        return "anthropic"
    if path in GENERATING or path.startswith("/v1/responses/") or is_administration(path):
        return "openai"
    # nothing in the path tells, as for /v1/models, which both have
    if len(configured) == 1:
        return next(iter(configured))
    names = {name for name, _ in headers}
    return "anthropic" if b"anthropic-version" in names or b"x-api-key" in names else "openai"


def forwarded(headers: Iterable[Header], *, without: Collection[bytes] = ()) -> list[Header]:
    """The headers that go on to the other side, in their order."""
    headers = tuple(headers)
    named = {
        item.strip().lower()
        for name, value in headers
        if name.lower() == b"connection"
        for item in value.split(b",")
    }
    dropped = _HOP | named | frozenset(without)
    return [(name, value) for name, value in headers if name.lower() not in dropped]


def to_upstream(exchange: Exchange, *, key: str | None) -> list[Header]:
    """The headers of the request to the provider.

    Args:
        exchange: the client's request.
        key: replaces the client's credential; None sends that on.
    """
    if key is None:
        return forwarded(exchange.headers, without=_OURS)
    name, value = (
        (b"x-api-key", key) if exchange.provider == "anthropic" else (b"authorization", f"Bearer {key}")
    )
    return [*forwarded(exchange.headers, without=(*_OURS, *CREDENTIALS)), (name, value.encode())]


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
_AGAIN_SECONDS = 2
_MOST_LOGGED = 200
"""Characters of a path in the log."""


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


def unavailable(message: str, *, seconds: int = _AGAIN_SECONDS) -> Refusal:
    """The answer to a request that can be answered later, with ``Retry-After``."""
    return Refusal(status=503, message=message, headers=[(b"retry-after", str(seconds).encode())])


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

    def log_data(self, path: str) -> dict[str, str | int]:
        """Data of the refusal that may be logged: our own words, and of an error that may quote others only its kind."""
        cause = self.__cause__
        said = log_data(cause) if isinstance(cause, AutocompactError) else {"reason": self.refusal.message}
        return {"status": self.refusal.status, "path": path[:_MOST_LOGGED], **said}


_ENCODING = b"content-encoding"
_READ = frozenset({b"gzip", b"x-gzip", b"deflate"})
_GZIP_OR_ZLIB = 47


def without_encoding(exchange: Exchange, body: bytes, *, most: int) -> tuple[Exchange, bytes]:
    """The request and its body in plain; both as they came where there is nothing to decode, or nothing that we can.

    Raises:
        Refused: the plain body is larger than ``most`` bytes.
    """
    if exchange.header(_ENCODING).strip().lower() not in _READ:
        return exchange, body
    decoder = zlib.decompressobj(wbits=_GZIP_OR_ZLIB)
    try:
        # one byte more than allowed shows that there is more, and nothing else is unpacked: a small body may unpack
        # to gigabytes
        plain = decoder.decompress(body, most + 1)
    except zlib.error:
        return exchange, body  # the provider says what is wrong with it
    if len(plain) > most:
        raise Refused(too_large(most))
    # cut off, or followed by more: servers read that in different ways, so it goes on untouched
    if not decoder.eof or decoder.unused_data:
        return exchange, body
    headers = tuple(header for header in exchange.headers if header[0] != _ENCODING)
    return replace(exchange, headers=headers), plain
