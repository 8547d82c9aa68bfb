"""``autocompact doctor --rescue``: what a person gets out of a damaged store."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import Ended, Program
from tests.stores import bit_flips
from tests.stores.support import connect

pytestmark = pytest.mark.requirement("F9")
PAGE = 4096


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("written") / "chats.db"
    asyncio.run(bit_flips.write(path, keys=bit_flips.KEYS[:3]))
    return path


class Damaged:
    """A store that is damaged, and the new one that is made of it."""

    def __init__(self, program: Program, folder: Path, *, whole: Path) -> None:
        self.file, self.new, self.whole = folder / "chats.db", folder / "new.db", whole
        self._program = program
        shutil.copyfile(whole, self.file)
        self.file.chmod(0o600)

    def sql(self, statement: str) -> None:
        connection = connect(self.file)
        connection.execute(statement)
        connection.close()

    def flip(self, sought: bytes) -> None:
        """Change one bit of the only place of the file that reads so."""
        content = bytearray(self.file.read_bytes())
        at = content.index(sought)
        content[at + 1] ^= 1
        self.file.write_bytes(content)

    def overwrite(self, at: int, content: bytes) -> None:
        with self.file.open("rb+") as file:
            file.seek(at)
            file.write(content)

    def rescued(self, *options: str) -> Ended:
        before = self.file.read_bytes()
        ended = self._program("doctor", "--rescue", self.new, "--db", self.file, *options)
        assert self.file.read_bytes() == before
        return ended

    def said(self, *arguments: str | Path, db: Path | None = None) -> Any:
        ended = self._program(*arguments, "--db", db or self.new)
        assert ended.code == 0, ended.err
        return json.loads(ended.out)

    def messages(self, name: str, *, db: Path | None = None) -> list[Any]:
        return self.said("export", name, "--namespace", "a", db=db)["messages"]


@pytest.fixture
def damaged(program: Program, tmp_path: Path, written: Path) -> Damaged:
    return Damaged(program, tmp_path, whole=written)


def _body(file: Path, id: str) -> bytes:
    connection = connect(file)
    body = connection.execute(f"SELECT body FROM messages WHERE id = {id}").get
    connection.close()
    return body


def test_a_message_that_cannot_be_read_becomes_a_note_and_all_others_stay(
    damaged: Damaged, program: Program
) -> None:
    damaged.flip(_body(damaged.file, "(1 << 24) + 7"))
    advice = program("doctor", "--db", damaged.file)
    assert advice.code == 1
    assert b"`autocompact doctor --rescue NEW.db`" in advice.out
    assert program("export", "talk-0", "--namespace", "a", "--db", damaged.file).code == 2

    ended = damaged.rescued()
    assert ended.code == 1
    head, loss, last = ended.out.decode().splitlines()
    assert head.startswith(f"{damaged.new}: 3 conversations, 120 messages, 9 compactions")
    assert loss == (
        "lost     conversation 'talk-0': 1 message cannot be read, a note stands in the place of each: 7"
    )
    assert last == "1 loss"
    if os.name == "posix":
        assert damaged.new.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in damaged.new.parent.iterdir()) == ["chats.db", "new.db"]

    before, after = damaged.messages("talk-0", db=damaged.whole), damaged.messages("talk-0")
    assert [each["seq"] for each in after] == [each["seq"] for each in before]
    assert [one for one, other in zip(after, before, strict=True) if one != other] == [after[6]]
    assert after[6]["synthetic"] is True
    assert after[6]["parts"][0]["text"].startswith("[Message 7 could not be read")
    assert program("doctor", "--db", damaged.new).out.endswith(b"all is well\n")
    shown = program("show", "talk-0", "--namespace", "a", "--context", "--json", "--db", damaged.new)
    assert shown.code == 0
    assert b"The pump leaks at the valve." in shown.out


def test_where_the_active_compaction_cannot_be_read_the_one_before_is_active(damaged: Damaged) -> None:
    damaged.sql("UPDATE compactions SET record = zeroblob(40) WHERE conversation = 1 AND id = 'c1'")
    document = json.loads(damaged.rescued("--json").out)
    assert [loss["what"] for loss in document["losses"]] == [
        "compactions that cannot be read: 1",
        "compaction 'c1', which was active, cannot be read: compaction 'c0' is active instead",
    ]
    archive = damaged.said("export", "talk-0", "--namespace", "a")
    assert archive["active"] == "c0"
    assert [record["id"] for record in archive["compactions"]] == ["c0", "p"]
    (info,) = [
        each
        for each in damaged.said("list", "--namespace", "a", "--json")["conversations"]
        if each["name"] == "talk-0"
    ]
    assert info["compressed_context"].startswith("The pump leaks")


def test_without_any_compaction_the_whole_log_is_the_context(damaged: Damaged) -> None:
    damaged.sql("UPDATE compactions SET record = zeroblob(40) WHERE conversation = 1")
    assert "the whole log is the context instead" in damaged.rescued().out.decode()
    archive = damaged.said("export", "talk-0", "--namespace", "a")
    assert (archive.get("active"), len(archive["messages"])) == (None, 40)
    assert archive["messages"] == damaged.messages("talk-0", db=damaged.whole)


def test_a_damaged_entry_of_a_conversation_costs_no_message(damaged: Damaged) -> None:
    damaged.sql("UPDATE conversations SET title = 'another', state = x'00' WHERE id = 1")
    ended = damaged.rescued()
    assert ended.code == 1
    assert "conversation 'talk-0': its entry is damaged" in ended.out.decode()
    assert damaged.messages("talk-0") == damaged.messages("talk-0", db=damaged.whole)


def test_messages_without_an_entry_get_a_name(damaged: Damaged) -> None:
    damaged.sql("PRAGMA foreign_keys = OFF; DELETE FROM conversations WHERE id = 1")
    ended = damaged.rescued()
    assert "conversation 'rescued-1'" in ended.out.decode()
    kept = damaged.said("export", "rescued-1")["messages"]
    assert kept == damaged.messages("talk-0", db=damaged.whole)


def test_what_is_missing_at_the_end_of_a_log_is_noted(damaged: Damaged) -> None:
    damaged.sql("DELETE FROM messages WHERE id IN ((1 << 24) + 3, (1 << 24) + 39, (1 << 24) + 40)")
    assert (
        "3 messages cannot be read, a note stands in the place of each: 3, 39-40"
        in damaged.rescued().out.decode()
    )
    assert len(damaged.messages("talk-0")) == 40


def test_a_lost_edit_is_told(damaged: Damaged) -> None:
    damaged.sql("UPDATE messages SET body = zeroblob(9) WHERE id = (1 << 24) + 22")
    assert "edits that cannot be read: 1; what they replaced is shown again" in damaged.rescued().out.decode()


@pytest.mark.parametrize("table", ["messages", "passages", "sqlite_autoindex_conversations_1"])
def test_pages_above_the_rows_are_not_needed(damaged: Damaged, table: str) -> None:
    connection = connect(damaged.file)
    root = connection.execute(f"SELECT rootpage FROM sqlite_schema WHERE name = '{table}'").get
    connection.close()
    is_above = damaged.file.read_bytes()[(root - 1) * PAGE] in (2, 5)
    damaged.overwrite((root - 1) * PAGE, b"\xff" * (PAGE if is_above else 1))
    ended = damaged.rescued()
    assert ended.code == 0, ended.out
    assert ended.out.decode().splitlines()[-1] == "nothing is lost"
    for name in ("talk-0", "talk-1"):
        assert damaged.messages(name) == damaged.messages(name, db=damaged.whole)


def test_a_file_whose_head_is_gone_is_rescued(damaged: Damaged, program: Program) -> None:
    damaged.overwrite(0, bytes(100))
    refused = program("doctor", "--db", damaged.file)
    assert refused.code == 2
    assert "doctor --rescue NEW.db" in refused.err
    assert damaged.rescued().code == 0
    assert damaged.messages("talk-0") == damaged.messages("talk-0", db=damaged.whole)


def test_access_keys_are_taken_along(damaged: Damaged, program: Program) -> None:
    made = program("keys", "create", "ci", "--tenant", "acme", "--db", damaged.file)
    assert made.code == 0, made.err
    assert "access keys" in damaged.rescued().out.decode()
    listed = program("keys", "list", "--db", damaged.new)
    assert b"ci" in listed.out


def test_what_was_deleted_stays_deleted(damaged: Damaged, program: Program) -> None:
    assert program("delete", "talk-0", "--yes", "--namespace", "a", "--db", damaged.file).code == 0
    assert damaged.rescued().code == 0
    assert [each["name"] for each in damaged.said("list", "--namespace", "a", "--json")["conversations"]] == [
        "talk-1"
    ]


def test_a_whole_store_is_copied_whole(damaged: Damaged) -> None:
    assert damaged.rescued().out.decode().splitlines()[-1] == "nothing is lost"
    whole = damaged.said("export", "talk-1", "--namespace", "a", db=damaged.whole)
    assert damaged.said("export", "talk-1", "--namespace", "a") == whole


def test_what_cannot_be_rescued_says_why_and_makes_no_file(damaged: Damaged, program: Program) -> None:
    folder = damaged.new.parent
    other = folder / "notes.txt"
    other.write_text("no store at all\n" * 500)
    assert damaged.rescued("--deep").code == 2
    for arguments, why in (
        ((folder / "none.db",), "there is no file"),
        ((other,), "no conversation can be read"),
    ):
        ended = program("doctor", "--rescue", damaged.new, "--db", *arguments)
        assert (ended.code, ended.out) == (2, b"")
        assert why in ended.err
    damaged.new.write_bytes(b"mine")
    assert "is there already" in damaged.rescued().err
    assert damaged.new.read_bytes() == b"mine"
    assert program("doctor", "--rescue", folder / "no" / "new.db", "--db", damaged.file).code == 2


def test_a_newer_store_is_left_to_the_newer_program(damaged: Damaged) -> None:
    damaged.sql("PRAGMA user_version = 40")
    assert "update autocompact" in damaged.rescued().err
    assert not damaged.new.exists()


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_there_is_a_sound_file_or_an_error(
    damaged: Damaged, program: Program, seed: int
) -> None:
    dice = random.Random(seed)
    content = bytearray(damaged.file.read_bytes())
    match seed % 3:
        case 0:
            for _ in range(1 + 20 * (seed // 3)):
                content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        case 1:
            at = dice.randrange(len(content) // PAGE) * PAGE
            content[at : at + PAGE] = dice.randbytes(PAGE)
        case _:
            del content[dice.randrange(len(content)) :]
    damaged.file.write_bytes(content)
    ended = damaged.rescued()
    assert ended.code in (0, 1, 2)
    assert "Traceback" not in ended.err
    if ended.code == 2:
        assert not damaged.new.exists()
        return
    assert re.search(rb"nothing is lost|\d+ loss(?:es)?\n", ended.out)
    assert program("doctor", "--db", damaged.new).code == 0
    same = [
        damaged.messages(each["name"]) == damaged.messages(each["name"], db=damaged.whole)
        for each in damaged.said("list", "--namespace", "a", "--json")["conversations"]
        if each["name"].startswith("talk-")
    ]
    assert ended.code == 1 or all(same)
