"""The process of a command: what waits for its end is done, and its exit code is the command's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_RUN = "import atexit, sys; from autocompact.cli import run; "


def _ended(script: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-c", _RUN + script], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_what_waits_for_the_end_of_a_command_is_done_and_all_output_is_written() -> None:
    script = "atexit.register(print, 'too early'); sys.argv = ['autocompact', '--help']; code = run(); "
    ended, told, complaint = _ended(script + "atexit.register(print, 'done'); sys.exit(code)")
    assert (ended, complaint) == (0, "")
    assert told.startswith("Usage: autocompact")
    assert told.endswith("done\n"), "what was registered before the command is older than it, and not its own"


def test_what_the_encoding_of_the_output_cannot_say_is_spelled_out(tmp_path: Path) -> None:
    session = tmp_path / "chat.json"
    session.write_text('[{"role": "user", "content": "caf\u00e9 \u2192 na\u00efve"}]', "utf-8")
    shown = subprocess.run(
        [sys.executable, "-m", "autocompact", "show", str(session)],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        check=True,
    )
    assert "caf\u00e9 \\u2192 na\u00efve" in shown.stdout.decode("latin-1")


def test_a_command_that_fails_ends_its_process_with_its_exit_code() -> None:
    ended, told, complaint = _ended("sys.argv = ['autocompact', 'inspect', 'nothing']; sys.exit(run())")
    assert (ended, told) == (2, "")
    assert complaint.startswith("autocompact: there is no file 'nothing'")


def test_an_error_that_nobody_caught_ends_the_process_as_any_does() -> None:
    script = "from autocompact.cli.process import process_of; process_of(lambda: [].pop())"
    ended, told, complaint = _ended(script)
    assert (ended, told) == (1, "")
    assert complaint.endswith("IndexError: pop from empty list\n")


def test_output_that_is_lost_at_the_end_is_told_as_any_program_tells_it() -> None:
    script = "full = open('/dev/full', 'w'); sys.argv = ['autocompact', '--version']; code = run(); "
    ended, told, complaint = _ended(script + "sys.stdout = full; print('more'); sys.exit(code)")
    assert (ended, told.startswith("autocompact")) == (120, True)
    assert "No space left on device" in complaint
