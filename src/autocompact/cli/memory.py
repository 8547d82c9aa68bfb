"""Output about the memory folder: as text for a person, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, assert_never

import click

from autocompact.core.plurals import plural
from autocompact.history.archive import encode
from autocompact.memory.documents.observations import ObservationRun, Observed
from autocompact.memory.documents.rules import Pair, Rule
from autocompact.memory.documents.tasks import TaskRun
from autocompact.memory.documents.unread import Unread
from autocompact.memory.report import WrittenReport
from autocompact.memory.report.telling import facts_of
from autocompact.memory.sessions import SessionRun
from autocompact.memory.upkeep import FileChange, UpkeepReport
from autocompact.ui.text import visible

NO_SESSION = "Session: there is none yet"
_MOST = 10
_LONGEST = 110


def run_text(report: UpkeepReport, *, dry_run: bool) -> str:
    """Text on what a run did, or would do."""
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
    lines += _listed("noted", report.noted)
    if report.tasks is not None:
        lines += _tasks(report.tasks)
    if report.untouched:
        more = f" and {len(report.untouched) - _MOST:,} more" if len(report.untouched) > _MOST else ""
        lines.append(f"  not touched: {visible(', '.join(report.untouched[:_MOST]))}{more}")
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
    yield from _listed("same?", [_pair(each) for each in run.alike if not each.differ], color="yellow")
    yield from _listed("contradiction", [_pair(each) for each in run.contradictions], color="yellow")
    yield from _listed("not read:", [_unread(each) for each in run.unread], color="yellow")


def _staying(count: int, noun: str) -> str:
    return f"{plural(count, noun)} {'stays' if count == 1 else 'stay'}"


def _pair(found: Pair) -> str:
    return f"{_rule(found.first)} / {_rule(found.second)}"


def _rule(rule: Rule) -> str:
    return f"{rule.number}: {rule.text}" if rule.number is not None else rule.text


def _tasks(run: TaskRun) -> Iterator[str]:
    archived, proposed = f"{len(run.archived):,} archived", plural(len(run.proposed), "pattern")
    yield f"  {_staying(run.kept, 'task')}, {archived}, {proposed} proposed"
    yield from _listed("archived", run.archived)
    yield from _listed("proposed", run.proposed)
    yield from _listed("stays, as open or other tasks stand in it:", run.unclear, color="yellow")
    yield from _listed("not read:", [_unread(each) for each in run.unread], color="yellow")


def _unread(found: Unread) -> str:
    place = f"{found.file}:{found.line}:"
    match found.kind:
        case "date":
            return f"{place} {found.text!r} may be two days: write it as YYYY-MM-DD"
        case "figure":
            return f"{place} {found.text!r} may be confirmations, so it stays: write (5 confirmations)"
        case "paragraph":
            return f"{place} a paragraph is no entry, it stays as it is; begin each entry with '- '"
        case "table":
            return f"{place} a table is no entry, it stays as it is; give it the columns 'Observation' or 'Task' and 'Date'"
        case _:
            assert_never(found.kind)


def _listed(label: str, texts: list[str] | tuple[str, ...], *, color: str | None = None) -> Iterator[str]:
    for text in texts[:_MOST]:
        shown = visible(text)
        shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
        yield f"    {click.style(f'{label}', fg=color)} {shown}"
    if len(texts) > _MOST:
        yield f"    … {len(texts) - _MOST:,} more"


def run_members(report: UpkeepReport) -> dict[str, Any]:
    """Members of the JSON for a run of the layers."""
    return {
        "observations": report.observations,
        "tasks": report.tasks,
        "noted": report.noted,
        "off": report.off,
        "untouched": report.untouched,
        "backup": str(report.backup) if report.backup else None,
    }


def document(folder: Path, told: Sequence[Mapping[str, Any]], *, changes: Sequence[FileChange]) -> bytes:
    """The JSON of ``compress-context --json``: the members of every step, and all changes."""
    whole: dict[str, Any] = {
        "folder": str(folder),
        "changed": [change.name for change in changes],
        "diff": {change.name: change.diff() for change in changes},
        "session": None,
        "observations": None,
        "tasks": None,
        "noted": (),
        "off": (),
        "untouched": (),
        "backup": None,
        "report": None,
    }
    for members in told:
        whole |= members
    return encode(whole) + b"\n"


def session_text(run: SessionRun, *, dry_run: bool) -> str:
    """Text on what became of a session."""
    title = f"Session {run.path or run.name}: "
    if run.record is None:
        return click.style(visible(f"{title}nothing to do"), bold=True)
    receipt = run.record.receipt
    title += "would be compacted" if dry_run else "compacted and archived"
    share = 1 - receipt.tokens_after / receipt.tokens_before
    lines = [
        click.style(visible(title), bold=True),
        f"  {receipt.tokens_before:,} tokens became {receipt.tokens_after:,} ({share:.0%} recovered), "
        f"summary by {visible(receipt.model)}",
        f"  {receipt.stated:,} stated, {receipt.referenced:,} referenced, {receipt.missing:,} missing",
        *_listed("noted", run.tasks),
    ]
    if receipt.problem:
        lines.append(f"  the model was of no use: {visible(receipt.problem)}")
    if run.backup is not None:
        lines.append(f"  as it was before: {visible(str(run.backup))}")
    return "\n".join(lines)


def session_members(run: SessionRun) -> dict[str, Any]:
    """Members of the JSON for a session."""
    record = run.record
    return {
        "session": {
            "name": run.name,
            "path": str(run.path) if run.path else None,
            "receipt": record.receipt if record else None,
            "summary": run.summary if record else None,
            "noted": run.tasks,
        },
        "backup": str(run.backup) if run.backup else None,
    }


def report_text(written: WrittenReport, *, dry_run: bool) -> str:
    """Text on what became of a report, with its most important figures."""
    report = written.report
    done = ("would be written" if dry_run else "written") if written.changes else "nothing to do"
    title = f"Report of {report.month}: {done}"
    lines = [click.style(title, bold=True)]
    if report.records.is_empty:
        lines.append(f"  nothing was recorded in {report.month}")
    else:
        lines += [f"  {row[0]}: {row[1]}" for row in facts_of(report).rows if row[1] not in ("0", "-")]
    return "\n".join([*lines, *(f"  {visible(str(file))}" for file in written.files)])


def report_members(written: WrittenReport) -> dict[str, Any]:
    """Members of the JSON for a report."""
    report = written.report
    return {
        "report": {
            "month": str(report.month),
            "project": report.project,
            "over": report.over,
            "files": [str(file) for file in written.files],
            "sessions": len(report.records.sessions),
            "calls": len(report.records.calls),
            "session_tokens": report.session_tokens,
            "average_tokens": report.average_tokens,
            "compactions": len(report.records.compactions),
            "starting_tokens": report.starting_tokens,
            "peak_tokens": report.peak,
            "recovered_tokens": report.recovered,
            "ratio": report.ratio,
            "escalated": report.records.escalated,
            "archived": report.records.archived,
            "tasks": report.records.tasks,
            "retention": report.retention,
            "cost": report.cost,
            "cost_without": report.cost_without,
            "prices": {each.family: each.price for each in report.priced_as},
        }
    }


def observed_text(observed: Observed, folder: Path) -> str:
    """Text on what became of an observation."""
    count = plural(observed.confirmations, "confirmation")
    count += f" across {plural(observed.sessions, 'session')}" if observed.sessions else ""
    number = f" {observed.rule}" if observed.rule is not None else ""
    told: Mapping[str, str] = {
        "recorded": f"noted: {observed.text}",
        "confirmed": f"confirmed, {count}: {observed.text}",
        "repeated": f"counted today already, {count}: {observed.text}",
        "revived": f"back from the archive, {count}: {observed.text}",
        "rule": f"that is rule{number} already, {count}: {observed.text}",
    }
    near = [f"\n  same? {visible(text)}" for text in observed.near]
    hint = "\n  if it is, say so: autocompact observe TEXT --same-as WORDS" if near else ""
    place = f"\n  in {visible(str(folder / observed.file))}"
    return f"{visible(told[observed.action])}{place}{''.join(near)}{hint}"


def observed_document(observed: Observed, folder: Path) -> bytes:
    """The JSON of ``observe --json``."""
    document = {
        "action": observed.action,
        "text": observed.text,
        "confirmations": observed.confirmations,
        "sessions": observed.sessions,
        "rule": observed.rule,
        "file": str(folder / observed.file),
        "near": observed.near,
    }
    return encode(document) + b"\n"
