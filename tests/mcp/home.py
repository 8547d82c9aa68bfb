"""A home in which agents have recorded sessions."""

from __future__ import annotations

import os
from pathlib import Path

from tests.sessions.claude_lines import Claude, call, result, text

KEY = "sk-ant-api03-" + "Ab3dEf6hIj9kLm2n" * 5
RULE = "Never push without my approval."
SUMMARY = "The user asked to repair the pump driver. The agent read pump.py."


def pump(folder: Path) -> Claude:
    """A session of Claude Code in ``folder``: a rule, a key in a tool's output, a compaction that forgot the rule."""
    session = Claude()
    session.user(f"Repair the pump driver in pump.py. {RULE}", cwd=str(folder))
    session.reply(text("I read it."), call("c1", command="cat .env pump.py"), id="r1")
    session.user([result("c1", f"ANTHROPIC_API_KEY={KEY}\nPRESSURE_LIMIT = 42")])
    session.reply(
        text("The limit was wrong because the sensor reports kilopascal."),
        call("c2", "Edit", file_path=str(folder / "pump.py"), old_string="42", new_string="420"),
        id="r2",
    )
    session.user([result("c2")])
    session.reply(text("The pump driver is repaired."), id="r3")
    session.compact(SUMMARY)
    session.user("Now write the changelog.")
    session.reply(text("Written."), id="r4")
    return session


def keep(session: Claude, home: Path, *, name: str, seconds: int = 0) -> Path:
    """Write it where Claude Code has its sessions; ``seconds`` later than others."""
    path = home / ".claude" / "projects" / "-srv-pump" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(session.bytes())
    os.utime(path, (1_700_000_000 + seconds, 1_700_000_000 + seconds))
    return path
