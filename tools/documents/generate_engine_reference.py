"""Writes what documents say about settings and events from the program itself, and the schema of settings.json.

    make docs

A test holds both true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from inspect import getdoc, signature
from pathlib import Path
from typing import Any, get_args

import msgspec

from autocompact.compaction.modes import MODES, Mode
from autocompact.compaction.record import Placement, Receipt
from autocompact.core.budget import HIGHEST_RATIO, LOWEST_RATIO, PRESETS, Policy
from autocompact.engine import Compactor
from autocompact.events import Event
from autocompact.ledger.prompts import BUILT_IN
from autocompact.models.skills import load_skill
from autocompact.settings import Setting, all_settings, made_schema

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
SCHEMA = Path(__file__).parents[2] / "src" / "autocompact" / "settings" / "settings.schema.json"
_WRITTEN = "<!-- Written from the program (make docs): change the program, not this page. -->"
_SETTINGS = """## settings.json

A value comes from the first of these that has it: an option of the command, `.autocompact/settings.json` of the project,
`settings.json` in the user's data folder, the environment variable, the default. `autocompact settings --explain` shows
which. In a variable, a list is written `a,b` and values by name `a=1,b=2`."""
_OF_A_PROJECT = {
    "nothing": "not from a project's file",
    "offline": 'from a project\'s file only "offline"',
    "within": "from a project's file only within its folder",
}
_ENTRY = re.compile(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def described(owner: object) -> dict[str, str]:
    """What the docstring says of each attribute or argument, in one line each."""
    entries = _ENTRY.findall(getdoc(owner) or "")
    return {name: re.sub(r"\s+", " ", text).replace("``", "`") for name, text in entries}


def default_of(field: Field[Any]) -> str:
    """A field's default as it is written, "required" if there is none."""
    if field.default is not MISSING:
        return f"`{field.default!r}`"
    return "required" if field.default_factory is MISSING else "all defaults"


def table(rows: Iterator[tuple[str, ...]], *titles: str) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    return "\n".join((*lines, *("| " + " | ".join(row).replace("\n", " ") + " |" for row in rows)))


def of_class(owner: type) -> str:
    """Fields, defaults and meanings of a dataclass."""
    meanings = described(owner)
    rows = ((f"`{field.name}`", default_of(field), meanings[field.name]) for field in fields(owner))
    return table(rows, "field", "default", "meaning")


def modes() -> str:
    """How each named mode differs from the default one."""
    plain = Mode(name="")

    def differences(owner: Any, other: Any) -> Iterator[str]:
        for field in fields(owner):
            value = getattr(owner, field.name)
            if field.name == "policy":
                yield from differences(value, other.policy)
            elif field.name != "name" and value != getattr(other, field.name):
                yield f"`{field.name}={value!r}`"

    rows = (
        (f"`{name}`", ", ".join(differences(mode, plain)) or "all defaults") for name, mode in MODES.items()
    )
    return table(rows, "mode", "what differs from the defaults")


def arguments() -> str:
    """What a compactor is made with."""
    meanings = described(Compactor)
    rows = (
        (f"`{name}`", "required" if each.default is each.empty else f"`{each.default!r}`", meanings[name])
        for name, each in signature(Compactor).parameters.items()
        if name != "mode"
    )
    return table(rows, "argument", "default", "meaning")


def placements() -> str:
    """Where a summary can go."""
    texts = (
        "a section at the end of the system prompt",
        "a message of the user's role, marked as a record of the program",
        "a message of the model's role, after a note in the user's turn",
    )
    rows = ((f"`{name}`", text) for name, text in zip(get_args(Placement), texts, strict=True))
    return table(rows, "placement", "where the summary goes")


def accepted(setting: Setting) -> str:
    """What a setting accepts, and what else there is to know."""
    told = setting.expected.replace("|", "\\|")
    return f"{told}; {_OF_A_PROJECT[setting.project]}" if setting.project in _OF_A_PROJECT else told


def file_settings() -> str:
    """What a settings.json may hold: a table for each section."""
    tables = [_SETTINGS]
    for section in dict.fromkeys(each.path.partition(".")[0] for each in all_settings()):
        rows = (
            (
                f"`{each.path}`<br>`{each.variable}`",
                accepted(each),
                f"`{msgspec.json.encode(each.default).decode()}`",
                each.meaning,
            )
            for each in all_settings()
            if each.path.partition(".")[0] == section
        )
        tables.append(
            f"### {section}\n\n" + table(rows, "setting, variable", "accepts", "default", "meaning")
        )
    return "\n\n".join(tables)


def presets() -> str:
    """The thresholds that have a name."""
    rows = ((f"`{name}`", f"{tokens:,}" if tokens else "off") for name, tokens in PRESETS.items())
    return table(rows, "preset", "tokens")


def skills() -> str:
    """The prompts that come along."""
    rows = ((f"`{name}`", load_skill(name).description) for name in BUILT_IN)
    return table(rows, "skill", "what it is for")


def settings_page() -> str:
    """docs/reference/settings.md."""
    return f"""# Settings

{_WRITTEN}

The programs read `settings.json`; [the guide](../guides/settings.md) shows how. The library reads nothing by itself:
there everything is set where a `Compactor` is made.

{file_settings()}

## Compactor

`Compactor(store, mode=dataclasses.replace(MODES["default"], ...))`.

{arguments()}

`mode` says when and how to compact; it defaults to `MODES["default"]`.

## Mode

{of_class(Mode)}

## Policy

`Mode.policy` says when. A ratio outside {LOWEST_RATIO}..{HIGHEST_RATIO} is clamped; `Policy.notes` tells.

{of_class(Policy)}

## Named modes

{modes()}

## Presets

`at_preset(mode, name)` and `preset(name)` take an absolute threshold by its name.

{presets()}

## Skills

The prompts that come along. A path takes a file of your own: front matter with `name` and `description`, then the prompt.

{skills()}

## Placements

{placements()}
"""


def events_page() -> str:
    """docs/reference/events.md."""

    def sections() -> Iterator[str]:
        for kind in get_args(Event):
            meaning = re.sub(r"\s+", " ", getdoc(kind) or "").replace("``", "`")
            names = ", ".join(f"`{field.name}`" for field in fields(kind))
            yield f"## {kind.__name__}\n\n{meaning}\n\nFields: {names}."

    body = "\n\n".join(sections())
    return f"""# Events

{_WRITTEN}

`compactor.subscribe(function)` calls `function` with each event of each conversation, in the order of subscription;
what it returns ends that. A subscriber that raises is logged and harms nobody. Each `CompactionStarted` is followed by
exactly one `CompactionCompleted`, also when there was nothing to do, when it failed or was cancelled. A preparation in
the background has neither: nobody has to wait for it.

{body}

## The receipt

`CompactionCompleted.receipt`, and the `receipt` of every stored compaction.

{of_class(Receipt)}
"""


PAGES = {"settings.md": settings_page, "events.md": events_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
    SCHEMA.write_bytes(made_schema())
