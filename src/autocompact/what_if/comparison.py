"""Compares sessions under several policies: several sessions at a time, each once, and the outcome as one value.

`compare_files` is what the command and the library share; `compare_policies` is the library's call, for programs and notebooks.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec

from autocompact.core.windows import DEFAULT_WINDOW, window_for
from autocompact.errors import AutocompactError, InvalidInput, UnreadableSession
from autocompact.models.vocabulary import default_counter
from autocompact.sessions import Session, read_session
from autocompact.settings import Settings, window_of
from autocompact.settings.upkeep import prices_of
from autocompact.what_if.billing import PriceFile, pricing_for, read_prices
from autocompact.what_if.course import Course, course_of
from autocompact.what_if.documents import document_of, recommendation_document, together_document
from autocompact.what_if.figures import Figures, Together
from autocompact.what_if.page import MOST_DRAWN, page_of, section_of
from autocompact.what_if.policies import WhatIf, default_policies, given_policies, read_policies
from autocompact.what_if.recommending import Recommendation, recommended
from autocompact.what_if.replays import Replayed, replayed
from autocompact.what_if.results import Results
from autocompact.what_if.simulation import Outcome, simulate

T = TypeVar("T")

LEAST_SHARED = 1 << 20
"""Bytes of sessions that are worth starting processes for: each loads the program first."""

MOST_PROCESSES = 2
"""Each takes 100 to 200 MB."""

HEIGHT = 900
"""Pixels of the page in a notebook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """What is assumed of sessions.

    Attributes:
        policies: to replay under; None are the usual ones.
        prices: a table that goes before all others.
        priced_as: the model whose prices, cache and window count; "" is the session's.
        window: tokens of its window; None is what settings, session or model say.
        fixed: tokens of system prompt and tools; None is what the recorded usage tells.
        settings: the user's prices and windows.
        alone: there is one session: of several, all have the same policies, so that they can be summed.
    """

    policies: tuple[WhatIf, ...] | None = None
    prices: PriceFile | None = None
    priced_as: str = ""
    window: int | None = None
    fixed: int | None = None
    settings: Settings = field(default_factory=Settings)
    alone: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that may be a session, and its name for people."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A file that was looked at.

    Attributes:
        file: which one.
        result: the session under each policy; None if it cannot be replayed.
        problem: why not.
    """

    file: File
    result: Replayed | None = None
    problem: str = ""


Told: TypeAlias = Callable[[int, int], None]
"""Is told how many policies a session was replayed under by now, and of how many."""


def _untold(done: int, whole: int) -> None:
    del done, whole


def compare_session(
    session: Session, *, name: str, assumed: Assumed, told: Told = _untold
) -> Replayed | None:
    """Replay ``session`` under each policy; None if no reply of a model is in it."""
    course = _course(session, name=name, assumed=assumed)
    if not course.requests:
        return None
    pricing = pricing_for(
        course.model,
        own=prices_of(assumed.settings),
        file=assumed.prices,
        hour_cache=session.hour_cache,
    )
    policies = assumed.policies or _usual(course, alone=assumed.alone)
    outcomes: list[Outcome] = []
    for policy in policies:
        told(len(outcomes), len(policies))
        outcomes.append(_run(simulate(course, policy, pricing=pricing)))
    return replayed(course, outcomes)


def _course(session: Session, *, name: str, assumed: Assumed) -> Course:
    model = assumed.priced_as or session.model
    known = window_for(model) if assumed.priced_as else None
    usual = window_of(assumed.settings.models, model=session.model, recorded=session.window)
    window = assumed.window or known or usual or DEFAULT_WINDOW
    return course_of(
        session, name=name, counter=default_counter(model), window=window, model=model, fixed=assumed.fixed
    )


def _usual(course: Course, *, alone: bool) -> tuple[WhatIf, ...]:
    made = [record for record in course.session.compactions if record.status != "undone"]
    return default_policies(
        window=course.window,
        has_records=bool(made) or not alone,
        has_summaries=any(record.summary for record in made) or not alone,
    )


def _run(work: Coroutine[object, object, T]) -> T:
    """The result of ``work``; in a thread of its own where a loop runs already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()


