"""The list of commands, which is shown without importing any of them."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from autocompact.cli import program
from tests.cli.program import environment


@pytest.mark.parametrize("width", [60, 110, 300])
def test_the_list_of_commands_is_what_the_commands_themselves_say(width: int) -> None:
    context = click.Context(program, max_content_width=width, terminal_width=width)
    ours, theirs = context.make_formatter(), context.make_formatter()
    program.format_commands(context, ours)
    click.Group.format_commands(program, context, theirs)
    assert ours.getvalue() == theirs.getvalue()
    assert "what-if" in ours.getvalue()


def test_help_imports_no_command() -> None:
    script = (
        "import sys; from autocompact.cli import main; main(['--help']);"
        "print(sorted(name for name in sys.modules if name.startswith('autocompact')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment()
    )
    assert "compact      Compact SESSION" in done.stdout
    loaded = done.stdout.splitlines()[-1]
    assert "autocompact.cli.guard" in loaded
    assert "autocompact.cli.compact" not in loaded
    assert "autocompact.engine" not in loaded
