"""The ``autocompact`` program.

What a program may read goes to stdout, everything else to stderr. Exit codes: 0 done, 2 it could not be done (one
message says why, nothing was written), 130 interrupted, 1 nobody reads the output any more.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from autocompact.cli.compact import compact
from autocompact.cli.inspect import inspect
from autocompact.cli.replay import replay
from autocompact.cli.serve import serve, wrap
from autocompact.cli.settings import settings
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
from autocompact.errors import AutocompactError

FAILED, INTERRUPTED = 2, 130


_BEGIN = """\b
Begin with:
  autocompact inspect SESSION
  autocompact compact SESSION --preview
  autocompact compact SESSION --out compacted.md"""


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, epilog=_BEGIN)
@click.version_option(package_name="autocompact", message="%(prog)s %(version)s")
def program() -> None:
    """Compact a conversation with an LLM that has become long, and see where its context went.

    SESSION is a file that your agent wrote (Claude Code, Codex, Copilot CLI, Gemini CLI, pi) or OpenAI or Anthropic
    messages as JSON. No account, no key and no model is needed.
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
):
    program.add_command(kept)
program.add_command(serve)
program.add_command(wrap)
program.add_command(settings)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; the exit code. ``arguments`` are those of the command line by default."""
    try:
        code = program.main(arguments, prog_name="autocompact", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return FAILED
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "autocompact"
        return _failed(f"{error.format_message()} See: {command} --help")
    except (AutocompactError, click.ClickException) as error:
        return _failed(str(error))
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except OSError as error:
        # What is still buffered would be written when Python ends, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _failed(f"the output cannot be written: {error.strerror or error}")
    return code or 0


def _failed(message: str) -> int:
    click.echo(f"autocompact: {message}", err=True)
    return FAILED
