"""Writes what documents say about the command line from the program itself: ``make docs``.

- ``docs/reference/cli.md``: the help of every command;
- the output in ``README.md``: the report of the command that ``make run`` runs;
- the marketplace for Claude Code: ``.claude-plugin`` and ``plugins``.

A test holds both true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import click

from autocompact.agents.claude_plugin import marketplace_files
from autocompact.cli import program
from autocompact.cli.compact import compacted_from
from autocompact.cli.report import report
from autocompact.cli.sources import Source
from autocompact.cli.upkeep import compress_context

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
REFERENCE = ROOT / "docs" / "reference" / "cli.md"
WIDTH = 100
_BLOCK = re.compile(r"(?<=<!-- output:start -->\n).*?(?=<!-- output:end -->)", re.DOTALL)
_RUN = re.compile(r"autocompact (compact \$\(SESSION\) --window (\d+) --to (\d+) --out (\S+))")
_SECONDS = re.compile(r", (\d+\.\d\d) s, counted with")
_SESSION = re.compile(r"^SESSION := (\S+)$", re.MULTILINE)

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


def cli_reference() -> str:
    """The page with the help of every command."""
    sections = "\n".join([*_helps(program, None), *_helps(compress_context, None)])
    return (
        "# Command line\n\n<!-- Written by docs/generate_reference.py (make docs): change the program, not this page. -->"
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


def readme() -> str:
    """The README with the output of ``make run``."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    run, session = _RUN.search(makefile), _SESSION.search(makefile)
    if run is None or session is None:
        raise LookupError("the Makefile's run target is not the command that the README shows")
    compacted = compacted_from(
        Source(name=session[1], path=ROOT / session[1]),
        summary=None,
        pins=(),
        focus="",
        window=int(run[2]),
        to=int(run[3]),
        summary_tokens=None,
        tail_tokens=None,
        through=None,
    )
    # The time that it took once stays, so that nothing is written anew where nothing changed.
    if taken := _SECONDS.search(README.read_text(encoding="utf-8")):
        compacted = replace(compacted, receipt=replace(compacted.receipt, seconds=float(taken[1])))
    shown = click.unstyle(report(compacted, session[1], preview=False, written=run[4], width=WIDTH))
    command = run[1].replace("$(SESSION)", session[1])
    block = f"\n```\n$ autocompact {command}\n{shown}\n```\n\n"
    return _BLOCK.sub(lambda _: block, README.read_text(encoding="utf-8"))


if __name__ == "__main__":
    for path, text in marketplace_files(version=version("autocompact")).items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
    REFERENCE.write_text(cli_reference(), encoding="utf-8")
    README.write_text(readme(), encoding="utf-8")
