"""What is said about the memory folder: as text for a person, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from autocompact.cli.report import plural
from autocompact.cli.shelf import visible
from autocompact.core.memory.observations import ObservationRun, Observed
from autocompact.core.memory.rules import Contradiction, Rule
from autocompact.core.memory.tasks import TaskRun
from autocompact.library.archive import encode
from autocompact.upkeep import UpkeepReport

_MOST = 10
_LONGEST = 90


def run_text(report: UpkeepReport, *, dry_run: bool) -> str:
    """What a run did, or would do."""
    title = f"{report.folder}: "
    if not report.changes:
        title += "nothing to do"
    else:
        names = ", ".join(change.name for change in report.changes)
        title += f"would change {names}" if dry_run else f"changed {names}"
    lines = [click.style(visible(title), bold=True)]
    lines += [f"  {layer} are switched off in the settings" for layer in report.off]
    if report.observations is not None:
        lines += _observations(report.observations)
    if report.tasks is not None:
        lines += _tasks(report.tasks)
    if report.backup is not None:
        lines.append(f"  as it was before: {visible(str(report.backup))}")
    return "\n".join(lines)


def _observations(run: ObservationRun) -> Iterator[str]:
    escalated, archived = plural(len(run.escalated), "new rule"), f"{len(run.archived):,} archived"
    told = f"{_staying(run.stayed, 'observation')}, {escalated}, {archived}, {len(run.merged):,} merged"
    yield f"  {told}{f', {run.undated:,} without a date' if run.undated else ''}"
    yield from _listed("rule", [f"{rule.number}: {rule.text}" for rule in run.escalated])
    yield from _listed("archived", [each.text for each in run.archived])
    yield from _listed("merged", run.merged)
    yield from _listed("contradiction", [_pair(each) for each in run.contradictions], color="yellow")


def _staying(count: int, noun: str) -> str:
    return f"{plural(count, noun)} {'stays' if count == 1 else 'stay'}"


def _pair(found: Contradiction) -> str:
    return f"{_rule(found.first)} / {_rule(found.second)}"


def _rule(rule: Rule) -> str:
    return f"{rule.number}: {rule.text}" if rule.number is not None else rule.text


def _tasks(run: TaskRun) -> Iterator[str]:
    archived, proposed = f"{len(run.archived):,} archived", plural(len(run.proposed), "pattern")
    yield f"  {_staying(run.kept, 'task')}, {archived}, {proposed} proposed"
    yield from _listed("archived", run.archived)
    yield from _listed("proposed", run.proposed)


def _listed(label: str, texts: list[str] | tuple[str, ...], *, color: str | None = None) -> Iterator[str]:
    for text in texts[:_MOST]:
        shown = visible(text)
        shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
        yield f"    {click.style(f'{label}', fg=color)} {shown}"
    if len(texts) > _MOST:
        yield f"    … {len(texts) - _MOST:,} more"


def run_document(report: UpkeepReport) -> bytes:
    """The JSON of ``compress-context --json``."""
    document = {
        "folder": str(report.folder),
        "changed": [change.name for change in report.changes],
        "diff": {change.name: change.diff() for change in report.changes},
        "observations": report.observations,
        "tasks": report.tasks,
        "off": report.off,
        "backup": str(report.backup) if report.backup else None,
    }
    return encode(document) + b"\n"


def observed_text(observed: Observed, folder: Path) -> str:
    """What became of an observation."""
    count = plural(observed.confirmations, "confirmation")
    number = f" {observed.rule}" if observed.rule is not None else ""
    told: Mapping[str, str] = {
        "recorded": f"noted: {observed.text}",
        "confirmed": f"confirmed, {count}: {observed.text}",
        "revived": f"back from the archive, {count}: {observed.text}",
        "rule": f"that is rule{number} already, {count}: {observed.text}",
    }
    return f"{visible(told[observed.action])}\n  in {visible(str(folder / observed.file))}"


def observed_document(observed: Observed, folder: Path) -> bytes:
    """The JSON of ``observe --json``."""
    document = {
        "action": observed.action,
        "text": observed.text,
        "confirmations": observed.confirmations,
        "rule": observed.rule,
        "file": str(folder / observed.file),
    }
    return encode(document) + b"\n"
