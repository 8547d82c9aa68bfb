"""Kinds of tool results that can leave a context, since a re-run or the archive brings them back.

Three witnesses, the plainest first: what the tool does (`autocompact.core.actions`), the program that the command
line runs, and, where neither says it, what the output looks like.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias, cast

from autocompact.core.actions import Action
from autocompact.core.patterns import LazyPattern

Content: TypeAlias = Literal[
    "file read", "search", "api reply", "test output", "build log", "git output", "listing", "other"
]

_START = r"(?:^|[;&|(\n]|\b(?:do|then|else|sudo|time|npx|bunx|env|exec|xargs|uv run|poetry run|bundle exec|-l?c)\s)[\s'\"]*"
_SETTINGS = r"(?:\w+=\S*\s+|timeout\s+\S+\s+|python[\d.]*\s+-m\s+|\S*/(?=[\w.-]+(?:\s|$)))*"
_RUNNER = r"(?:npm|pnpm|yarn|bun|deno|cargo|go|mix|swift|dotnet|gradlew?|mvnw?|make|just|mise|rake|bazel|zig)"
_BUILDER = (
    r"make|cmake|ninja|meson|tsc|webpack|vite|esbuild|rollup|gcc|g\+\+|clang(?:\+\+)?|javac|rustc|mvnw?|gradlew?"
    r"|bazel|eslint|ruff|mypy|pyright|basedpyright|golangci-lint|prettier|biome|terraform"
)
_COMMAND = LazyPattern(
    rf"{_START}{_SETTINGS}(?:"
    rf"(?P<test>pytest|py\.test|unittest|tox|nox|jest|vitest|mocha|ava|phpunit|rspec|ctest|playwright\s+test"
    rf"|{_RUNNER}\s+(?:-\S+\s+(?:[^\s-]\S*\s+)?)*?(?:run\s+)?[\w:.-]*test[\w:.-]*)"
    rf"|(?P<search>(?:git\s+)?[ef]?grep|rg|ag|ack)"
    rf"|(?P<api>curl|wget|https?|xh|gh\s+api|kubectl|aws|gcloud|az)"
    rf"|(?P<git>git|gh|jj|hg|svn)"
    rf"|(?P<build>{_BUILDER}|(?:npm|pnpm|yarn|bun|mise|just)\s+(?:-\S+\s+(?:[^\s-]\S*\s+)?)*?(?:run\s+)?[\w:.-]*(?:build|install|ci|lint|typecheck"
    rf"|check|compile)[\w:.-]*|cargo\s+(?:build|check|clippy|fmt)|go\s+(?:build|vet|install|mod|generate)"
    rf"|(?:pip3?|uv)\s+(?:install|sync|pip|lock)|docker\s+(?:build|compose)|dotnet\s+build)"
    rf"|(?P<read>cat|sed\s+-n|head|tail|less|more|nl|bat)"
    rf"|(?P<listing>ls|tree|find|fd|du|wc)"
    r")(?=[\s;&|)'\"]|$)"
)
_OF_COMMAND: dict[str, Content] = {
    "test": "test output",
    "search": "search",
    "api": "api reply",
    "git": "git output",
    "build": "build log",
    "read": "file read",
    "listing": "listing",
}
_LISTS = LazyPattern(r"glob|(?:^|_)(?:ls|list|find|tree|dir)(?:_|$)|list_?(?:dir|files)", re.IGNORECASE)
_LOOKS: tuple[tuple[Content, LazyPattern], ...] = (
    (
        "test output",
        LazyPattern(
            r"\b\d+ (?:passed|failed|passing|failing)\b|^Tests?:\s+\d|^--- (?:PASS|FAIL): |^test result: "
            r"|^Ran \d+ tests?\b|^(?:PASS|FAIL|not ok)\s",
            re.MULTILINE,
        ),
    ),
    (
        "git output",
        LazyPattern(
            r"^diff --git |^commit [0-9a-f]{40}$|^On branch \S|^\[[\w/.-]+ [0-9a-f]{7,12}\] ", re.MULTILINE
        ),
    ),
    (
        "build log",
        LazyPattern(
            r"^error(?:\[E\d+\]|:)|\berror TS\d+|^npm (?:WARN|ERR!|warn|error) |\bBUILD (?:SUCCESS|FAIL)|^make(?:\[\d+\])?: "
            r"|^\s+Compiling \S+ v\d|^Successfully (?:built|installed) |^(?:Downloading|Collecting) \S",
            re.MULTILINE,
        ),
    ),
    ("file read", LazyPattern(r"(?:^[ \t]*\d+(?:\t|→|: |\| ).*\n?){3}", re.MULTILINE)),
    ("search", LazyPattern(r"(?:^[^\s:]+:\d+[:-].*\n?){2}", re.MULTILINE)),
    (
        "listing",
        LazyPattern(
            r"(?:^[-dl][rwxsSt-]{9}.*\n?){2}|(?:^\.{0,2}/?[\w@.-]+(?:/[\w@.-]+)+/?\n?){3}", re.MULTILINE
        ),
    ),
    (
        "api reply",
        LazyPattern(r"\A\s*(?:[{\[]\s*[\"{\[]|HTTP/[\d.]+ \d{3}|<!doctype html|<html|<\?xml)", re.IGNORECASE),
    ),
)
LOOKED_AT = 1_500
"""Characters that are looked at: of a command its first, of an output its first and again its last."""


def content_of(action: Action, output: str) -> Content:
    """Classify ``output``, the result of ``action``."""
    told = _TELLERS[action.verb](action) if action.verb in _TELLERS else None
    is_remote = "url" in action.arguments or (action.name.startswith("mcp__") and not action.files)
    if is_remote and action.verb in ("read", "search", "other"):
        return "api reply"
    return _look(output) if told is None else told


def _of_run(action: Action) -> Content | None:
    command = "\n".join(filter(None, map(str.strip, action.command[:LOOKED_AT].splitlines())))
    match = _COMMAND.search(command)
    return _OF_COMMAND[cast("str", match.lastgroup)] if match else None


def _of_read(action: Action) -> Content | None:
    return "file read" if action.files else None


def _of_search(action: Action) -> Content:
    return "listing" if _LISTS.search(action.name) else "search"


_TELLERS: dict[str, Callable[[Action], Content | None]] = {
    "run": _of_run,
    "read": _of_read,
    "search": _of_search,
}


def _look(output: str) -> Content:
    if len(output) > 2 * LOOKED_AT:
        output = f"{output[:LOOKED_AT]}\n{output[-LOOKED_AT:]}"
    for content, pattern in _LOOKS:
        if pattern.search(output):
            return content
    return "other"
