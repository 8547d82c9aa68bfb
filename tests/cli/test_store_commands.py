"""Kept conversations on the command line: what is printed, what a program reads, and what is refused."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from autocompact.ui.text import visible
from tests import warm
from tests.cli.program import ANTHROPIC, CODING, OPENAI, Ended, Program, environment, started
from tests.sessions.claude_lines import Claude, call, result, text

COMMANDS = (
    "list",
    "show x",
    "export x",
    "search x",
    "undo x",
    "restore x",
    "compactions x",
    "delete x --yes",
)


class Shelf:
    """``shelf("show", "talk")`` runs a command on one store file."""

    def __init__(self, program: Program, file: Path) -> None:
        self.file = file
        self._program = program

    def __call__(self, *arguments: str | Path | int) -> Ended:
        return self._program(*arguments, "--db", self.file)

    def said(self, *arguments: str | Path | int) -> str:
        """What a command printed."""
        ended = self(*arguments)
        assert ended.code == 0, ended.err
        return ended.out.decode()

    def told(self, *arguments: str | Path | int) -> str:
        """What a command without output told the person."""
        ended = self(*arguments)
        assert (ended.code, ended.out) == (0, b""), ended.err
        return ended.err.strip()

    def json(self, *arguments: str | Path | int) -> Any:
        return json.loads(self.said(*arguments, "--json"))

    def refused(self, *arguments: str | Path | int) -> str:
        """The one message of a command that was refused."""
        ended = self(*arguments)
        assert (ended.code, ended.out) == (2, b"")
        (line,) = ended.err.splitlines()
        return line.removeprefix("autocompact: ")


@pytest.fixture
def shelf(program: Program, tmp_path: Path) -> Shelf:
    return Shelf(program, tmp_path / "talks.db")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A session of Claude Code that was compacted twice."""
    session = Claude()
    session.user("Mend the pump, please")
    session.reply(text("I look first."), call("t1", "Read", file_path="pump.py"), id="m1")
    session.user([result("t1", "def pump():\n    \x1b[31mleak\x1b[0m()\n" * 3)])
    session.compact("The pump leaks.")
    session.user("And the valve?")
    session.reply(text("It is tight."), id="m2")
    session.compact("Pump leaks, valve is tight.", trigger="manual")
    session.user("Then mend the pump.")
    path = tmp_path / "pump.jsonl"
    path.write_bytes(session.bytes())
    return path


# Looking ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("A3")
def test_conversations_are_listed(shelf: Shelf, recorded: Path) -> None:
    assert shelf.told("import", OPENAI) == "chat-openai: 41 messages imported"
    assert shelf.told("import", recorded, "--name", "pump") == "pump: 6 messages and 2 compactions imported"
    assert shelf.told("import", recorded, "--name", "pump") == (
        "pump is here already, with 6 messages: nothing changed"
    )
    newest, oldest = shelf.json("list")["conversations"]
    assert (newest["name"], newest["messages"]) == ("pump", 6)
    assert newest["title"] == "Mend the pump, please"
    assert newest["compressed_context"] == "Pump leaks, valve is tight."
    assert (oldest["name"], oldest["compressed_at"]) == ("chat-openai", None)
    lines = shelf.said("list").splitlines()
    assert lines[0] == snapshot("NAME         MESSAGES  UPDATED (UTC)     COMPACTED  FIRST REQUEST")
    assert lines[1].split()[0:2] + lines[1].split()[4:6] == ["pump", "6", "yes", "Mend"]
    assert all(len(line) <= 80 for line in lines)


def test_an_empty_store_lists_nothing_and_says_how_to_begin(shelf: Shelf) -> None:
    shelf.told("import", OPENAI)
    assert "`autocompact import SESSION` keeps one" in shelf.told("list", "--namespace", "other")
    assert shelf.json("list", "--namespace", "other") == {"conversations": []}


