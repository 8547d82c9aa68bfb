"""No module imports itself by way of others, also where only a type checker would follow the imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.house.source import parse, python_files


def _imported(tree: ast.Module, modules: Mapping[str, object]) -> Iterator[str]:
    """The modules, of those given, that a module imports at its head, in a function or for a type checker."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names if alias.name in modules)
            case ast.ImportFrom(module=str(module), names=names):
                for alias in names:
                    name = f"{module}.{alias.name}"
                    yield name if name in modules else module
            case _:
                pass


def _circles(modules: Mapping[str, ast.Module]) -> list[set[str]]:
    """The largest sets of modules that each import, directly or not, all others of their set; sorted."""
    imports = {
        name: set(_imported(tree, modules)) & modules.keys() - {name} for name, tree in modules.items()
    }

    def reached(start: str) -> set[str]:
        found, left = set[str](), [start]
        while left:
            new = imports[left.pop()] - found
            found |= new
            left += new
        return found

    reach = {name: reached(name) for name in modules}
    circles = {
        frozenset(m for m in reach[name] if name in reach[m]) for name in modules if name in reach[name]
    }
    return sorted(map(set, circles), key=sorted)


def _name(path: Path) -> str:
    parts = path.relative_to("src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_module_imports_itself_by_way_of_others() -> None:
    found = _circles({_name(path): parse(path) for path in python_files("src")})
    assert found == []


def test_a_circle_is_found_through_a_function_and_through_type_checking() -> None:
    sources = {
        "app.a": "from app import b",
        "app.b": "def late():\n    import app.c",
        "app.c": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from app.a import A",
        "app.d": "from app.a import A\nimport json",
        "app": "",
    }
    found = _circles({name: ast.parse(source) for name, source in sources.items()})
    assert found == [{"app.a", "app.b", "app.c"}]
