"""Sessions for these tests: turns of a request, a reading with its output, and an answer, one a minute."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from msgspec import structs

from autocompact.compaction.record import Compaction, Mask, Receipt, Rung
from autocompact.core.messages import Message, Usage
from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator, message_cost
from autocompact.ledger.entries import Ledger
from autocompact.sessions import Session
from autocompact.what_if.billing import Pricing, pricing_for
from autocompact.what_if.course import Course, course_of
from tests.core.strategies import call, numbered, result, said

MODEL = "claude-opus-4-5"
START = datetime(2026, 3, 1, tzinfo=UTC)
COUNTER = Estimator()


def session(messages: Iterable[Message], *, compactions: Sequence[Compaction] = ()) -> Session:
    return Session(
        format="openai",
        messages=tuple(messages),
        compactions=tuple(compactions),
        model=MODEL,
        cwd="/srv/pump",
    )


def made(
    through: int,
    *,
    text: str = "We looked at files.",
    minutes: float = 0.0,
    before: int = 0,
    keep: Sequence[int] = (),
    masks: Sequence[Mask] = (),
    rung: Rung = "summarise",
) -> Compaction:
    """A compaction of the recording program, so many minutes after the session began."""
    time = (START + timedelta(minutes=minutes)).isoformat()
    receipt = Receipt(
        tokens_before=before, tokens_after=0, bytes_before=0, bytes_after=0, rung=rung, time=time
    )
    return Compaction(
        id=f"at {minutes}",
        from_seq=1,
        through_seq=through,
        summary=redact(text),
        ledger=Ledger(),
        keep=tuple(keep),
        masks=tuple(masks),
        receipt=receipt,
    )


def work(
    turns: int,
    *,
    words: int = 100,
    files: int = 1_000,
    minutes: float = 1.0,
    compactions: Sequence[Compaction] = (),
) -> Session:
    """``turns`` times a file is read, four messages each; after ``files`` files the first is read again."""
    log = [said("system", "Be brief.")]
    for turn in range(turns):
        number = turn % files
        log += [
            said("user", f"Please look at file_{number}.py and tell me what it does."),
            said("assistant", call(f"call_{turn}", "Read", f'{{"file_path": "/srv/pump/file_{number}.py"}}')),
            said("tool", result(f"call_{turn}", f"def function_{number}(): ...\n" * words)),
            said("assistant", f"file_{number}.py defines function_{number}, many times."),
        ]
    timed = [
        structs.replace(message, time=(START + timedelta(minutes=minutes * index / 4)).isoformat())
        for index, message in enumerate(numbered(log))
    ]
    return session(timed, compactions=compactions)


def reported(recorded: Session, *, fixed: int, factor: float = 1.0) -> Session:
    """The session with the usage that a provider would report, with ``fixed`` tokens beside the messages."""
    log: list[Message] = []
    own = 0
    for message in recorded.messages:
        usage = Usage(prompt=fixed + round(own * factor), completion=5)
        log.append(structs.replace(message, usage=usage) if message.role == "assistant" else message)
        own += message_cost(message, COUNTER).tokens
    return replace(recorded, messages=tuple(log))


def course(recorded: Session, *, window: int = 200_000, fixed: int | None = 0) -> Course:
    return course_of(recorded, name="a session", counter=COUNTER, window=window, fixed=fixed)


def prices(model: str = MODEL) -> Pricing:
    return pricing_for(model)