def test_a_session_file_is_shown_and_searched_without_an_import(shelf: Shelf, recorded: Path) -> None:
    whole = shelf.said("show", recorded)
    assert whole.startswith("── m1 user, 2026-03-01 10:00, summarised ──\nMend the pump, please")
    third = shelf.said("show", f"{recorded}:m3")
    assert third in whole
    assert third.startswith("── m3 tool")
    assert shelf.json("show", recorded, "--context")["conversation"]["name"] == str(recorded)
    (found, *_) = shelf.json("search", "valve", "--conversation", recorded)["results"]
    assert found["reference"] == f"{recorded}:m4"
    assert shelf.refused("show", f"{recorded}:m9").endswith("has no messages m9: choose from m1 to m6")
    assert f"write {recorded}:m12 for its message 12" in shelf.refused("show", f"{recorded}:last")
    assert not shelf.file.exists()


def test_a_kept_conversation_is_compacted_where_it_is_and_that_is_undone(shelf: Shelf) -> None:
    shelf.told("import", CODING, "--name", "invoices")
    told = shelf.told("compact", "invoices", "--window", "100k", "--focus", "rounding")
    assert re.match(r"invoices: 78,550 tokens became [\d,]+, compaction \w+, offline summary\n", told)
    (record,) = shelf.json("compactions", "invoices")["compactions"]
    assert record["id"] in told
    assert shelf.json("show", "invoices", "--context")["compaction"] == record["id"]
    assert "the whole log is in the context again" in shelf.told("undo", "invoices")
    refused = shelf.refused("compact", "invoices", "--to", 12_000, "--preview")
    assert refused.startswith("a kept conversation is compacted in its store: leave --to and --preview out")
    assert "leave --tail-tokens out" in shelf.refused("compact", "invoices", "--tail-tokens", 0)
    assert shelf("compact", "nothing").code == 2


def test_messages_are_shown_with_what_became_of_them(shelf: Shelf, recorded: Path) -> None:
    shelf.told("import", recorded)
    assert shelf.said("show", "pump") == snapshot(
        """\
── m1 user, 2026-03-01 10:00, summarised ──
Mend the pump, please

── m2 assistant, 2026-03-01 10:00, summarised ──
I look first.
call of Read: {"file_path": "pump.py"}

── m3 tool, 2026-03-01 10:00, summarised ──
result of Read:
def pump():
    \\x1b[31mleak\\x1b[0m()
def pump():
    \\x1b[31mleak\\x1b[0m()
def pump():
    \\x1b[31mleak\\x1b[0m()


── m4 user, 2026-03-01 10:00, summarised ──
And the valve?

── m5 assistant, 2026-03-01 10:00, summarised ──
It is tight.

── m6 user, 2026-03-01 10:00 ──
Then mend the pump.
"""
    )
    assert shelf.said("show", "pump", "--from", 4, "--through", 4).splitlines()[1:] == ["And the valve?"]
    assert shelf.said("show", "pu:m4") == shelf.said("show", "pump", "--from", 4, "--through", 4)
    document = shelf.json("show", "pump", "--from", 5)
    assert [message["seq"] for message in document["messages"]] == [5, 6]
    assert document["messages"][0]["parts"] == [{"type": "text", "text": "It is tight."}]
    assert document["marks"] == {"5": "summarised"}


def test_the_context_is_shown_as_the_model_sees_it(shelf: Shelf, recorded: Path) -> None:
    shelf.told("import", recorded)
    shown = shelf.said("show", "pump", "--context")
    assert "Pump leaks, valve is tight." in shown
    assert "I look first." not in shown
    document = shelf.json("show", "pump", "--context")
    assert [message["role"] for message in document["messages"]] == ["user", "user"]
    assert document["messages"][1]["content"] == "Then mend the pump."
    assert (
        f"{document['tokens']:,} tokens, compaction {document['compaction']} through m5"
        in shown.splitlines()[0]
    )
    assert "leave --from and --through out" in shelf.refused("show", "pump", "--context", "--from", 1)


