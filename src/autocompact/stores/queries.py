"""SQL from files: named queries, migrations, the schema they amount to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def queries(dialect: str, file: str = "queries.sql") -> Mapping[str, str]:
    """The queries of a file by the name in the ``-- name:`` line before each."""
    _, *parts = _NAME.split(_folder(dialect).joinpath(file).read_text("utf-8"))
    return MappingProxyType(
        {name: sql.strip().rstrip(";") for name, sql in zip(parts[::2], parts[1::2], strict=True)}
    )


@cache
def migrations(dialect: str) -> tuple[str, ...]:
    """The scripts in order; a database that has run the first n of them has schema version n.

    Raises:
        ValueError: a number is missing or comes twice.
    """
    scripts = _scripts(dialect)
    if [script.name[:4] for script in scripts] != [f"{n:04}" for n in range(1, len(scripts) + 1)]:
        raise ValueError(f"migrations are numbered without gaps: {[script.name for script in scripts]}")
    return tuple(script.read_text("utf-8") for script in scripts)


@cache
def post_migrations(dialect: str) -> Set[int]:
    """Numbers, from 1, of the migrations that end older programs (``…_post.sql``); none of the others needs one of them."""
    return {number for number, script in enumerate(_scripts(dialect), 1) if script.name.endswith("_post.sql")}


def _scripts(dialect: str) -> list[Traversable]:
    folder = _folder(dialect).joinpath("migrations")
    return sorted(
        (item for item in folder.iterdir() if item.name.endswith(".sql")), key=lambda item: item.name
    )


def schema(dialect: str) -> str:
    """Return the schema after all migrations."""
    return _folder(dialect).joinpath("schema.sql").read_text("utf-8")


def _folder(dialect: str) -> Traversable:
    return files("autocompact.stores").joinpath("sql", dialect)
