"""``autocompact install``, ``uninstall`` and ``status``: plugins for coding agents."""

from __future__ import annotations

import os
from pathlib import Path

import click
import msgspec
from click.shell_completion import CompletionItem

from autocompact.agents.changes import Change
from autocompact.agents.hook_state import HookState, Receipt
from autocompact.agents.hooks_file import HooksFile
from autocompact.agents.installing import Plugin
from autocompact.agents.known import AGENTS, Agent, plugin_of
from autocompact.cli.guard import refusal
from autocompact.errors import InvalidInput
from autocompact.history.paths import data_folder
from autocompact.ui.terminal.output import tell

_MOST = 10

dry_run = click.option("--dry-run", is_flag=True, help="Only show what would change.")


def _complete_agent(*arguments: object) -> list[CompletionItem]:
    """Let the shell complete an agent's name."""
    return [
        CompletionItem(name, help=each.title)
        for name, each in AGENTS.items()
        if name.startswith(str(arguments[-1]))
    ]


agent_name = click.argument("agent", metavar="AGENT", shell_complete=_complete_agent)


class AboutAgents(click.Command):
    """A command whose help lists the agents."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """Write the list."""
        with formatter.section("Agents"):
            formatter.write_dl(
                [(each.name, f"{each.title}: {each.does or 'no plugin'}") for each in AGENTS.values()]
            )


@click.command(cls=AboutAgents)
@agent_name
@click.option(
    "--no-archive", is_flag=True, help="Do not keep each session in your own store before it is compacted."
)
@dry_run
def install(agent: str, *, no_archive: bool, dry_run: bool) -> None:
    """Install the plugin for AGENT: its compactions no longer lose rules, requests and findings.

    The files that change are shown as a diff. What is changed or removed is copied into your data folder before.
    """
    known = _agent(agent)
    plugin = _plugin(known)
    changes = plugin.to_install(archives=not no_archive)
    _change(plugin, changes, dry_run=dry_run, nothing="it is installed already")
    if changes and not dry_run:
        tell(f"{known.title} {known.then}. `autocompact status` shows what it does.")


@click.command(cls=AboutAgents)
@agent_name
@dry_run
def uninstall(agent: str, *, dry_run: bool) -> None:
    """Remove the plugin for AGENT. What you added to its folder stays."""
    plugin = _plugin(_agent(agent))
    _change(plugin, plugin.to_uninstall(), dry_run=dry_run, nothing=f"it is not installed for {agent}")


@click.command(cls=AboutAgents)
@click.argument("agent", metavar="[AGENT]", required=False, shell_complete=_complete_agent)
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text.")
def status(agent: str | None, *, as_json: bool) -> None:
    """Say which plugins are installed, and what they did at the last compactions."""
    asked = [_agent(agent)] if agent else list(AGENTS.values())
    if as_json:
        click.echo(_status_document(asked, data_folder() / "agents"))
        return
    for each in asked:
        click.echo(f"{each.name:<12} {_state(each)}")
        for name, receipt in _receipts(data_folder() / "agents" / each.name):
            click.echo(_told(name, receipt))
    log = data_folder() / "agents" / "hook.log"
    if log.exists():
        tell(f"Hooks failed: {len(log.read_text('utf-8').splitlines())} times, see {log}")


def _agent(name: str) -> Agent:
    if name not in AGENTS:
        raise click.BadParameter(
            f"{name!r} is not known; known are {', '.join(map(repr, AGENTS))}", param_hint="'AGENT'"
        )
    return AGENTS[name]


def _plugin(agent: Agent) -> Plugin | HooksFile:
    """The agent's plugin; the command ends with the reason where it has none."""
    if agent.instead:
        raise InvalidInput(f"there is no plugin for {agent.title}: {agent.instead}")
    return plugin_of(agent, home=Path.home(), environment=dict(os.environ), data=data_folder())


def _state(agent: Agent) -> str:
    """A line on an agent: whether its plugin is installed, and where."""
    if agent.instead:
        return f"no plugin: {agent.instead}"
    plugin = _plugin(agent)
    try:
        if not plugin.is_installed:
            return f"not installed: it {agent.does}"
        if plugin.is_current:
            return f"installed  ({plugin.place})"
    except InvalidInput as error:
        return str(error)
    except OSError as error:  # of one agent: the others are still told
        return f"{str(error.filename or plugin.place)!r} cannot be read: {refusal(error)}"
    return (
        f"installed by another version, or changed: `autocompact install {agent.name}` brings it up to date"
    )


def _status_document(agents: list[Agent], folder: Path) -> str:
    """The JSON of ``status --json``; ``folder`` holds the receipts of each agent's plugin."""
    document = [
        {
            "agent": each.name,
            "title": each.title,
            "has_plugin": not each.instead,
            "installed": (state := _state(each)).startswith("installed"),
            "state": state,
            "compactions": [
                {"session": name, **msgspec.structs.asdict(receipt)}
                for name, receipt in _receipts(folder / each.name)
            ],
        }
        for each in agents
    ]
    return msgspec.json.encode({"agents": document}).decode()


def _change(plugin: Plugin | HooksFile, changes: list[Change], *, dry_run: bool, nothing: str) -> None:
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
    sessions = folder.iterdir() if folder.is_dir() else ()
    found = [(each.name, receipt) for each in sessions for receipt in HookState(each).receipts()]
    return sorted(found, key=lambda one: one[1].time)[-_MOST:]


def _told(name: str, receipt: Receipt) -> str:
    begun = f"{receipt.time}  {name[:8]}  {receipt.trigger}"
    total = receipt.stated + receipt.referenced + receipt.missing
    rules = f"rules {receipt.rules_stated} of {receipt.rules}"
    if receipt.way != "beside":
        how = (
            "took the place of the summary"
            if receipt.way == "in place"
            else "stand beside a summary that cannot be read"
        )
        return (
            f"{begun}: {receipt.tokens:,} tokens {how}; they state {receipt.stated} of {total} ({rules}), "
            f"{receipt.missing} missing ({receipt.seconds:.2f} s)"
        )
    if receipt.rules_stated_after != receipt.rules_stated:
        rules += f", {receipt.rules_stated_after} with ours"
    wrong = f", {receipt.contradictions} contradicted" if receipt.contradictions else ""
    return (
        f"{begun}: the summary states {receipt.stated} of {total} ({rules}), {receipt.missing} missing{wrong}; "
        f"{receipt.missing_after} missing with the {receipt.tokens:,} tokens put beside it ({receipt.seconds:.2f} s)"
    )
