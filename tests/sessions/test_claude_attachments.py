"""The files in work that a compacted session of Claude Code goes on with."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.core.tokens import Estimator
from autocompact.sessions import FileAttachment, Session, files_in_work, read_session, write_claude_code
from autocompact.sessions.claude_attachments import ALL_TOKENS, MOST_FILES
from tests.sessions.claude_lines import Claude, call, result
from tests.sessions.test_write import compaction

pytestmark = pytest.mark.requirement("E8")

READ = "1\tx = 1\n2\t"
ON_DISK = "x = 2\n"


class Work:
    """A session in a project folder, whose agent opens files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = Claude()
        self.log.user("Mend it.")
        self._calls = 0

    def use(self, name: str, output: str, **arguments: object) -> None:
        self._calls += 1
        id = f"c{self._calls}"
        self.log.reply(call(id, name, **arguments), id=f"m{self._calls}")
        self.log.user([result(id, output)])

    def read(self, path: Path | str, output: str = READ) -> None:
        self.use("Read", output, file_path=str(self.folder / path))

    def edit(self, path: Path | str, old: str, new: str) -> None:
        self.use("Edit", "done", file_path=str(self.folder / path), old_string=old, new_string=new)

    def session(self) -> Session:
        return replace(self.log.read(), cwd=str(self.folder))

    def attached(
        self, *, budget: int = ALL_TOKENS, through: int | None = None, home: Path | None = None
    ) -> list[FileAttachment]:
        session = self.session()
        record = compaction(through=len(session.messages) if through is None else through)
        home = home or self.folder.parent
        return list(files_in_work(session, record, counter=Estimator(), budget=budget, home=home))


def told(files: list[FileAttachment]) -> list[tuple[str, str, str]]:
    return [(file.name, file.origin, file.text) for file in files]


@pytest.fixture
def work(tmp_path: Path) -> Work:
    folder = tmp_path / "project"
    folder.mkdir()
    return Work(folder)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Work:
    """A session whose folder is not on this computer."""
    return Work(tmp_path / "not-here")


def test_what_the_folder_holds_now_is_the_newest_and_the_file_touched_last_comes_first(work: Work) -> None:
    for name in ("a.py", "b.py"):
        (work.folder / name).write_text(ON_DISK)
        work.read(name)
    work.edit("a.py", "1", "3")
    assert told(work.attached()) == [("a.py", "disk", ON_DISK), ("b.py", "disk", ON_DISK)]
    assert work.attached()[0].path == str(work.folder / "a.py")


def test_without_the_folder_the_log_shows_them_with_their_edits(elsewhere: Work) -> None:
    elsewhere.read("a.py")
    elsewhere.edit("a.py", "1", "3")
    elsewhere.read("part.py", "7\tx = 1")
    assert told(elsewhere.attached()) == [("part.py", "named", ""), ("a.py", "log", "x = 3\n")]


def test_a_file_that_is_not_there_any_more_is_not_attached(work: Work) -> None:
    work.read("gone.py")
    assert work.attached() == []


def outside(folder: Path) -> Iterator[Path]:
    """Paths in or beside ``folder`` whose content lies elsewhere, or is no text."""
    secret = folder.parent / "secret.txt"
    secret.write_text("of somebody else")
    (folder / "link.txt").symlink_to(secret)
    (folder / "circle.txt").symlink_to(folder / "circle.txt")
    (folder / ".env").write_text("TOKEN=of-somebody")
    (folder / "innocent.txt").symlink_to(folder / ".env")
    (folder / "binary.txt").write_bytes(b"a\0b")
    (folder / "latin.txt").write_bytes(b"\xe4")
    os.mkfifo(folder / "pipe.txt")
    yield from (secret, folder / ".." / "secret.txt")
    yield from (folder / name for name in ("link.txt", "circle.txt", "innocent.txt"))
    yield from (folder / name for name in ("binary.txt", "latin.txt", "pipe.txt"))


