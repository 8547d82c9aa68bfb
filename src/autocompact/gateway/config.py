"""What a gateway is told once, when it starts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Literal, Self, TypeAlias
from urllib.parse import urlsplit

from autocompact.compaction.modes import DEFAULT, Mode
from autocompact.core.figures import check_whole, check_windows
from autocompact.core.prices import Price, cache_rates
from autocompact.errors import InvalidInput

Provider: TypeAlias = Literal["openai", "anthropic"]

PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic")

LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})

_LEAST_KEY = 16
_OF_NOTHING = sha256(b"").hexdigest()
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a client may ask for.

    Attributes:
        body_bytes: of a request for an answer of a model.
        messages: in one request.
        concurrent: requests at the same time, all clients together.
        conversations: that are held in memory; the others are in the store, and found again.
        connections: that are open.
        head_bytes: of a request's line and headers.
        headers: of a request.
        head_seconds: from the first byte of a request's head to its last.
        body_seconds: after each of these spans a body must have come at ``body_rate``.
        body_rate: bytes a second.
        idle_seconds: until a connection without a request is closed.
        send_seconds: after which a client that takes nothing of what waits for it is given up.
        drain_seconds: for which what runs goes on once the gateway is told to stop; then it is cut.
    """

    body_bytes: int = 64_000_000
    messages: int = 100_000
    concurrent: int = 512
    conversations: int = 256
    connections: int = 2_048
    head_bytes: int = 65_536
    headers: int = 128
    head_seconds: float = 20.0
    body_seconds: float = 20.0
    body_rate: int = 500
    idle_seconds: float = 75.0
    send_seconds: float = 60.0
    drain_seconds: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessToken:
    """A credential of the gateway's own. Each is a namespace; the token itself is not held, only its digest.

    Attributes:
        digest: SHA-256 of the token, in hexadecimal digits.
        name: whose it is, for the operator; clients never see it.
        expire_after_days: of this namespace; None is as the gateway's, 0 is never.

    Raises:
        InvalidInput: no such digest, that of an empty token, or fewer than 0 days.
    """

    digest: str = field(repr=False)
    name: str = ""
    expire_after_days: int | None = None

    def __post_init__(self) -> None:
        if not _DIGEST.fullmatch(self.digest):
            raise InvalidInput(
                f"the access token {self.name!r} is no SHA-256: 64 hexadecimal digits in lower case"
            )
        if self.digest == _OF_NOTHING:
            raise InvalidInput(
                f"the access token {self.name!r} is the SHA-256 of an empty text, which every client without a token would have"
            )
        _check_days(self.expire_after_days)

    @classmethod
    def of(cls, token: str, *, name: str = "", expire_after_days: int | None = None) -> Self:
        """The access token that clients send as ``token``.

        Raises:
            InvalidInput: it is empty.
        """
        if not token:
            raise InvalidInput(f"the access token {name!r} is empty")
        return cls(digest=sha256(token.encode()).hexdigest(), name=name, expire_after_days=expire_after_days)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How a gateway runs.

    Attributes:
        upstreams: base address of each provider, without ``/v1``. Requests go nowhere else.
        namespace_key: secret with which clients' credentials are hashed into namespaces, at least 16 bytes.
        window: tokens of the models' window; None looks each model up.
        windows: windows of models by the beginning of their names; they go before the table of known models.
        ctok: count the tokens of Claude's models with ctok (`autocompact.models.reconstructed`).
        mode: when and how to compact. The summary stands in a user message whatever it says.
        unpriced_mode: the same for models whose provider's prompt cache has no known prices; None is ``mode``.
        fail_closed: refuse a request that could not be compacted, instead of forwarding it as it came.
        keep_from: bytes per token of the threshold from which a conversation is kept. No text has more tokens than
            bytes, so with 1.0 a smaller request cannot reach the threshold; with 0 every conversation is kept.
        memory_tools: let the models search what left their contexts (`autocompact.gateway.memory_tools`); nothing comes
            of it with a store that keeps no search index.
        memory_tools_off: beginnings of models' names, and of clients' ``User-Agent``, for which they stay out.
        check_provider_compaction: keep conversations that their provider compacts, and put beside its summaries what they
            lack (`autocompact.gateway.provider_checks`).
        database: path of the file in which the store keeps conversations, which a model without the memory tools is
            told if its client runs on this machine; "" if there is none.
        hosts: host names by which a client may address the gateway, without ports (DNS rebinding); "*" is any.
        upstream_keys: key of each provider, which then replaces the credential that the client sends.
        access_tokens: credentials that clients must have where there are ``upstream_keys``.
        access_keys: clients must have a key of the store's (`autocompact.stores.access`), or one of these tokens.
        prices: of models by the beginning of their names; they go before the table of list prices. For budgets in money.
        expire_after_days: conversations that were not updated for so long are removed; None and 0 are never.
        limits: what a client may ask for.

    Raises:
        InvalidInput: an address, a key, a token or a number of days that cannot be used.
    """

    upstreams: Mapping[Provider, str]
    namespace_key: bytes = field(repr=False)
    window: int | None = None
    windows: Mapping[str, int] = field(default_factory=dict[str, int])
    ctok: bool = False
    mode: Mode = DEFAULT
    unpriced_mode: Mode | None = None
    fail_closed: bool = False
    keep_from: float = 1.0
    memory_tools: bool = True
    memory_tools_off: tuple[str, ...] = ()
    check_provider_compaction: bool = False
    database: str = ""
    hosts: frozenset[str] = LOCAL_HOSTS
    upstream_keys: Mapping[Provider, str] = field(default_factory=dict[Provider, str], repr=False)
    access_tokens: tuple[AccessToken, ...] = field(default=(), repr=False)
    access_keys: bool = False
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    expire_after_days: int | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for name, address in self.upstreams.items():
            _check_address(name, address)
        if len(self.namespace_key) < _LEAST_KEY:
            raise InvalidInput(
                f"the namespace key has {len(self.namespace_key)} bytes, at least 16 are needed"
            )
        if bool(self.upstream_keys) != self.is_closed:
            raise InvalidInput(
                "upstream keys and access tokens or keys belong together: with a key of yours, say which clients may use it"
            )
        _check_days(self.expire_after_days)
        check_windows(self.windows)
        if self.window is not None:
            check_whole(self.window, name="window", least=1)

    def mode_for(self, model: str) -> Mode:
        """When and how to compact the conversations of a model."""
        unpriced = self.unpriced_mode if cache_rates(model) is None else None
        return replace(unpriced or self.mode, placement="user")

    def offers_memory(self, *, model: str, client: str) -> bool:
        """Whether a model may get the memory tools when this program asks it, by its ``User-Agent``."""
        off = tuple(name.lower() for name in self.memory_tools_off if name)
        return self.memory_tools and not any(each.lower().startswith(off) for each in (model, client))

    @property
    def is_closed(self) -> bool:
        """True if clients need a credential of the gateway's own."""
        return self.access_keys or bool(self.access_tokens)

    @property
    def is_local(self) -> bool:
        """Whether clients run on this machine: no other host name leads here."""
        return self.hosts <= LOCAL_HOSTS | {"::1"}


