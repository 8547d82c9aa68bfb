"""The figures of a month's report, from its records and a table of prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from autocompact.core.prices import Price, Priced, price_for
from autocompact.core.stamps import instant_of
from autocompact.core.windows import window_for
from autocompact.memory.report.records import Call, CompactionRecord, Month, Records

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DayFigures:
    """Tokens of all requests of a day, and what they would have been without compaction."""

    day: int
    tokens: int = 0
    without: int = 0
    compactions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFigures:
    """The replies of one model, with their cost in US dollars; None where no price is known.

    Attributes:
        model: its name, "" if nobody wrote it down.
        calls: replies.
        tokens: of their requests.
        reply: of the replies.
        saved: tokens that compactions kept out of the requests.
        priced: its price.
        cost: at full price.
        cost_without: if nothing had ever been compacted.
    """

    model: str
    calls: int
    tokens: int
    reply: int
    saved: int
    priced: Priced | None
    cost: float | None
    cost_without: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Entries of the ledgers of all receipts: stated in the new context, only referenced, missing."""

    stated: int
    referenced: int
    missing: int

    @property
    def total(self) -> int:
        """Number of all entries."""
        return self.stated + self.referenced + self.missing


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthlyReport:
    """The report of a month.

    Attributes:
        records: what it is made of; a compaction that several places know of stands once.
        over: the month is over.
        days: each day of the month.
        models: by model, the most tokens first.
        retention: from the receipts; None where none has figures.
        summaries: what summaries cost in US dollars: as receipts have it, else at most by size and price of the model;
            None where a price is missing.
        priced_as: the prices that were used, by family.
        project: name of the project that the memory folder belongs to, "" if it belongs to none.
        before: the report of the month before, None if nothing was recorded in it.
    """

    records: Records
    over: bool
    days: tuple[DayFigures, ...]
    models: tuple[ModelFigures, ...]
    retention: Retention | None
    summaries: float | None
    priced_as: tuple[Priced, ...]
    project: str = ""
    before: MonthlyReport | None = None

    @property
    def month(self) -> Month:
        """The month of the report."""
        return self.records.month

    @property
    def average_tokens(self) -> int | None:
        """Tokens of a request on average; None without a reply."""
        return _average([call.tokens for call in self.records.calls])

    @property
    def session_tokens(self) -> int | None:
        """Tokens that a session came to on average, compacted parts included; None where nobody wrote any down."""
        most: dict[str, int] = {}
        for call in self.records.calls:
            most[call.conversation] = max(most.get(call.conversation, 0), call.without)
        for record in self.records.compactions:
            most[record.conversation] = max(most.get(record.conversation, 0), record.tokens_before or 0)
        return _average([tokens for tokens in most.values() if tokens])

    @property
    def starting_tokens(self) -> int | None:
        """Tokens at which compactions started, on average."""
        return _average([record.tokens_before for record in self.records.compactions if record.tokens_before])

    @property
    def peak(self) -> int | None:
        """The most tokens that a context had."""
        peaks = [max(each.peak or 0, each.tokens_before or 0) for each in self.records.compactions]
        return (
            max(max(peaks, default=0), max((call.tokens for call in self.records.calls), default=0)) or None
        )

    @property
    def recovered(self) -> int:
        """Tokens that all compactions took out of contexts."""
        return sum(record.recovered for record in self.records.compactions)

    @property
    def ratio(self) -> float | None:
        """The share of the contexts that compactions recovered."""
        measured = [each for each in self.records.compactions if each.tokens_after is not None]
        before = sum(each.tokens_before or 0 for each in measured)
        return self.recovered / before if before else None

    @property
    def cost(self) -> float | None:
        """Cost of the summaries and of all replies with a known price, in US dollars; None where nothing has a price."""
        known = [figures.cost for figures in self.models if figures.cost is not None]
        return sum(known) + (self.summaries or 0) if known else None

    @property
    def cost_without(self) -> float | None:
        """The same if nothing had ever been compacted."""
        known = [figures.cost_without for figures in self.models if figures.cost_without is not None]
        return sum(known) if known else None

    @property
    def cached_saving(self) -> float | None:
        """Savings in US dollars if the provider's cache had served every token that compactions took out.

        None where a model has no price for that. The true saving is between this and the difference at full price.
        """
        found = [figures for figures in self.models if figures.priced is not None and figures.saved]
        if not found or any(each.priced is None or each.priced.price.cached is None for each in found):
            return None
        cached = sum(each.saved * (each.priced.price.cached or 0) for each in found if each.priced)
        return cached / _MILLION - (self.summaries or 0)

    @property
    def over_window(self) -> int:
        """Requests that would not have fitted the window of their model without compaction."""
        calls = ((call, window_for(call.model)) for call in self.records.calls if call.model)
        return sum(window is not None and call.without > window for call, window in calls)

    @property
    def unpriced(self) -> int:
        """Replies of models without a price."""
        return sum(figures.calls for figures in self.models if figures.cost is None)


