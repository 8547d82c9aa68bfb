"""Words and tables of a report, independent of its file format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autocompact.core.plurals import plural
from autocompact.core.prices import AS_OF, SOURCE
from autocompact.memory.report.figures import ModelFigures, MonthlyReport

LISTED = 20
"""So many lines of a list are shown; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: the titles of its columns and its rows; columns from the second on hold figures if ``figures``."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    figures: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A section of the report: sentences, then a table, then a list."""

    title: str
    sentences: tuple[str, ...] = ()
    table: Table | None = None
    items: tuple[str, ...] = ()
    chart: str = ""


def title_of(report: MonthlyReport) -> str:
    """The heading of the report."""
    return f"Memory and context in {report.month}{f': {report.project}' if report.project else ''}"


def facts_of(report: MonthlyReport) -> Table:
    """The figures that come first, beside those of the month before."""
    rows = _facts(report)
    if report.before is None:
        return Table(columns=("", str(report.month)), rows=tuple(rows))
    beside = tuple((*row, value) for row, (_, value) in zip(rows, _facts(report.before), strict=True))
    return Table(columns=("", str(report.month), str(report.before.month)), rows=beside)


def _facts(report: MonthlyReport) -> list[tuple[str, str]]:
    records, calls = report.records, report.records.calls
    without, sent = sum(call.without for call in calls), sum(call.tokens for call in calls)
    share = f" ({(without - sent) / without:.0%})" if without else ""
    return [
        ("Sessions", f"{len(records.sessions):,}"),
        ("Average tokens of a session", _count(report.session_tokens)),
        ("Model calls", f"{len(records.calls):,}"),
        ("Average tokens of a request", _count(report.average_tokens)),
        ("Compactions", _compacted(report)),
        ("Starting tokens, on average", _count(report.starting_tokens)),
        ("Peak tokens", _count(report.peak)),
        ("Recovered tokens", f"{report.recovered:,}" if report.ratio is not None else "-"),
        ("Share recovered", "-" if report.ratio is None else f"{report.ratio:.0%}"),
        ("Observations noted", f"{len(records.noted):,}"),
        ("Escalated to rules", f"{len(records.escalated):,}"),
        ("Observations archived", f"{len(records.archived):,}"),
        ("Tasks finished", f"{len(records.tasks):,}"),
        ("Tasks archived", f"{records.archived_tasks:,}"),
        ("Tokens sent without compaction", f"{without:,}" if calls else "-"),
        ("Tokens sent with compaction", f"{sent:,}" if calls else "-"),
        ("Tokens saved", f"{without - sent:,}{share}" if calls else "-"),
        ("Cost without compaction", dollars(report.cost_without)),
        ("Cost with compaction", dollars(report.cost)),
        ("Savings", _savings(report)),
    ]


def _compacted(report: MonthlyReport) -> str:
    """Number of compactions, and the share of sessions that had any."""
    made, sessions = report.records.compactions, report.records.sessions
    if not made:
        return "0"
    compacted = len({each.conversation for each in made})
    return f"{len(made):,} in {compacted:,} of {len(sessions):,} sessions ({compacted / len(sessions):.0%})"


def _savings(report: MonthlyReport) -> str:
    """The money that compaction saved at full price, and its share."""
    if report.cost is None or not report.cost_without:
        return "-"
    saved = report.cost_without - report.cost
    return f"{dollars(saved)} ({saved / report.cost_without:.0%})"


def _headline(report: MonthlyReport) -> Iterator[str]:
    """The benefit of compaction in one sentence."""
    without = sum(call.without for call in report.records.calls)
    saved = sum(call.saved for call in report.records.calls)
    if saved:
        money = _savings(report)
        yield (
            f"Compaction kept {saved:,} tokens out of the month's requests ({saved / without:.0%})"
            f"{f' and saved {money}' if money != '-' else ''}."
        )
    elif report.recovered:
        yield f"Compaction recovered {report.recovered:,} tokens ({report.ratio or 0:.0%} of the contexts)."


def _compared(report: MonthlyReport) -> Iterator[str]:
    """What compaction did in the month before, in one sentence."""
    if report.before is not None and (told := next(_headline(report.before), "")):
        yield f"The month before, {report.before.month}: {told[0].lower()}{told[1:]}"


def parts_of(report: MonthlyReport) -> Iterator[Part]:
    """The sections after the first figures."""
    if report.records.is_empty:
        return
    yield _tokens(report)
    if report.records.compactions:
        yield _compactions(report)
        yield _retention(report)
    yield _cost(report)
    yield _memory(report)


def opening_of(report: MonthlyReport) -> tuple[str, ...]:
    """The sentences under the heading."""
    lines = () if report.over else ("The month is not over: these are the figures so far.",)
    if report.records.is_empty:
        return (*lines, f"Nothing was recorded in {report.month}.")
    return (
        *_headline(report),
        *_compared(report),
        *lines,
        "Counted from what was recorded: the memory files and the stores of conversations. Days are those of UTC. "
        "A dash is a figure that nobody wrote down.",
    )


