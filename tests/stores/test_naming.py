"""The URL of a server is no file; what only looks a little like one is."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocompact.errors import InvalidInput
from autocompact.stores.naming import check_file_name, store_place
from autocompact.stores.sqlite import SqliteStore


@pytest.mark.parametrize(
    "name",
    [
        "postgresql://me:geheim@host/chats",
        "POSTGRES://me:geheim@host/chats",
        "postgresql+psycopg://me:geheim@host/chats",
        "mysql://me:geheim@host/chats",
        Path("postgresql://me:geheim@host/chats"),
        Path("/home/me") / "postgresql://me:geheim@host/chats",
    ],
)
def test_the_url_of_a_server_is_refused_without_its_password(name: str | Path) -> None:
    with pytest.raises(InvalidInput, match="URL of a server: name a file") as raised:
        SqliteStore(name)
    assert "geheim" not in str(raised.value)


@pytest.mark.parametrize(
    "name",
    ["chats.db", "postgresql.db", "postgres/chats.db", "my-postgresql:/chats.db", "C://chats.db", "a:b.db"],
)
def test_a_file_may_be_called_like_a_server(name: str) -> None:
    check_file_name(name)
    check_file_name(Path(name))


@pytest.mark.parametrize(
    "name",
    ["mysql://me:geheim@host/chats", "sqlite:///chats.db", "postgresql+psycopg://me:geheim@host/chats"],
)
def test_a_url_of_anything_else_is_no_store_and_not_the_path_of_one(name: str) -> None:
    """The folder ``mysql:/me:geheim@host`` was said to be missing."""
    with pytest.raises(InvalidInput, match="the path of a file, or as postgresql://") as raised:
        store_place(name)
    assert "geheim" not in str(raised.value)
