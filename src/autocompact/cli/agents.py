"""``autocompact install``, ``uninstall`` and ``status``: plugins for coding agents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autocompact.cli.terminal import tell

if TYPE_CHECKING:
    from autocompact.agents.hook_state import Receipt
    from autocompact.agents.installing import Change, Plugin

AGENT = click.Choice(["claude-code"])
_MOST = 10

dry_run = click.option("--dry-run", is_flag=True, help="Only show what would change.")


@click.command()
@click.argument("agent", type=AGENT)
@click.option(
    "--no-archive", is_flag=True, help="Do not keep each session in your own store before it is compacted."
)
@dry_run
def install(agent: str, *, no_archive: bool, dry_run: bool) -> None:
    """Install the plugin for AGENT: after each of its compactions, what the summary lost is put back.

    The files that change are shown as a diff. What is changed or removed is copied into your data folder before.
    """
    plugin = _plugin()
    _change(
        plugin, plugin.to_install(archives=not no_archive), dry_run=dry_run, nothing="it is installed already"
    )
    if not dry_run:
        tell(f"{agent} loads it when it is started the next time. `autocompact status` shows what it does.")


@click.command()
@click.argument("agent", type=AGENT)
@dry_run
def uninstall(agent: str, *, dry_run: bool) -> None:
    """Remove the plugin for AGENT. What you added to its folder stays."""
    plugin = _plugin()
    _change(plugin, plugin.to_uninstall(), dry_run=dry_run, nothing=f"it is not installed for {agent}")


@click.command()
@click.argument("agent", type=AGENT, required=False)
def status(agent: str | None) -> None:  # noqa: ARG001 - there is one so far
    """Say which plugins are installed, and what they did at the last compactions."""
    from autocompact.library.place import data_folder

    plugin = _plugin()
    state = "installed" if plugin.is_installed else "not installed"
    if plugin.is_installed and not plugin.is_current:
        state = (
            "installed by another version, or changed: `autocompact install claude-code` brings it up to date"
        )
    click.echo(f"claude-code  {state}  ({plugin.folder})")
    for name, receipt in _receipts(data_folder() / "agents" / "claude-code"):
        click.echo(_told(name, receipt))
    log = data_folder() / "agents" / "hook.log"
    if log.exists():
        tell(f"Hooks failed: {len(log.read_text('utf-8').splitlines())} times, see {log}")


def _plugin() -> Plugin:
    from autocompact.agents.installing import claude_code_plugin
    from autocompact.library.place import data_folder

    return claude_code_plugin(home=Path.home(), environment=dict(os.environ), data=data_folder())


def _change(plugin: Plugin, changes: list[Change], *, dry_run: bool, nothing: str) -> None:
    for change in changes:
        click.echo(change.diff(), nl=False)
    if not changes:
        tell(f"Nothing to do: {nothing}.")
    elif dry_run:
        tell("Nothing was changed (--dry-run).")
    elif backup := plugin.apply(changes):
        tell(f"The files as they were: {backup}")


def _receipts(folder: Path) -> list[tuple[str, Receipt]]:
    """The last receipts of all sessions, the newest last."""
    from autocompact.agents.hook_state import HookState

    sessions = folder.iterdir() if folder.is_dir() else ()
    found = [(each.name, receipt) for each in sessions for receipt in HookState(each).receipts()]
    return sorted(found, key=lambda one: one[1].time)[-_MOST:]


def _told(name: str, receipt: Receipt) -> str:
    rules = f"rules {receipt.rules_stated} of {receipt.rules}"
    if receipt.rules_stated_after != receipt.rules_stated:
        rules += f", {receipt.rules_stated_after} with ours"
    wrong = f", {receipt.contradictions} contradicted" if receipt.contradictions else ""
    return (
        f"{receipt.time}  {name[:8]}  {receipt.trigger}: the summary states {receipt.stated} of "
        f"{receipt.stated + receipt.referenced + receipt.missing} ({rules}), {receipt.missing} missing{wrong}; "
        f"{receipt.missing_after} missing with the {receipt.tokens:,} tokens put beside it ({receipt.seconds:.2f} s)"
    )
