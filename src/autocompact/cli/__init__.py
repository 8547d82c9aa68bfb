"""The ``autocompact`` program.

What a program may read goes to stdout, everything else to stderr. Exit codes: 0 done, 2 it could not be done (one
message says why, nothing was written), 130 interrupted, 1 nobody reads the output any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module

import click

from autocompact.cli.agents import install, status, uninstall
from autocompact.cli.chat import chat
from autocompact.cli.compact import compact
from autocompact.cli.guard import guarded
from autocompact.cli.health import backup, doctor
from autocompact.cli.inspect import inspect
from autocompact.cli.replay import replay
from autocompact.cli.store import (
    compactions,
    delete,
    export,
    import_session,
    list_conversations,
    restore,
    search,
    show,
    undo,
)
from autocompact.cli.upkeep import observe

_BEGIN = """\b
Begin with:
  autocompact inspect SESSION
  autocompact compact SESSION --preview
  autocompact compact SESSION --out compacted.md"""


_WITH_SETTINGS: Mapping[str, str] = {
    "serve": "autocompact.cli.serve",
    "wrap": "autocompact.cli.serve",
    "settings": "autocompact.cli.settings",
    "mcp": "autocompact.cli.mcp",
    "what-if": "autocompact.cli.what_if",
    "move": "autocompact.cli.moving",
    "migrate": "autocompact.cli.moving",
}
"""Commands that load much, such as those whose options are the settings: read when they are asked for."""


class _Program(click.Group):
    """The commands; those of `_WITH_SETTINGS` are imported when they are named, or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_WITH_SETTINGS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _WITH_SETTINGS and cmd_name not in self.commands:
            self.add_command(getattr(import_module(_WITH_SETTINGS[cmd_name]), cmd_name.replace("-", "_")))
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_BEGIN)
@click.version_option(package_name="autocompact", message="%(prog)s %(version)s")
def program() -> None:
    """Compact a conversation with an LLM that has become long, and see where its context went.

    SESSION is a file that an agent wrote (Claude Code, Codex, Copilot CLI, Gemini CLI, OpenCode, pi, Qwen Code, goose,
    aider, Cline, Cursor, Continue, OpenHands, SWE-agent, tau-bench), an export of ChatGPT or Claude.ai, or messages as
    JSON (OpenAI, Anthropic, Gemini, LangChain, Pydantic AI, Vercel AI SDK). No account, no key and no model is needed.
    """


program.add_command(compact)
program.add_command(inspect)
for kept in (
    replay,
    list_conversations,
    show,
    export,
    import_session,
    search,
    undo,
    restore,
    compactions,
    delete,
    backup,
    doctor,
):
    program.add_command(kept)
program.add_command(chat)
for about_agents in (install, uninstall, status):
    program.add_command(about_agents)
program.add_command(observe)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; the exit code. ``arguments`` are those of the command line by default."""
    return guarded(program, arguments, name="autocompact")