# Several files --------------------------------------------------------------------------------------------------

Answer: TypeAlias = Callable[[], Compared]
Starter: TypeAlias = Callable[[File], Answer]


def compare_files(
    files: Sequence[File],
    *,
    assumed: Assumed,
    results: Results | None = None,
    processes: int = 1,
    told: Told = _untold,
) -> Generator[Compared]:
    """Replay each file, and yield it in the order of ``files``.

    Args:
        files: which may be something else than sessions.
        assumed: of all of them.
        results: those of earlier runs; None replays everything.
        processes: how many sessions are replayed at the same time.
        told: of the progress within a session, where this process replays it.
    """
    keyed = [(file, results.key(file.path) if results else "") for file in files]
    large = sum(file.path.stat().st_size for file in files if file.path.is_file()) >= LEAST_SHARED
    shared = processes > 1 and len(files) > 1 and large
    # a few more than are at work, so that no process waits for the one whose turn it is to be shown
    ahead = 4 * processes if shared else 0
    waiting: deque[tuple[str, Answer]] = deque()
    with _in_processes(processes, assumed) if shared else _here(assumed, told=told) as start:
        for file, key in keyed:
            kept = results.find(key) if results else None
            done = kept and Compared(file=file, result=replace(kept, name=file.name))
            waiting.append(("", partial(_as_it_is, done)) if done else (key, start(file)))
            if len(waiting) > ahead:
                yield _ended(*waiting.popleft(), results=results)
        while waiting:
            yield _ended(*waiting.popleft(), results=results)


def _as_it_is(done: Compared) -> Compared:
    return done


def _ended(key: str, answer: Answer, *, results: Results | None) -> Compared:
    try:
        found = answer()
    except BrokenProcessPool as error:
        raise AutocompactError(
            "a process that replayed sessions was ended from outside, as a system does where memory runs out: with one process "
            "(--processes 1) it takes the least"
        ) from error
    if results is not None and key and found.result is not None:
        results.keep(key, found.result)
    return found


def _compare_file(file: File, assumed: Assumed, *, told: Told = _untold) -> Compared:
    try:
        session = read_session(file.path)
    except UnreadableSession as error:
        # by its name for people: stdin is read from a copy
        return Compared(file=file, problem=str(error).replace(repr(str(file.path)), repr(file.name)))
    result = compare_session(session, name=file.name, assumed=assumed, told=told)
    return Compared(file=file, result=result, problem="" if result else nothing_in([file.name]))


def _here(assumed: Assumed, *, told: Told) -> AbstractContextManager[Starter]:
    """Replay in this process, when the answer is asked for."""
    return nullcontext(lambda file: partial(_compare_file, file, assumed, told=told))


@contextmanager
def _in_processes(processes: int, assumed: Assumed) -> Generator[Starter]:
    """Replay in processes of their own, which end with the block."""
    others = {child.pid for child in active_children()}
    # a fresh interpreter for each: a fork would copy the locks of our threads
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_begin)
    try:
        yield lambda file: pool.submit(_compare_file, file, assumed).result
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        # else Python waits at its end for what they are at, which may take minutes
        for child in active_children():
            if child.pid not in others:
                child.terminate()
        raise
    pool.shutdown()


