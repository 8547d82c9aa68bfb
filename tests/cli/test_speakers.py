"""What the program calls the user's words, seen from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.sessions.claude_lines import Claude, call, result, text

NOTICE = (
    '{"task_id":"b1f2","tool_use_id":"toolu_01","description":"Run the slow tests","task_type":"local_bash"}'
)


def _session(folder: Path, *queued: str) -> Path:
    log = Claude()
    log.user("make the pump restart by itself")
    for number in range(30):
        log.reply(text(f"step {number} of the pump"), call(f"c{number}", command="make"), id=f"msg-{number}")
        log.user([result(f"c{number}", f"built part {number}\n" * 40)])
    for words in queued:
        log.queue("enqueue", content=words)
        log.queue("remove")
    log.reply(text("still at it"), id="msg-last")
    path = folder / "session.jsonl"
    path.write_bytes(log.bytes())
    return path


@pytest.mark.parametrize("queued", [NOTICE, "/compact keep the plan"])
def test_what_the_program_queues_never_becomes_the_last_user_message(
    program: Program, tmp_path: Path, queued: str
) -> None:
    ended = program("compact", _session(tmp_path, queued), "--format", "json", "--to", 2_500)
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    requests = [entry for entry in document["ledger"] if entry["kind"] == "request"]
    assert [entry["text"] for entry in requests] == ["make the pump restart by itself"]
    assert queued not in document["summary"].partition("## State")[0]


def test_words_queued_while_the_agent_worked_are_a_request(program: Program, tmp_path: Path) -> None:
    ended = program("compact", _session(tmp_path, "and paint it blue"), "--format", "json", "--to", 2_500)
    assert b"and paint it blue" in ended.out