def _tokens(report: MonthlyReport) -> Part:
    records = report.records
    sentences: list[str] = []
    if not records.calls:
        sentences.append("No store holds a model's reply of this month, so nothing is known of its requests.")
    elif counted := sum(not call.reported for call in records.calls):
        sentences.append(
            f"The provider reported the tokens of {len(records.calls) - counted:,} requests; "
            f"those of {counted:,} were counted here, without tools and what else is not part of the conversation."
        )
    if records.undated_calls:
        sentences.append(
            f"Left out: {plural(records.undated_calls, 'reply', many='replies')} without a date."
        )
    if report.over_window:
        sentences.append(
            f"{report.over_window:,} requests would not have fitted the model's window without compaction."
        )
    days = [each for each in report.days if each.tokens or each.compactions]
    rows = tuple(
        (f"{report.month}-{each.day:02}", f"{each.tokens:,}", f"{each.without:,}", f"{each.compactions:,}")
        for each in days
    )
    table = Table(columns=("Day", "Tokens sent", "Without compaction", "Compactions"), rows=rows)
    return Part(
        title="Tokens by day", sentences=tuple(sentences), table=table if rows else None, chart="tokens"
    )


def _compactions(report: MonthlyReport) -> Part:
    made = report.records.compactions
    rows = tuple(
        (
            each.time[:16].replace("T", " "),
            each.conversation,
            _count(each.tokens_before),
            _count(each.tokens_after),
            f"{each.recovered / each.tokens_before:.0%}" if each.tokens_before and each.tokens_after else "-",
            f"{each.seconds:.1f} s" if each.seconds is not None else "-",
            each.model or "-",
        )
        for each in made[-LISTED:]
    )
    columns = ("Time (UTC)", "Conversation", "Before", "After", "Recovered", "Took", "Summary by")
    more = () if len(made) <= LISTED else (f"The last {LISTED} of {len(made):,}.",)
    return Part(
        title="Compactions",
        sentences=more,
        table=Table(columns=columns, rows=rows, figures=False),
        chart="compactions",
    )


def _retention(report: MonthlyReport) -> Part:
    checked = report.retention
    if checked is None:
        return Part(title="Retention", sentences=("No receipt of this month says what was stated.",))
    found = (
        ("stated in the new context", checked.stated),
        ("referenced: only pointed to", checked.referenced),
        ("missing: found by a search", checked.missing),
    )
    rows = tuple((name, f"{count:,}", f"{count / checked.total:.0%}") for name, count in found)
    return Part(
        title="Retention",
        sentences=("What the receipts say of requests, files, commands, decisions and identifiers:",),
        table=Table(columns=("", "Entries", "Share"), rows=rows),
        chart="retention",
    )


def _cost(report: MonthlyReport) -> Part:
    sentences = [*_saving(report)]
    if report.priced_as:
        listed = "; ".join(
            f"{each.family} {_rate(each.price.input)} in, {_rate(each.price.output)} out"
            f"{f', {_rate(each.price.cached)} cached' if each.price.cached is not None else ''}"
            f"{' (settings)' if each.own else ''}"
            for each in report.priced_as
        )
        sentences.append(f"Prices used, in US dollars for a million tokens: {listed}.")
    if any(not each.own for each in report.priced_as):
        sentences.append(f"They are list prices of {AS_OF}: {SOURCE}.")
    if report.unpriced:
        sentences.append(
            f"{report.unpriced:,} replies are left out, because no price is known for their model: "
            "set `models.inputPrices` and `models.outputPrices`."
        )
    rows = tuple(_model_row(each) for each in report.models)
    columns = ("Model", "Calls", "Tokens in", "Tokens out", "Kept out", "Cost", "Without compaction")
    return Part(
        title="Cost",
        sentences=tuple(sentences),
        table=Table(columns=columns, rows=rows) if rows else None,
        chart="cost",
    )


def _saving(report: MonthlyReport) -> Iterator[str]:
    with_it, without = report.cost, report.cost_without
    if with_it is None or without is None:
        yield "Nothing of this month has a price."
        return
    summaries = dollars(report.summaries) if report.summaries is not None else "an unknown sum"
    yield (
        f"{dollars(with_it)} with compaction, of which summaries took at most {summaries}; {dollars(without)} without: "
        f"{dollars(without - with_it)} saved at full price."
    )
    if report.cached_saving is not None and any(each.saved for each in report.models):
        yield f"If the provider's cache had served every token that was kept out: {dollars(report.cached_saving)} saved."


def _model_row(each: ModelFigures) -> tuple[str, ...]:
    return (
        each.model or "not named",
        f"{each.calls:,}",
        f"{each.tokens:,}",
        f"{each.reply:,}",
        f"{each.saved:,}",
        dollars(each.cost),
        dollars(each.cost_without),
    )


def _memory(report: MonthlyReport) -> Part:
    records = report.records
    groups = (
        ("New rule", records.escalated),
        ("Archived observation", records.archived),
        ("Finished task", records.tasks),
    )
    items = tuple(item for name, texts in groups for item in _listed(name, texts))
    sentences = () if items else ("No rule, archived observation or finished task of this month.",)
    return Part(title="Memory", sentences=sentences, items=items)


def _listed(name: str, texts: tuple[str, ...]) -> Iterator[str]:
    yield from (f"{name}: {text}" for text in texts[:LISTED])
    if len(texts) > LISTED:
        yield f"{name}: {len(texts) - LISTED:,} more"


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _rate(value: float | None) -> str:
    return f"{value or 0:g}"


def dollars(value: float | None) -> str:
    """US dollars, with cents, and finer below one."""
    if value is None:
        return "-"
    sign = "-" if value < 0 else ""
    return f"{sign}${abs(value):,.2f}" if abs(value) >= 1 or not value else f"{sign}${abs(value):.4f}"
