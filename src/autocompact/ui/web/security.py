"""Access control of the page: only browsers that show the page itself may talk to it.

A server on this computer is within reach of every page that a browser here shows. So

- the ``Host`` must be a name of this computer: a foreign name that was made to point here (DNS rebinding) is refused;
- a request that another origin makes (``Origin``, ``Sec-Fetch-Site``) is refused, also the handshake of a websocket;
  the only thing that works from elsewhere is a link to the page;
- what reads or changes conversations needs the cookie that comes with the page: ``HttpOnly``, ``SameSite=Strict``;
- where a key is asked for, the page itself, and with it the cookie, is only had with that key: every user of this
  computer can ask the server for a page, but only its owner reads the address that it prints;
- the page may load nothing from elsewhere, nor be framed (Content-Security-Policy). Scripts need a nonce that is new
  with each page, so that one that got into it would not run;
- the frame that draws diagrams is sandboxed, and has no origin. Its files are open to whoever knows the name of their folder.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
_OPEN = re.compile(r"/(?:c/.*)?|/favicon\.ico|/page/.*|/_nicegui/.*", re.DOTALL)
"""Paths that need no cookie: the page itself, and static files."""
_ALIVE = "/alive"
"""Path that is answered at once: the page asks it to see that the server does."""
_PAGE = re.compile(r"/(?:c/.*)?", re.DOTALL)

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_FRAME_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"referrer-policy", b"no-referrer"),
    (b"access-control-allow-origin", b"*"),
)


class Guard:
    """Lets through to ``app`` what the page itself asks for.

    Args:
        app: the page.
        token: what the cookie says; the same after a restart, so that open pages go on.
        hosts: further names of this computer, ``*`` for any.
        key: what the address of the page has to say as ``key`` where there is no cookie yet; "" if nothing.
        frame: path of the folder of the sandboxed frame's files (`autocompact.ui.web.diagrams.frame_folder`).
    """

    def __init__(
        self, app: App, *, token: str, frame: str, hosts: frozenset[str] = frozenset(), key: str = ""
    ) -> None:
        self._app = app
        self._token = token
        self._key = key
        self._frame = frame
        self._hosts = LOCAL_HOSTS | hosts

    async def __call__(self, scope: Scope, *channels: Any) -> None:
        """ASGI; ``channels`` are its ``receive`` and ``send``."""
        receive: Receive
        send: Send
        receive, send = channels
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        why = self._refusal(scope, headers)
        if why:
            await _refuse(scope, send, why=why)
            return
        if scope["type"] == "http" and scope["path"] == _ALIVE:
            await send({"type": "http.response.start", "status": 204, "headers": _HEADERS})
            await send({"type": "http.response.body"})
            return
        await self._app(scope, receive, self._sending(scope, send, headers=headers))

    def _sending(self, scope: Scope, send: Send, *, headers: dict[str, str]) -> Send:
        if scope["type"] != "http":
            return send
        if self._in_frame(scope):
            return _framed(send, host=headers.get("host", ""), folder=self._frame)
        return _Page(send, host=headers.get("host", ""), cookie=_cookie(headers, self._token)).send

    def _in_frame(self, scope: Scope) -> bool:
        return scope["type"] == "http" and scope["method"] == "GET" and scope["path"].startswith(self._frame)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> str:
        """The reason to refuse a request; "" if there is none."""
        host = headers.get("host", "")
        if _name(host) not in self._hosts and "*" not in self._hosts:
            return f"this computer is not called {_name(host)!r}: allow it with --allow-host"
        if self._in_frame(scope):
            return ""
        origin = headers.get("origin")
        if origin is not None and not _is_from(host, origin):
            return "a page of another origin may not ask this"
        arriving = scope["type"] == "http" and scope["method"] == "GET" and _OPEN.fullmatch(scope["path"])
        site = headers.get("sec-fetch-site", "none")
        visiting = arriving and headers.get("sec-fetch-mode") == "navigate"
        if site not in ("same-origin", "none") and not (
            visiting and headers.get("sec-fetch-dest") == "document"
        ):
            return "a page of another origin may not ask this"
        if hmac.compare_digest(_given(headers), self._token.encode()):
            return ""
        if not arriving:
            return "open the page first: it brings the cookie that this needs"
        if self._key and _PAGE.fullmatch(scope["path"]) and not self._has_key(scope):
            return "this page asks for its key: open the address that the server printed when it started"
        return ""

    def _has_key(self, scope: Scope) -> bool:
        # as text of one byte a character: given bytes, parse_qs refuses those that are no ASCII with an error
        given = parse_qs(scope["query_string"].decode("latin-1"), encoding="latin-1").get("key", [""])
        return hmac.compare_digest(given[0].encode("latin-1"), self._key.encode())


class _Page:
    """Passes a response on; a page gets its policy, its nonces and the cookie."""

    def __init__(self, send: Send, *, host: str, cookie: bytes) -> None:
        self._send = send
        self._host = host
        self._cookie = cookie
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message["headers"], *_HEADERS]
            if not any(name == b"content-type" and value.startswith(b"text/html") for name, value in headers):
                await self._send({**message, "headers": headers})
                return
            self._start = {**message, "headers": headers}
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body"):
                await self._finish(self._start)

    async def _finish(self, start: Message) -> None:
        nonce = secrets.token_urlsafe(16)
        # what a page shows is in it as JSON without a "<", so every "<script" is one that belongs to it
        body = self._body.replace(b"<script", f'<script nonce="{nonce}"'.encode())
        headers = [(name, value) for name, value in start["headers"] if name != b"content-length"]
        headers += [
            (b"content-length", str(len(body)).encode()),
            (b"content-security-policy", _policy(nonce, self._host).encode("latin-1")),
            (b"set-cookie", self._cookie),
        ]
        await self._send({**start, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})


def _framed(send: Send, *, host: str, folder: str) -> Send:
    """Passes a file of the sandboxed frame on, with a policy of its own.

    Its files are named by their address: what has no origin has no 'self' in WebKit.
    """
    scripts = " ".join(f"{scheme}://{host}{folder}" for scheme in ("http", "https"))
    policy = (
        f"sandbox allow-scripts; default-src 'none'; script-src 'self' {scripts}; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ).encode("latin-1")

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {
                **message,
                "headers": [*message["headers"], *_FRAME_HEADERS, (b"content-security-policy", policy)],
            }
        await send(message)

    return sent


def _policy(nonce: str, host: str) -> str:
    """The content security policy.

    Without 'unsafe-eval' the page stays empty (tried with NiceGUI 3.18). NiceGUI compiles text in the browser in three places:
    templates of its components (``new Function`` in Vue, already for `ui.html`), handlers of events (``js_handler``), and
    what the server calls (``run_javascript``). All three come from this server. What an attacker needs to get there, a
    script or an inline handler in the page, the nonce refuses.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'nonce-{nonce}' 'unsafe-eval'",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data:",
            "font-src 'self'",
            f"connect-src 'self' ws://{host} wss://{host}",
            "frame-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def _cookie_name(host: str) -> str:
    """Name of the cookie, one per port: browsers send a cookie to all ports of a host."""
    port = host.rpartition(":")[2]
    return f"autocompact_{port if port.isdigit() else 'page'}"


def _cookie(headers: dict[str, str], token: str) -> bytes:
    name = _cookie_name(headers.get("host", ""))
    return f"{name}={token}; Path=/; HttpOnly; SameSite=Strict".encode()


def _given(headers: dict[str, str]) -> bytes:
    """The value of the request's cookie."""
    wanted = _cookie_name(headers.get("host", ""))
    for pair in headers.get("cookie", "").split(";"):
        name, _, value = pair.strip().partition("=")
        if name == wanted:
            return value.encode()
    return b""


def _is_from(host: str, origin: str) -> bool:
    try:
        return urlsplit(origin).netloc == host
    except ValueError:  # "http://[": no browser sends it
        return False


def _name(host: str) -> str:
    """A ``Host`` header without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


async def _refuse(scope: Scope, send: Send, *, why: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": why[:120]})
        return
    body = why.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        *_HEADERS,
    ]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})