def test_every_kind_of_part_is_shown(shelf: Shelf, tmp_path: Path) -> None:
    parts = [
        {"type": "reasoning", "text": "hm"},
        {"type": "reasoning"},
        {"type": "image", "media_type": "image/png", "data": "AAAA"},
        {"type": "document", "name": "a.pdf", "text": "its text"},
        {"type": "document", "media_type": "application/pdf"},
        {"type": "opaque", "kind": "odd", "raw": "{}"},
        {
            "type": "result",
            "call_id": "c9",
            "text": "no",
            "is_error": True,
            "media": [{"type": "image", "url": "u"}],
        },
    ]
    archive = {"format": "autocompact", "version": 1, "name": "parts"}
    path = tmp_path / "x.json"
    path.write_text(
        json.dumps(archive | {"messages": [{"seq": 1, "role": "user", "synthetic": True, "parts": parts}]})
    )
    shelf.told("import", path)
    assert shelf.said("show", "parts") == snapshot(
        """\
── m1 program ──
(thinking) hm
(thinking) sealed
[image image/png, 3 bytes]
[document a.pdf]
its text
[document application/pdf]
[odd, 2 bytes]
error of c9:
no
[image u, 0 bytes]
"""
    )


def test_a_text_cannot_steer_the_terminal() -> None:
    assert visible("a\x1b[2Jb\rc\r\nd\te\x9b\u202e\ud83d") == "a\\x1b[2Jb\\rc\nd\te\\x9b\\u202e\\ud83d"
    assert visible("") == ""


@pytest.mark.requirement("E3")
def test_what_was_compacted_is_found_and_its_reference_opens_it(shelf: Shelf, recorded: Path) -> None:
    shelf.told("import", recorded)
    shelf.told("import", CODING)
    shown = shelf.said("search", "tight valve", "--conversation", "pump", "-k", 1)
    assert shown == snapshot(
        """\
pump:m5  2026-03-01 10:00  the assistant
  It is tight.
"""
    )
    (found,) = shelf.json("search", "tight valve", "-k", 1)["results"]
    assert found == {
        "reference": "pump:m5",
        "source": "the assistant",
        "excerpt": "It is tight.",
        "time": "2026-03-01T10:00:06.000Z",
        "match": 0.5,
        "beside": "",
        "note": "",
    }
    assert "It is tight." in shelf.said("show", found["reference"])
    assert len(shelf.json("search", "rounding", "-k", 7)["results"]) == 7
    assert all(len(line) <= 80 for line in shelf.said("search", "rounding").splitlines())
    assert "Nothing found for 'kumquat'" in shelf.told("search", "kumquat")
    assert "the query is empty" in shelf.refused("search", " ")
    assert "no conversation 'pmup'" in shelf.refused("search", "x", "--conversation", "pmup")
    assert "Invalid value for '-k'" in shelf.refused("search", "x", "-k", 21)


def test_a_search_shows_the_answer_beside_a_question_the_older_file_and_that_nothing_fits_well(
    shelf: Shelf, tmp_path: Path
) -> None:
    session = Claude()
    session.user("Which sealant does the pump take?")
    session.reply(text("Silicone, never hemp: the hot water rots it."), id="m1")
    for nth, body in enumerate(("leak = True", "leak = False"), 2):
        session.user("Look at the settings of the reservoir again.")
        session.reply(call(f"t{nth}", "Read", file_path="reservoir.py"), id=f"m{nth}")
        session.user([result(f"t{nth}", f"# the reservoir\n{body}\n")])
    path = tmp_path / "pump.jsonl"
    path.write_bytes(session.bytes())
    shelf.told("import", path)
    assert shelf.said("search", "which sealant for the pump", "-k", 1) == snapshot("""\
pump:m1  2026-03-01 10:00  the user
  Which sealant does the pump take?
  → [pump:m2] the assistant: Silicone, never hemp: the hot water rots it.
""")
    assert "older:" in shelf.said("search", "reservoir leak kind:output")
    assert shelf("search", "sealant").err == ""
    doubted = shelf("search", "sealant kumquat zeppelin marzipan")
    assert "No good match for 'sealant kumquat zeppelin marzipan': the best result holds" in doubted.err
    assert b"pump:m1" in doubted.out
    assert all(len(line) <= 80 for line in shelf.said("search", "sealant").splitlines())


