"""The hooks of the plugin for Claude Code, in both orders in which its versions call them."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from autocompact.agents.hook import MOST_READ, answered
from autocompact.agents.hook_files import GIVEN, PENDING
from autocompact.agents.hook_state import HookState, Receipt
from autocompact.agents.pinned import pin
from autocompact.agents.repairing import BLOCK_TOKENS
from autocompact.core.tokens import Estimator
from tests.house.source import ROOT
from tests.mcp.home import KEY, RULE, SUMMARY, pump
from tests.sessions.claude_lines import Claude
from tests.warm import command

pytestmark = pytest.mark.requirement("F1")

EXAMPLE = ROOT / "examples" / "sessions" / "fix-invoice-rounding.jsonl"


class Session:
    """A session whose events are handled in this process."""

    def __init__(self, folder: Path, content: bytes) -> None:
        self.folder = folder
        self.transcript = folder / "s-1.jsonl"
        self.transcript.write_bytes(content)
        self.state = folder / "agents" / "claude-code" / "s-1"

    def event(self, name: str, *arguments: str, **fields: object) -> str:
        given = {
            "hook_event_name": name,
            "session_id": "s-1",
            "transcript_path": str(self.transcript),
            **fields,
        }
        return answered(given, ("--no-archive", "--with-tools", *arguments), data=self.folder)

    def prepared(self) -> None:
        """What the hook before a compaction has done beside the agent."""
        self.event("PreCompact", "work", trigger="auto")

    def compacted(self) -> str:
        return self.event("SessionStart", source="compact")

    def summarised(self, summary: str) -> str:
        summary = f"<summary>{summary}</summary>"
        beside = ("work",) if (self.state / GIVEN).exists() else ()
        return self.event("PostCompact", *beside, trigger="auto", compact_summary=summary)

    @property
    def receipt(self) -> Receipt:
        return HookState(self.state).receipts()[-1]


def before_compaction(folder: Path) -> bytes:
    """The session of `pump` as it is when its compaction begins."""
    session = pump(folder)
    lines = io.BytesIO(session.bytes()).readlines()
    end = next(number for number, line in enumerate(lines) if b"compact_boundary" in line)
    return b"".join(lines[:end])


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path, before_compaction(tmp_path))


def test_where_the_session_starts_before_the_summary_is_known_rules_and_state_are_given(
    session: Session,
) -> None:
    session.prepared()
    given = session.compacted()
    assert given.index(RULE) < given.index("kilopascal")
    assert session.summarised(SUMMARY) == ""
    receipt = session.receipt
    assert (receipt.rules, receipt.rules_stated, receipt.rules_stated_after) == (1, 0, 1)
    assert receipt.missing_after < receipt.missing
    assert receipt.tokens == Estimator().count(given)


def test_where_the_summary_is_known_first_what_it_says_is_not_repeated(session: Session) -> None:
    session.prepared()
    session.summarised(f"The user said: {RULE}")
    given = session.compacted()
    assert RULE not in given.partition("<conversation_record>")[2].partition("## Requests")[0]
    assert "kilopascal" in given
    assert session.compacted() != given


def test_where_no_check_ran_the_summary_in_the_transcript_is_taken(tmp_path: Path) -> None:
    lines = io.BytesIO(pump(tmp_path).bytes()).readlines()
    end = next(number for number, line in enumerate(lines) if b"isCompactSummary" in line)
    session = Session(
        tmp_path, b"".join(lines[: end + 1]).replace(SUMMARY.encode(), f"The user said: {RULE}".encode())
    )
    assert "## Rules" not in session.compacted()
    went_on = Session(tmp_path, b"".join(lines))
    assert "## Rules" in went_on.compacted()


def test_what_the_summary_lacks_besides_comes_with_the_next_prompt_once(tmp_path: Path) -> None:
    session = Session(tmp_path, EXAMPLE.read_bytes())
    given = session.compacted()
    session.summarised("The agent fixed the invoices.")
    rest = session.event("UserPromptSubmit", prompt="go on")
    assert 0 < Estimator().count(rest) <= BLOCK_TOKENS - Estimator().count(given)
    body = [line for line in rest.split("<conversation_record>")[1].splitlines() if line.startswith("- ")]
    assert [line for line in body if line in given] == []
    assert session.event("UserPromptSubmit", prompt="go on") == ""
    assert session.event("SessionStart", source="resume") == ""


def test_a_session_that_takes_long_to_read_holds_nobody_up_and_is_given_with_the_next_prompt(
    tmp_path: Path,
) -> None:
    session = Session(tmp_path, before_compaction(tmp_path) + b"\n" * MOST_READ)
    assert session.compacted() == ""
    session.event("PostCompact", "work", trigger="auto", compact_summary=f"<summary>{SUMMARY}</summary>")
    assert RULE in session.event("UserPromptSubmit")


def test_what_is_pinned_stands_first(session: Session) -> None:
    pin(session.transcript, "The depot closes at six.", folder=session.folder / "pins")
    given = session.compacted()
    assert given.index("The depot closes at six.") < given.index(RULE)
    session.summarised("The depot closes at six.")
    assert "closes at six" not in session.event("UserPromptSubmit")


def test_messages_that_came_after_the_preparation_count(session: Session) -> None:
    session.prepared()
    more = Claude()
    words = "Also: never restart the pump at night. " + "x" * 70_000
    more.add("user", uuid="later", parent=None, message={"role": "user", "content": words})
    with session.transcript.open("ab") as file:
        file.write(more.bytes())
    assert "never restart the pump at night" in session.compacted()


def test_a_session_that_only_starts_gets_nothing(session: Session) -> None:
    for source in ("startup", "resume", "clear", "fork"):
        assert session.event("SessionStart", source=source) == ""
    assert session.event("Stop") == ""
    assert not (session.folder / "agents").exists()


def test_no_secret_is_given_or_kept(session: Session) -> None:
    session.prepared()
    given = session.compacted()
    session.summarised(f"The key is {KEY}.")
    given += session.event("UserPromptSubmit")
    kept = b"".join(path.read_bytes() for path in (session.folder / "agents").rglob("*") if path.is_file())
    assert KEY[:24] not in given
    assert KEY[:24].encode() not in kept
    assert all(path.stat().st_mode & 0o077 == 0 for path in (session.folder / "agents").rglob("*"))


def hooked(home: Path, event: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """The hook as Claude Code runs it."""
    return subprocess.run(
        (sys.executable, "-m", "autocompact.agents.hook", *arguments),
        input=event,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "XDG_DATA_HOME": str(home / "data")},
        check=False,
    )


def as_json(session: Session, event: str, **fields: object) -> bytes:
    given: Mapping[str, object] = {
        "hook_event_name": event,
        "session_id": "s-1",
        "transcript_path": str(session.transcript),
        **fields,
    }
    return json.dumps(given).encode()


def test_as_a_process_it_answers_in_the_form_that_claude_code_takes(session: Session) -> None:
    begun = hooked(session.folder, as_json(session, "PreCompact", trigger="auto"), "--no-archive")
    assert (begun.returncode, begun.stdout, begun.stderr) == (0, b"", b"")
    done = hooked(session.folder, as_json(session, "SessionStart", source="compact"))
    told = json.loads(done.stdout)["hookSpecificOutput"]
    assert told["hookEventName"] == "SessionStart"
    assert RULE in told["additionalContext"]
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_later_compaction_forgets_what_an_earlier_one_left(session: Session) -> None:
    told = {"trigger": "auto", "compact_summary": SUMMARY}
    hooked(session.folder, as_json(session, "PostCompact", **told))
    pending = session.folder / "data" / "autocompact" / "agents" / "claude-code" / "s-1" / PENDING
    assert pending.exists()
    hooked(session.folder, as_json(session, "PreCompact", trigger="auto"), "--no-archive")
    assert not pending.exists()


def test_the_preparation_archives_the_session(session: Session) -> None:
    done = hooked(session.folder, as_json(session, "PreCompact", trigger="auto"), "work")
    assert done.returncode == 0
    shown = subprocess.run(
        (*command(), "show", "claude-code-s-1:m4"),
        capture_output=True,
        env={"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(session.folder / "data")},
        check=True,
    )
    assert b"kilopascal" in shown.stdout


def test_what_was_prepared_goes_with_the_archived_conversation(session: Session) -> None:
    hooked(session.folder, as_json(session, "PreCompact", trigger="auto"), "work")
    prepared = session.folder / "data" / "autocompact" / "agents" / "claude-code" / "s-1"
    assert any(RULE in path.read_text("utf-8") for path in prepared.iterdir())
    subprocess.run(
        (*command(), "delete", "claude-code-s-1", "--yes"),
        capture_output=True,
        env={"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(session.folder / "data")},
        check=True,
    )
    assert not prepared.exists()


def test_after_a_month_the_words_of_other_sessions_are_forgotten_and_not_their_receipts(
    session: Session,
) -> None:
    other = session.state.with_name("s-0")
    other.mkdir(parents=True)
    for name in (GIVEN, "prepared.json", "receipts.jsonl"):
        (other / name).write_text("{}", "utf-8")
        os.utime(other / name, (0, 0))
    (other / PENDING).write_text("{}", "utf-8")
    session.prepared()
    assert {path.name for path in other.iterdir()} == {PENDING, "receipts.jsonl"}


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (b"", b"JSONDecodeError"),
        (b"{", b"JSONDecodeError"),
        (b"[]", b"TypeError"),
        (b'{"hook_event_name": "PostCompact"}', b"KeyError"),
        (
            b'{"hook_event_name": "SessionStart", "source": "compact", "session_id": "x",'
            b' "transcript_path": "/nowhere/sekret-name.jsonl"}',
            b"UnreadableSession",
        ),
        (
            b'{"hook_event_name": "SessionStart", "session_id": "../x y", "transcript_path": "x"}',
            b"ValueError",
        ),
    ],
)
def test_whatever_goes_wrong_the_session_does_not_see_it(tmp_path: Path, event: bytes, error: bytes) -> None:
    done = hooked(tmp_path, event)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    log = (tmp_path / "data" / "autocompact" / "agents" / "hook.log").read_bytes()
    assert error in log
    assert b"sekret" not in log
    assert [path.name for path in (tmp_path / "data" / "autocompact" / "agents").iterdir()] == ["hook.log"]
