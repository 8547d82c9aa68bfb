"""``autocompact settings``: what is set, and who set it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from autocompact.cli.defaults import loaded
from autocompact.settings import Loaded, all_settings, schema
from autocompact.ui.terminal.output import display
from autocompact.ui.text import visible

_WIDEST_VALUE = 40


@click.command()
@click.option("--explain", is_flag=True, help="Show where each value comes from.")
@click.option(
    "--json", "as_json", is_flag=True, help="Write JSON: a settings.json, or with --explain a list."
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="FOLDER",
    help="Whose project; the current folder by default.",
)
@click.option("--schema", "as_schema", is_flag=True, help="Write the JSON schema of settings.json.")
def settings(*, explain: bool, as_json: bool, folder: Path | None, as_schema: bool) -> None:
    """Show the settings as they hold in a folder.

    Each value comes from the first that has it: .autocompact/settings.json in the folder or above it, settings.json in
    the user's data folder, an environment variable, the default. Options of a command go before all of them. What a
    project's file may not say, because it may have come with a repository, is told on stderr and left out.
    """
    if as_schema:
        click.echo(schema(), nl=False)
        return
    found = loaded(folder)
    if as_json:
        shown = explained(found) if explain else _document(found)
        click.echo(msgspec.json.format(msgspec.json.encode(shown), indent=2))
    else:
        display("\n".join(lines(found, explain=explain)))


def _document(found: Loaded) -> object:
    """All settings as a ``settings.json``, except what may not be shown."""
    document: dict[str, Any] = msgspec.to_builtins(found.settings)
    for setting in all_settings():
        *parents, name = setting.path.split(".")
        section = document
        for parent in parents:
            section = section[parent]
        section[name] = setting.shown(section[name])
    return document


def lines(found: Loaded, *, explain: bool) -> Iterator[str]:
    """A line for each setting, the set ones in bold; with ``explain`` who set it, and the files before."""
    widest = max(len(each.path) for each in all_settings())
    if explain:
        for file in found.files:
            yield f"# {file}{'' if file.is_file() else '  (there is none)'}"
    for setting in all_settings():
        value = visible(json.dumps(setting.shown(found.value(setting.path)), ensure_ascii=False))
        origin = found.origins[setting.path]
        line = f"{setting.path:<{widest}}  {value:<{_WIDEST_VALUE if explain else 0}}"
        if explain:
            line += f"  {visible(f'{origin.source}: {origin.where}' if origin.where else origin.source)}"
        yield click.style(line.rstrip(), bold=origin.source != "default" or None)


def explained(found: Loaded) -> Mapping[str, object]:
    """The JSON of ``--explain``."""
    rows = [
        {
            "path": setting.path,
            "value": setting.shown(found.value(setting.path)),
            "source": found.origins[setting.path].source,
            "where": found.origins[setting.path].where,
            "default": setting.default,
            "variable": setting.variable,
            "meaning": setting.meaning,
        }
        for setting in all_settings()
    ]
    ignored = [{"path": path, "where": where} for path, where in found.ignored.items()]
    return {"files": [str(file) for file in found.files], "settings": rows, "ignored": ignored}
