"""The names that agents give to the arguments of their tools: the file, what stood there, what stands there now.

Few words mean the same everywhere, and each agent spells them its own way: ``file_path`` (Claude Code, Gemini CLI),
``filePath`` (OpenCode, Copilot in VS Code), ``TargetFile`` (Windsurf), ``target_file`` (Cursor). So names are compared
in snake case, and every module that reads a call asks here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeVar

from autocompact.core.patterns import LazyPattern

Value = TypeVar("Value")

PATHS = (
    "file_path",
    "path",
    "filepath",
    "filename",
    "file",
    "notebook_path",
    "absolute_path",
    "target_file",
    "file_name",
    "relative_workspace_path",
    "relative_path",
)
COMMANDS = (
    "command",
    "cmd",
    "script",
    "commands",
    "shell_command",
    "bash_command",
    "command_line",
    "code",
)
TASKS = ("task_id", "agent_id", "bash_id", "shell_id", "session_id", "cell_id")
TODOS = ("todos", "plan", "todo_list", "task_list", "items", "tasks")
OLD = (
    "old_string",
    "old_str",
    "old_text",
    "old",
    "search",
    "target_content",
    "old_content",
    "old_code",
)
NEW = (
    "new_string",
    "new_str",
    "new_text",
    "new",
    "replacement",
    "replacement_text",
    "replacement_content",
    "replace",
    "insert_text",
    "new_content",
    "new_code",
    "new_source",
    "code_edit",
    "changes",
    "code",
)
WHOLE = ("content", "file_text", "contents", "code_content", "file_content", "text")
PATCHES = ("patch", "input", "diff")
EDITS = ("edits", "changes", "replacements", "replacement_chunks", "edit")
"""Lists of edits of one file, each with its own names for old and new."""

ONLY_EDITS = frozenset(
    [
        *(name for name in OLD if name.startswith(("old_", "target_"))),
        *(name for name in NEW if name.startswith(("new_s", "new_t", "replacement"))),
        "code_edit",
        "edits",
        "replacement_chunks",
        "patch",
        "diff",
    ]
)
"""Names that say by themselves that a tool edits: others can also be what it looks for, or what a tracker keeps."""

_HUMP = LazyPattern(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=1024)
def snake_case(name: str) -> str:
    """``name`` as it is written in snake case: ``filePath`` and ``file-path`` are ``file_path``."""
    return _HUMP.sub("_", name).replace("-", "_").lower()


def in_snake_case(arguments: Mapping[str, Value]) -> Mapping[str, Value]:
    """``arguments`` by their names in snake case; of two that are the same then, the one that was so spelled stays."""
    if all(snake_case(name) == name for name in arguments):
        return arguments
    return {snake_case(name): value for name, value in arguments.items()} | {
        name: value for name, value in arguments.items() if snake_case(name) == name
    }
