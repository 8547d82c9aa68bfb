"""What a session holds cannot steer the terminal that shows it; a file gets it as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.program import environment, started
from tests.cli.pseudo_terminal import PseudoTerminal
from tests.sessions.claude_lines import Claude, call, jsonl, result, text

OSC = "\x1b]52;c;cm0gLXJmIC8=\x07"
EVIL = f"\x1b[2J{OSC}\x9b31m\u202egnp.exe\x1b[8m"
_OURS = re.compile(rb"\x1b\[[0-9;]*m|\r\n|\x1b\[\?[0-9]+[hl]")
"""Colours of our own, and line ends. (What goes on is shown with a carriage return before it.)"""


def session(folder: Path) -> Path:
    claude = Claude()
    claude.user(f"Look at {EVIL} pump.")
    for turn in range(8):
        claude.reply(
            call(f"c{turn}", name=f"Bash{EVIL}" if turn == 3 else "Bash", command=f"cat {EVIL}{turn}.txt"),
            id=f"a{turn}",
        )
        claude.user(
            [result(f"c{turn}", f"Error: {EVIL} pump leaks\n" + "word and more " * 80, is_error=turn == 2)]
        )
        claude.reply(text(f"I saw {EVIL} in pump{turn}.py."), id=f"b{turn}")
        claude.user(f"Go on {turn} {EVIL}")
    path = folder / "pump\x1b[31m.jsonl"
    path.write_bytes(jsonl(claude.lines))
    return path


def home(folder: Path) -> dict[str, str]:
    return environment(HOME=str(folder), XDG_DATA_HOME=str(folder / "data"), TERM="xterm-256color")


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The session, also as a conversation in the database."""
    path = session(tmp_path_factory.mktemp("home"))
    started("import", path, env=home(path.parent))
    return path


@pytest.mark.parametrize(
    "command",
    [
        ["compact", "SESSION", "--tail-tokens", "200"],
        ["compact", "SESSION", "--tail-tokens", "200", "--format", "json"],
        ["compact", "SESSION", "--preview"],
        ["compact", "SESSION", "--through", "9999"],
        ["inspect", "SESSION"],
        ["replay", "SESSION", "--window", "4000"],
        ["list"],
        ["show"],
        ["show", "--context"],
        ["show", "--json"],
        ["search", "pump"],
        ["compactions"],
        ["export", "--format", "markdown"],
        ["show", f"no {EVIL}"],
    ],
    ids=" ".join,
)
def test_no_control_sequence_of_a_session_reaches_a_terminal(imported: Path, command: list[str]) -> None:
    words = (str(imported) if each == "SESSION" else each for each in command)
    with PseudoTerminal(*words, cwd=imported.parent, env=home(imported.parent)) as terminal:
        terminal.ended()
        sent = _OURS.sub(b"", terminal.raw)

    assert sent
    assert b"\x1b" not in sent
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]", sent.decode())
    assert b"\x1b[8m" not in terminal.raw


def test_a_file_and_a_pipe_get_a_compacted_context_as_it_is(tmp_path: Path) -> None:
    path, out = session(tmp_path), tmp_path / "out.md"

    piped = started("compact", path, "--tail-tokens", "800")
    started("compact", path, "--tail-tokens", "800", "--out", out)

    assert OSC.encode() in piped.stdout
    assert OSC.encode() in out.read_bytes()
    assert b"\x1b" not in piped.stderr