def _begin() -> None:
    """Leave Ctrl-C, which reaches all processes of a terminal, to the one that started this one; and say nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.getLogger("autocompact").addHandler(logging.NullHandler())


def processes_here() -> int:
    """How many sessions to replay at the same time: one for each processor, as far as memory goes."""
    may_use = getattr(os, "sched_getaffinity", None)
    return min(MOST_PROCESSES, len(may_use(0)) if may_use else os.cpu_count() or 1)


def files_in(paths: Iterable[str | Path]) -> Iterator[File]:
    """The files that are named, and those in folders, which may be something else."""
    for path in map(Path, paths):
        inside = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else (path,)
        yield from (File(path=each, name=str(each)) for each in inside)


# For programs and notebooks -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Recorded sessions under several policies; a notebook shows it as a page.

    Attributes:
        sessions: each with its outcome under every policy.
        left_out: files that cannot be replayed, each with the reason.
    """

    sessions: tuple[Replayed, ...]
    left_out: tuple[str, ...] = ()

    @property
    def together(self) -> Together:
        """The sums of all sessions, by policy."""
        return Together.of([session.figures for session in self.sessions])

    @property
    def policies(self) -> dict[str, Figures]:
        """The figures by the name of the policy: cost, tokens, failed requests; summed over the sessions."""
        return {each.name: each for each in self.together.figures}

    @property
    def recommended(self) -> Recommendation | None:
        """The policy to take; None if requests fail under all that can be set."""
        chosen = {outcome.policy.name: outcome.policy for each in self.sessions for outcome in each.outcomes}
        return recommended(tuple(chosen.values()), self.together)

    def to_json(self) -> str:
        """One JSON object: ``sessions`` as ``autocompact what-if --json`` writes them, ``together``, ``recommended``."""
        told = {
            "sessions": [document_of(each) for each in self.sessions],
            **together_document(self.together),
            **recommendation_document(self.recommended),
        }
        return msgspec.json.encode(told).decode()

    def to_html(self) -> str:
        """The page of ``autocompact what-if --html``; it loads nothing from elsewhere."""
        drawn = self.sessions[:MOST_DRAWN]
        sections = [section_of(each, number=number) for number, each in enumerate(drawn, 1)]
        return page_of(
            sections, self.together if len(self.sessions) > 1 else None, recommended=self.recommended
        )

    def _repr_html_(self) -> str:
        """The page in a frame of its own: its style and script touch nothing else of a notebook."""
        page = escape(self.to_html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" title="What if" '
            f'style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'
        )


def compare_policies(
    paths: str | Path | Iterable[str | Path],
    *,
    policies: str | Path | Sequence[Mapping[str, object]] | None = None,
    prices: str | Path | None = None,
    priced_as: str = "",
    window: int | None = None,
    fixed: int | None = None,
    processes: int = 1,
) -> Comparison:
    """Replay recorded sessions under several policies. No model is asked, and the sessions are only read.

    Args:
        paths: a session, a folder of them, or several of both.
        policies: a file as ``--policies`` takes it, or the objects that would stand in its ``policies``; None are the
            usual ones.
        prices: a file as ``--prices`` takes it; None is the table that comes along.
        priced_as: the model whose prices, cache and window count; "" is the session's.
        window: tokens of the model's window; None is what session or model say.
        fixed: tokens of system prompt and tools that every request carries; None is what the recorded usage tells.
        processes: sessions that are replayed at the same time. With more than one, a script needs the usual
            ``if __name__ == "__main__":``.

    Raises:
        AutocompactError: a process was ended from outside.
        InvalidInput: a file cannot be used, or there is nothing to replay; the message names file and place.
        UnreadableSession: the only file cannot be replayed.
    """
    named = [paths] if isinstance(paths, str | Path) else list(paths)
    files = list(files_in(named))
    assumed = Assumed(
        policies=_policies(policies),
        prices=read_prices(Path(prices)) if prices else None,
        priced_as=priced_as,
        window=window,
        fixed=fixed,
        alone=len(files) == 1,
    )
    found = list(compare_files(files, assumed=assumed, processes=processes))
    if len(found) == 1 and found[0].problem:
        raise UnreadableSession(found[0].problem)
    sessions = tuple(each.result for each in found if each.result is not None)
    if not sessions:
        raise InvalidInput(nothing_in(named))
    return Comparison(sessions=sessions, left_out=tuple(each.problem for each in found if each.problem))


def _policies(given: str | Path | Sequence[Mapping[str, object]] | None) -> tuple[WhatIf, ...] | None:
    if given is None:
        return None
    return read_policies(Path(given)) if isinstance(given, str | Path) else given_policies(given)


def nothing_in(names: Iterable[str | Path]) -> str:
    """What is wrong where nothing can be replayed in the files and folders that were named."""
    listed = ", ".join(repr(str(name)) for name in names)
    return f"there is nothing to replay in {listed or 'no file'}: no reply of a model was recorded"
