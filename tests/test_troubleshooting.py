"""Every message that the page on trouble explains is one that the program has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.source import parse, python_files, read

PAGE = Path("docs/guides/troubleshooting.md")
_HEADING = re.compile(r"^### `(.+)`$", re.MULTILINE)


def texts() -> Iterator[str]:
    """The texts of the program, an f-string with a hole for each value."""
    for path in python_files("src"):
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.JoinedStr):
                yield "".join(
                    str(each.value) if isinstance(each, ast.Constant) else "\0" for each in node.values
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def unknown(page: str, said: list[str]) -> list[str]:
    """The messages of a page that no text of the program holds; … stands for anything."""
    headings: list[str] = _HEADING.findall(page)
    patterns = {heading: ".*".join(map(re.escape, re.split(r" *… *", heading))) for heading in headings}
    return [
        heading
        for heading, pattern in patterns.items()
        if not any(re.search(pattern, text, re.DOTALL) for text in said)
    ]


def test_every_message_that_is_explained_is_in_the_code() -> None:
    page = read(PAGE)
    assert len(_HEADING.findall(page)) >= 20
    assert unknown(page, list(texts())) == []


def test_a_message_that_is_not_in_the_code_is_found() -> None:
    page = "### `the file … is wet`\n\n### `no such …`\n"
    assert unknown(page, ["the file \0 is wet: dry it"]) == ["no such …"]
