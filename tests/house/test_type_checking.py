"""Types are imported as everything else is; where that would cost every start, the module is listed here with its reason."""

from __future__ import annotations

import ast

from tests.house.source import parse, python_files

LAZY = {
    "src/autocompact/__init__.py": "its names are loaded when they are asked for",
    "src/autocompact/gateway/tracing.py": "OpenTelemetry is an extra",
    "src/autocompact/history/__init__.py": "its names are loaded when they are asked for",
    "src/autocompact/memory/documents/outline.py": "markdown-it takes 80 ms, and most documents need none",
    "src/autocompact/models/http.py": "aiohttp takes a quarter of a second, and offline nobody asks a model",
    "src/autocompact/sessions/__init__.py": "its names are loaded when they are asked for",
    "src/autocompact/testing/__init__.py": "its names are loaded when they are asked for",
    "src/autocompact/ui/terminal/keyboard.py": "prompt_toolkit takes a third of a second, and a pipe needs no keys",
}


def test_only_what_is_slow_or_optional_is_imported_for_the_type_checker_alone() -> None:
    found = {
        path.as_posix()
        for path in python_files("src")
        for node in ast.walk(parse(path))
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    }
    assert found == LAZY.keys()
