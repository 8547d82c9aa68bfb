"""What pi's extension asks at a compaction, and gets."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from autocompact.agents.hook_state import HookState
from autocompact.core.tokens import Estimator
from tests.agents.events import hooked, log, shown, state, told
from tests.mcp.home import KEY, RULE

pytestmark = pytest.mark.requirement("F1")

CAUSE = "The limit was wrong because the sensor reports kilopascal."
LONG = "Then write the report about it. " + " ".join(f"In part {n} is what pump {n} did." for n in range(60))


class Branch:
    """Entries as pi records them, e1, e2, ..."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self._numbers = count(1)

    def add(self, **fields: Any) -> str:
        id = f"e{next(self._numbers)}"
        parent = self.entries[-1]["id"] if self.entries else None
        self.entries.append({"id": id, "parentId": parent, "timestamp": "2026-11-23T08:00:00.000Z", **fields})
        return id

    def message(self, role: str, content: object, **fields: object) -> str:
        return self.add(type="message", message={"role": role, "content": content, **fields})

    def user(self, text: str) -> str:
        return self.message("user", [{"type": "text", "text": text}])

    def step(self, text: str, command: str, output: str) -> None:
        call = {
            "type": "toolCall",
            "id": f"c{len(self.entries)}",
            "name": "bash",
            "arguments": {"command": command},
        }
        self.message("assistant", [{"type": "text", "text": text}, call])
        result = [{"type": "text", "text": output}]
        self.message("toolResult", result, toolCallId=call["id"], toolName="bash", isError=False)

    def event(self, home: Path, first_kept: str, **fields: object) -> dict[str, object]:
        return {
            "hook_event_name": "session_before_compact",
            "session_id": "s-1",
            "cwd": str(home),
            "entries": self.entries,
            "first_kept": first_kept,
            "tokens_before": 40_000,
            "window": 200_000,
            "previous": "",
            "focus": "",
            "trigger": "threshold",
            "transcript_path": "",
            **fields,
        }


def pump() -> tuple[Branch, str]:
    """A branch, and its first entry that stays."""
    branch = Branch()
    branch.user(f"Repair the pump driver in pump.py. {RULE}")
    branch.step(
        "I read it.",
        "cat .env pump.py",
        f"ANTHROPIC_API_KEY={KEY}\nPRESSURE_LIMIT = 42\n" + "noise\n" * 3_000,
    )
    branch.step(CAUSE, "sed -i s/42/420/ pump.py", "")
    branch.user(LONG)
    branch.step("I write it.", "cat > report.md", "written\n" * 500)
    return branch, branch.message("assistant", [{"type": "text", "text": "Half of it is written."}])


def test_the_account_has_rules_findings_and_the_last_request_word_for_word(tmp_path: Path) -> None:
    branch, kept = pump()
    summary = told(hooked(tmp_path, branch.event(tmp_path, kept), "--agent=pi", "--no-archive"))["summary"]
    assert (RULE in summary, CAUSE in summary, LONG in summary) == (True, True, True)
    assert "Half of it is written" not in summary
    assert KEY[:24] not in summary
    assert "autocompact show" not in summary  # nothing was archived
    (receipt,) = HookState(state(tmp_path, "pi") / "s-1").receipts()
    assert (receipt.way, receipt.trigger, receipt.rules, receipt.rules_stated) == (
        "in place",
        "threshold",
        1,
        1,
    )
    assert receipt.tokens == Estimator().count(summary)
    assert log(tmp_path) == b""


def test_a_second_compaction_knows_what_the_first_one_covered(tmp_path: Path) -> None:
    branch, kept = pump()
    branch.add(type="compaction", summary="They repaired a pump.", firstKeptEntryId=kept, tokensBefore=9_000)
    branch.user("Now the changelog.")
    branch.step("I read it.", "cat CHANGELOG.md", "old\n" * 3_000)
    last = branch.message("assistant", [{"type": "text", "text": "Done."}])
    event = branch.event(tmp_path, last, previous="They repaired a pump.")
    summary = told(hooked(tmp_path, event, "--agent=pi", "--no-archive"))["summary"]
    assert (RULE in summary, CAUSE in summary, "Now the changelog." in summary) == (True, True, True)


def test_a_small_window_gets_a_small_account(tmp_path: Path) -> None:
    branch, kept = pump()
    small = branch.event(tmp_path, kept, window=8_000)
    large = branch.event(tmp_path, kept)
    sizes = [
        Estimator().count(told(hooked(tmp_path, event, "--agent=pi", "--no-archive"))["summary"])
        for event in (small, large)
    ]
    assert sizes[0] < 8_000 // 4
    assert sizes[0] <= sizes[1]


def test_what_is_too_short_to_be_compacted_is_left_to_pi(tmp_path: Path) -> None:
    branch = Branch()
    branch.user("Hello.")
    kept = branch.message("assistant", [{"type": "text", "text": "Hello!"}])
    assert told(hooked(tmp_path, branch.event(tmp_path, kept), "--agent=pi", "--no-archive")) == {}
    assert told(hooked(tmp_path, branch.event(tmp_path, "e1"), "--agent=pi", "--no-archive")) == {}
    assert log(tmp_path) == b""


def test_the_session_is_archived_and_the_account_says_how_to_look(tmp_path: Path) -> None:
    branch, kept = pump()
    event = branch.event(tmp_path, kept)
    assert told(hooked(tmp_path, event, "work", "--agent=pi")) == {}
    assert b"kilopascal" in shown(tmp_path, "pi-s-1:m4")
    summary = told(hooked(tmp_path, event, "--agent=pi", AUTOCOMPACT_HOOKS="on"))["summary"]
    assert "`autocompact show pi-s-1:m123`" in summary


def test_it_can_be_turned_off(tmp_path: Path) -> None:
    branch, kept = pump()
    assert told(hooked(tmp_path, branch.event(tmp_path, kept), "--agent=pi", AUTOCOMPACT_HOOKS="off")) == {}
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (b"", b"DecodeError"),
        (b"[]", b"ValidationError"),
        (
            {"session_id": "../x", "cwd": "", "entries": [], "first_kept": "", "tokens_before": 0},
            b"ValueError",
        ),
    ],
)
def test_whatever_goes_wrong_pi_makes_its_own_summary(tmp_path: Path, event: object, error: bytes) -> None:
    assert told(hooked(tmp_path, event, "--agent=pi")) == {}
    assert error in log(tmp_path)
