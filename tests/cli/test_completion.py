"""Completion in the shell, as the guide installs it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import environment
from tests.house.source import ROOT

GUIDE = (ROOT / "docs" / "guides" / "settings.md").read_text("utf-8")
COMMANDS = dict(re.findall(r"^\| (bash|zsh|fish) \| `(.*?)` \|$", GUIDE, re.MULTILINE))


def installed(shell: str, home: Path) -> subprocess.CompletedProcess[str]:
    """The guide's command, run in an empty home."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    return subprocess.run(
        ["/bin/bash", "-c", COMMANDS[shell]],
        env=environment(HOME=str(home), PATH=path),
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.requirement("E8")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_of_the_guide_installs_it(shell: str, tmp_path: Path) -> None:
    installed(shell, tmp_path)
    (written,) = (path for path in tmp_path.rglob("*") if path.is_file())
    text = written.read_text("utf-8")
    assert "_autocompact_completion" in text or "complete --no-files --command autocompact" in text


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_options_agents_and_session_files(tmp_path: Path) -> None:
    installed("bash", tmp_path)
    (script,) = (path for path in tmp_path.rglob("*") if path.is_file())
    asked = f"""
        source '{script}'
        ask() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _autocompact_completion autocompact 2>/dev/null; echo "${{COMPREPLY[@]}}"; }}
        ask autocompact comp
        ask autocompact compact --f
        ask autocompact install co
        COMP_WORDS="autocompact compact ses" COMP_CWORD=2 _AUTOCOMPACT_COMPLETE=bash_complete autocompact
        complete -p autocompact
    """
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["/bin/bash", "-c", asked],
        env=environment(HOME=str(tmp_path), PATH=path),
        capture_output=True,
        text=True,
        check=True,
    )
    commands, options, agents, file, registered = done.stdout.splitlines()
    assert commands == "compact compactions"
    assert options.split() == ["--focus", "--format", "--fallback"]
    assert agents.split() == ["codex", "copilot"]
    assert file == "file,ses"
    assert registered.endswith("-F _autocompact_completion autocompact")
