"""Todos in a table: Copilot CLI's agent writes ``todos`` by SQL, with an ``id``, a ``title`` and a ``status`` each.

Only what such agents write is read: rows inserted by value, statuses set for named ids (by ``CASE`` as well), rows deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from autocompact.core.patterns import LazyPattern

_IS_ABOUT = LazyPattern(r"\b(?:into|update|from)\s+todos\b", re.IGNORECASE)
_INSERTS = LazyPattern(r"\binto\s+todos\s*\((?P<columns>[\w\s,\"]{1,400})\)\s*values\s*(?=\()", re.IGNORECASE)
_TOKEN = LazyPattern(r"\s*(?:'(?P<text>(?:[^']|'')*+)'|(?P<plain>[\w.+-]+)|(?P<mark>[(),]))")
_UPDATES = LazyPattern(
    r"\bupdate\s+todos\s+set\s+(?P<set>(?:[^;']|'(?:[^']|'')*+')*?)(?:\bwhere\b(?P<where>(?:[^;']|'(?:[^']|'')*+')*+)|(?=;|\Z))",
    re.IGNORECASE,
)
_SETS = LazyPattern(r"\bstatus\s*=\s*'(?P<status>[^']{1,60})'", re.IGNORECASE)
_WHEN = LazyPattern(r"\bwhen\s+'(?P<id>[^']{1,200})'\s+then\s+'(?P<status>[^']{1,60})'", re.IGNORECASE)
_DELETES = LazyPattern(
    r"\bdelete\s+from\s+todos\s+where\b(?P<where>(?:[^;']|'(?:[^']|'')*+')*+)", re.IGNORECASE
)
_IDS = LazyPattern(
    r"\bid\s*(?:=\s*('[^']{1,200}')|in\s*\((\s*'[^']{1,200}'(?:\s*,\s*'[^']{1,200}')*)\s*\))", re.IGNORECASE
)
_NAME = LazyPattern(r"'([^']*)'")

LONGEST = 50_000
"""Characters of a statement that are read."""


class Row(NamedTuple):
    """What a statement says of one todo: its id, its title where it is new, and its status, "" where it says none."""

    id: str
    title: str
    status: str


def rows(statement: str) -> list[Row]:
    """What a SQL statement says of the table ``todos``, in order; a deleted one has the status "deleted"."""
    statement = statement[:LONGEST]
    if not _IS_ABOUT.search(statement):
        return []
    found: list[tuple[int, Row]] = []
    for insert in _INSERTS.finditer(statement):
        columns = [name.strip(' "\n\t').lower() for name in insert["columns"].split(",")]
        for values in _values(statement, insert.end()):
            row = dict(zip(columns, values, strict=False))
            if row.get("id"):
                found.append((insert.start(), _new(row)))
    for update in _UPDATES.finditer(statement):
        found += [(update.start(), row) for row in _updated(update)]
    for delete in _DELETES.finditer(statement):
        found += [(delete.start(), Row(id, "", "deleted")) for id in _ids(delete["where"])]
    return [row for _, row in sorted(found, key=lambda each: each[0])]


def _new(row: Mapping[str, str]) -> Row:
    title = row.get("title") or row.get("description") or row["id"]
    return Row(row["id"], title, row.get("status") or "pending")


def _values(statement: str, at: int) -> Iterator[list[str]]:
    """The rows of values that begin at ``at``; what is no plain value, a call say, ends them."""
    values: list[str] = []
    open = False
    while (token := _TOKEN.match(statement, at)) is not None:
        at = token.end()
        if token["mark"] is None:
            text = token["text"]
            values.append(token["plain"] if text is None else text.replace("''", "'"))
        elif token["mark"] == ")":
            yield values
            values, open = [], False
        elif token["mark"] == "(":
            if open:
                return
            open = True


def _updated(update: re.Match[str]) -> Iterator[Row]:
    if cases := [*_WHEN.finditer(update["set"])]:
        yield from (Row(case["id"], "", case["status"]) for case in cases)
    elif status := _SETS.search(update["set"]):
        yield from (Row(id, "", status["status"]) for id in _ids(update["where"] or ""))


def _ids(where: str) -> list[str]:
    return [name for found in _IDS.finditer(where) for name in _NAME.findall(found[1] or found[2])]
