"""The schedule for cron and systemd, as text that a person looks at and installs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from autocompact.errors import InvalidInput
from autocompact.memory.schedule.times import Job

# a month is reported on when it is over in UTC: cron knows only local hours, and the farthest zone is 14 hours ahead
_WHEN_CRON: Mapping[Job, str] = {"weekly": "0 0 * * 0", "monthly": "0 14 1 * *"}
_WHEN_SYSTEMD: Mapping[Job, str] = {"weekly": "Sun *-*-* 00:00:00", "monthly": "*-*-01 00:00:00 UTC"}
_OPTIONS: Mapping[Job, Sequence[str]] = {
    "weekly": ("--observations",),
    "monthly": ("--tasks", "--report"),
}
_SAID: Mapping[Job, str] = {"weekly": "observations, Sundays", "monthly": "tasks and report, on the 1st"}


def crontab(program: Path, folder: Path) -> str:
    """Lines for ``crontab -e``.

    Args:
        program: compress-context.
        folder: the memory folder.

    Raises:
        InvalidInput: a path has a line break, which no crontab can hold.
    """
    return "".join(f"{line}\n" for line in _cron_lines(program, folder))


def _cron_lines(program: Path, folder: Path) -> Iterator[str]:
    for job, when in _WHEN_CRON.items():
        yield f"# autocompact: {_SAID[job]}"
        # cron ends a command at a percent sign that has no backslash before it
        command = shlex.join(_command(program, folder, job=job)).replace("%", r"\%")
        yield f"{when} {command} >/dev/null 2>&1"


def systemd_units(program: Path, folder: Path) -> dict[str, str]:
    """The units for ``~/.config/systemd/user``, by file name: a service and a timer for each job.

    Args:
        program: compress-context.
        folder: the memory folder.

    Raises:
        InvalidInput: a path has a line break.
    """
    units: dict[str, str] = {}
    for job, when in _WHEN_SYSTEMD.items():
        command = " ".join(_systemd_quoted(word) for word in _command(program, folder, job=job))
        name = f"autocompact-{job}"
        units[f"{name}.service"] = (
            f"[Unit]\nDescription=autocompact: {_SAID[job]}\n\n"
            f"[Service]\nType=oneshot\nExecStart={command}\nSuccessExitStatus=3\n"
        )
        units[f"{name}.timer"] = (
            f"[Unit]\nDescription=autocompact: {_SAID[job]}\n\n"
            f"[Timer]\nOnCalendar={when}\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n"
        )
    return units


def _command(program: Path, folder: Path, *, job: Job) -> list[str]:
    words = [str(program), "--dir", str(folder), *_OPTIONS[job]]
    if any(char in word for word in words for char in "\r\n\0"):
        raise InvalidInput(
            f"{str(folder)!r} has a line break in it, which a schedule cannot hold: move the folder"
        )
    return words


def _systemd_quoted(word: str) -> str:
    """A word of ExecStart: quoted, specifiers and variables taken for what they are (systemd.service(5))."""
    plain = word.replace("%", "%%").replace("$", "$$")
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"' if escaped != word or any(char in " \t'\";" for char in word) else word
