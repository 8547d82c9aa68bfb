"""The program that `autocompact.chat.tools.search` starts for one search: it tries a regular expression on texts.

A pattern of a model may take for ever, and Python's engine can neither be interrupted nor lets anything else run
meanwhile. In a process of its own it can be ended. It knows nothing but what comes on stdin: a line of JSON with the
pattern, then for each text a line with its size in bytes and the text. It answers each with a line of JSON: the
numbers and the lines that match.

It is run by its path and imports nothing but the standard library, so that it starts at once.
"""

import json
import re
import sys
from contextlib import suppress

MEMORY = 1 << 30
"""Bytes that it may use."""


def main() -> None:
    """Answer until stdin ends."""
    _limit()
    asked = json.loads(sys.stdin.buffer.readline())
    try:
        pattern = re.compile(asked["pattern"], re.IGNORECASE if asked["ignore_case"] else 0)
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        _say({"error": str(error) or type(error).__name__})
        return
    _say({"error": ""})
    while size := sys.stdin.buffer.readline():
        text = sys.stdin.buffer.read(int(size)).decode("utf-8", errors="replace")
        found = (
            (number, line[: asked["shown"]])
            for number, line in enumerate(text.splitlines(), 1)
            if pattern.search(line[: asked["longest"]])
        )
        _say([match for match, _ in zip(found, range(asked["most"]), strict=False)])


def _say(answer: object) -> None:
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


def _limit() -> None:
    """Some patterns take memory instead of time."""
    try:
        import resource
    except ImportError:  # Windows
        return
    # a system may allow less already, and macOS no limit below what a process has mapped: then time alone is limited
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


if __name__ == "__main__":
    main()
