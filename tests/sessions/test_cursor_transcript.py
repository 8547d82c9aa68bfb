"""Transcripts of Cursor's agent."""

from __future__ import annotations

import json
from pathlib import Path

from autocompact.core.messages import UNRECORDED
from autocompact.ledger.extraction import extract
from autocompact.sessions import read_session


def written(folder: Path, *lines: object) -> Path:
    path = folder / "transcript.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def user(text: str) -> object:
    return {
        "role": "user",
        "message": {"content": [{"type": "text", "text": f"<user_query>\n{text}\n</user_query>"}]},
    }


def agent(*blocks: object) -> object:
    return {"role": "assistant", "message": {"content": list(blocks)}}


def test_words_and_calls_are_read_and_that_no_result_was_kept_is_said(tmp_path: Path) -> None:
    edit = {"path": "/srv/pump.py", "old_string": "open = True", "new_string": "open = False"}
    session = read_session(
        written(
            tmp_path,
            user("Close the valve of the pump."),
            agent(
                {"type": "text", "text": "I close it.\n\n[REDACTED]"},
                {"type": "tool_use", "name": "StrReplace", "input": edit},
                {"type": "tool_use", "name": "Shell", "input": {"command": "make test"}},
            ),
            {"type": "turn_ended", "status": "success"},
            {"role": "assistant", "message": {"content": "The valve is closed."}},
            agent({"type": "text", "text": "[REDACTED]"}),
            {"type": "of tomorrow"},
        )
    )
    assert session.format == "cursor"
    assert [(message.role, message.text) for message in session.messages] == [
        ("user", "<user_query>\nClose the valve of the pump.\n</user_query>"),
        ("assistant", "I close it."),
        ("tool", ""),
        ("assistant", "The valve is closed."),
    ]
    assert [(call.name, json.loads(call.arguments)) for call in session.messages[1].calls] == [
        ("StrReplace", edit),
        ("Shell", {"command": "make test"}),
    ]
    assert [result.text for result in session.messages[2].results] == [UNRECORDED] * 2
    assert len(session.skipped) == 1
    told = {entry.kind: entry.text for entry in extract(session.messages).entries}
    assert told["request"].startswith("Close the valve")
    assert told["change"] == "edited — `open = True` → `open = False`"
    assert told["command"] == "`make test`"