def parse_upstreams(text: str) -> dict[Provider, str]:
    """The upstreams of ``openai=https://…,anthropic=https://…``.

    Raises:
        InvalidInput: it is not written like that.
    """
    found: dict[Provider, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, equals, address = item.partition("=")
        if not equals or name not in PROVIDERS:
            raise InvalidInput(f"{item!r} is no upstream: write openai=https://… or anthropic=https://…")
        address = address.rstrip("/")
        _check_address(name, address)
        found[name] = address
    if not found:
        raise InvalidInput("no upstream is given: write openai=https://…,anthropic=https://…")
    return found


def _check_address(name: str, address: str) -> None:
    problem = InvalidInput(f"the address of {name} is {address!r}, it must be http(s)://host[:port][/path]")
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a bracket is not closed, or the port is no number
        raise problem from None
    if not usable or parts.query or parts.fragment:
        raise problem
    if parts.username is not None:
        raise InvalidInput(f"the address of {name} holds a password: keys are given apart")
    if parts.path.rstrip("/").endswith("/v1"):
        raise InvalidInput(f"the address of {name} is {address!r}: leave out /v1, the requests bring it")


def _check_days(days: int | None) -> None:
    if days is not None and days < 0:
        raise InvalidInput(f"conversations cannot expire after {days} days: write 1 or more, or 0 for never")