@pytest.mark.requirement("E2", "B6")
def test_compactions_are_shown_and_undone(shelf: Shelf, recorded: Path) -> None:
    shelf.told("import", recorded)
    document = shelf.json("compactions", "pump")
    first, second = document["compactions"]
    assert document["in_force"] == second["id"]
    assert (first["receipt"]["tokens_before"], first["receipt"]["trigger"]) == (155_000, "import")
    assert shelf.said("compactions", "pump").replace(first["id"], "FIRST").replace(
        second["id"], "SECOND"
    ) == snapshot(
        """\
pump: 2 compactions, 6 messages

FIRST  superseded  2026-03-01 10:00
  before  ████████████████████████   155,000 tokens
  summarises m1 to m3
  made by claude_code when the session was recorded

SECOND  active  2026-03-01 10:00
  before  ████████████████████████   155,000 tokens
  summarises m4 to m5
  made by claude_code when the session was recorded
"""
    )
    told = shelf.told("undo", "pump")
    assert f"pump: compaction {second['id']} undone, {first['id']} is active again" in told
    assert [record["status"] for record in shelf.json("compactions", "pump")["compactions"]] == [
        "active",
        "undone",
    ]
    undone = shelf.json("undo", "pump")
    assert (undone["undone"], undone["in_force"]) == (first["id"], None)
    assert undone["tokens_before"] < undone["tokens_after"]
    assert "the whole log" not in shelf.refused("undo", "pump")
    assert f"compaction {first['id']} is active again" in shelf.told("restore", "pump")
    assert f"compaction {second['id']} is active again" in shelf.told("restore", "pump", second["id"])
    assert shelf.json("compactions", "pump")["in_force"] == second["id"]
    assert f"compaction '{second['id']}' is active already" in shelf.refused("restore", "pump", second["id"])
    said = shelf.refused("restore", "pump")
    assert "nothing to restore: no compaction of 'pump' was undone since the active one was made" in said
    assert f"there are: {first['id']}, {second['id']}" in shelf.refused("restore", "pump", "none")
    shelf.told("undo", "pump")
    restored = shelf.json("restore", "pump")
    assert restored["in_force"] == second["id"]
    shelf.told("undo", "pump")
    shelf.told("undo", "pump")
    assert "Mend the pump, please" in shelf.said("show", "pump", "--context")


def test_a_conversation_is_deleted_when_the_person_means_it(shelf: Shelf) -> None:
    shelf.told("import", OPENAI)
    shelf.told("import", ANTHROPIC)
    refused = shelf("delete", "chat-openai")
    assert refused.code == 2
    *shown, reason = refused.err.splitlines()
    assert shown[0] == "chat-openai goes for good:"  # and what, as a person at a terminal is told
    assert reason == "autocompact: 'chat-openai' would be gone for good: say --yes"
    assert "give the whole name to delete it: 'chat-openai'" in shelf.refused("delete", "chat-o", "--yes")
    assert shelf.told("delete", "chat-openai", "--yes").startswith("chat-openai: deleted, ")
    assert [each["name"] for each in shelf.json("list")["conversations"]] == ["chat-anthropic"]
    assert "no conversation 'chat-openai'" in shelf.refused("delete", "chat-openai", "--yes")


def test_deleting_takes_a_conversation_out_of_the_archives_and_says_what_goes_and_what_stays(
    tmp_path: Path,
) -> None:
    def run(*arguments: str, program: str = "autocompact") -> subprocess.CompletedProcess[str]:
        env = {**environment(), "XDG_DATA_HOME": str(tmp_path / "data")}
        started = [*warm.command(program), *arguments]
        return subprocess.run(started, cwd=project, env=env, capture_output=True, text=True, check=False)

    project = tmp_path / "project"
    (project / ".autocompact").mkdir(parents=True)
    archive = project / ".autocompact" / "CONTEXT_ARCHIVE.md"
    for path in (CODING, OPENAI):
        assert run("import", str(path)).returncode == 0
        closed = run("--session-now", path.stem, program="compress-context")
        assert closed.returncode == 0, closed.stderr
    whole = archive.read_text()
    archive.write_text(whole + "\n- Conversation: `fix-invoice-rounding`\n")
    refused = run("delete", CODING.stem, "--yes")
    archive.write_text(whole)
    listed = json.loads(run("list", "--json").stdout)["conversations"]
    deleted = run("delete", CODING.stem, "--yes")
    left = archive.read_text()

    assert (refused.returncode, len(listed)) == (2, 2)
    assert "then delete again. Nothing was deleted." in refused.stderr
    assert deleted.returncode == 0, deleted.stderr
    assert "6 memory entries" in deleted.stderr  # in the archive and in DONE.md, and two backups of each
    assert (CODING.stem in whole, CODING.stem in left, OPENAI.stem in left) == (True, False, True)
    (database,) = (tmp_path / "data").rglob("*.db")
    assert b"invoice" not in database.read_bytes().lower()

    # a conversation that is gone already, with an entry that an older version left
    archive.write_text(whole)
    again = run("delete", CODING.stem, "--yes")
    assert (again.returncode, CODING.stem in archive.read_text()) == (0, False), again.stderr


