"""The ``autocompact`` program.

What a program may read goes to stdout, everything else to stderr. Exit codes: 0 done, 2 it could not be done (one
message says why, nothing was written), 130 interrupted, 1 nobody reads the output any more.
"""

from __future__ import annotations

import difflib
import os
import shlex
from collections.abc import Mapping, Sequence
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from autocompact.cli.guard import guarded
from autocompact.cli.process import collect_as_usual, collect_seldom, process_of

_BEGIN = """\b
Begin with:
  autocompact inspect SESSION
  autocompact compact SESSION --preview
  autocompact compact SESSION --out compacted.md"""

_LONG_RUNNING = frozenset({"mcp", "serve", "worker", "wrap"})
"""Commands that go on for hours: what they leave behind is collected as in any program. A chat says so itself, once somebody talks."""

COMMANDS: Mapping[str, tuple[str, str]] = {
    "backup": ("health:backup", "Copy the store to a file, in use too, and check the copy."),
    "chat": ("chat:chat", "Talk to an agent; its context never overflows."),
    "compact": ("compact:compact", "Compact a session: a report, and the compacted context."),
    "compactions": ("store:compactions", "Show every compaction of a conversation."),
    "delete": ("store:delete", "Delete a conversation for good, archives included."),
    "doctor": ("health:doctor", "Look for damage in the whole store."),
    "export": ("store:export", "Write every message of a conversation to a file."),
    "import": ("store:import_session", "Keep a recorded session in the store."),
    "inspect": ("inspect:inspect", "Show where the window of a session went."),
    "install": ("agents:install", "Install the plugin for a coding agent."),
    "keys": ("keys:keys", "Make, list and revoke the access keys of a gateway."),
    "list": ("store:list_conversations", "List the kept conversations, the last used first."),
    "mcp": ("mcp:mcp", "Serve sessions and conversations as an MCP server."),
    "migrate": ("moving:migrate", "Make the tables of a store, or update them."),
    "move": ("moving:move", "Copy all conversations of a store to another one."),
    "observe": ("upkeep:observe", "Note an observation in the memory folder."),
    "replay": ("replay:replay", "Replay a session turn by turn, and show each compaction."),
    "restore": ("store:restore", "Activate a compaction again that was undone."),
    "search": ("store:search", "Find messages, also those that were compacted."),
    "serve": ("serve:serve", "Run the gateway and the chat page."),
    "settings": ("settings:settings", "Show the settings as they hold in a folder."),
    "show": ("store:show", "Show the messages of a conversation or a session."),
    "status": ("agents:status", "Say which plugins are installed, and what they did."),
    "undo": ("store:undo", "Undo the active compaction; what was said since stays."),
    "uninstall": ("agents:uninstall", "Remove the plugin for a coding agent."),
    "what-if": ("what_if:what_if", "Compare what sessions cost and keep under other policies."),
    "worker": ("working:worker", "Do the jobs of gateways on a PostgreSQL server."),
    "wrap": ("serve:wrap", "Run an agent behind a gateway of its own."),
}
"""Module and function of each command, and the line that lists it: no command is imported until it is named."""


class _Program(click.Group):
    """The commands of `COMMANDS`, each imported when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in COMMANDS:
            return None
        module, function = COMMANDS[cmd_name][0].split(":")
        command = getattr(import_module(f"autocompact.cli.{module}"), function)
        if cmd_name in _LONG_RUNNING:
            collect_as_usual()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not ctx.resilient_parsing and not args[0].startswith("-") and args[0] not in COMMANDS:
            ctx.fail(_no_command(args[0]))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=COMMANDS[name][1]) for name in names), *options]


def _no_command(name: str) -> str:
    """What to say of ``name`` in the place of a command: it may be misspelled, or a session whose command was left out."""
    if os.path.isfile(name):
        return f"{name!r} is a file, not a command: autocompact compact {shlex.quote(name)}."
    near = difflib.get_close_matches(name, COMMANDS, n=1)
    return f"No such command {name!r}." + (f" Did you mean {near[0]!r}?" if near else "")


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_BEGIN)
@click.version_option(package_name="autocompact", message="%(prog)s %(version)s")
def program() -> None:
    """Compact a conversation with an LLM that has become long, and see where its context went.

    SESSION is a file that an agent wrote (Claude Code, Codex, Copilot CLI, Gemini CLI, OpenCode, pi, Qwen Code, Kimi
    Code, goose, aider, Cline, Cursor, Continue, OpenHands, SWE-agent, tau-bench), a history of SpecStory, an export of
    ChatGPT or Claude.ai, or messages as JSON (OpenAI, Anthropic, Gemini, LangChain, Pydantic AI, Vercel AI SDK). No
    account, no key and no model is needed.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; the exit code. ``arguments`` are those of the command line by default."""
    collect_seldom()
    return guarded(program, arguments, name="autocompact")


def run() -> int:
    """The ``autocompact`` command: `main` in a process of its own; the exit code."""
    return process_of(main)
