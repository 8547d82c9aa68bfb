"""The tool that searches the files of the workspace. The pattern is tried in a process that ends when time is up."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Annotated

import msgspec

from autocompact.chat.tools.box import Tool, ToolError, tool
from autocompact.chat.tools.files import matches, text_of, threaded
from autocompact.chat.tools.workspace import Workspace
from autocompact.core.secret_files import may_hold_secrets

SECONDS = 10.0
"""Seconds that one search may take."""
MOST_MATCHES = 100
SEARCHED_FILES = 20_000
SEARCHED_BYTES = 2_000_000
"""Of one file; larger ones are data."""
SEARCHED_LINE, SHOWN_LINE = 2_000, 300
"""Characters of a line."""

_PROGRAM = Path(__file__).with_name("matcher.py")


class SearchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Search the text files of the workspace for a regular expression; gives path, line number and line.

    Files that may hold keys or passwords (.env, .ssh) are left out.
    """

    pattern: Annotated[
        str, msgspec.Meta(min_length=1, max_length=1_000, description="Regular expression (Python)")
    ]
    glob: Annotated[str, msgspec.Meta(description="Only files that match, e.g. *.py or src/**")] = ""
    folder: Annotated[str, msgspec.Meta(description="Only below this folder")] = ""
    ignore_case: bool = False


def search_tool(workspace: Workspace, *, seconds: float = SECONDS) -> Tool:
    """``search_files``.

    Args:
        workspace: where to search.
        seconds: how long one search may take.
    """
    return tool(
        "search_files",
        SearchArguments,
        run=threaded(lambda asked: _search(workspace, asked, seconds=seconds)),
    )


def _search(workspace: Workspace, asked: SearchArguments, *, seconds: float) -> str:
    with _matcher(asked, seconds=seconds) as matcher:
        found = list(islice(_found(workspace, asked, matcher=matcher), MOST_MATCHES + 1))
    if not found:
        return f"Nothing matches {asked.pattern!r}."
    more = (
        f"\n[more than {MOST_MATCHES} matches: narrow the pattern or give a glob]"
        if len(found) > MOST_MATCHES
        else ""
    )
    return "\n".join(found[:MOST_MATCHES]) + more


def _found(workspace: Workspace, asked: SearchArguments, *, matcher: _Matcher) -> Iterator[str]:
    for item in islice(workspace.walk(asked.folder), SEARCHED_FILES):
        if item.size > SEARCHED_BYTES or (asked.glob and not matches(item.path, asked.glob)):
            continue
        if may_hold_secrets(item.path.split("/")):
            continue  # read_file asks the person
        try:
            text = text_of(workspace, item.path)
        except ToolError:
            continue  # no text, or gone meanwhile
        for number, line in matcher.lines(text):
            yield f"{item.path}:{number}: {line}"


class _Compiled(msgspec.Struct):
    error: str


class _Matcher:
    """The process that tries the pattern."""

    def __init__(self, asking: IO[bytes], answers: IO[bytes]) -> None:
        self._asking, self._answers = asking, answers

    def compile(self, asked: SearchArguments) -> None:
        self._write(
            msgspec.json.encode(
                {
                    "pattern": asked.pattern,
                    "ignore_case": asked.ignore_case,
                    "longest": SEARCHED_LINE,
                    "shown": SHOWN_LINE,
                    "most": MOST_MATCHES + 1,
                }
            )
        )
        error = msgspec.json.decode(
            self._answers.readline() or b'{"error": "too large"}', type=_Compiled
        ).error
        if error:
            raise ToolError(f"{asked.pattern!r} is no regular expression: {error}")

    def lines(self, text: str) -> list[tuple[int, str]]:
        content = text.encode("utf-8", errors="replace")
        self._write(b"%d\n%b" % (len(content), content), end=b"")
        answer = self._answers.readline()
        if not answer:
            raise BrokenPipeError
        return msgspec.json.decode(answer, type=list[tuple[int, str]])

    def _write(self, data: bytes, *, end: bytes = b"\n") -> None:
        self._asking.write(data + end)
        self._asking.flush()


@contextmanager
def _matcher(asked: SearchArguments, *, seconds: float) -> Generator[_Matcher]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    end = threading.Timer(seconds, process.kill)
    end.start()
    try:
        matcher = _Matcher(process.stdin, process.stdout)
        matcher.compile(asked)
        yield matcher
    except BrokenPipeError:
        raise ToolError(
            f"the search was stopped after {seconds:g} seconds: use a simpler pattern, without repetitions of "
            "repetitions, or name a folder or a glob"
        ) from None
    finally:
        end.cancel()
        process.kill()
        process.communicate()
