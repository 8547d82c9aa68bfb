"""No module of these packages imports itself in a circle; imports for types only count, and those in functions too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.house.source import ROOT

SOURCE = ROOT / "src"


def _modules(folder: Path) -> dict[str, Path]:
    """Every module below ``folder`` by its dotted name."""
    names = (path.relative_to(SOURCE).with_suffix("").parts for path in sorted(folder.rglob("*.py")))
    return {
        ".".join(parts[:-1] if parts[-1] == "__init__" else parts): SOURCE.joinpath(*parts).with_suffix(".py")
        for parts in names
    }


def _imports(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for name in (f"{node.module}.{alias.name}" for alias in node.names):
                yield name if name in modules else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def circle(folder: Path) -> list[str]:
    """The modules of a circle below ``folder``, the first one again at the end; [] if there is none."""
    modules = _modules(folder)
    graph = {name: {*_imports(path, modules)} & modules.keys() - {name} for name, path in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("package", ["chat", "web"])
def test_no_module_imports_itself_in_a_circle(package: str) -> None:
    assert circle(SOURCE / "autocompact" / package) == []
