"""Exit codes and messages of our programs, whatever happens in them."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Mapping, Sequence

import click

from autocompact.errors import AutocompactError
from autocompact.ui.text import visible

FAILED, INTERRUPTED = 2, 130

_ADVICE: Mapping[int, str] = {
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "check the path, a part of it is no folder",
    errno.EISDIR: "it is a folder, name a file in it",
    errno.EACCES: "get access to it, or name another file",
    errno.EPERM: "get access to it, or name another file",
    errno.EROFS: "choose a place that can be written",
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space, the quota is used up",
    errno.EFBIG: "choose a smaller file, or raise the limit (ulimit -f)",
    errno.ENAMETOOLONG: "give a shorter path",
    errno.ELOOP: "check its links, they lead in a circle",
    errno.EMFILE: "close other files, or raise the limit (ulimit -n)",
    errno.ENFILE: "close other programs, the system has too many open files",
    errno.EIO: "check the disk",
    errno.EADDRINUSE: "choose another port, or end the program that uses it",
}


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
        message = error.format_message()
        end = "" if message.endswith((".", "?", "?)")) else "."
        return _failed(f"{message}{end} See: {command} --help", name=name)
    except (AutocompactError, click.ClickException) as error:
        return _failed(str(error), name=name)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except OSError as error:
        return _failed(_refused(error), name=name)
    return code or 0


def _refused(error: OSError) -> str:
    """Text on an error of the system: what was refused, on which file, and what to do about it."""
    if error.filename is not None:
        files = " and ".join(repr(os.fsdecode(each)) for each in (error.filename, error.filename2) if each)
        return f"{files}: {refusal(error)}"
    if _is_of_output(error):
        drop_output()
        return f"the output cannot be written: {refusal(error)}, or write elsewhere"
    if isinstance(error, FileNotFoundError):
        return f"the current folder cannot be read: {error.strerror}: change to one that exists"
    return f"the system refused: {refusal(error)}"


def refusal(error: OSError) -> str:
    """The system's reason, and what to do about it."""
    reason = error.strerror or str(error) or type(error).__name__
    return f"{reason}: {_ADVICE.get(error.errno or 0, 'check it, then try again')}"


def drop_output() -> None:
    """Forget what stdout still holds: it would be written when Python ends, and fail again."""
    if sys.stdout is not None:  # closed (>&-)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_of_output(error: OSError) -> bool:
    """True if it came up while text was shown: such an error names no file."""
    return sys.stdout is None or any(
        frame.f_code is click.echo.__code__ for frame, _ in traceback.walk_tb(error.__traceback__)
    )


def _failed(message: str, *, name: str) -> int:
    click.echo(f"{name}: {visible(message)}", err=True)
    return FAILED
