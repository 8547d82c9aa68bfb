"""Names of stores: the path of a file, or the URL of a database on a PostgreSQL server."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

from autocompact.errors import InvalidInput

IN_MEMORY = ":memory:"
"""What SQLite calls a database without a file."""

_SCHEMES = ("postgresql", "postgres")
# A path that went through `pathlib` has one slash left, and may stand behind the folder it was taken as relative to.
_SERVER = re.compile(r"(?:^|[/\\])postgres(?:ql)?(?:\+\w+)?:[/\\]", re.IGNORECASE)
# two letters at least: one is a drive
_OTHER = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """A database on a PostgreSQL server. Printed without its password and settings.

    Args:
        url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=require`` as libpq takes it (PostgreSQL manual, 34.1.1.2);
            what it leaves out comes from ``PGHOST``, ``PGUSER``, ``~/.pgpass`` and so on.

    Raises:
        InvalidInput: it is no such URL.
    """

    url: str = field(repr=False)

    def __post_init__(self) -> None:
        if self._parts is None:
            raise InvalidInput(
                "a store is named by the path of a file, or as postgresql://USER@HOST:PORT/DATABASE"
            )

    @property
    def _parts(self) -> SplitResult | None:
        try:
            parts = urlsplit(self.url)
            return parts if parts.scheme in _SCHEMES and parts.port != 0 and "://" in self.url else None
        except ValueError:  # the port is no number, a bracket is not closed
            return None

    def __str__(self) -> str:
        parts = self._parts
        assert parts is not None
        user = f"{parts.username}@" if parts.username else ""
        port = f":{parts.port}" if parts.port else ""
        return f"postgresql://{user}{parts.hostname or ''}{port}{parts.path}"

    def hidden(self, text: str) -> str:
        """``text`` without the password."""
        parts = self._parts
        if parts is None or not parts.password:
            return text
        return text.replace(unquote(parts.password), "…").replace(parts.password, "…")


StorePlace: TypeAlias = Path | ServerUrl
"""Where a store is."""


def store_place(name: str | PathLike[str]) -> StorePlace:
    """Parse the path of a file or the URL of a PostgreSQL server.

    Raises:
        InvalidInput: it looks like such a URL and is none.
    """
    return ServerUrl(name) if isinstance(name, str) and is_server_url(name) else Path(name)


def shown_place(name: str) -> str:
    """``name`` for people to read: of a server's URL what may be shown."""
    return str(ServerUrl(name)) if is_server_url(name) else name


def is_server_url(name: str) -> bool:
    """True if it begins like the URL of a PostgreSQL server, or like any other, which `ServerUrl` refuses."""
    return _SERVER.match(name) is not None or _OTHER.match(name) is not None


def name_of(place: StorePlace) -> str:
    """The name that `store_place` parses back; contains the password of a server."""
    return place.url if isinstance(place, ServerUrl) else str(place)


def is_there(place: StorePlace) -> bool:
    """True if the file exists; whether a server does is seen when it is asked.

    Raises:
        OSError: the file cannot be reached.
    """
    return isinstance(place, ServerUrl) or place.exists()


def check_file_name(path: str | PathLike[str]) -> None:
    """Refuse the URL of a server where a file is needed, before anything quotes its password as a path.

    Raises:
        InvalidInput: it is such a URL, which the message does not repeat.
    """
    if _SERVER.search(str(path)) or _OTHER.match(str(path)):
        raise InvalidInput(
            "what is needed here is a file, and what was given is the URL of a server: name a file, "
            "or open a PostgreSQL server by `PostgresStore`"
        )
