"""Compact a recorded session with a summary that a model writes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from autocompact.compaction.ladder import SummaryReply, SummaryRequest
from autocompact.compaction.modes import DEFAULT, Mode
from autocompact.core.redacted import EMPTY
from autocompact.core.redaction import redact
from autocompact.core.tokens import Counter
from autocompact.core.windows import DEFAULT_WINDOW, window_for
from autocompact.errors import InvalidInput, ModelError, ModelUnavailable
from autocompact.history.recorded.compacting import Compacted, Options, finish_session, plan_session
from autocompact.models.skills import load_skill
from autocompact.ports import Clock, Model
from autocompact.sessions import Session

Summarise: TypeAlias = Callable[[SummaryRequest], Awaitable[SummaryReply]]

_NO_MEMORY: Mapping[str, str] = {}


async def compact_with(
    model: Model,
    session: Session,
    *,
    options: Options,
    counter: Counter,
    clock: Clock,
    fallback: bool = False,
    mode: Mode = DEFAULT,
    decisions: str = "",
    memory: Mapping[str, str] = _NO_MEMORY,
) -> Compacted:
    """Compact ``session``; ``model`` writes the summary, which is verified and repaired like any other.

    What is to be summarised goes to the model as a document with shortened tool outputs, in several requests where
    one would not fit: no cache of the provider holds a recorded session.

    Args:
        model: who is asked, at most for one summary.
        session: what was recorded.
        options: what is wanted.
        counter: measures.
        clock: for the receipt.
        fallback: if the model fails, make the summary offline; the receipt says why.
        mode: whose prompt, and whose caps on the summary and on tool outputs.
        decisions: the text of DECISIONS.md, as background.
        memory: likewise names and texts of files in which other programs keep what they know of the project.

    Raises:
        InvalidInput: the options give a summary already; else as `compact_session`.
        ModelError: the model did not answer, or with nothing of use, and there is no ``fallback``.
        IncompressibleContext: what must stay is too large.
    """
    if options.summary is not None:
        raise InvalidInput("a summary is given: leave it out, or the model")
    plan = plan_session(session, options, counter=counter, clock=clock)
    summarise = _summarise_with(model, mode=mode, counter=counter, decisions=decisions, memory=memory)
    reply = await _reply(plan.request, summarise=summarise, name=model.name, fallback=fallback)
    return finish_session(plan, reply, clock=clock)


def _summarise_with(
    model: Model, *, mode: Mode, counter: Counter, decisions: str, memory: Mapping[str, str]
) -> Summarise:
    # the engine takes longer to load than a session to compact, and without a model nothing needs it
    from autocompact.engine.summariser import Summariser, memory_told

    window = window_for(model.name) or DEFAULT_WINDOW
    return Summariser(
        model=model,
        skill=load_skill(mode.skill),
        window=window,
        counter=counter,
        live=False,
        cap_tokens=mode.cap_tokens,
        output_tokens=mode.output_tokens,
        decisions=redact(decisions),
        memory=memory_told(memory, window=window),
    ).summarise


async def _reply(
    request: SummaryRequest | None, *, summarise: Summarise, name: str, fallback: bool
) -> SummaryReply | None:
    if request is None:
        return None
    try:
        reply = await summarise(request)
        if reply.problem:
            raise ModelUnavailable(f"the summary of {name!r} is of no use: {reply.problem}")
    except ModelError as error:
        if not fallback:
            raise
        return SummaryReply(text=EMPTY, model=name, problem=redact(str(error)))
    return reply
