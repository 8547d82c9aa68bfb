"""Bars, columns, colours, widths, progress."""

from __future__ import annotations

import io
import os
import pty
import termios
import threading
from pathlib import Path

import click
import pytest

from autocompact.cli.counting import watched
from autocompact.core.messages import Message, Text
from autocompact.models.vocabulary import load_counter
from autocompact.sessions import Session
from autocompact.ui.charts import bar, column, columns, marks, spread
from autocompact.ui.terminal.output import Progress, progress, width
from tests.cli.program import CODING, environment, started


class Screen(io.StringIO):
    """A terminal that says when something was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = threading.Event()

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        self.shown.set()


def test_a_bar_shows_its_share_and_never_hides_a_little() -> None:
    drawn = [click.unstyle(bar(value, most=100, width=10, color="green")) for value in (0, 0.1, 50, 100, 300)]
    assert drawn == ["░░░░░░░░░░", "█░░░░░░░░░", "█████░░░░░", "██████████", "██████████"]
    assert click.unstyle(bar(0, most=0, width=3, color="green")) == "░░░"


def test_columns_grow_by_eighths_and_show_what_is_not_nothing() -> None:
    assert columns([0, 1, 8, 16], height=2) == ["   █", " ▁██"]
    assert columns([], height=1) == [""]
    assert columns([0, 0], height=1) == ["  "]


def test_many_points_share_a_column_and_few_fill_those_after_them() -> None:
    assert spread([(1, 5), (2, 9), (3, 7), (4, 1)], last=4, width=2) == [9, 7]
    assert spread([(2, 5)], last=4, width=4) == [0, 5, 5, 5]
    assert column(4, last=4, width=8) == 6
    assert marks([2], last=4, width=4, sign="▲") == " ▲"


def test_the_width_is_that_of_the_terminal_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert width(io.StringIO()) == 80
    for told, used in (("40", 60), ("100", 100), ("500", 110), ("wide", 80)):
        monkeypatch.setenv("COLUMNS", told)
        assert width(io.StringIO()) == used


def test_long_work_is_shown_on_a_terminal_and_wiped_away() -> None:
    screen = Screen()
    with progress("Reading x", stream=screen, patience=0):
        assert screen.shown.wait(60)
    first, *_, wiped, rest = screen.getvalue().split("\r")[1:]
    assert first == "Reading x … 0 s"
    assert (wiped.strip(), len(wiped) >= len(first), rest) == ("", True, "")


def test_of_a_line_that_the_terminal_has_no_columns_for_the_end_is_shown() -> None:
    master, slave = os.openpty()
    try:
        termios.tcsetwinsize(slave, (24, 40))
        with (
            open(slave, "w", encoding="utf-8") as screen,
            progress(f"Reading {'deep/' * 30}x.jsonl", stream=screen, patience=0),
        ):
            shown = os.read(master, 4_096).decode().strip("\r")
    finally:
        os.close(master)
    assert len(shown) < 40
    assert shown == "…deep/deep/deep/deep/deep/x.jsonl … 0 s"


def test_the_stage_and_the_share_of_it_are_shown_and_a_shorter_one_leaves_nothing_of_a_longer() -> None:
    screen = Screen()
    with progress("Reading x", stream=screen, patience=0) as work:
        work.begin("counting tokens", whole=200)
        work.advance(86)
        assert screen.shown.wait(60)
    assert str(work) == "Reading x: counting tokens, 43%"
    work.advance(200)
    assert str(work) == "Reading x: counting tokens, 100%"
    work.begin("writing")
    assert str(work) == "Reading x: writing"
    assert (
        "Reading x: counting tokens, 43% … 0 s" in screen.getvalue() or "Reading x … 0 s" in screen.getvalue()
    )


def test_a_counter_that_is_watched_counts_the_same_and_tells_how_far_it_is() -> None:
    words = [f"valve_{number} closes at {number} bar\n" * 20 for number in range(300)]
    text = "".join(words) + "a" * 90_000
    session = Session(format="openai", messages=(Message(seq=1, role="user", parts=(Text(text=text),)),))
    work = Progress("Reading x")
    counter = watched(load_counter(), session, work=work)
    assert counter.count(words[0]) == load_counter().count(words[0])
    assert str(work) == "Reading x: counting tokens, 0%"
    assert counter.count(text) == load_counter().count(text)
    assert str(work) == "Reading x: counting tokens, 100%"


def test_short_work_and_work_without_a_terminal_show_nothing() -> None:
    screen, file = Screen(), io.StringIO()
    with progress("Reading x", stream=screen, patience=600):
        pass
    with progress("Reading x", stream=file, patience=0):
        pass
    assert screen.getvalue() == file.getvalue() == ""


@pytest.mark.parametrize(
    ("more", "colored"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_a_terminal_gets_colours_unless_it_wants_none(
    tmp_path: Path, more: dict[str, str], colored: bool
) -> None:
    ours, theirs = pty.openpty()
    clean = {name: value for name, value in environment(TERM="xterm").items() if name != "NO_COLOR"}
    started("compact", CODING, "--to", "21000", "--out", tmp_path / "x", stderr=theirs, env={**clean, **more})
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    assert b"before" in shown
    assert (b"\x1b[" in shown) is colored


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # Linux says so at the end of a terminal
        return b""
