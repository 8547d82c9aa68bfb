"""Tools for the files of the workspace: list, read, write, edit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from difflib import unified_diff
from fnmatch import fnmatch
from itertools import islice
from typing import Annotated, TypeVar

import msgspec

from autocompact.chat.tools.box import REFUSED, Asked, AskPermission, Tool, ToolError, tool
from autocompact.chat.tools.workspace import FileMissing, Workspace
from autocompact.core.plurals import plural
from autocompact.core.secret_files import may_hold_secrets

LINES = 1_000
LONGEST_LINE = 2_000
"""Characters of a line that are shown: longer ones are data."""
PAGE_CHARACTERS = 60_000
MOST_ITEMS = 500
WRITING = "files are written"
"""Subject of a standing answer to writing files."""
LONGEST_COMPARED = 400_000
"""Bytes of a file and its successor, together, that a diff is made of."""
DIFF_LINES = 400

A = TypeVar("A")
_Path = Annotated[str, msgspec.Meta(min_length=1, description="Path from the workspace, e.g. src/app.py")]


class ListArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """List a folder of the workspace, or all files below it that match a pattern such as **/*.py."""

    folder: Annotated[str, msgspec.Meta(description="Path from the workspace; empty is the workspace")] = ""
    pattern: Annotated[str, msgspec.Meta(description="Only files below it that match, e.g. *.md")] = ""


class ReadArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Read a text file of the workspace, with line numbers, page by page."""

    path: _Path
    from_line: Annotated[int, msgspec.Meta(ge=1, description="First line")] = 1
    lines: Annotated[int, msgspec.Meta(ge=1, le=LINES, description="Lines at most")] = LINES


class WriteArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Write a file of the workspace, new or in place of the old one. To change a part of a file use edit_file."""

    path: _Path
    content: Annotated[str, msgspec.Meta(description="All of the file")]


class EditArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Replace a piece of text in a file of the workspace. The old text must be there exactly once."""

    path: _Path
    old: Annotated[
        str, msgspec.Meta(min_length=1, description="Exact text, with enough around it to be unique")
    ]
    new: Annotated[str, msgspec.Meta(description="What takes its place")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a tool would make of a file.

    Attributes:
        path: from the workspace.
        before: its content now, None if it is new.
        after: its content then.
        done: what the model is told.
    """

    path: str
    before: bytes | None
    after: bytes
    done: str


def file_tools(workspace: Workspace, *, asks: bool = True) -> list[Tool]:
    """``list_files``, ``read_file``, ``write_file`` and ``edit_file``.

    Args:
        workspace: where.
        asks: the person is asked before a file is written. Before one that may hold secrets is read or written they are
            asked in any case.
    """

    async def read(asked: ReadArguments, asking: AskPermission) -> str:
        if may_hold_secrets(workspace.names(asked.path)):
            about = Asked(tool="read_file", text=f"Read {asked.path}, which may hold keys or passwords.")
            await _permitted(asking, about)
        return await asyncio.to_thread(_read, workspace, asked)

    async def write(asked: WriteArguments, asking: AskPermission) -> str:
        change = await asyncio.to_thread(_written, workspace, asked)
        return await _changed(workspace, change, tool="write_file", asking=asking, asks=asks)

    async def edit(asked: EditArguments, asking: AskPermission) -> str:
        if may_hold_secrets(workspace.names(asked.path)):
            about = Asked(tool="edit_file", text=f"Look into {asked.path}, which may hold keys or passwords.")
            await _permitted(asking, about)
        change = await asyncio.to_thread(_edited, workspace, asked)
        return await _changed(workspace, change, tool="edit_file", asking=asking, asks=asks)

    return [
        tool("list_files", ListArguments, run=threaded(lambda asked: _list(workspace, asked))),
        tool("read_file", ReadArguments, run=read),
        tool("write_file", WriteArguments, run=write),
        tool("edit_file", EditArguments, run=edit),
    ]


async def _permitted(asking: AskPermission, about: Asked) -> None:
    """Ask the person.

    Raises:
        ToolError: they said no.
    """
    if not await asking(about):
        raise ToolError(REFUSED)


async def _changed(
    workspace: Workspace, change: Change, *, tool: str, asking: AskPermission, asks: bool
) -> str:
    """Ask if that is due, and make the change if the file is still as it was shown."""
    secret = may_hold_secrets(workspace.names(change.path))
    if asks or secret:
        verb = "Make" if change.before is None else "Change"
        diff = await asyncio.to_thread(_diff, change)
        about = Asked(
            tool=tool,
            text=f"{verb} {change.path}: {plural(len(change.after), 'byte')}.",
            diff=diff,
            subject="" if secret else WRITING,
        )
        await _permitted(asking, about)
        if await asyncio.to_thread(_content, workspace, change.path) != change.before:
            raise ToolError(f"{change.path!r} was changed meanwhile: read it again")
    await asyncio.to_thread(workspace.write, change.path, change.after)
    return change.done


def _content(workspace: Workspace, path: str) -> bytes | None:
    try:
        return workspace.read(path)
    except FileMissing:
        return None


def _diff(change: Change) -> str:
    """The change as a unified diff; "" of what is no text, or too long to be compared."""
    before = change.before or b""
    if len(before) + len(change.after) > LONGEST_COMPARED or b"\0" in before + change.after:
        return ""
    old, new = (each.decode("utf-8", errors="replace").splitlines() for each in (before, change.after))
    lines = islice(unified_diff(old, new, lineterm="", n=3), 2, DIFF_LINES + 3)
    shown = [line[:LONGEST_LINE] for line in lines]
    more = ["[the rest is not shown]"] if len(shown) > DIFF_LINES else []
    return "\n".join([*shown[:DIFF_LINES], *more])


def threaded(work: Callable[[A], str]) -> Callable[[A, AskPermission], asyncio.Future[str]]:
    """Make blocking work the ``run`` of a tool: it is done in a thread."""

    def run(asked: A, _asking: AskPermission) -> asyncio.Future[str]:
        return asyncio.ensure_future(asyncio.to_thread(work, asked))

    return run


def _list(workspace: Workspace, asked: ListArguments) -> str:
    if asked.pattern:
        found = (item for item in workspace.walk(asked.folder) if matches(item.path, asked.pattern))
        shown = [
            f"{item.path} ({item.size:,} bytes)"
            for item, _ in zip(found, range(MOST_ITEMS + 1), strict=False)
        ]
    else:
        shown = [
            f"{item.path}/" if item.kind == "folder" else f"{item.path} ({_described(item.kind, item.size)})"
            for item in workspace.entries(asked.folder)
        ]
    if not shown:
        return "Nothing is there."
    more = f"\n[more than {MOST_ITEMS}: give a folder or a pattern]" if len(shown) > MOST_ITEMS else ""
    return "\n".join(shown[:MOST_ITEMS]) + more


def _described(kind: str, size: int) -> str:
    return f"{size:,} bytes" if kind == "file" else f"a {kind}, not followed"


def matches(path: str, pattern: str) -> bool:
    """True if the path matches (its last name, if the pattern has no slash); ``**/`` also matches no folder."""
    if "/" not in pattern:
        return fnmatch(path.rpartition("/")[2], pattern)
    return fnmatch(path, pattern) or fnmatch(path, pattern.replace("**/", ""))


def text_of(workspace: Workspace, path: str) -> str:
    """The text of a file.

    Raises:
        ToolError: it holds data, or cannot be read.
    """
    content = workspace.read(path)
    if b"\0" in content[:8_192]:
        raise ToolError(f"{path!r} is no text: {len(content):,} bytes of data")
    return content.decode("utf-8", errors="replace")


def _read(workspace: Workspace, asked: ReadArguments) -> str:
    lines = text_of(workspace, asked.path).splitlines()
    if asked.from_line > max(1, len(lines)):
        raise ToolError(
            f"{asked.path!r} has {plural(len(lines), 'line')}, none is number {asked.from_line:,}"
        )
    shown: list[str] = []
    size, start = 0, asked.from_line - 1
    for number, line in enumerate(lines[start : start + asked.lines], asked.from_line):
        cut = (
            line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} [line of {len(line):,} characters]"
        )
        size += len(cut)
        if size > PAGE_CHARACTERS and shown:
            break
        shown.append(f"{number:>6}\t{cut}")
    end = start + len(shown)
    if not lines:
        return f"{asked.path} is empty."
    rest = (
        ""
        if end >= len(lines)
        else f"\n[lines {start + 1:,} to {end:,} of {len(lines):,}; from_line={end + 1} goes on]"
    )
    return "\n".join(shown) + rest


def _written(workspace: Workspace, asked: WriteArguments) -> Change:
    content = asked.content.encode("utf-8", errors="replace")
    workspace.check_writable(asked.path, size=len(content))
    before = _content(workspace, asked.path)
    written = f"{plural(len(content), 'byte')}, {plural(asked.content.count(chr(10)), 'line')}"
    done = f"{'Made' if before is None else 'Replaced'} {asked.path}: {written}."
    return Change(path=asked.path, before=before, after=content, done=done)


def _edited(workspace: Workspace, asked: EditArguments) -> Change:
    workspace.check_writable(asked.path)
    content = workspace.read(asked.path)
    old, new = asked.old.encode(), asked.new.encode()
    if b"\r\n" in content and b"\r" not in old:
        # what is new may have line ends of Windows already
        old, new = old.replace(b"\n", b"\r\n"), new.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    count = content.count(old)
    if count != 1:
        hint = "read the file again" if not count else "give more of what stands around it"
        raise ToolError(f"the old text is {count:,} times in {asked.path!r}, it must be there once: {hint}")
    line = content[: content.index(old)].count(b"\n") + 1
    return Change(
        path=asked.path,
        before=content,
        after=content.replace(old, new),
        done=f"Changed {asked.path} at line {line:,}.",
    )
