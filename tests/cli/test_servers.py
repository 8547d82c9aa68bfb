"""The store on a PostgreSQL server, as its users meet it: a URL where a file may stand, and the way there and back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autocompact.runtime.extras import install_command
from tests.cli.program import CODING, OPENAI, Ended, Program
from tests.stores.cluster import Cluster

pytestmark = pytest.mark.requirement("E9")

WORDS = "autocompact: "


def said(program: Program, *arguments: str | Path) -> str:
    ended = program(*arguments)
    assert ended.code == 0, ended.err
    return ended.out.decode() + ended.err


def refused(ended: Ended) -> str:
    assert (ended.code, ended.out) == (2, b"")
    (line,) = ended.err.splitlines()
    assert "geheim" not in line
    return line.removeprefix(WORDS)


def everything(program: Program, place: str | Path) -> list[str]:
    """What the commands show of two conversations in a store."""
    shown = [said(program, "list", "--json", "--db", place)]
    for name in ("one", "two"):
        shown += [
            said(program, command, name, "--db", place) for command in ("show", "export", "compactions")
        ]
    return [*shown, said(program, "search", "rounding", "--db", place)]


def filled(program: Program, place: str | Path) -> None:
    said(program, "import", CODING, "--name", "one", "--db", place)
    said(program, "import", OPENAI, "--name", "two", "--db", place)
    said(program, "compact", "one", "--window", "32000", "--db", place)


def test_every_command_takes_the_url_of_a_server(program: Program, place: str) -> None:
    filled(program, place)
    assert "one" in said(program, "list", "--db", place)
    before = said(program, "show", "one", "--db", place)
    said(program, "undo", "one", "--db", place)
    assert said(program, "show", "one", "--db", place) != before
    assert "rounding" in said(program, "search", "rounding", "--db", place)
    said(program, "delete", "two", "--yes", "--db", place)
    assert "two" not in said(program, "list", "--db", place)
    assert "up to date" in said(program, "migrate", "--db", place)


def test_what_was_moved_to_a_server_and_back_is_the_same(
    program: Program, tmp_path: Path, database: str
) -> None:
    file, back = tmp_path / "chats.db", tmp_path / "back.db"
    filled(program, file)
    (tmp_path / "chats.db.key").write_bytes(bytes(range(32)))
    before = everything(program, file)
    moved = said(program, "move", "--from", file, "--to", database)
    assert moved.startswith("2 conversations with ")
    assert everything(program, database) == before
    again = said(program, "move", "--from", file, "--to", database)
    assert again.startswith("0 conversations with 0 messages moved")
    assert again.rstrip().endswith("2 were there already")
    said(program, "move", "--from", database, "--to", back)
    assert everything(program, back) == before
    assert (tmp_path / "back.db.key").read_bytes() == bytes(range(32))


def test_what_differs_is_left_as_it_is_and_told(program: Program, tmp_path: Path, database: str) -> None:
    file = tmp_path / "chats.db"
    filled(program, file)
    said(program, "import", OPENAI, "--name", "one", "--db", database)
    theirs = said(program, "export", "one", "--db", database)
    ended = program("move", "--from", file, "--to", database)
    assert ended.code == 2
    assert ended.out.startswith(b"1 conversation with ")
    assert "'one': postgresql://tester@/" in ended.err
    assert "has another conversation of that name" in ended.err
    assert said(program, "export", "one", "--db", database) == theirs
    assert "two" in said(program, "list", "--db", database)


def test_a_store_of_another_gateway_is_not_moved_into(
    program: Program, tmp_path: Path, database: str
) -> None:
    file, other = tmp_path / "chats.db", tmp_path / "other.db"
    for each, key in ((file, b"a" * 32), (other, b"b" * 32)):
        said(program, "import", OPENAI, "--name", each.stem, "--db", each)
        each.with_name(f"{each.name}.key").write_bytes(key)
    said(program, "move", "--from", file, "--to", database)
    assert "under another namespace key" in refused(program("move", "--from", other, "--to", database))
    assert "other" not in said(program, "list", "--db", database)


def test_only_the_owner_has_to_make_the_tables(program: Program, cluster: Cluster, database: str) -> None:
    cluster.sql("CREATE ROLE writer LOGIN", database=database)
    writers = database.replace("tester@", "writer@")
    assert "`autocompact migrate --db URL --grant ROLE`" in refused(program("list", "--db", writers))
    said(program, "migrate", "--db", database, "--grant", "writer")
    filled(program, writers)
    assert everything(program, writers) == everything(program, database)


def test_what_needs_a_file_says_what_to_use_instead(program: Program, database: str, tmp_path: Path) -> None:
    told = refused(program("backup", tmp_path / "copy.db", "--db", database))
    assert "is no file: PostgreSQL's own `pg_dump` copies it, or `autocompact move" in told
    assert not (tmp_path / "copy.db").exists()


def test_the_doctor_reads_a_whole_server(program: Program, cluster: Cluster, database: str) -> None:
    filled(program, database)
    well = program("doctor", "--db", database)
    assert (well.code, b"all is well" in well.out) == (0, True)
    assert b": 2 conversations, 320 messages, 1 compaction\n" in well.out
    cluster.sql("DELETE FROM autocompact.messages WHERE id = (1::bigint << 24) + 7", database=database)
    cluster.sql("UPDATE autocompact.conversations SET id = DEFAULT WHERE name = 'two'", database=database)
    ill = program("doctor", "--db", database)
    assert ill.code == 1
    said = ill.out.decode()
    assert "contents: conversation 'one': message 7 is missing" in said
    assert "the entry of conversation 'two' is damaged" in said
    assert "of no conversation" in said
    assert "next: restore the database from a backup" in said


@pytest.mark.parametrize("command", [("list",), ("search", "x"), ("chat", "hello")])
def test_a_server_that_is_not_there_is_told_without_the_password(
    program: Program, command: tuple[str | Path, ...]
) -> None:
    told = refused(program(*command, "--db", "postgresql://me:geheim@127.0.0.1:1/chats"))
    assert "postgresql://me@127.0.0.1:1/chats does not answer" in told


def test_a_password_in_the_settings_is_not_shown(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOCOMPACT_CHAT_DB", "postgresql://me:geheim@db.internal/chats")
    for options in ((), ("--explain",), ("--json",), ("--explain", "--json")):
        shown = said(program, "settings", *options)
        assert "geheim" not in shown
        assert "postgresql://me@db.internal/chats" in shown


def test_without_the_driver_the_extra_is_named() -> None:
    run = (
        "import sys; sys.modules['psycopg'] = None; from autocompact.cli import main; "
        "sys.exit(main(['list', '--db', 'postgresql://me@127.0.0.1/chats']))"
    )
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert install_command("postgres") in done.stderr
    assert done.stderr.count("\n") == 1
