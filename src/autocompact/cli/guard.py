"""How a program of ours ends, whatever happens in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from autocompact.errors import AutocompactError

FAILED, INTERRUPTED = 2, 130


def guarded(program: click.Command, arguments: Sequence[str] | None, *, name: str) -> int:
    """Run ``program``; the exit code. Every error that a person can do something about becomes one line on stderr.

    Args:
        program: the command.
        arguments: those of the command line by default.
        name: what it is called.
    """
    try:
        code = program.main(arguments, prog_name=name, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return FAILED
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else name
        return _failed(f"{error.format_message()} See: {command} --help", name=name)
    except (AutocompactError, click.ClickException) as error:
        return _failed(str(error), name=name)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except OSError as error:
        # What is still buffered would be written when Python ends, and fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _failed(f"the output cannot be written: {error.strerror or error}", name=name)
    return code or 0


def _failed(message: str, *, name: str) -> int:
    click.echo(f"{name}: {message}", err=True)
    return FAILED
