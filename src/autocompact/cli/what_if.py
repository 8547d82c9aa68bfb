"""``autocompact what-if``."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click
import msgspec

from autocompact.cli import defaults
from autocompact.cli.comparing import LEGEND, advice, course_chart, heading, table
from autocompact.cli.running import run
from autocompact.cli.sources import check_out, deliver, opened
from autocompact.cli.store import json_option
from autocompact.cli.values import complete_file, count
from autocompact.core.plurals import plural
from autocompact.core.windows import DEFAULT_WINDOW, window_for
from autocompact.errors import InvalidInput, UnreadableSession
from autocompact.history.paths import cache_folder
from autocompact.models.vocabulary import default_counter
from autocompact.settings import prices_of
from autocompact.ui.terminal.output import display, progress, tell, width
from autocompact.what_if.billing import PriceFile, Pricing, pricing_for, read_prices
from autocompact.what_if.course import Course, course_of
from autocompact.what_if.documents import document_of, recommendation_document
from autocompact.what_if.figures import Figures, summed
from autocompact.what_if.page import MOST_DRAWN, page_of, section_of
from autocompact.what_if.policies import WhatIf, default_policies, read_policies
from autocompact.what_if.recommending import Recommendation, recommended
from autocompact.what_if.replays import Replayed, replayed
from autocompact.what_if.results import Results
from autocompact.what_if.simulation import Outcome, simulate

if TYPE_CHECKING:
    from autocompact.sessions import Session


class Options(TypedDict):
    """The options that say how."""

    policies: Path | None
    prices: Path | None
    priced_as: str
    window: int | None
    fixed: int | None


_file = partial(click.Path, exists=False, dir_okay=True, path_type=Path)


@click.command("what-if")
@click.argument("sessions", nargs=-1, required=True, metavar="SESSION...", shell_complete=complete_file)
@click.option(
    "--policies",
    type=_file(),
    metavar="FILE",
    help="Compare these policies instead of the usual ones (JSON).",
)
@click.option(
    "--prices",
    type=_file(),
    metavar="FILE",
    help="A price table of your own (JSON) that goes before all others.",
)
@click.option(
    "--priced-as",
    default="",
    metavar="NAME",
    help="Take prices, cache and window of this model.  [default: the session's]",
)
@click.option(
    "--window",
    type=count(least=1),
    metavar="N",
    help="Tokens of the model's window.  [default: by settings and model, else 200000]",
)
@click.option(
    "--fixed",
    type=count(least=0),
    metavar="N",
    help="Tokens of system prompt and tools that every request carries.  [default: as the recorded usage tells]",
)
@click.option(
    "--html",
    "out",
    type=click.Path(path_type=Path),
    metavar="OUT",
    help="Write a page with drawings to this file, which loads nothing from elsewhere.",
)
@click.option(
    "--recommend",
    is_flag=True,
    help="Say which policy to take for these sessions, why, and the settings to paste.",
)
@click.option(
    "--cache/--no-cache",
    default=True,
    help="Take the result of an earlier run for a session that has not changed, and keep new ones.  [default: cache]",
)
@json_option
def what_if(
    sessions: tuple[str, ...],
    *,
    as_json: bool,
    out: Path | None,
    recommend: bool,
    cache: bool,
    **options: Unpack[Options],
) -> None:
    """Replay SESSIONs under several policies, and compare cost, tokens, failures and what was kept.

    A SESSION is a recorded session, a folder of them, or - for stdin; it is only read, and no model is asked. With --json
    there is one object for each session.
    """
    files = _Files.read(options)
    paths = list(_paths(sessions))
    results = _results(options, files, alone=len(paths) == 1) if cache else None
    check_out(out, session=Path(paths[0]) if paths else Path(), option="--html")
    seen = _Seen(draws=out is not None)
    for path in paths:
        result = _replay(path, options, files=files, results=results, alone=len(paths) == 1)
        if result is not None:
            seen.add(result)
            _show(result, as_json=as_json, alone=len(paths) == 1)
    if not seen.figures:
        raise InvalidInput(
            f"there is nothing to replay in {', '.join(map(repr, sessions))}: no reply of a model was recorded"
        )
    _conclude(seen, as_json=as_json, recommend=recommend)
    if out is not None:
        chosen = seen.recommended if recommend else None
        deliver(
            [
                page_of(
                    seen.sections, seen.total if len(seen.figures) > 1 else (), recommended=chosen
                ).encode()
            ],
            out,
        )
        tell(f"The page is in {out}")


class _Seen:
    """Figures of the sessions that were compared, and the drawings of the first ones."""

    def __init__(self, *, draws: bool) -> None:
        self.figures: list[tuple[Figures, ...]] = []
        self.sections: list[str] = []
        self._draws = draws
        self._policies: dict[str, WhatIf] = {}

    def add(self, result: Replayed) -> None:
        """Keep a session."""
        self.figures.append(result.figures)
        self._policies |= {outcome.policy.name: outcome.policy for outcome in result.outcomes}
        if self._draws and len(self.sections) < MOST_DRAWN:
            self.sections.append(section_of(result, number=len(self.sections) + 1))

    @property
    def total(self) -> tuple[Figures, ...]:
        """The sums of the policies that all sessions have."""
        return summed(self.figures)

    @property
    def recommended(self) -> Recommendation | None:
        """The recommendation for these sessions."""
        return recommended(tuple(self._policies.values()), self.total)


def _show(result: Replayed, *, as_json: bool, alone: bool) -> None:
    if as_json:
        deliver([msgspec.json.encode(document_of(result)) + b"\n"], None)
        return
    display(heading(result, width=width(sys.stdout)))
    display("\n".join(("", *table(result.figures), "")))
    # what autocompact makes of a single session is drawn
    drawn = next((each for each in result.outcomes if each.policy.kind == "engine"), None)
    if alone and drawn is not None:
        display("\n".join((*course_chart(drawn, width=width(sys.stdout)), "")))


def _conclude(seen: _Seen, *, as_json: bool, recommend: bool) -> None:
    """The sum of several sessions, what the columns are, and what to take."""
    if as_json:
        if recommend:
            deliver([msgspec.json.encode(recommendation_document(seen.recommended)) + b"\n"], None)
        return
    if len(seen.figures) > 1 and seen.total:
        display(click.style(f"{plural(len(seen.figures), 'session')} together", bold=True))
        display("\n".join(("", *table(seen.total), "")))
    display(textwrap.fill(LEGEND, width(sys.stdout)))
    if recommend:
        display("\n" + advice(seen.recommended, width=width(sys.stdout)))


def _paths(sessions: Sequence[str]) -> Iterator[str]:
    """The files that are named, and those in folders, which may be something else."""
    for session in sessions:
        path = Path(session)
        if path.is_dir():
            yield from (str(each) for each in sorted(path.rglob("*")) if each.is_file())
        else:
            yield session


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """What the user's files say: the policies and the prices; None without a file."""

    policies: tuple[WhatIf, ...] | None
    prices: PriceFile | None

    @classmethod
    def read(cls, options: Options) -> _Files:
        """Those that the options name."""
        return cls(
            policies=read_policies(options["policies"]) if options["policies"] else None,
            prices=read_prices(options["prices"]) if options["prices"] else None,
        )


