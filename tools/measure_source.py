"""Measures how well a body of source can be lived in, by one yardstick for us and for others.

    python tools/measure_source.py src/autocompact FOLDER-OF-A-PACKAGE ...

Prints one row a folder. Everything is read from the syntax tree; nothing is imported. What is counted:

- circles: modules that import themselves by way of others, imports in functions and for type checkers included.
- owners: calls that hand ``self`` to the constructor of another class of the package, which then holds its owner.
- type checking: ``if TYPE_CHECKING:`` blocks.
- late: imports of the package itself within functions, of all and of those outside ``cli`` and ``__getattr__``.
- comments: lines with a comment that silences no checker, per 100 lines.
- long: functions over 50 lines, in per cent. short: files under 60 lines that hold code.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

LONG_FUNCTION, SHORT_FILE = 50, 60
COLUMNS = "package files lines circles owners type-checking late late-elsewhere comments long% short".split()

_SILENCER = re.compile(r"#\s*(?:noqa|type:|pyright:|pragma:|fmt:|ruff:|!)")
_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One file of a package, read and parsed."""

    name: str
    parent: str
    path: Path
    text: str
    tree: ast.Module


def modules(folder: Path) -> dict[str, Module]:
    """The modules of the package in ``folder``, by dotted name."""
    found: dict[str, Module] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        text = path.read_text("utf-8")
        parent = name if is_package else name.rpartition(".")[0]
        found[name] = Module(name=name, parent=parent, path=path, text=text, tree=ast.parse(text))
    return found


def imported(node: ast.AST, *, by: Module, known: Mapping[str, Module]) -> Iterator[str]:
    """The modules of the package that an import statement names."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names if alias.name in known)
        case ast.ImportFrom(module=module, names=names, level=level):
            above = by.parent.split(".")[: by.parent.count(".") + 2 - level] if level else []
            base = ".".join((*above, *filter(None, [module])))
            for alias in names:
                name = f"{base}.{alias.name}"
                if name in known or base in known:
                    yield name if name in known else base
        case _:
            pass


def circles(found: Mapping[str, Module]) -> int:
    """The number of largest sets of modules that each import, directly or not, all others of their set."""
    imports = {
        name: {to for node in ast.walk(module.tree) for to in imported(node, by=module, known=found)} - {name}
        for name, module in found.items()
    }

    def reached(start: str) -> set[str]:
        seen, left = set[str](), [start]
        while left:
            new = imports[left.pop()] - seen
            seen |= new
            left += new
        return seen

    reach = {name: reached(name) for name in found}
    return len(
        {frozenset(m for m in reach[name] if name in reach[m]) for name in found if name in reach[name]}
    )


def owners(found: Mapping[str, Module]) -> int:
    """The number of calls that hand a bare ``self`` to a class of the package."""
    classes = {
        node.name
        for module in found.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    }

    def hands_itself(node: ast.AST) -> bool:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in classes):
            return False
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        return any(isinstance(each, ast.Name) and each.id == "self" for each in given)

    return sum(hands_itself(node) for module in found.values() for node in ast.walk(module.tree))


def type_checking(tree: ast.AST) -> int:
    """The number of blocks that only a type checker reads."""
    return sum(
        isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        for node in ast.walk(tree)
    )


def late_imports(module: Module, *, known: Mapping[str, Module]) -> Iterator[str]:
    """The outermost function of every import of the package that stands within one."""
    functions = [node for node in ast.walk(module.tree) if isinstance(node, _DEFINITION)]
    seen = set[int]()
    for function in functions:
        for node in ast.walk(function):
            if id(node) not in seen and any(imported(node, by=module, known=known)):
                seen.add(id(node))
                yield function.name


def comments(text: str) -> int:
    """The number of comments that explain something."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(each.type == tokenize.COMMENT and not _SILENCER.match(each.string) for each in tokens)


def row(folder: Path) -> list[str]:
    """The figures of one package, in the order of `COLUMNS`."""
    found = modules(folder)
    lines = {name: module.text.count("\n") for name, module in found.items()}
    lengths = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for module in found.values()
        for node in ast.walk(module.tree)
        if isinstance(node, _DEFINITION)
    ]
    late = [(name, where) for name, module in found.items() for where in late_imports(module, known=found)]
    elsewhere = [name for name, where in late if ".cli" not in name and where != "__getattr__"]
    total = sum(lines.values())
    said = sum(comments(module.text) for module in found.values())
    short = sum(
        0 < lines[name] < SHORT_FILE and module.path.stem != "__init__" for name, module in found.items()
    )
    figures = (
        *(len(found), total, circles(found), owners(found)),
        *(sum(type_checking(module.tree) for module in found.values()), len(late), len(elsewhere)),
        *(
            f"{100 * said / max(1, total):.2f}",
            f"{100 * sum(each > LONG_FUNCTION for each in lengths) / max(1, len(lengths)):.1f}",
        ),
        short,
    )
    return [folder.name, *map(str, figures)]


def main(folders: list[str]) -> None:
    """Print a table of the packages in ``folders``."""
    rows = [COLUMNS, *(row(Path(folder).resolve()) for folder in folders)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)))  # noqa: T201 - this is the output


if __name__ == "__main__":
    main(sys.argv[1:])
