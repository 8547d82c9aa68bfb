"""The repository's own files, as the house rules look at them."""

from __future__ import annotations

import ast
import gc
import io
import tokenize
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def repository_files() -> tuple[Path, ...]:
    """Files that git does not ignore, as paths relative to the root; git itself need not be there."""
    ignored = [line.rstrip("/") for line in read(Path(".gitignore")).splitlines() if line] + [".git"]

    def kept(path: Path) -> bool:
        return not any(fnmatch(path.name, each) or fnmatch(path.as_posix(), each) for each in ignored)

    found: list[Path] = []
    folders = [Path()]
    while folders:
        for entry in sorted((ROOT / folders.pop()).iterdir()):
            if kept(path := entry.relative_to(ROOT)):
                (folders if entry.is_dir() else found).append(path)
    return tuple(found)


def python_files(*folders: str) -> list[Path]:
    """The Python files, or those below ``folders`` only."""
    return [
        path
        for path in repository_files()
        if path.suffix == ".py" and (not folders or path.parts[0] in folders)
    ]


def read(path: Path) -> str:
    """The text of a file of the repository."""
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def parse(path: Path) -> ast.Module:
    """The syntax tree of a file of the repository."""
    tree = ast.parse(read(path), filename=str(path))
    gc.freeze()  # all the trees are kept: to look through them for garbage takes as long as parsing
    return tree


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Every function and method with its qualified name, nested ones included."""
    for node in filter(_may_hold_statements, ast.iter_child_nodes(tree)):
        name = prefix
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{node.name}."
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield name[:-1], node
        yield from functions(node, name)


def _may_hold_statements(node: ast.AST) -> bool:
    return not isinstance(node, ast.expr)


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Line number and text of every comment."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
