"""Compares the policies for sessions, and shows what came of it: the work of ``autocompact what-if``.

Apart from the command, whose ``--help`` needs none of it.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Unpack

import click
import msgspec

from autocompact.cli import defaults
from autocompact.cli.comparing import LEGEND, advice, course_chart, heading, table
from autocompact.cli.sources import check_out, deliver, opened
from autocompact.cli.what_if_options import WhatIfOptions
from autocompact.core.plurals import plural
from autocompact.errors import InvalidInput, UnreadableSession
from autocompact.history.paths import cache_folder
from autocompact.sessions import KNOWN_ARE
from autocompact.ui.terminal.output import Progress, display, progress, tell, width
from autocompact.ui.text import visible
from autocompact.what_if.billing import read_prices
from autocompact.what_if.comparison import (
    Assumed,
    Compared,
    File,
    compare_files,
    files_in,
    nothing_in,
    processes_here,
)
from autocompact.what_if.documents import document_of, recommendation_document, together_document
from autocompact.what_if.figures import Figures, Together
from autocompact.what_if.page import MOST_DRAWN, page_of, section_of
from autocompact.what_if.policies import WhatIf, read_policies
from autocompact.what_if.recommending import Recommendation, recommended
from autocompact.what_if.results import Results


def compare(
    sessions: tuple[str, ...],
    *,
    as_json: bool,
    out: Path | None,
    recommend: bool,
    cache: bool,
    processes: int | None,
    **options: Unpack[WhatIfOptions],
) -> None:
    """Replay ``sessions`` under several policies, and show cost, tokens, failures and what was kept.

    Args:
        sessions: files, folders of them, or - for stdin.
        as_json: an object for each on stdout instead of text.
        out: writes a page with drawings there.
        recommend: say which policy to take.
        cache: take results of earlier runs, and keep new ones.
        processes: sessions at the same time; None takes what this machine has.
        options: what is assumed of the sessions.

    Raises:
        InvalidInput: none of them is a session, or the page cannot be written.
        UnreadableSession: the only one is none.
    """
    with ExitStack() as stack:
        files = [each for name in sessions for each in _files(name, stack)]
        assumed = _assumed(options, alone=len(files) == 1)
        for file in files:
            check_out(out, session=file.path, option="--html")
        results = _results(assumed) if cache else None
        seen = _Seen(draws=out is not None)
        processes = processes or processes_here()
        replays = partial(compare_files, files, assumed=assumed, results=results, processes=processes)
        for found in _progressing(replays, files):
            seen.add(found)
            _show(found, as_json=as_json, alone=assumed.alone)
    if not seen.figures:
        raise InvalidInput(nothing_in(sessions))
    _conclude(seen, as_json=as_json, recommend=recommend)
    if out is not None:
        deliver([seen.page(recommend=recommend).encode()], out, option="--html")
        tell(f"The page is in {out}")


class _Seen:
    """Figures of the sessions that were compared, and the drawings of the first ones."""

    def __init__(self, *, draws: bool) -> None:
        self.figures: list[tuple[Figures, ...]] = []
        self.sections: list[str] = []
        self._draws = draws
        self._policies: dict[str, WhatIf] = {}

    def add(self, found: Compared) -> None:
        """Keep a session."""
        result = found.result
        if result is None:
            return
        self.figures.append(result.figures)
        self._policies |= {outcome.policy.name: outcome.policy for outcome in result.outcomes}
        if self._draws and len(self.sections) < MOST_DRAWN:
            self.sections.append(section_of(result, number=len(self.sections) + 1))

    @property
    def together(self) -> Together:
        """The sums over these sessions."""
        return Together.of(self.figures)

    @property
    def recommended(self) -> Recommendation | None:
        """The recommendation for these sessions."""
        return recommended(tuple(self._policies.values()), self.together)

    def page(self, *, recommend: bool) -> str:
        """The page of these sessions."""
        together = self.together if len(self.figures) > 1 else None
        return page_of(self.sections, together, recommended=self.recommended if recommend else None)


def _show(found: Compared, *, as_json: bool, alone: bool) -> None:
    """Show a session, or why it is none.

    Raises:
        UnreadableSession: it is the only one, and none.
    """
    if found.problem and alone:
        raise UnreadableSession(found.problem)
    result = found.result
    if result is None:
        tell(f"left out: {found.problem.removesuffix(f' {KNOWN_ARE}')}")  # once for each file of a folder
        return
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
    several, together = len(seen.figures) > 1, seen.together
    if as_json:
        told = [together_document(together)] if several else []
        told += [recommendation_document(seen.recommended)] if recommend else []
        deliver([msgspec.json.encode(each) + b"\n" for each in told], None)
        return
    if several:
        display(click.style(f"{plural(len(seen.figures), 'session')} together", bold=True))
        display("\n".join(("", *table(together.figures), "")))
        if together.note:
            display(textwrap.fill(visible(together.note), width(sys.stdout)) + "\n")
    display(textwrap.fill(LEGEND, width(sys.stdout)))
    if recommend:
        display("\n" + advice(seen.recommended, width=width(sys.stdout)))


def _files(session: str, stack: ExitStack) -> Iterator[File]:
    """The file of that name, those of a folder, or a copy of what is piped in, which goes with the ``stack``."""
    if Path(session).is_dir():
        yield from files_in([session])
    else:
        source = stack.enter_context(opened(session))
        yield File(path=source.path, name=source.name)


def _progressing(replays: Callable[..., Iterator[Compared]], files: Sequence[File]) -> Iterator[Compared]:
    """Yield from ``replays``, with the work that goes on shown on a terminal: by the sizes of ``files``, else by policies."""
    sizes = [file.path.stat().st_size if file.path.is_file() else 0 for file in files]
    shown: Progress | None = None

    def told(done: int, whole: int) -> None:
        if shown is not None and len(files) == 1:
            shown.begin("", whole=whole)
            shown.advance(done)

    found = replays(told=told)
    for number, file in enumerate(files):
        many = f" ({number + 1:,} of {len(files):,})" if len(files) > 1 else ""
        with progress(f"Replaying {file.name}{many}") as work:
            shown = work
            shown.begin("", whole=sum(sizes) if many else 0)
            shown.advance(sum(sizes[:number]))
            result = next(found)
        yield result


def _assumed(options: WhatIfOptions, *, alone: bool) -> Assumed:
    """What is assumed of the sessions by options, files and settings."""
    policies, prices = options["policies"], options["prices"]
    return Assumed(
        policies=read_policies(policies) if policies else None,
        prices=read_prices(prices) if prices else None,
        priced_as=options["priced_as"],
        window=options["window"],
        fixed=options["fixed"],
        settings=defaults.settings(),
        alone=alone,
    )


def _results(assumed: Assumed) -> Results:
    """Results of earlier runs with these options, files and settings."""
    return Results(cache_folder() / "what-if", depends=[msgspec.json.encode(assumed)])
