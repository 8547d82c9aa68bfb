"""What OpenCode's plugin asks when the summary of a compaction is written, and gets."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import resources
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from autocompact.agents.hook_state import HookState
from autocompact.agents.repairing import BLOCK_TOKENS
from autocompact.core.tokens import Estimator
from tests.agents.events import hooked, log, shown, state, told
from tests.mcp.home import KEY, RULE

pytestmark = pytest.mark.requirement("F1")

CAUSE = "The limit was wrong because the sensor reports kilopascal."


def said(role: str, number: int, text: str, *more: dict[str, Any]) -> dict[str, Any]:
    info = {"id": f"msg_{number}", "role": role, "time": {"created": 1_790_000_000_000 + number}}
    return {"info": info, "parts": [{"type": "text", "text": text}, *more]}


def ran(number: int, command: str, output: str) -> dict[str, Any]:
    done = {"status": "completed", "input": {"command": command}, "output": output}
    return {"type": "tool", "tool": "bash", "callID": f"call_{number}", "state": done}


def event(home: Path, summary: str) -> dict[str, Any]:
    compaction = {"info": {"id": "msg_9", "role": "user"}, "parts": [{"type": "compaction", "auto": True}]}
    return {
        "hook_event_name": "compacting",
        "session_id": "ses_1",
        "info": {"directory": str(home)},
        "messages": [
            said("user", 1, f"Repair the pump driver in pump.py. {RULE}"),
            said(
                "assistant",
                2,
                "I read it.",
                ran(2, "cat .env pump.py", f"ANTHROPIC_API_KEY={KEY}\nLIMIT = 42"),
            ),
            said("assistant", 3, CAUSE, ran(3, "sed -i s/42/420/ pump.py", "")),
            compaction,
        ],
        "summary": summary,
        "trigger": "auto",
    }


def test_what_the_summary_lost_is_added_rules_first(tmp_path: Path) -> None:
    added = told(
        hooked(tmp_path, event(tmp_path, "The user has a pump."), "--agent=opencode", "--no-archive")
    )["added"]
    assert added.index(RULE) < added.index(CAUSE)
    assert KEY[:24] not in added
    assert Estimator().count(added) <= BLOCK_TOKENS
    (receipt,) = HookState(state(tmp_path, "opencode") / "ses_1").receipts()
    assert (receipt.trigger, receipt.rules_stated, receipt.rules_stated_after) == ("auto", 0, 1)
    assert receipt.missing_after < receipt.missing
    assert log(tmp_path) == b""


def test_what_the_summary_says_is_not_repeated(tmp_path: Path) -> None:
    summary = f"Repair the pump driver in pump.py. {RULE} {CAUSE}"
    added = told(hooked(tmp_path, event(tmp_path, summary), "--agent=opencode", "--no-archive")).get(
        "added", ""
    )
    assert (RULE in added, CAUSE in added) == (False, False)


def test_the_session_is_archived(tmp_path: Path) -> None:
    asked = event(tmp_path, "The user has a pump.")
    assert told(hooked(tmp_path, asked, "work", "--agent=opencode")) == {}
    assert b"kilopascal" in shown(tmp_path, "opencode-ses_1:m4")


@pytest.mark.parametrize(
    "asked", [b"", b"[]", {"session_id": "ses_1"}, {"session_id": "a/b", "summary": "x"}]
)
def test_whatever_goes_wrong_the_summary_stays_as_it_is(tmp_path: Path, asked: object) -> None:
    assert told(hooked(tmp_path, asked, "--agent=opencode")) == {}
    assert log(tmp_path).count(b"\n") == 1


def test_where_no_process_can_be_started_the_summary_is_repaired_all_the_same(tmp_path: Path) -> None:
    asked = event(tmp_path, "The user has a pump.")
    done = hooked(tmp_path, asked, "--agent=opencode", before=("sh", "-c", 'ulimit -n 7; exec "$@"', "sh"))
    assert RULE in told(done)["added"]
    assert b"OSError" in log(tmp_path)


OPENCODE = """
import { Autocompact } from "./autocompact.js";
const fetched = [];
const data = [{ info: { id: "msg_9", summary: process.argv[2] === "summary", parentID: "msg_8" }, parts: [] }];
const client = { session: { messages: async () => (fetched.push(1), { data }) } };
const hooks = await Autocompact({ client, directory: "." });
await hooks["experimental.session.compacting"]({ sessionID: "ses_1" });
if (process.argv[2] === "stopped") await hooks.event({ event: { type: "session.idle", properties: { sessionID: "ses_1" } } });
const output = { text: "A summary." };
for (let n = 0; n < 3; n++) await hooks["experimental.text.complete"]({ sessionID: "ses_1", messageID: "msg_9" }, output);
console.log(JSON.stringify([fetched.length, output.text]));
"""


@pytest.mark.skipif(which("node") is None, reason="needs node")
@pytest.mark.parametrize(
    ("compaction", "expected"),
    [("summary", [1, "A summary.\n\nWhat it lost."]), ("stopped", [0, "A summary."])],
)
def test_the_plugin_fetches_the_session_once_for_a_summary_and_never_after_a_compaction_that_was_stopped(
    tmp_path: Path, compaction: str, expected: list[object]
) -> None:
    answer = [sys.executable, "-c", 'import sys; sys.stdin.read(); print(\'{"added": "What it lost."}\')']
    plugin = resources.files("autocompact.agents").joinpath("files", "opencode.js").read_text("utf-8")
    (tmp_path / "autocompact.js").write_text(plugin.replace("@COMMAND@", json.dumps(answer)))
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "run.js").write_text(OPENCODE)
    done = subprocess.run(("node", "run.js", compaction), cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(done.stdout) == expected
