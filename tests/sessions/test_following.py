"""A session that grows is read as if it had been read whole, at every moment."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from autocompact.errors import UnreadableSession
from autocompact.sessions import read_session
from autocompact.sessions.following import Followed
from tests.house.source import ROOT
from tests.sessions.claude_lines import Claude, call, jsonl, result, text
from tests.sessions.samples import SAMPLES
from tests.sessions.test_codex import function, item, line, message, output

pytestmark = pytest.mark.requirement("E8", "F2")

EXAMPLE = ROOT / "examples" / "sessions" / "fix-invoice-rounding.jsonl"


def claude() -> list[bytes]:
    session = Claude()
    session.user("Fix the pump. Never push.")
    session.reply(text("I look."), id="r1")
    session.reply(call("c1", command="ls"), id="r1")
    session.user([result("c1", "pump.py")])
    session.compact("The pump is being fixed.")
    asked = session.user("go on")
    session.reply(text("done"), id="r2")
    session.lines.append(b"{ broken\n")
    session.user("rather so", parent=session.last)
    session.reply(text("well"), id="r3", parent=asked)
    return [jsonl([each]) for each in session.lines]


def codex() -> list[bytes]:
    return [
        line("session_meta", id="s", cwd="/srv/pump"),
        message("user", "go"),
        item("reasoning", summary=[], encrypted_content="abc"),
        message("assistant", "I look."),
        function("c1"),
        b"{ broken\n",
        output("c1", "a.py"),
        line("compacted", message="all of it"),
        message("user", "on"),
        line("event_msg", type="thread_rolled_back", num_turns=1),
        message("user", "else"),
    ]


@pytest.mark.parametrize("lines", [claude(), codex(), EXAMPLE.read_bytes().splitlines(keepends=True)[-60:]])
def test_what_is_read_on_equals_what_is_read_anew_after_each_line(
    lines: Sequence[bytes], tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"")
    followed = Followed(path)
    for each in lines:
        with path.open("ab") as file:
            file.write(each)
        try:
            whole = read_session(path)
        except UnreadableSession:
            with pytest.raises(UnreadableSession):
                followed.read()
        else:
            assert followed.read() == whole


def test_a_file_that_did_not_change_gives_the_same_session(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(claude()))
    followed = Followed(path)
    assert followed.read() is followed.read()


def test_half_a_line_waits_for_its_other_half(tmp_path: Path) -> None:
    lines, path = claude(), tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines[:3]))
    followed = Followed(path)
    followed.read()
    for more in (lines[3][:20], lines[3][20:]):
        with path.open("ab") as file:
            file.write(more)
        assert followed.read().messages == read_session(path).messages
    assert followed.read().messages[-1].results


def test_another_session_in_its_place_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(claude()))
    followed = Followed(path)
    followed.read()
    path.write_bytes(b"".join(codex()) + message("user", "x" * 10_000))
    assert followed.read() == read_session(path)
    path.write_bytes(b"".join(codex()[:4]))
    assert followed.read() == read_session(path)


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    lines, path = EXAMPLE.read_bytes().splitlines(keepends=True), tmp_path / "session.jsonl"
    path.write_bytes(b"".join(lines[:-1]))
    followed = Followed(path)
    followed.read()
    spoilt = path.read_bytes()
    path.write_bytes(spoilt[:5_000] + b"?" * 5_000 + spoilt[10_000:] + lines[-1])
    assert followed.read() == read_session(EXAMPLE)


def test_a_file_that_vanished_says_so(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(claude()))
    followed = Followed(path)
    followed.read()
    path.unlink()
    with pytest.raises(UnreadableSession, match="there is no file"):
        followed.read()


def test_lines_that_only_look_like_those_of_claude_code_are_read_by_their_own_reader(tmp_path: Path) -> None:
    path = tmp_path / "qwen.jsonl"
    path.write_bytes(SAMPLES["qwen"][1])
    assert Followed(path).read() == read_session(path)
    assert Followed(path).read().format == "qwen_code"


def test_two_calls_that_read_the_same_file_at_once_read_each_line_once(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join(codex()))
    followed = Followed(path)
    followed.read()
    with path.open("ab") as file:  # enough that one call is still at it when the next one comes
        file.writelines(message("user", f"number {each}") for each in range(5_000))
    with ThreadPoolExecutor(4) as threads:
        read = [threads.submit(followed.read) for _ in range(4)]

    whole = read_session(path)
    assert all(each.result() == whole for each in read)
