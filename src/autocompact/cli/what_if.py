"""``autocompact what-if``."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from autocompact.models.vocabulary import default_counter
from autocompact.settings import prices_of
from autocompact.ui.terminal.output import display, progress, tell, width
from autocompact.what_if.billing import PriceFile, Pricing, pricing_for, read_prices
from autocompact.what_if.course import Course, course_of
from autocompact.what_if.documents import document_of, recommendation_document
from autocompact.what_if.figures import Figures, figures_of, summed
from autocompact.what_if.page import MOST_DRAWN, page_of, section_of
from autocompact.what_if.policies import WhatIf, default_policies, read_policies
from autocompact.what_if.recommending import Recommendation, recommended
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A session and what it came to under each policy."""

    course: Course
    outcomes: tuple[Outcome, ...]

    @property
    def figures(self) -> tuple[Figures, ...]:
        """Figures of each policy."""
        return tuple(map(figures_of, self.outcomes))

    @property
    def drawn(self) -> Outcome | None:
        """The first that autocompact makes: what a single session is drawn under; None if there is none."""
        return next((each for each in self.outcomes if each.policy.kind == "engine"), None)


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
@json_option
def what_if(
    sessions: tuple[str, ...], *, as_json: bool, out: Path | None, recommend: bool, **options: Unpack[Options]
) -> None:
    """Replay SESSIONs under several policies, and compare cost, tokens, failures and what was kept.

    A SESSION is a recorded session, a folder of them, or - for stdin; it is only read, and no model is asked. With --json
    there is one object for each session.
    """
    policies = read_policies(options["policies"]) if options["policies"] else None
    prices = read_prices(options["prices"]) if options["prices"] else None
    paths = list(_paths(sessions))
    check_out(out, session=Path(paths[0]) if paths else Path(), option="--html")
    seen = _Seen(draws=out is not None)
    for path in paths:
        compared = _compared(path, options, policies=policies, prices=prices, alone=len(paths) == 1)
        if compared is not None:
            seen.add(compared)
            _show(compared, as_json=as_json, alone=len(paths) == 1)
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

    def add(self, compared: Compared) -> None:
        """Keep a session."""
        self.figures.append(compared.figures)
        self._policies |= {outcome.policy.name: outcome.policy for outcome in compared.outcomes}
        if self._draws and len(self.sections) < MOST_DRAWN:
            self.sections.append(
                section_of(compared.course, compared.outcomes, number=len(self.sections) + 1)
            )

    @property
    def total(self) -> tuple[Figures, ...]:
        """The sums of the policies that all sessions have."""
        return summed(self.figures)

    @property
    def recommended(self) -> Recommendation | None:
        """The recommendation for these sessions."""
        return recommended(tuple(self._policies.values()), self.total)


def _show(compared: Compared, *, as_json: bool, alone: bool) -> None:
    if as_json:
        document = document_of(compared.course, compared.outcomes)
        deliver([msgspec.json.encode(document) + b"\n"], None)
        return
    display(heading(compared.course, compared.outcomes, width=width(sys.stdout)))
    display("\n".join(("", *table(compared.figures), "")))
    if alone and (drawn := compared.drawn) is not None:
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


def _compared(
    name: str,
    options: Options,
    *,
    policies: Sequence[WhatIf] | None,
    prices: PriceFile | None,
    alone: bool,
) -> Compared | None:
    """The session of that name under all policies; None if it is none, among others, or has no reply."""
    with opened(name) as source, progress(f"Replaying {source.name}"):
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
        chosen = policies or _usual(course, alone=alone)
        pricing = pricing_for(course.model, own=prices_of(defaults.settings()), file=prices)
        return Compared(course=course, outcomes=tuple(_outcomes(course, chosen, pricing=pricing)))


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
