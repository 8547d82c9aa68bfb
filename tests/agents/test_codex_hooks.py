"""The hooks of Codex: what is put beside a summary that nobody can read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autocompact.agents.hook import MOST_READ
from autocompact.agents.hook_state import HookState
from autocompact.agents.repairing import BLOCK_TOKENS
from autocompact.core.tokens import Estimator
from tests.agents.events import hooked, log, state, told
from tests.mcp.home import KEY, RULE

pytestmark = pytest.mark.requirement("F1")

CAUSE = "The limit was wrong because the sensor reports kilopascal."
REQUEST = f"Repair the pump driver in pump.py. {RULE}"


def item(type: str, **fields: object) -> dict[str, object]:
    payload = {"type": type, **fields}
    return {"timestamp": "2026-11-23T08:00:00.000Z", "type": "response_item", "payload": payload}


def said(role: str, text: str) -> dict[str, object]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text}])


def rollout(folder: Path, *, compacted: bool = False) -> Path:
    lines = [
        {"timestamp": "2026-11-23T08:00:00.000Z", "type": "session_meta", "payload": {"cwd": str(folder)}},
        said("user", REQUEST),
        item("function_call", name="exec_command", call_id="c1", arguments=json.dumps({"cmd": "cat .env"})),
        item("function_call_output", call_id="c1", output=f"ANTHROPIC_API_KEY={KEY}"),
        said("assistant", CAUSE),
    ]
    if compacted:
        kept = [said("user", REQUEST)["payload"], {"type": "compaction", "encrypted_content": "gAAA"}]
        lines.append(
            {
                "timestamp": "2026-11-23T08:01:00.000Z",
                "type": "compacted",
                "payload": {"message": "", "replacement_history": kept},
            }
        )
    path = folder / "rollout-2026-11-23T08-00-00-s-1.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def event(name: str, transcript: Path, **fields: object) -> dict[str, object]:
    return {"hook_event_name": name, "session_id": "s-1", "transcript_path": str(transcript), **fields}


def given(home: Path, transcript: Path) -> str:
    started = event("SessionStart", transcript, source="compact")
    output = told(hooked(home, started, "--agent=codex", "--no-archive"))["hookSpecificOutput"]
    assert output["hookEventName"] == "SessionStart"
    return output["additionalContext"]


@pytest.mark.parametrize("prepared", [True, False])
def test_rules_and_findings_are_given(tmp_path: Path, *, prepared: bool) -> None:
    if prepared:
        asked = event("PreCompact", rollout(tmp_path), trigger="auto")
        assert told(hooked(tmp_path, asked, "work", "--agent=codex", "--no-archive")) == {}
    text = given(tmp_path, rollout(tmp_path, compacted=True))
    assert text.index(RULE) < text.index(CAUSE)
    assert KEY[:24] not in text
    assert Estimator().count(text) <= BLOCK_TOKENS
    assert log(tmp_path) == b""


def test_a_session_that_takes_long_to_read_holds_nobody_up(tmp_path: Path) -> None:
    """50 MB took minutes; what the hook before the compaction found is given all the same."""
    transcript = rollout(tmp_path, compacted=True)
    with transcript.open("ab") as file:
        file.write(b"\n" * MOST_READ)
    started = event("SessionStart", transcript, source="compact")
    assert told(hooked(tmp_path, started, "--agent=codex", "--no-archive")) == {}
    asked = event("PreCompact", transcript, trigger="auto")
    assert told(hooked(tmp_path, asked, "work", "--agent=codex", "--no-archive")) == {}
    assert RULE in given(tmp_path, transcript)


def test_its_receipt_says_what_was_given(tmp_path: Path) -> None:
    transcript = rollout(tmp_path, compacted=True)
    text = given(tmp_path, transcript)
    started = event("SessionStart", transcript, source="compact")
    told(hooked(tmp_path, started, "work", "--agent=codex", "--no-archive"))
    receipt = HookState(state(tmp_path, "codex") / "s-1").receipts()[-1]
    assert (receipt.way, receipt.rules, receipt.rules_stated) == ("unread", 1, 1)
    assert receipt.tokens == Estimator().count(text)


def test_a_session_that_only_starts_gets_nothing(tmp_path: Path) -> None:
    for source in ("startup", "resume", "clear"):
        started = event("SessionStart", rollout(tmp_path), source=source)
        assert told(hooked(tmp_path, started, "--agent=codex")) == {}
