from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from autocompact.errors import InvalidInput, ModelError, UnreadableSession
from autocompact.memory.documents.archive_entries import Archived, entries_in
from autocompact.memory.sessions import Places, SessionPolicy, SessionRun, compact_session_now
from autocompact.memory.sessions.finding import Recorded, lasted
from autocompact.memory.upkeep import run_upkeep
from autocompact.models.openai_compatible import OpenAICompatible
from autocompact.ports import Key
from autocompact.sessions import read_session
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from autocompact.testing.clock import FakeClock
from tests.models.support import AT_ONCE

pytestmark = pytest.mark.anyio
EXAMPLES = Path(__file__).parents[3] / "examples" / "sessions"
CODING = EXAMPLES / "fix-invoice-rounding.jsonl"
NOW = "2026-11-21T10:00:00.000+00:00"
SUMMARY = """<summary>
## Tasks
- TASK-12: rounding of invoice lines, done, 60 tests passed
- TASK-13: repeatable import, open

## Decisions
Round half up, because the accountant decided it.

## State
Branch main.

## Next steps
1. Make the import repeatable.

## Metrics
60 passed.
</summary>"""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(
        home=tmp_path / "home",
        environment={},
        database=tmp_path / "conversations.db",
        project=tmp_path / "project",
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project" / ".autocompact"
    made.mkdir(parents=True)
    return made


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.md")}


def emptied(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def archived(folder: Path) -> list[Archived]:
    return entries_in((folder / "CONTEXT_ARCHIVE.md").read_text("utf-8").split("\n"))


async def closed(folder: Path, wanted: str | Path | None, places: Places, **more: object) -> SessionRun:
    policy = more.pop("policy", None)
    assert policy is None or isinstance(policy, SessionPolicy)
    return await compact_session_now(
        folder,
        None if wanted is None else str(wanted),
        places=places,
        policy=policy,
        clock=FakeClock(NOW),
        dry_run=bool(more.get("dry_run")),
    )


def recorded(path: Path, *, cwd: Path, text: str = "Please round per line.", at: int = 1_000) -> Path:
    """A Claude Code session that ran in ``cwd`` and was last written at second ``at``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "parentUuid": None if n == 1 else f"u{n - 1}",
            "uuid": f"u{n}",
            "isSidechain": False,
            "cwd": str(cwd),
            "sessionId": "s",
            "version": "2.1.20",
            "type": kind,
            "timestamp": f"2026-11-20T10:{n:02}:00.000Z",
            "message": {"role": kind, "content": f"{text} {'It is about the totals. ' * 60}"},
        }
        for n, kind in enumerate(("user", "assistant") * 12, 1)
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    os.utime(path, (at, at))
    return path


@pytest.mark.requirement("C1", "C6", "C9", "C10")
async def test_a_recorded_session_is_summarised_archived_and_its_tasks_are_noted(
    folder: Path, places: Places
):
    (folder / "DECISIONS.md").write_text("Amounts are Decimal, never float.\n")
    before = CODING.read_bytes()
    async with FakeProvider(SUMMARY) as provider:
        model = OpenAICompatible("fake", base_url=provider.url, retries=AT_ONCE)
        run = await closed(folder, CODING, places, policy=SessionPolicy(model=model))
        await model.aclose()
        asked = provider.requests[-1].last_text
    assert "Amounts are Decimal, never float." in asked
    assert all(f"## {title}" in asked for title in ("Tasks", "Decisions", "State", "Next steps", "Metrics"))
    assert run.record is not None
    receipt = run.record.receipt
    assert 0.88 <= 1 - receipt.tokens_after / receipt.tokens_before < 1
    assert run.tasks == ("TASK-12: rounding of invoice lines",)
    (entry,) = archived(folder)
    assert (entry.conversation, entry.log_messages, entry.noted) == ("fix-invoice-rounding", 279, True)
    assert (entry.tokens_before, entry.tokens_after) == (receipt.tokens_before, receipt.tokens_after)
    assert [task.text for task in entry.tasks] == [
        "TASK-12: rounding of invoice lines",
        "TASK-13: repeatable import",
    ]
    text = (folder / "CONTEXT_ARCHIVE.md").read_text("utf-8")
    assert f"- Original: [fix-invoice-rounding.jsonl](<{CODING.as_uri()}>)" in text
    assert "- Model: claude-sonnet-4-5-20250929\n- Session: 2026-05-04 08:16 to" in text
    assert "- Artifacts: 35 files: " in text
    assert "- Outcome: done, 60 tests passed\n" in (folder / "DONE.md").read_text("utf-8")
    assert (
        "| [DONE.md](DONE.md) | the last tasks, in detail | 1 | 2026-05-04 |"
        in (folder / "MEMORY.md").read_text()
    )
    assert (folder / "DECISIONS.md").read_text() == "Amounts are Decimal, never float.\n"
    assert CODING.read_bytes() == before


@pytest.mark.requirement("C1")
async def test_a_session_that_did_not_go_on_is_left_alone_and_no_task_is_noted_twice(
    folder: Path, places: Places, tmp_path: Path
):
    session = tmp_path / "week.jsonl"
    lines = CODING.read_bytes().splitlines(keepends=True)
    session.write_bytes(b"".join(lines[: len(lines) - 40]))
    first = await closed(folder, session, places)
    assert first.record is not None
    before = contents(folder)
    again = await closed(folder, session, places)
    assert (again.record, again.changes, again.backup) == (None, (), None)
    assert contents(folder) == before
    session.write_bytes(b"".join(lines))
    later = await closed(folder, session, places)
    assert later.record is not None
    assert not set(later.tasks) & set(first.tasks)
    done = (folder / "DONE.md").read_text("utf-8")
    assert done.count("- Session: week\n") == len(first.tasks) + len(later.tasks)
    assert len(archived(folder)) == 2
    assert run_upkeep(folder, layers=["tasks"], clock=FakeClock(NOW)).changes == ()


@pytest.mark.requirement("C7")
async def test_tasks_of_a_session_are_named_by_what_was_reached_and_have_their_figures(
    folder: Path, places: Places
):
    run = await closed(folder, CODING, places)
    done = (folder / "DONE.md").read_text("utf-8")
    assert run.tasks[0] == "Round half up per line, as DATEV does"
    assert (
        """\
- 2026-05-04: Round half up per line, as DATEV does
  - Outcome: done
  - Tests: 44 passed
  - Files: 10 (tests/test_rounding.py, tests/test_totals.py, src/invoices/money.py, src/invoices/totals.py, \
src/invoices/discounts.py, …)
  - Duration: 6 min
  - Tokens: 15.4K
  - Session: fix-invoice-rounding
"""
        in done
    )
    assert not any(
        asked in done for asked in ("Mrs. Brandt has answered", "Great, thank you", "Forget about")
    )
    assert run_upkeep(folder, layers=["tasks"], clock=FakeClock(NOW)).changes == ()


async def test_a_dry_run_shows_the_entry_and_writes_nothing(folder: Path, places: Places):
    planned = await closed(folder, CODING, places, dry_run=True)
    assert names(folder) == []
    assert {change.name for change in planned.changes} == {"CONTEXT_ARCHIVE.md", "DONE.md", "MEMORY.md"}
    assert "+- Conversation: `fix-invoice-rounding`" in planned.changes[-1].diff()


async def test_figures_are_left_out_where_the_settings_say_so(folder: Path, places: Places):
    await closed(folder, CODING, places, policy=SessionPolicy(metrics=False))
    (entry,) = archived(folder)
    assert (entry.tokens_before, entry.stated) == (None, None)


async def test_a_model_that_fails_leaves_everything_as_it_was_unless_there_is_a_fallback(
    folder: Path, places: Places
):
    async with FakeProvider("nothing of use") as provider:
        model = OpenAICompatible("fake", base_url=f"{provider.url}/nowhere", retries=AT_ONCE)
        with pytest.raises(ModelError):
            await closed(folder, CODING, places, policy=SessionPolicy(model=model))
        assert names(folder) == []
        run = await closed(folder, CODING, places, policy=SessionPolicy(model=model, fallback=True))
        await model.aclose()
    assert run.record is not None
    assert run.record.receipt.problem


async def test_killed_in_the_middle_the_next_run_finishes_it(folder: Path, places: Places):
    steps: list[str] = []
    await compact_session_now(
        folder, str(CODING), places=places, clock=FakeClock(NOW), failpoint=steps.append
    )
    whole = contents(folder)

    class Killed(BaseException):
        pass

    for step in steps:
        emptied(folder)

        def die(reached: str, at: str = step) -> None:
            if reached == at:
                raise Killed

        with pytest.raises(Killed):
            await compact_session_now(folder, str(CODING), places=places, clock=FakeClock(NOW), failpoint=die)
        await closed(folder, CODING, places)
        assert len(archived(folder)) == 1, step
        found = (folder / "DONE.md").read_text("utf-8")
        assert found == whole["DONE.md"].decode(), step


# Which session


async def test_the_newest_session_of_the_project_is_taken(folder: Path, places: Places, tmp_path: Path):
    project = folder.parent
    claude, codex = places.claude_code, places.codex
    recorded(claude / "-old" / "old.jsonl", cwd=project, at=1_000)
    recorded(claude / "-new" / "new.jsonl", cwd=project / "below", at=3_000)
    recorded(claude / "-new" / "agent-1.jsonl", cwd=project, at=9_000)
    recorded(claude / "-other" / "other.jsonl", cwd=tmp_path / "other", at=9_000)
    (claude / "-new" / "empty.jsonl").write_text(json.dumps({"type": "summary", "cwd": str(project)}) + "\n")
    (claude / "-new" / "binary.jsonl").write_bytes(b'\0"cwd": "\\x"')
    recorded(codex / "2026" / "11" / "20" / "rollout-x.jsonl", cwd=project, at=2_000)
    assert (await closed(folder, None, places)).name == "new"
    anywhere = Places(home=places.home, environment={})
    assert (await closed(folder, None, anywhere)).name == "other"


async def test_the_folders_of_claude_code_and_codex_can_be_elsewhere(tmp_path: Path):
    places = Places(environment={"CLAUDE_CONFIG_DIR": str(tmp_path / "c"), "CODEX_HOME": str(tmp_path / "x")})
    assert places.claude_code == tmp_path / "c" / "projects"
    assert places.codex == tmp_path / "x" / "sessions"


async def kept(database: Path, *, name: str = "invoices", clock: FakeClock | None = None) -> None:
    async with SqliteStore(database, clock=clock or FakeClock(NOW)) as store:
        await store.append(Key(conversation=name), read_session(CODING).messages, after=0)


@pytest.mark.requirement("C1", "C9")
async def test_a_conversation_of_ours_is_compacted_in_its_store(folder: Path, places: Places):
    assert isinstance(places.database, Path)
    await kept(places.database)
    recorded(places.claude_code / "-p" / "older.jsonl", cwd=folder.parent, at=1_000)
    planned = await closed(folder, None, places, dry_run=True)
    assert (planned.name, planned.path) == ("invoices", None)
    assert names(folder) == []
    run = await closed(folder, "inv", places)
    assert run.tasks == planned.tasks
    assert run.record is not None
    async with SqliteStore(places.database) as store:
        snapshot = await store.load(Key(conversation="invoices"))
    assert snapshot.active is not None
    assert snapshot.active.id == run.record.id
    (entry,) = archived(folder)
    assert (entry.conversation, entry.id, entry.noted) == ("invoices", run.record.id, True)
    assert {"CONTEXT_ARCHIVE.md", "DONE.md"} <= {change.name for change in run.changes}


async def test_a_name_that_is_no_session_is_told(folder: Path, places: Places):
    with pytest.raises(InvalidInput, match=r"no session that ran in .*--session-now FILE"):
        await closed(folder, None, places)
    with pytest.raises(InvalidInput, match="neither a file nor a conversation"):
        await closed(folder, "nothing", places)
    assert isinstance(places.database, Path)
    assert not places.database.exists()
    await kept(places.database, name="week-1")
    await kept(places.database, name="week-2")
    with pytest.raises(InvalidInput, match="begins the names of 2 conversations"):
        await closed(folder, "week", places)
    (folder.parent / "x.txt").write_text("no session")
    with pytest.raises(UnreadableSession):
        await closed(folder, folder.parent / "x.txt", places)
    assert names(folder) == []


def test_how_long_a_session_lasted_is_known_from_its_messages():
    assert lasted(read_session(CODING)) == "2026-05-04 08:16 to 2026-05-04 08:56 UTC (0 h 40 min)"
    chat = Recorded(path=Path("x"), session=read_session(EXAMPLES / "chat-openai.json"))
    assert lasted(chat.session) == ""


@pytest.mark.parametrize(
    "stamps", [("yesterday", "Nov 20, 10:02"), ("2026-11-20T10:00:00", "later", "2026-11-20T10:30:00Z")]
)
async def test_a_session_whose_stamps_cannot_be_read_is_archived_all_the_same(
    folder: Path, places: Places, stamps: tuple[str, ...]
) -> None:
    path = recorded(folder.parent / "chat.jsonl", cwd=folder.parent)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    edit = {
        "type": "tool_use",
        "id": "e",
        "name": "Edit",
        "input": {"file_path": "a.py", "old_string": "1", "new_string": "2"},
    }
    lines[1]["message"] = {"role": "assistant", "id": "r", "content": [edit]}
    result = {"type": "tool_result", "tool_use_id": "e", "content": "done"}
    lines[2]["message"] = {"role": "user", "content": [result]}
    for number, line in enumerate(lines):
        line["timestamp"] = stamps[number % len(stamps)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    run = await closed(folder, path, places)
    assert run.record is not None
    assert [entry.conversation for entry in archived(folder)] == ["chat"]
