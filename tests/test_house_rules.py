"""The house rules hold for every file, and each rule does find what it is there to find."""

from __future__ import annotations

import ast
import asyncio
import pydoc
import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import autocompact
from autocompact import Compactor, MemoryStore
from tests.house import rules
from tests.house.source import ROOT, parse, python_files, read, repository_files

# What is larger than the house allows, with its present size. The list may only shrink: an entry that grows, or
# that could be lowered or dropped, fails the test.
EXCEPTIONS = {
    "src/autocompact/core/messages.py::text_message positional": 3,
}

# The public names of the package, and of a conversation: a change here is a change of the public interface
# (docs/reference/stability.md).
PUBLIC_NAMES: list[str] = [
    "Anthropic",
    "AutocompactError",
    "BreakerOpened",
    "Compaction",
    "CompactionCompleted",
    "CompactionDiscarded",
    "CompactionPrepared",
    "CompactionResult",
    "CompactionRunning",
    "CompactionStarted",
    "CompactionUndone",
    "Compactor",
    "Comparison",
    "Context",
    "Conversation",
    "FunctionModel",
    "IncompressibleContext",
    "InvalidInput",
    "MODES",
    "MemoryStore",
    "Message",
    "Mode",
    "ModelError",
    "ModelOverflow",
    "ModelReply",
    "OpenAICompatible",
    "Policy",
    "Reading",
    "Receipt",
    "Session",
    "SqliteStore",
    "StoreError",
    "Text",
    "ToolCall",
    "ToolResult",
    "UnreadableSession",
    "Usage",
    "compare_policies",
    "read_session",
]
MOST_PUBLIC_NAMES = 40

METHODS: list[str] = [
    "add",
    "append",
    "attempt",
    "compact",
    "context",
    "extend",
    "follow",
    "fork",
    "heard",
    "history",
    "internals",
    "messages",
    "ready",
    "records",
    "report",
    "say",
    "should_compact",
    "usage",
]
MOST_METHODS = 18


def _found(check: Callable[[ast.Module], Iterable[int]], paths: Iterable[Path]) -> list[str]:
    return [f"{path}:{line}" for path in paths for line in check(parse(path))]


def test_nothing_is_larger_than_the_house_allows_and_the_exceptions_only_shrink() -> None:
    found: dict[str, int] = {}
    for path in python_files():
        found |= {f"{path}::{name} lines": lines for name, lines in rules.oversized(parse(path)).items()}
    for path in python_files("src", "benchmarks", "examples"):
        found |= {f"{path}::{name} positional": n for name, n in rules.too_positional(parse(path)).items()}
        if (lines := read(path).count("\n")) > rules.FILE_LINES:
            found[f"{path} lines"] = lines
    assert found == EXCEPTIONS


def test_no_test_patches_or_mocks() -> None:
    assert _found(rules.patching, python_files("tests")) == []


def test_no_test_sleeps() -> None:
    assert _found(rules.sleeping, python_files("tests")) == []


def test_every_silenced_check_names_its_rule_and_a_reason() -> None:
    assert [f"{path}:{line}" for path in python_files() for line in rules.unexplained(read(path))] == []


def test_no_file_names_a_path_of_one_machine() -> None:
    texts = {path: (ROOT / path).read_bytes().decode("utf-8", "replace") for path in repository_files()}
    assert [f"{path}:{line}" for path, text in texts.items() for line in rules.machine_paths(text)] == []
    assert [str(path) for path, text in texts.items() if f"{ROOT}/" in text] == []


def test_no_module_reads_the_environment_on_import() -> None:
    assert _found(rules.environment_reads, python_files("src")) == []


def test_the_package_has_these_public_names_and_shows_no_others() -> None:
    names: list[str] = list(getattr(autocompact, "__all__", ()))
    assert sorted(names) == PUBLIC_NAMES
    assert len(names) <= MOST_PUBLIC_NAMES
    assert [name for name in dir(autocompact) if not name.startswith("__")] == PUBLIC_NAMES
    shown = pydoc.plain(pydoc.render_doc(autocompact))
    assert [name for name in names if not re.search(rf"\b(class )?{name}\b", shown)] == []
    assert "class Conversation(builtins.object)" in shown


def test_each_public_name_says_what_it_is_in_its_docstring_and_in_that_of_the_package() -> None:
    listed = set(re.findall(r"\w+", autocompact.__doc__ or ""))
    assert [name for name in PUBLIC_NAMES if name not in listed] == []
    values = {name: getattr(autocompact, name) for name in PUBLIC_NAMES if name != "MODES"}
    assert [name for name, value in values.items() if not value.__doc__] == []