def monthly_report(
    found: Sequence[Records],
    *,
    over: bool,
    prices: Mapping[str, Price] | None = None,
    project: str = "",
    before: MonthlyReport | None = None,
) -> MonthlyReport:
    """The report on what several places recorded of one month.

    Args:
        found: records of the same month, at least one.
        over: the month is over.
        prices: by the beginning of a model's name; they go before the table.
        project: whose memory it is.
        before: the report of the month before.
    """
    records = merged(found)
    models = tuple(_by_model(records.calls, prices=prices))
    summarised = [_summary_price(each, prices=prices) for each in records.compactions]
    used = [each.priced for each in models if each.priced] + [priced for _, priced in summarised if priced]
    costs = [cost for cost, _ in summarised]
    return MonthlyReport(
        records=records,
        over=over,
        days=tuple(_days(records)),
        models=models,
        retention=_retention(records.compactions),
        summaries=None if None in costs else sum(cost for cost in costs if cost),
        priced_as=tuple({each.family: each for each in used}.values()),
        project=project,
        before=before if before and not before.records.is_empty else None,
    )


def merged(found: Sequence[Records]) -> Records:
    """Merge the records of several places, each compaction once: a receipt of a store goes before an entry of a file."""
    compactions: dict[tuple[str, str, str], CompactionRecord] = {}
    for record in (each for records in found for each in records.compactions):
        key = (record.conversation, record.id, record.time)
        known = compactions.get(key)
        compactions[key] = _joined(known, record) if known else record
    return Records(
        month=found[0].month,
        sessions=tuple(dict.fromkeys(name for records in found for name in records.sessions)),
        compactions=tuple(sorted(compactions.values(), key=lambda record: (record.time, record.id))),
        calls=tuple(call for records in found for call in records.calls),
        undated_calls=sum(records.undated_calls for records in found),
        noted=tuple(text for records in found for text in records.noted),
        escalated=tuple(text for records in found for text in records.escalated),
        archived=tuple(text for records in found for text in records.archived),
        tasks=tuple(text for records in found for text in records.tasks),
        archived_tasks=sum(records.archived_tasks for records in found),
    )


def _joined(first: CompactionRecord, second: CompactionRecord) -> CompactionRecord:
    """Both know of the same compaction: the file knows the peak, the store the cost."""
    peak = first.peak if first.peak is not None else second.peak
    return replace(first, peak=peak, cost=first.cost if first.cost is not None else second.cost)


def _average(values: Sequence[int]) -> int | None:
    return round(sum(values) / len(values)) if values else None


def _days(records: Records) -> Iterable[DayFigures]:
    # an imported compaction has the stamp of its program: its day may not be readable
    dates = (instant_of(record.time[:10]) for record in records.compactions)
    made = [at.day for at in dates if at is not None]
    for day in range(1, records.month.days + 1):
        calls = [call for call in records.calls if call.day.day == day]
        yield DayFigures(
            day=day,
            tokens=sum(call.tokens for call in calls),
            without=sum(call.without for call in calls),
            compactions=made.count(day),
        )


def _by_model(calls: Sequence[Call], *, prices: Mapping[str, Price] | None) -> list[ModelFigures]:
    by_model: dict[str, list[Call]] = {}
    for call in calls:
        by_model.setdefault(call.model, []).append(call)
    figures = [_figures(model, found, prices=prices) for model, found in by_model.items()]
    return sorted(figures, key=lambda each: (-each.tokens, each.model))


def _figures(model: str, calls: Sequence[Call], *, prices: Mapping[str, Price] | None) -> ModelFigures:
    tokens, reply = sum(call.tokens for call in calls), sum(call.reply for call in calls)
    saved = sum(call.saved for call in calls)
    priced = price_for(model, overrides=prices) if model else None
    return ModelFigures(
        model=model,
        calls=len(calls),
        tokens=tokens,
        reply=reply,
        saved=saved,
        priced=priced,
        cost=_cost(tokens, reply, price=priced.price) if priced else None,
        cost_without=_cost(tokens + saved, reply, price=priced.price) if priced else None,
    )


def _cost(tokens: int, reply: int, *, price: Price) -> float:
    return (tokens * price.input + reply * price.output) / _MILLION


def _summary_price(
    record: CompactionRecord, *, prices: Mapping[str, Price] | None
) -> tuple[float | None, Priced | None]:
    """Cost of the summary, and the price that was used; by its size at most: the request had all that it stands for."""
    if record.cost is not None:
        return record.cost, None
    if record.model in ("", "offline", "given"):
        return 0.0, None
    priced = price_for(record.model, overrides=prices)
    if priced is None:
        return None, None
    return _cost(record.tokens_before or 0, record.tokens_after or 0, price=priced.price), priced


def _retention(compactions: Sequence[CompactionRecord]) -> Retention | None:
    found = [each for each in compactions if each.stated is not None]
    retention = Retention(
        stated=sum(each.stated or 0 for each in found),
        referenced=sum(each.referenced or 0 for each in found),
        missing=sum(each.missing or 0 for each in found),
    )
    return retention if retention.total else None
