"""The conversation that a new user finds: written by us, compacted by the real engine when it is put into the store."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import msgspec

from autocompact.core.messages import Message, Reasoning, Text, ToolCall, ToolResult
from autocompact.stores.companions import EXAMPLE, EXAMPLE_BEGINS

ID = EXAMPLE
TITLE = "Example: the tide table that was an hour off"
FOCUS = "the cause, and what is still open"

_HOURS = ("00:41", "06:58", "13:09", "19:22")
_TABLE = "\n".join(
    f"2026-{month:02}-{day:02} | {_HOURS[(month + day) % 4]} | {1.2 + (month * day) % 17 / 10:.1f} m"
    for month in (3, 4)
    for day in range(1, 29)
)
_CODE = '''\
     1\tfrom datetime import datetime, timedelta
     2\t
     3\tUTC_OFFSET = timedelta(hours=1)  # Bergen
     4\t
     5\t
     6\tdef local(stamp: datetime) -> datetime:
     7\t    """The tide gauge writes UTC; people read local time."""
     8\t    return stamp + UTC_OFFSET
     9\t
    10\t
    11\tdef rows(stamps: list[datetime]) -> list[str]:
    12\t    return [local(stamp).strftime("%Y-%m-%d | %H:%M") for stamp in stamps]'''
_FAILED = """\
Exit code 1.
FAILED tests/test_tides.py::test_high_water_on_the_last_of_march - AssertionError: assert '06:58' == '07:58'
1 failed, 11 passed in 0.42s"""


def _asked(text: str) -> Message:
    return Message(seq=0, role="user", parts=(Text(text=text),))


def _said(text: str, *, thought: str = "") -> Message:
    parts = (Reasoning(text=thought), Text(text=text)) if thought else (Text(text=text),)
    return Message(seq=0, role="assistant", parts=parts, model="example")


def _did(*uses: tuple[str, dict[str, object], str], text: str = "") -> Iterator[Message]:
    """An answer that uses tools, and what they gave."""
    numbers = [next(_COUNT) for _ in uses]
    calls = [
        ToolCall(id=f"example-{number}", name=name, arguments=msgspec.json.encode(given).decode())
        for number, (name, given, _) in zip(numbers, uses, strict=True)
    ]
    words = [Text(text=text)] if text else []
    yield Message(seq=0, role="assistant", parts=(*words, *calls), model="example")
    for call, (_, _, result) in zip(calls, uses, strict=True):
        yield Message(seq=0, role="tool", parts=(ToolResult(call_id=call.id, text=result),))


_COUNT = itertools.count(1)

BEFORE: tuple[Message, ...] = (
    _asked(
        f"{EXAMPLE_BEGINS} Please find out why and mend it. "
        "Do not touch the files in `archive/`, the harbour office signs those."
    ),
    *_did(
        (
            "list_files",
            {},
            "archive/\nREADME.md (1,204 bytes)\ntests/\ntide_table.py (2,911 bytes)\ntides.txt (3,240 bytes)",
        ),
        (
            "tasks",
            {
                "tasks": [
                    {"text": "Find the cause", "state": "doing"},
                    {"text": "Mend it"},
                    {"text": "Add a test"},
                ]
            },
            "[~] Find the cause\n[ ] Mend it\n[ ] Add a test",
        ),
        text="I look at the program and at what it writes.",
    ),
    *_did(
        ("read_file", {"path": "tide_table.py"}, _CODE),
        ("read_file", {"path": "tides.txt"}, _TABLE),
    ),
    _said(
        "The cause is in `tide_table.py`, line 3: the offset from UTC is fixed at one hour. Since 29 March 2026 Bergen "
        'has summer time, which is two hours ahead. I suggest `zoneinfo.ZoneInfo("Europe/Oslo")` in place of the '
        "fixed offset. Shall I?",
        thought="The gauge writes UTC. A fixed offset cannot know of summer time.",
    ),
    _asked("Yes, with zoneinfo. And write a test for the last day of March."),
    *_did(
        (
            "edit_file",
            {
                "path": "tide_table.py",
                "old": "    return stamp + UTC_OFFSET",
                "new": "    return stamp.replace(tzinfo=UTC).astimezone(BERGEN)",
            },
            "Changed tide_table.py at line 8.",
        ),
        (
            "write_file",
            {
                "path": "tests/test_last_of_march.py",
                "content": "def test_high_water_on_the_last_of_march(): ...",
            },
            "Made tests/test_last_of_march.py: 214 bytes, 9 lines.",
        ),
    ),
    *_did(("run_command", {"command": "python -m pytest -q"}, _FAILED)),
    _said(
        "One test still fails: `tests/test_tides.py` expects 06:58 for 31 March, which is the wrong hour that the page "
        "showed. The new code says 07:58, and the harbour's printed table says so too. I would correct the expectation."
    ),
    _asked("Right, correct it. The page must be out before Friday, 12:00."),
    *_did(
        (
            "edit_file",
            {"path": "tests/test_tides.py", "old": '"06:58"', "new": '"07:58"'},
            "Changed tests/test_tides.py at line 31.",
        ),
        ("run_command", {"command": "python -m pytest -q"}, "Exit code 0.\n13 passed in 0.40s"),
    ),
    _said(
        "All 13 tests pass. Open: the table of March in `tides.txt` was written with the old offset and must be made anew."
    ),
)
"""Messages that the compaction summarises."""

AFTER: tuple[Message, ...] = (
    _asked("Which file did I ask you to leave alone? And until when must it be done?"),
    *_did(
        (
            "memory_search",
            {"query": "do not touch files"},
            "1 result for 'do not touch files', likeliest first. memory_expand opens a reference.\n\n"
            "[m1] the user\nDo not touch the files in `archive/`, the harbour office signs those.",
        )
    ),
    _said(
        "The files in `archive/`: the harbour office signs those [m1]. That had left the context with the compaction, so "
        "I looked it up. And the page must be out before Friday, 12:00: that was said after what it covers.\n\n"
        "You can try this conversation without a model: type `recall summer time`, `/compact`, `/undo` or `/help`."
    ),
)
"""Messages after the compaction."""