def test_a_conversation_shows_these_names_and_no_others() -> None:
    async def shown() -> list[str]:
        async with Compactor(MemoryStore()) as compactor:
            return [name for name in dir(await compactor.open("trip")) if not name.startswith("_")]

    names = asyncio.run(shown())
    assert names == METHODS
    assert len(names) <= MOST_METHODS


def test_each_extra_is_named_by_the_import_error_of_its_part() -> None:
    extras = tomllib.loads(read(Path("pyproject.toml")))["project"].get("optional-dependencies", {})
    sources = [
        text for path in python_files("src") if re.search(r"(Import|ModuleNotFound)Error", text := read(path))
    ]
    named = [
        name
        for text in sources
        for names in re.findall(r"install_command\(['\"]([\w,-]+)", text)
        for name in names.split(",")
    ]
    assert [extra for extra in extras if extra not in named] == []


def test_the_readme_stays_short() -> None:
    assert read(Path("README.md")).count("\n") <= 150


def test_each_changelog_fragment_has_a_known_kind_and_a_text() -> None:
    name = re.compile(r"\+[a-z0-9-]+\.(added|changed|fixed|removed|security)\.md")
    fragments = [
        path for path in repository_files() if path.parts[0] == "changelog.d" and path.name != "README.md"
    ]
    assert [str(path) for path in fragments if not (name.fullmatch(path.name) and read(path).strip())] == []


@pytest.mark.parametrize(
    "source",
    [
        "import unittest" + ".mock",
        "from unittest import mock",
        "from unittest" + ".mock import Mock",
        "def test(monkey): monkey" + ".setattr(module, 'name', fake)",
        "def test(mocker): pass",
    ],
)
def test_patching_is_found_in_every_spelling(source: str) -> None:
    assert list(rules.patching(ast.parse(source))) == [1]


@pytest.mark.parametrize("source", ["time.sleep(0.1)", "await asyncio.sleep(1)", "sleep(delay)"])
def test_sleeping_is_found_and_yielding_is_not(source: str) -> None:
    assert list(rules.sleeping(ast.parse(source))) == [1]
    assert list(rules.sleeping(ast.parse("await anyio.sleep(0)"))) == []


@pytest.mark.parametrize(
    "comment",
    [
        "noqa",
        "noqa: E501",
        "noqa: E501 - why",
        "type: ignore",
        "pyright: ignore[reportAny]",
        "pyright: ignore - because it is so",
        "pyright: basic",
        "ruff: noqa: E501 - because it is so",
        "pragma: no cover",
    ],
)
def test_a_silenced_check_without_rule_and_reason_is_found(comment: str) -> None:
    assert list(rules.unexplained(f"x = 1  # {comment}\n")) == [1]


@pytest.mark.parametrize(
    "comment",
    [
        "noqa: BLE001 - a process edge",
        "pyright: ignore[reportAny, reportUnknownVariableType] - JSON of any shape",
        "pragma: no branch - the caller sees to it",
        "a remark on noqa",
    ],
)
def test_a_silenced_check_with_rule_and_reason_is_fine(comment: str) -> None:
    assert list(rules.unexplained(f"x = 1  # {comment}\n")) == []


def test_sizes_are_counted_with_nested_functions_and_without_self() -> None:
    long = "def f():\n" + "    x = 1\n" * 50
    assert rules.oversized(ast.parse(f"class C:\n    def g(self):\n        pass\n{long}")) == {"f": 51}
    methods = "class C:\n    def two(self, a, b, *, c): ...\n    def three(self, a, b, c, /): ...\n"
    assert rules.too_positional(ast.parse(methods)) == {"C.three": 3}


def test_machine_paths_are_told_from_other_paths() -> None:
    mine = "/" + "work/main"
    assert list(rules.machine_paths(f"see\n{mine}\n'/{'root'}/.cache'\nat /{'tmp'}/brief/x")) == [2, 3, 4]
    assert list(rules.machine_paths(f"https://example.org{mine} and ../work/x and /workspace")) == []


def test_the_environment_is_seen_at_import_but_not_in_functions() -> None:
    source = "import os\nA = os.environ['A']\ndef f(b=os.getenv('B')):\n    return os.environ\n"
    assert list(rules.environment_reads(ast.parse(source))) == [2, 3]


def test_requirement_marks_are_read_wherever_they_stand_and_must_be_plain() -> None:
    marks = "pytestmark = [pytest.mark.requirement('A1')]\n@pytest.mark.requirement('B2', 'C3')\ndef test_x(): ...\n"
    assert set(rules.marked_requirements(ast.parse(marks))) == {"A1", "B2", "C3"}
    with pytest.raises(ValueError, match="line 1: a requirement mark takes plain strings"):
        list(rules.marked_requirements(ast.parse("mark.requirement(name)")))
