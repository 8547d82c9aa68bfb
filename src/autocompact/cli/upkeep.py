"""``compress-context`` and ``autocompact observe``: the memory folder from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import click

from autocompact.cli import values
from autocompact.cli.defaults import settings
from autocompact.cli.guard import guarded
from autocompact.cli.process import process_of
from autocompact.cli.sources import deliver
from autocompact.errors import InvalidInput
from autocompact.ui.terminal.output import tell

DONE, NOTHING_TO_DO = 0, 3

_ENDS = """\b
Exit codes: 0 done, 3 nothing to do, 2 a step could not be done (it changed nothing, those before it are done), 130
interrupted.
With --dry-run 0 means that there is something to do."""

folder_option = click.option(
    "--dir",
    "folder",
    type=values.folder,
    metavar="FOLDER",
    help="The memory folder.  [default: .autocompact of the project, else in your data folder]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="JSON on stdout instead of text.")


@click.command(context_settings={"help_option_names": ["-h", "--help"]}, epilog=_ENDS, no_args_is_help=True)
@click.version_option(package_name="autocompact", message="%(prog)s %(version)s")
@folder_option
@click.option(
    "--session-now",
    "session",
    is_flag=False,
    flag_value="",
    metavar="[SESSION]",
    help="Compact a recorded session or a conversation of yours, archive it and note its tasks; its summary goes to "
    "stdout.  [default: the newest of the project]",
)
@click.option("--observations", is_flag=True, help="Make rules of confirmed observations, archive old ones.")
@click.option("--tasks", is_flag=True, help="Make rows of all but the last tasks, propose their patterns.")
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="--session-now (if there is a session), --observations, --tasks and --report, in this order.",
)
@click.option(
    "--report",
    is_flag=False,
    flag_value="last",
    metavar="[YYYY-MM]",
    help="Write the report of a month to reports/, as Markdown and HTML.  [default: the last whole month]",
)
@click.option(
    "--print-schedule",
    "schedule",
    type=click.Choice(["cron", "systemd"]),
    is_flag=False,
    flag_value="cron",
    help="Print a crontab, or systemd timers, that run --observations each Sunday and --tasks --report each 1st of a "
    "month. Nothing is installed.  [default: cron]",
)
@click.option("--dry-run", is_flag=True, help="Only show the changes, as a unified diff on stdout.")
@json_option
def compress_context(
    *,
    folder: Path | None,
    session: str | None,
    observations: bool,
    tasks: bool,
    every: bool,
    report: str | None,
    schedule: Literal["cron", "systemd"] | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Bring an agent's memory folder up to date: sessions, rules, observations, tasks, index, reports.

    All files of a step change together or none does; what was there before is in backups/. A second run changes nothing.
    """
    where = _folder(folder)
    if schedule is not None:
        _check_alone(observations or tasks or every or dry_run, report, session)
        return _printed(schedule, where, as_json=as_json)
    if not (every or observations or tasks) and report is None and session is None:
        raise InvalidInput(
            "say what to do: --session-now, --observations, --tasks, --all, --report or --print-schedule"
        )
    from autocompact.cli.compressing import Asked, carried_out, everything, layers_of, show

    layers = layers_of(observations=observations, tasks=tasks)
    asked = Asked(folder=where, session=session, layers=layers, report=report, dry_run=dry_run)
    if every:
        asked = everything(where, session=session, report=report, dry_run=dry_run)
    return DONE if show(asked, carried_out(asked), as_json=as_json) else NOTHING_TO_DO


@click.command()
@click.argument("text")
@click.option("--why", default="", metavar="TEXT", help="The reason, or how you noticed.")
@click.option("--same-as", default="", metavar="WORDS", help="The words of a noted one that this confirms.")
@folder_option
@json_option
def observe(text: str, *, why: str, same_as: str, folder: Path | None, as_json: bool) -> None:
    """Note an observation in the memory folder, or confirm the one that says the same.

    Five confirmations make it a rule when `compress-context --observations` runs.
    """
    from autocompact.cli import memory
    from autocompact.memory.observing import observe as note

    where = _folder(folder)
    observed = note(where, text, why=why, same_as=same_as)
    if as_json:
        deliver([memory.observed_document(observed, where)], None)
    else:
        tell(memory.observed_text(observed, where))


def _check_alone(*others: object) -> None:
    if any(other not in (None, False) for other in others):
        raise InvalidInput("--print-schedule only prints a schedule: leave the options that do something out")


def _printed(kind: Literal["cron", "systemd"], folder: Path, *, as_json: bool) -> int:
    from autocompact.cli import scheduling

    deliver([scheduling.document(kind, folder) if as_json else scheduling.text(kind, folder)], None)
    tell(scheduling.HOW[kind])
    return DONE


def _folder(folder: Path | None) -> Path:
    from autocompact.settings import memory_folder_of

    return folder or memory_folder_of(settings())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``compress-context``; the exit code. ``arguments`` are those of the command line by default."""
    return guarded(compress_context, arguments, name="compress-context")


def run() -> int:
    """The ``compress-context`` command: `main` in a process of its own; the exit code."""
    return process_of(main)
