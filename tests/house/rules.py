"""The house rules that no linter has, as functions from source to what is wrong with it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.house.source import Function, comments, functions

FUNCTION_LINES = 50
FILE_LINES = 800
POSITIONAL = 2

_SILENCED = re.compile(r"#\s*(?:noqa\b|type:\s*ignore|pyright:\s*ignore|pragma:\s*no)")
_EXPLAINED = re.compile(
    r"#\s*(?:noqa: [A-Z]+\d+(?:, ?[A-Z]+\d+)*"
    r"|(?:type|pyright): ?ignore\[\w[\w, -]*\]"
    r"|pragma: no (?:cover|branch)) - \w+\W+\w+"
)
_WHOLE_FILE = re.compile(r"#\s*(?:ruff:\s*noqa|flake8:\s*noqa|mypy:|pyright:\s*(?!ignore)\w)")

# Spelled in pieces, so that this file does not hold what it looks for.
_MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|root|tmp/" + "brief)(?:/|\\b)")


def oversized(tree: ast.AST) -> dict[str, int]:
    """Length in lines, from ``def`` on, of every function that is too long."""
    lengths = {name: (node.end_lineno or node.lineno) - node.lineno + 1 for name, node in functions(tree)}
    return {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES}


def too_positional(tree: ast.AST) -> dict[str, int]:
    """Number of positional parameters, besides ``self`` or ``cls``, of every function that takes too many."""
    counts = {name: _positional(node) for name, node in functions(tree)}
    return {name: count for name, count in counts.items() if count > POSITIONAL}


def _positional(function: Function) -> int:
    names = [argument.arg for argument in function.args.posonlyargs + function.args.args]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def patching(tree: ast.AST) -> Iterator[int]:
    """Lines that replace a real part by a fake one behind its back, or wait for a clock."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) if any("mock" in alias.name.split(".") for alias in names):
                yield node.lineno
            case ast.ImportFrom(module=module, names=names) if "mock" in (
                *(module or "").split("."),
                *(alias.name for alias in names),
            ):
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr="setattr" | "delattr")):
                yield node.lineno
            case ast.arg(arg="mocker"):
                yield node.lineno
            case _:
                pass


def sleeping(tree: ast.AST) -> Iterator[int]:
    """Lines that wait for a time instead of for an event; ``sleep(0)`` only yields."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="sleep") | ast.Name(id="sleep"), args=arguments):
                if not (
                    len(arguments) == 1 and isinstance(arguments[0], ast.Constant) and arguments[0].value == 0
                ):
                    yield node.lineno
            case _:
                pass


def unexplained(text: str) -> Iterator[int]:
    """Lines that silence a checker without naming the rule and, after `` - ``, the reason."""
    if not (_WHOLE_FILE.search(text) or _SILENCED.search(text)):
        return  # as nearly all: no need to tell comments from strings
    for line, comment in comments(text):
        if _WHOLE_FILE.search(comment) or (_SILENCED.search(comment) and not _EXPLAINED.search(comment)):
            yield line


def machine_paths(text: str) -> Iterator[int]:
    """Lines with an absolute path of the machine the project was written on."""
    for number, line in enumerate(text.splitlines(), start=1):
        if _MACHINE_PATH.search(line):
            yield number


def environment_reads(tree: ast.Module) -> Iterator[int]:
    """Lines that look at the environment while the module is being imported."""
    for node in _run_at_import(tree):
        match node:
            case ast.Attribute(attr="environ" | "environb" | "getenv") | ast.Name(id="environ" | "getenv"):
                yield node.lineno
            case _:
                pass


def _run_at_import(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for early in (
                    *node.decorator_list,
                    *node.args.defaults,
                    *filter(None, node.args.kw_defaults),
                ):
                    yield from (early, *ast.walk(early))
            case ast.Lambda():
                pass
            case _:
                yield node
                yield from _run_at_import(node)


def marked_requirements(tree: ast.AST) -> Iterator[str]:
    """The ids named by ``requirement(...)`` marks.

    Raises:
        ValueError: a mark names something that is not a plain string.
    """
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "requirement"
        ):
            for argument in node.args:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise ValueError(f"line {node.lineno}: a requirement mark takes plain strings")
                yield argument.value