def _results(options: Options, files: _Files, *, alone: bool) -> Results:
    """Results of earlier runs with these options, files and settings."""
    told = (alone, options["priced_as"], options["window"], options["fixed"], files, defaults.settings())
    return Results(cache_folder() / "what-if", depends=[msgspec.json.encode(told)])


def _replay(
    name: str, options: Options, *, files: _Files, results: Results | None, alone: bool
) -> Replayed | None:
    """The session of that name under all policies; None if it is none, among others, or has no reply."""
    with opened(name) as source, progress(f"Replaying {source.name}"):
        key = results.key(source.path) if results else ""
        kept = results.find(key) if results else None
        if kept is not None:
            return replace(kept, name=source.name)
        try:
            session = source.read()
        except UnreadableSession as error:
            if alone:
                raise
            tell(f"left out: {error}")
            return None
        course = _course(session, options, name=source.name)
        if not course.requests:
            return None
        chosen = files.policies or _usual(course, alone=alone)
        pricing = pricing_for(course.model, own=prices_of(defaults.settings()), file=files.prices)
        result = replayed(course, tuple(_outcomes(course, chosen, pricing=pricing)))
        if results:
            results.keep(key, result)
        return result


def _outcomes(course: Course, policies: Sequence[WhatIf], *, pricing: Pricing) -> Iterator[Outcome]:
    for policy in policies:
        yield run(simulate(course, policy, pricing=pricing))


def _course(session: Session, options: Options, *, name: str) -> Course:
    model = options["priced_as"] or session.model
    known = window_for(model) if options["priced_as"] else None
    window = options["window"] or known or defaults.window(None, session) or DEFAULT_WINDOW
    return course_of(
        session,
        name=name,
        counter=default_counter(model),
        window=window,
        model=model,
        fixed=options["fixed"],
    )


def _usual(course: Course, *, alone: bool) -> tuple[WhatIf, ...]:
    """Policies to replay a session under: the same for each of several sessions, so that they can be summed."""
    made = [record for record in course.session.compactions if record.status != "undone"]
    return default_policies(
        window=course.window,
        has_records=bool(made) or not alone,
        has_summaries=any(record.summary for record in made) or not alone,
    )