def test_what_is_not_a_text_of_the_folder_is_not_opened(work: Work) -> None:
    for path in outside(work.folder):
        one = Work(work.folder)
        one.read(path)
        # beside the folder, where these tests run, is where files are thrown away
        expected = [] if path.name == "secret.txt" else [("log", "x = 1\n")]
        assert [(file.origin, file.text) for file in one.attached()] == expected, path


def test_a_folder_that_holds_the_users_home_is_no_project(work: Work) -> None:
    (work.folder / "a.py").write_text(ON_DISK)
    work.read("a.py")
    for home in (work.folder, work.folder / "home" / "me"):
        assert [file.origin for file in work.attached(home=home)] == ["log"]


def test_files_of_secrets_of_instructions_and_to_be_thrown_away_are_left_out(elsewhere: Work) -> None:
    for path in (".env", "keys/id_rsa", "CLAUDE.md", "deep/Claude.local.md", "/var/tmp/notes.txt"):
        elsewhere.read(path)
    assert elsewhere.attached() == []


def test_secrets_in_a_file_are_replaced(work: Work) -> None:
    key = "sk-ant-api03-" + "aB3" * 31 + "AA"
    (work.folder / "a.py").write_text(f"key = '{key}'\n")
    work.read("a.py")
    (file,) = work.attached()
    assert file.origin == "disk"
    assert "[secret: " in file.text
    assert "aB3" not in file.text


@pytest.mark.parametrize("size", [30_000, 100_000])
def test_a_file_too_large_is_only_named(work: Work, size: int) -> None:
    (work.folder / "a.txt").write_text("word " * (size // 5))
    work.read("a.txt", "1\tword")
    assert told(work.attached()) == [("a.txt", "named", "")]


def test_there_are_five_at_most_and_within_the_budget(elsewhere: Work) -> None:
    for number in range(MOST_FILES + 2):
        elsewhere.read(f"{number}.py", "1\t" + "word " * 200)
    found = elsewhere.attached()
    assert [file.name for file in found] == ["6.py", "5.py", "4.py", "3.py", "2.py"]
    least = elsewhere.attached(budget=found[0].tokens + 150)
    assert [(file.name, file.origin) for file in least] == [("6.py", "log"), ("5.py", "named")]
    assert sum(file.tokens for file in least) <= found[0].tokens + 150
    assert elsewhere.attached(budget=0) == []


def test_what_a_message_that_stays_shows_is_not_attached_again(elsewhere: Work) -> None:
    elsewhere.read("a.py")
    elsewhere.read("b.py")
    elsewhere.edit("a.py", "1", "3")
    assert [file.name for file in elsewhere.attached(through=3)] == ["a.py"]


def test_they_are_written_behind_the_summary_as_claude_code_writes_them(tmp_path: Path, work: Work) -> None:
    (work.folder / "a.py").write_text(ON_DISK)
    work.read("a.py")
    work.read("part.py", "7\tx = 1")
    (work.folder / "part.py").write_text("word " * 30_000)
    source, target = tmp_path / "session.jsonl", tmp_path / "compacted.jsonl"
    source.write_bytes(work.log.bytes())
    made = compaction(through=5)
    files = files_in_work(work.session(), made, counter=Estimator(), budget=9_000, home=tmp_path)
    target.write_bytes(b"".join(write_claude_code(source, made, files=files)))
    *_, summary, first, second = map(json.loads, target.read_bytes().splitlines())
    assert (first["parentUuid"], second["parentUuid"]) == (summary["uuid"], first["uuid"])
    assert {line["type"] for line in (first, second)} == {"attachment"}
    assert (first["sessionId"], first["cwd"]) == (summary["sessionId"], summary["cwd"])
    named, shown = first["attachment"], second["attachment"]
    path = str(work.folder / "part.py")
    assert named == {"type": "compact_file_reference", "filename": path, "displayPath": "part.py"}
    assert shown == {
        "type": "file",
        "filename": (path := str(work.folder / "a.py")),
        "displayPath": "a.py",
        "content": {
            "type": "text",
            "file": {
                "filePath": path,
                "content": ON_DISK,
                "numLines": 2,
                "startLine": 1,
                "totalLines": 2,
            },
        },
    }
    assert read_session(target).messages == read_session(source).messages
