"""Writes what documents say about the command line from the program itself: ``make docs``.

- ``docs/reference/cli.md``: the help of every command;
- the table of ``docs/guides/agents/overview.md``;
- the marketplace for Claude Code: ``.claude-plugin`` and ``plugins``.

A test holds all of them true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path

import click

from autocompact.agents.claude_plugin import marketplace_files
from autocompact.agents.known import AGENTS
from autocompact.cli import program
from autocompact.cli.upkeep import compress_context

ROOT = Path(__file__).parents[2]
OVERVIEW = ROOT / "docs" / "guides" / "agents" / "overview.md"
_AGENTS = re.compile(r"(?<=<!-- agents:start -->\n).*?(?=<!-- agents:end -->)", re.DOTALL)
REFERENCE = ROOT / "docs" / "reference" / "cli.md"
WIDTH = 100

_FOOT = """\
## Where what goes

What a program may read goes to stdout (or to `--out`), everything else to stderr. A file is written whole or not at
all; the session itself is never overwritten.

| exit code | meaning |
|---|---|
| 0 | done, also if there was nothing to do |
| 1 | nobody reads stdout any more (`| head`) |
| 2 | it could not be done: one message on stderr says why, nothing was written |
| 3 | only `compress-context`: there was nothing to do |
| 130 | interrupted (Ctrl-C) |

| environment | meaning |
|---|---|
| `NO_COLOR` | no colours; there are none in a pipe or with `TERM=dumb` either |
| `COLUMNS` | width of report and charts; by default that of the terminal, 60 to 110 |

`python -m autocompact` is the same program.
"""


def agents() -> str:
    """The overview with the table of agents."""
    rows = ["| agent | command | what the plugin does |", "|---|---|---|"]
    for each in AGENTS.values():
        page = "../claude-code.md" if each.name == "claude-code" else f"{each.name}.md"
        command = f"`autocompact install {each.name}`" if each.does else ""
        rows.append(f"| [{each.title}]({page}) | {command} | {each.does or 'no plugin: ' + each.instead} |")
    table = "\n".join(rows) + "\n"
    return _AGENTS.sub(lambda _: table, OVERVIEW.read_text(encoding="utf-8"))


def cli_reference() -> str:
    """The page with the help of every command."""
    sections = "\n".join([*_helps(program, None), *_helps(compress_context, None)])
    return (
        "# Command line\n\n<!-- Written from the program (make docs): change the program, not this page. -->"
        f"\n\n{sections}\n{_FOOT}"
    )


def _helps(command: click.Command, parent: click.Context | None) -> Iterator[str]:
    name = "autocompact" if command is program else command.name
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    context.terminal_width = WIDTH
    yield f"## {context.command_path}\n\n```\n{context.get_help()}\n```\n"
    if isinstance(command, click.Group):
        for each in map(partial(command.get_command, context), command.list_commands(context)):
            if each is not None:
                yield from _helps(each, context)


if __name__ == "__main__":
    for path, text in marketplace_files(version=version("autocompact")).items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
    REFERENCE.write_text(cli_reference(), encoding="utf-8")
    OVERVIEW.write_text(agents(), encoding="utf-8")
