"""What cannot be done ends with one message that says why, exit code 2, and nothing written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import CODING, OPENAI, Program, environment, started


def refused(program: Program, *arguments: str | Path | int, command: str = "compact") -> str:
    """The one message of a command that was refused."""
    ended = program(command, *arguments)
    assert (ended.code, ended.out) == (2, b"")
    lines = ended.err.splitlines()
    assert len(lines) == 1, ended.err
    assert lines[0].startswith("autocompact: ")
    return lines[0].removeprefix("autocompact: ")


@pytest.mark.parametrize("command", ["compact", "inspect"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no file"),
        (b"", "is empty"),
        (b"  \n\n", "is empty"),
        (b"\x7fELF\0\0\1\2" * 100, "is a binary file"),
        (b"# Notes\n\nNothing of a session.\n", "is not JSON"),
        (b'{"role":"user","content":', "breaks off"),
        (b'[\n  {\n    "role": "user",\n    "content": "hi"\n  },\n  {\n    "role": "assi', "breaks off"),
        (b'{"role" "user"}', "is not JSON"),
        (b"assert x == 1\n" * 30 + b'hi = {"role":"user","content":"hi"}\n', "is no session: 31 lines of it"),
        (b'{"role":"user","cost":NaN}\n', "is not JSON"),
        (b'{"name":"demo","version":2}', "session that is known"),
        (b"[1, 2, 3]", "no session"),
        (b"[]", "session"),
        (b'{"messages":[]}', "session that is known"),
        (b'{"type":"summary","summary":"x","leafUuid":"u"}', "without a single message"),
    ],
)
def test_what_is_no_session_is_named(
    program: Program, tmp_path: Path, command: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / "session.jsonl"
    if content is not None:
        path.write_bytes(content)
    said = refused(program, path, command=command)
    assert str(path) in said
    assert message in said


@pytest.mark.parametrize("command", ["compact", "inspect"])
def test_a_folder_is_no_session(program: Program, tmp_path: Path, command: str) -> None:
    assert "is a folder: name one session file in it" in refused(program, tmp_path, command=command)
    assert "it is empty: name a file" in refused(program, "", command=command)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such device")
def test_a_device_that_never_ends_is_no_session(program: Program) -> None:
    assert "'/dev/zero' is a device" in refused(program, "/dev/zero")


@pytest.mark.parametrize("option", ["--window", "--to", "--summary-tokens", "--tail-tokens", "--through"])
@pytest.mark.parametrize("value", ["-1", "x", "1.5", ""])
def test_a_value_that_is_no_count_is_refused_with_the_option_named(
    program: Program, option: str, value: str
) -> None:
    said = refused(program, CODING, f"{option}={value}")
    assert f"Invalid value for '{option}'" in said
    assert "See: autocompact compact --help" in said


@pytest.mark.parametrize("option", ["--window", "--to", "--summary-tokens", "--through"])
def test_zero_is_refused_where_it_makes_no_sense(program: Program, option: str) -> None:
    assert "0 is too small, the least is 1" in refused(program, CODING, option, 0)


@pytest.mark.parametrize("command", ["compact", "inspect"])
def test_a_message_beyond_the_end_is_refused_with_the_last_one(program: Program, command: str) -> None:
    assert "choose one from 1 to 279" in refused(program, CODING, "--through", 280, command=command)


@pytest.mark.parametrize("number", ["0", "280", "99999999999999999"])
def test_a_pin_of_an_unknown_message_is_refused(program: Program, number: str) -> None:
    said = refused(program, CODING, "--pin", number)
    assert f"pin {number}: there is no such message, choose one from 1 to 279" in said


def test_a_pin_beyond_the_moment_is_refused(program: Program) -> None:
    assert "from 1 to 100" in refused(program, CODING, "--through", 100, "--pin", 101)


def test_an_empty_pin_is_refused(program: Program) -> None:
    assert "a pin is empty" in refused(program, CODING, "--pin", " ")


@pytest.mark.requirement("E5")
def test_a_target_below_the_floor_is_refused_with_figures(program: Program, tmp_path: Path) -> None:
    said = refused(program, CODING, "--to", 150, "--out", tmp_path / "out.md")
    assert "only 150 fit" in said
    assert "last request 66" in said
    assert "12,885 tokens outside of the log (system prompt, tool schemas, attachments) come on top" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file"),
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        ("Straße".encode("latin-1"), "is no text in UTF-8"),
        (b"\0\1\2", "is a binary file"),
        (b"<summary></summary>", "is empty"),
    ],
)
def test_a_summary_that_cannot_be_used_is_refused(
    program: Program, tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "summary.md"
    if content is not None:
        path.write_bytes(content)
    assert message in refused(program, CODING, "--summary", path)


def test_a_folder_is_no_summary(program: Program, tmp_path: Path) -> None:
    assert "cannot be read: Is a directory" in refused(program, CODING, "--summary", tmp_path)


def test_an_out_that_cannot_be_written_is_refused(program: Program, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is no folder: choose another one" in refused(
        program, CODING, "--out", tmp_path / "file" / "missing" / "out.md"
    )
    assert "is a folder: name a file" in refused(program, CODING, "--out", tmp_path)
    assert "File name too long: give a shorter path" in refused(
        program, CODING, "--out", tmp_path / ("n" * 300)
    )
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_session_is_never_overwritten_under_any_of_its_names(program: Program, tmp_path: Path) -> None:
    session, link = tmp_path / "session.json", tmp_path / "link.json"
    session.write_bytes(OPENAI.read_bytes())
    link.symlink_to(session)
    for name in (session, link):
        assert "is the session itself" in refused(program, session, "--out", name)
    assert session.read_bytes() == OPENAI.read_bytes()


def test_an_existing_out_stays_as_it_was_if_nothing_can_be_written(program: Program, tmp_path: Path) -> None:
    out = tmp_path / "out.md"
    out.write_text("earlier")
    refused(program, CODING, "--to", 150, "--out", out)
    assert out.read_text() == "earlier"


def test_claude_code_output_needs_a_session_of_claude_code_up_to_its_end(program: Program) -> None:
    assert "this one is openai" in refused(program, OPENAI, "--format", "claude-code")
    said = refused(program, CODING, "--format", "claude-code", "--through", 200)
    assert "leave out --through" in said


def test_a_wrong_command_option_or_format_is_refused(program: Program) -> None:
    assert "'html' is not one of" in refused(program, CODING, "--format", "html")
    assert "No such option '--bogus'" in refused(program, CODING, "--bogus")
    assert "Missing argument 'SESSION'" in refused(program)
    assert "No such command 'zip'. See: autocompact --help" in refused(program, command="zip")
    assert "Did you mean 'compact'?" in refused(program, command="compct")
    assert f"is a file, not a command: autocompact compact {CODING}. See" in refused(
        program, command=str(CODING)
    )


def test_no_command_shows_the_help(program: Program) -> None:
    ended = program()
    assert ended.code == 2
    assert "autocompact compact SESSION --preview" in ended.err


@pytest.mark.parametrize("command", ["compact", "inspect"])
def test_a_reader_that_left_is_no_reason_for_a_word(command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = started(command, OPENAI, stdout=writing)
    os.close(writing)
    assert ended.returncode == 1
    assert b"Traceback" not in ended.stderr
    assert b"Exception ignored" not in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("command", [("compact", OPENAI), ("inspect", OPENAI)])
def test_a_full_disk_is_said(command: tuple[str | Path, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = started(*command, stdout=full)
    assert ended.returncode == 2
    assert ended.stderr.decode().splitlines() == [
        "autocompact: the output cannot be written: No space left on device: free some space, or write elsewhere"
    ]


def test_an_interrupt_ends_it_with_130_and_no_traceback(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    child = subprocess.Popen(
        [sys.executable, "-m", "autocompact", "compact", pipe],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    )
    with pipe.open("wb"):  # returns once the program reads
        child.send_signal(signal.SIGINT)
    # Only now is the file at its end: a signal just before a read begins would else be heard after it.
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert (out, err.strip()) == (b"", b"")


def test_a_path_that_the_system_refuses_is_named_and_not_called_the_output(program: Program) -> None:
    name = "a" * 300
    for command in ("compact", "inspect", "import", "replay"):
        said = refused(program, name, command=command)
        assert name in said
        assert "File name too long: give a shorter path" in said
        assert "output" not in said


def test_a_folder_that_is_gone_is_named_as_such(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    ended = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD" && exec "$0" -m autocompact list', sys.executable],
        cwd=folder,
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 2
    assert b"the current folder cannot be read: No such file or directory" in ended.stderr
    assert b"Traceback" not in ended.stderr


@pytest.mark.parametrize("redirection", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_traceback(redirection: str) -> None:
    ended = subprocess.run(
        [
            "sh",
            "-c",
            f'exec "$0" -m autocompact compact {"-" if "<" in redirection else CODING} {redirection}',
            sys.executable,
        ],
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 2
    assert b"Traceback" not in ended.stderr
    if "2>" not in redirection:
        assert ended.stderr.startswith(b"autocompact: ")


def test_a_copy_of_stdin_that_does_not_fit_names_where_it_went(tmp_path: Path) -> None:
    ended = subprocess.run(
        ["sh", "-c", 'ulimit -f 8; exec "$0" -m autocompact compact -', sys.executable],
        input=CODING.read_bytes(),
        env=environment() | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    assert str(tmp_path).encode() in ended.stderr
    assert b"or set TMPDIR, or name a file" in ended.stderr


@pytest.mark.parametrize("command", ["compact", "inspect", "replay", "import"])
@pytest.mark.parametrize("path", [CODING, OPENAI], ids=lambda path: path.suffix)
def test_bytes_that_are_no_utf_8_are_no_traceback(
    program: Program, tmp_path: Path, *, command: str, path: Path
) -> None:
    content = path.read_bytes()
    more = ("--db", tmp_path / "kept.db") if command == "import" else ()
    role = content.find(b"role")
    places = (0, 3, 9, role + 1, role + 8, len(content) // 2)
    spoilt_bytes = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x80\x80", b"\xff", b"\xe4")
    for at, spoilt in zip(places, spoilt_bytes, strict=True):
        session = tmp_path / f"session-{at}.json"
        session.write_bytes(content[:at] + spoilt + content[at:])
        ended = program(command, session, *more)
        assert ended.code in (0, 2)
        if ended.code:
            assert str(session) in ended.err


@pytest.mark.parametrize("layout", ["[{}]", "[\n{}\n]", '{{"messages": [{}]}}'])
def test_a_chat_with_half_an_emoji_is_read_and_kept(program: Program, tmp_path: Path, layout: str) -> None:
    session, db = tmp_path / "chat.json", tmp_path / "a.db"
    session.write_text(
        layout.format(r'{"role": "user", "content": "The harbour \ud83d is closed."}'), "utf-8"
    )

    assert "The harbour \ufffd is closed." in program("compact", session).out.decode()
    assert program("import", session, "--db", db).code == 0
    assert "The harbour \ufffd is closed." in program("show", "--db", db).out.decode()


@pytest.mark.parametrize(
    "url", ["postgresql+psycopg://me:geheim@localhost/chats", "postgres:/me:geheim@host"]
)
@pytest.mark.parametrize(
    "arguments", [("list",), ("import", OPENAI), ("doctor",), ("backup", "copy.db"), ("serve",)]
)
def test_what_looks_like_the_url_of_a_server_is_no_file_and_its_password_is_not_shown(
    program: Program, arguments: tuple[str | Path, ...], url: str
) -> None:
    command, *rest = arguments
    message = refused(program, *rest, "--db", url, command=str(command))
    assert "as postgresql://USER@HOST:PORT/DATABASE" in message
    assert "geheim" not in message