def test_deleting_takes_what_a_plugin_prepared_for_a_session_of_the_default_store_only(
    tmp_path: Path,
) -> None:
    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        env = {**environment(), "XDG_DATA_HOME": str(tmp_path / "data")}
        started = [*warm.command("autocompact"), *map(str, arguments)]
        return subprocess.run(started, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    name = "claude-code-abc"
    session = tmp_path / "data" / "autocompact" / "agents" / "claude-code" / "abc"
    session.mkdir(parents=True)
    for file in ("prepared.json", "pending.json", "receipts.jsonl"):
        (session / file).touch()
    elsewhere = (("--db", tmp_path / "scratch.db"), ("--namespace", "other"))
    for where in (*elsewhere, ()):
        assert run("import", OPENAI, "--name", name, *where).returncode == 0
    previews = [run("delete", name, *where).stderr for where in (*elsewhere, ())]
    for where in elsewhere:
        assert run("delete", name, "--yes", *where).returncode == 0
    untouched = len([*session.iterdir()])
    assert run("delete", name, "--yes").returncode == 0

    assert [f"prepared for its session in {session}; its receipts stay" in each for each in previews] == [
        False,
        False,
        True,
    ]
    assert (untouched, [path.name for path in session.iterdir()]) == (3, ["receipts.jsonl"])


def test_a_conversation_without_compactions_says_so(shelf: Shelf) -> None:
    shelf.told("import", OPENAI)
    assert shelf.told("compactions", "chat-openai") == "Nothing was compacted in chat-openai."
    assert shelf.json("compactions", "chat-openai")["compactions"] == []
    assert "nothing to undo: no compaction is active in 'chat-openai'" in shelf.refused("undo", "chat")


# In and out ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["json", "jsonl", "openai", "anthropic"])
@pytest.mark.parametrize("session", [CODING, OPENAI, ANTHROPIC], ids=lambda path: path.stem)
def test_what_is_exported_can_be_imported_again(
    shelf: Shelf, tmp_path: Path, session: Path, format: str
) -> None:
    shelf.told("import", session, "--name", "talk")
    out = tmp_path / f"{format}.json"
    assert shelf.told("export", "talk", "--format", format, "--out", out).endswith(f"written to {out}")
    assert shelf.said("export", "talk", "--format", format).encode() == out.read_bytes()
    shelf.told("import", out, "--name", "again")
    told = json.loads(shelf.said("export", "again", "--format", "openai"))
    if format != "anthropic":
        assert told == json.loads(shelf.said("export", "talk", "--format", "openai"))
    if format == "json":
        assert json.loads(out.read_bytes()) | {"name": ""} == json.loads(shelf.said("export", "again")) | {
            "name": ""
        }


@pytest.mark.requirement("E2")
def test_the_bytes_of_an_export_are_those_that_came_in_after_any_undo(shelf: Shelf) -> None:
    shelf.told("import", OPENAI)
    body = shelf.said("export", "chat-openai", "--format", "openai").encode()
    recorded = json.loads(OPENAI.read_bytes())["messages"]
    assert json.loads(body)["messages"] == recorded
    raws = [message["raw"] for message in shelf.json("show", "chat-openai")["messages"]]
    assert all(raw.encode() in OPENAI.read_bytes() and raw.encode() in body for raw in raws)


def test_markdown_is_for_people(shelf: Shelf) -> None:
    shelf.told("import", OPENAI)
    assert shelf.said("export", "chat-openai", "--format", "markdown").startswith(
        "# chat-openai\n\n## 1 · system"
    )


def test_what_was_added_to_a_session_is_added(shelf: Shelf, recorded: Path) -> None:
    whole = recorded.read_bytes()
    recorded.write_bytes(b"".join(whole.splitlines(keepends=True)[:5]))
    shelf.told("import", recorded)
    recorded.write_bytes(whole)
    assert shelf.told("import", recorded) == "pump has grown: 3 messages and 1 compaction added, 6 now"
    assert shelf.json("import", recorded) == {
        "name": "pump",
        "known": True,
        "messages": 6,
        "compactions": 2,
        "new_messages": 0,
        "new_compactions": 0,
    }


def test_what_is_not_taken_in_is_named(shelf: Shelf, tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"role":"user","content":"Hello"}\n{broken\n')
    assert "not taken in: 1 line that could not be used (line 2:" in shelf.told("import", path)


def test_a_session_can_come_from_stdin_with_a_name(shelf: Shelf) -> None:
    command = ("import", "-", "--db", shelf.file)
    nameless = started(*command, input=OPENAI.read_bytes())
    assert (nameless.returncode, b"give it one with --name" in nameless.stderr) == (2, True)
    assert not shelf.file.exists()
    assert started(*command, "--name", "piped", input=OPENAI.read_bytes()).returncode == 0
    assert shelf.json("list")["conversations"][0]["name"] == "piped"
    garbage = started(*command, "--name", "x", input=b"garbage")
    assert b"'standard input' is not JSON" in garbage.stderr


# Refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_a_store_that_is_not_there_is_said_and_not_made(shelf: Shelf, command: str) -> None:
    said = shelf.refused(*command.split())
    assert f"there is no conversation store {str(shelf.file)!r}" in said
    assert "`autocompact import SESSION` makes one" in said
    assert not shelf.file.exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_no_store_stays_as_it_was(shelf: Shelf, command: str) -> None:
    shelf.file.write_bytes(OPENAI.read_bytes())
    assert "is not a database: choose another file" in shelf.refused(*command.split())
    assert shelf.file.read_bytes() == OPENAI.read_bytes()


@pytest.mark.parametrize("command", ["show", "export", "undo", "restore", "compactions"])
def test_a_name_that_is_not_there_is_refused_with_what_comes_near(shelf: Shelf, command: str) -> None:
    shelf.told("import", OPENAI)
    shelf.told("import", ANTHROPIC)
    assert "'chat-' begins several names: 'chat-anthropic', 'chat-openai'" in shelf.refused(command, "chat-")
    assert "Near it: 'chat-openai'" in shelf.refused(command, "chatopenai")


def test_a_session_that_cannot_be_read_makes_no_store(shelf: Shelf, tmp_path: Path) -> None:
    assert "there is no file" in shelf.refused("import", tmp_path / "none.jsonl")
    assert "is a folder" in shelf.refused("import", tmp_path)
    broken = tmp_path / "broken.json"
    broken.write_text('{"format":"autocompact","version":1,"name":"x","messages":[]}')
    assert "damaged: it holds no message" in shelf.refused("import", broken)
    assert not shelf.file.exists()


def test_another_session_of_the_same_name_is_refused(shelf: Shelf) -> None:
    shelf.told("import", OPENAI, "--name", "talk")
    assert "Choose another name with --name" in shelf.refused("import", ANTHROPIC, "--name", "talk")


def test_a_store_in_a_folder_that_is_not_there_is_refused(program: Program, tmp_path: Path) -> None:
    ended = program("import", OPENAI, "--db", tmp_path / "none" / "talks.db")
    assert (ended.code, "there is no folder" in ended.err) == (2, True)


def test_an_export_never_overwrites_the_store(shelf: Shelf, tmp_path: Path) -> None:
    shelf.told("import", OPENAI)
    assert "never overwritten" in shelf.refused("export", "chat-openai", "--out", shelf.file)
    (tmp_path / "file").write_text("")
    assert "is no folder" in shelf.refused("export", "chat-openai", "--out", tmp_path / "file" / "x.json")
    assert "is a folder" in shelf.refused("export", "chat-openai", "--out", tmp_path)
    assert shelf.json("list")["conversations"][0]["messages"] == 41


# The process --------------------------------------------------------------------------------------------------


def test_without_db_conversations_are_in_the_data_folder(tmp_path: Path) -> None:
    names = {name: str(tmp_path) for name in ("HOME", "XDG_DATA_HOME", "LOCALAPPDATA")}
    home = environment(**names)
    assert started("list", env=home).returncode == 2
    assert list(tmp_path.iterdir()) == []
    assert started("import", OPENAI, env=home).returncode == 0
    assert b"chat-openai" in started("list", env=home).stdout
    assert [path.parent.name for path in tmp_path.rglob("conversations.db")] == ["autocompact"]


def test_nobody_reads_the_output_any_more(shelf: Shelf) -> None:
    shelf.told("import", CODING)
    command = [sys.executable, "-m", "autocompact", "show", "fix", "--db", str(shelf.file)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 1
    assert b"Traceback" not in said


def test_there_are_no_colours_in_a_pipe(shelf: Shelf, recorded: Path) -> None:
    shelf.told("import", recorded)
    for command in ("list", "show pump", "compactions pump", "search valve", "show pump --context"):
        assert "\x1b" not in shelf.said(*command.split())


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_an_interrupted_import_leaves_a_store_that_can_be_used(shelf: Shelf, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [
        sys.executable,
        "-m",
        "autocompact",
        "import",
        str(pipe),
        "--name",
        "talk",
        "--db",
        str(shelf.file),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment()) as process:
        with pipe.open("wb") as file:  # opens once the program reads
            file.write(b'{"role":"user","content":"Hello"}\n')
            file.flush()
            process.send_signal(signal.SIGINT)
        # Only now is the file at its end: a signal just before a read begins would else be heard after it.
        assert process.wait(timeout=60) == 130
        assert process.stderr is not None
        assert process.stderr.read().strip() == b""
    assert shelf.told("import", OPENAI, "--name", "talk") == "talk: 41 messages imported"


# Without a name -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["show", "show --context", "export", "compactions", "undo"])
def test_without_a_name_it_is_the_conversation_that_was_last_used_and_that_is_said(
    shelf: Shelf, recorded: Path, command: str
) -> None:
    shelf.told("import", OPENAI)
    shelf.told("import", recorded, "--name", "pump")
    ended = shelf(*command.split())
    assert ended.code == 0, ended.err
    assert "pump: the conversation that was last used; `autocompact list` shows all" in ended.err
    if command == "undo":
        assert shelf("restore").code == 0
    else:
        assert ended.out == shelf(command.split()[0], "pump", *command.split()[1:]).out


def test_without_a_name_nothing_is_deleted(shelf: Shelf, recorded: Path) -> None:
    shelf.told("import", recorded)
    assert "Missing argument 'NAME'" in shelf.refused("delete", "--yes")
    assert len(shelf.json("list")["conversations"]) == 1


def test_an_empty_name_is_not_the_last_used_one(shelf: Shelf, recorded: Path) -> None:
    shelf.told("import", recorded)
    for command in ("show", "undo", "compactions"):
        assert "there is no conversation ''" in shelf.refused(command, "")


def test_without_a_name_an_empty_store_says_how_to_begin(shelf: Shelf) -> None:
    shelf.told("import", OPENAI)
    for command in ("show", "export", "undo", "restore", "compactions"):
        assert "`autocompact import SESSION` keeps one" in shelf.refused(command, "--namespace", "other")


# Doctor and backup --------------------------------------------------------------------------------------------


@pytest.mark.requirement("F9")
def test_the_doctor_says_of_a_file_without_anything_that_it_is_empty(shelf: Shelf) -> None:
    """Each of its nine checks asked to restore the file from a backup, and one said that nothing is to do."""
    shelf.file.parent.mkdir(parents=True, exist_ok=True)
    shelf.file.touch(mode=0o600)
    (_, note, advice, last) = shelf.said("doctor").splitlines()
    assert note == f"note     empty: {shelf.file}: there is nothing in it, not even a table"
    assert advice.strip().startswith("next: nothing, if it is new")
    assert last == "all is well"


def test_the_doctor_says_that_all_is_well_or_what_is_not_and_what_to_do(shelf: Shelf, recorded: Path) -> None:
    shelf.told("import", recorded, "--name", "pump")
    assert (
        shelf.said("doctor").splitlines()[0].startswith(f"{shelf.file}: 1 conversation, 6 messages, 2 comp")
    )
    assert shelf.said("doctor").splitlines()[-1] == "all is well"
    assert shelf.json("doctor")["healthy"] is True
    content = shelf.file.read_bytes()
    at = content.index(b"Pump leaks, valve is tight.")
    shelf.file.write_bytes(content[:at] + b"D" + content[at + 1 :])
    ended = shelf("doctor")
    assert ended.code == 1
    assert b"its checksum is another" in ended.out
    assert b"next: restore the file from a backup" in ended.out
    found = shelf("doctor", "--json")
    assert (found.code, json.loads(found.out)["healthy"]) == (1, False)
    assert str(shelf.file) in shelf.refused("list")


@pytest.mark.requirement("F9")
def test_the_doctor_cannot_look_at_what_is_no_store(program: Program, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"notes" * 50)
    for file, said in (("missing.db", "there is no file"), ("notes.txt", "is not a database")):
        ended = program("doctor", "--db", tmp_path / file)
        assert (ended.code, ended.out) == (2, b"")
        assert said in ended.err


def test_a_backup_and_a_store_may_be_named_from_the_folder_one_is_in(
    shelf: Shelf, recorded: Path, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf("import", recorded, "--name", "talk")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert shelf("backup", "copy.db").code == 0
    assert program("doctor", "--db", "copy.db").code == 0
    assert program("backup", "again.db", "--db", "copy.db").code == 0


@pytest.mark.requirement("F9")
def test_a_backup_can_be_used_in_place_of_the_store(shelf: Shelf, recorded: Path, program: Program) -> None:
    shelf.told("import", recorded, "--name", "pump")
    copy = shelf.file.with_name("copy.db")
    assert shelf.told("backup", copy).startswith(f"{copy}: 1 conversation, 6 messages, 2 compactions")
    assert program("show", "pump", "--db", copy).out == shelf("show", "pump").out
    assert "is there already: choose another file, or give --overwrite" in shelf.refused("backup", copy)
    shelf.told("backup", copy, "--overwrite")


def test_a_backup_for_which_there_is_no_room_names_the_copy_and_leaves_nothing(
    shelf: Shelf, recorded: Path, tmp_path: Path
) -> None:
    shelf.told("import", recorded, "--name", "pump")
    script = (
        "import resource, signal, sys; from autocompact.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    (tmp_path / "there").mkdir()
    copy = tmp_path / "there" / "copy.db"
    ended = subprocess.run(
        [sys.executable, "-c", script, "backup", str(copy), "--db", str(shelf.file)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"the backup {str(copy)!r} cannot be written" in ended.stderr
    assert list(copy.parent.iterdir()) == []


def test_a_name_that_the_named_store_does_not_have_is_told_with_what_it_has(
    shelf: Shelf, recorded: Path
) -> None:
    shelf.told("import", recorded, "--name", "pump")
    assert "there is no conversation 'punp'" in (said := shelf.refused("compact", "punp"))
    assert "Near it: 'pump'" in said


def test_old_messages_get_a_checksum_when_the_doctor_is_told_to(shelf: Shelf, recorded: Path) -> None:
    shelf.told("import", recorded)
    ended = shelf("doctor", "--seal")
    assert (ended.code, ended.err) == (0, "0 messages got a checksum\n")


def test_with_a_closed_stdin_nothing_is_deleted_and_nothing_breaks(shelf: Shelf, recorded: Path) -> None:
    shelf.told("import", recorded, "--name", "pump")
    ended = subprocess.run(
        ["sh", "-c", 'exec "$0" -m autocompact delete pump --db "$1" <&-', sys.executable, str(shelf.file)],
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.endswith(b"\nautocompact: 'pump' would be gone for good: say --yes\n")
    assert len(shelf.json("list")["conversations"]) == 1
