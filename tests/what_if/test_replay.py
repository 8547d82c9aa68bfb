"""A recorded session through the live engine: what a replay reports is what the engine did."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from autocompact.compaction.modes import DEFAULT, MODES, Mode
from autocompact.compaction.record import Compaction, Mask
from autocompact.core.budget import Policy
from autocompact.core.messages import Message, Usage, text_message
from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator, message_cost
from autocompact.engine import Compactor
from autocompact.errors import InvalidInput
from autocompact.events import CompactionCompleted, Event
from autocompact.models.openai_compatible import OpenAICompatible
from autocompact.ports import ConversationStore, Key, Model
from autocompact.sessions import Session, read_session
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from autocompact.testing.records import compaction
from autocompact.what_if.replay import Compacted, Failed, Refused, Step, Totals, believable, replay
from tests.cli.program import CODING, OPENAI
from tests.core.strategies import call, numbered, result, said

pytestmark = pytest.mark.anyio
COUNTER = Estimator()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def session(messages: Iterable[Message], **fields: object) -> Session:
    return replace(Session(format="openai", messages=tuple(messages)), **fields)


def work(turns: int, *, words: int = 120) -> Session:
    """Turns of a request, a call with its output, and an answer."""
    log = [said("system", "Be brief.")]
    for turn in range(turns):
        log += [
            said("user", f"Please look at file_{turn}.py and tell me what it does."),
            said("assistant", call(f"call_{turn}", "read", f'{{"path": "file_{turn}.py"}}')),
            said("tool", result(f"call_{turn}", f"def function_{turn}(): ...\n" * words)),
            said("assistant", f"file_{turn}.py defines function_{turn}, many times."),
        ]
    return session(numbered(log))


def reported(recorded: Session, *, overhead: int, through: int | None = None) -> Session:
    """The session with the usage that a provider would report, with ``overhead`` tokens beside the messages."""
    log: list[Message] = []
    tokens = overhead
    for message in recorded.messages:
        usage = Usage(prompt=tokens, completion=5) if message.role == "assistant" else None
        known = through is None or message.seq <= through
        log.append(structs.replace(message, usage=usage if known else None))
        tokens += message_cost(message, COUNTER).tokens
    return replace(recorded, messages=tuple(log))


def engine(
    window: int = 20_000,
    *,
    store: ConversationStore | None = None,
    mode: Mode = DEFAULT,
    summary_model: Model | None = None,
) -> Compactor:
    return Compactor(
        store or MemoryStore(), window=window, mode=mode, summary_model=summary_model, counter=COUNTER
    )


async def steps(recorded: Session, compactor: Compactor, *, name: str = "talk") -> list[Step]:
    async with compactor, aclosing(replay(recorded, compactor, name=name)) as happened:
        return [step async for step in happened]


def totals(happened: list[Step]) -> Totals:
    last = happened[-1]
    assert isinstance(last, Totals)
    return last


async def test_a_short_session_is_sent_as_it_is() -> None:
    (end,) = await steps(work(3), engine())
    assert end == Totals(
        turns=3,
        requests=6,
        messages=13,
        peak=totals([end]).peak,
        peak_without=totals([end]).peak,
        sent=totals([end]).sent,
        sent_without=totals([end]).sent,
        limit=17_500,
        window=20_000,
    )
    assert 0 < totals([end]).peak < totals([end]).sent


@pytest.mark.requirement("A1", "D1")
async def test_a_long_session_is_compacted_again_and_again_and_every_request_fits() -> None:
    recorded = work(60)
    happened = await steps(recorded, engine())
    end = totals(happened)
    made = [step for step in happened if isinstance(step, Compacted)]
    assert len(made) == end.compactions > 2
    assert [type(step) for step in happened] == [*[Compacted] * len(made), Totals]
    assert all(step.tokens_after < step.tokens_before <= end.limit for step in made)
    assert [step.record.id for step in made] == [f"c{number}" for number in range(1, len(made) + 1)]
    assert end.peak <= end.limit < end.peak_without
    assert (end.refused, end.invalid) == (0, 0)
    assert end.refused_without > 0
    assert end.sent < end.sent_without / 2
    assert [step.place.seq for step in made] == sorted(step.place.seq for step in made)
    assert recorded.messages[made[0].place.seq].role == "assistant"


@pytest.mark.requirement("E6")
async def test_the_same_replay_gives_the_same_result() -> None:
    first, second = [await steps(work(40), engine()) for _ in range(2)]
    timeless = [
        [
            replace(s.record, receipt=replace(s.record.receipt, seconds=0.0, time=""))
            for s in run
            if isinstance(s, Compacted)
        ]
        for run in (first, second)
    ]
    assert timeless[0] == timeless[1]
    assert first[-1] == second[-1]


@pytest.mark.parametrize("mode", MODES)
async def test_every_mode_keeps_every_request_within_the_window(mode: str) -> None:
    policy = replace(MODES[mode].policy, tokens=8_000 if MODES[mode].policy.tokens else None)
    happened = await steps(work(40), engine(mode=replace(MODES[mode], policy=policy)))
    end = totals(happened)
    assert end.compactions > 0
    assert (end.refused, end.invalid) == (0, 0)
    assert end.peak <= end.limit


async def test_without_compaction_what_does_not_fit_is_refused_and_counted() -> None:
    never = replace(DEFAULT, policy=Policy(tokens=0))
    happened = await steps(work(40), engine(mode=never))
    end = totals(happened)
    refused = [step for step in happened if isinstance(step, Refused)]
    assert end.compactions == 0
    assert len(refused) == end.refused == end.refused_without > 0
    assert "cannot be made smaller than" in refused[0].reason
    assert end.peak <= end.limit < end.peak_without


async def test_a_message_that_can_never_fit_is_refused_with_figures() -> None:
    huge = numbered([said("user", "word " * 40_000), said("assistant", "That was long.")])
    refused, end = await steps(session(huge), engine())
    assert isinstance(refused, Refused)
    assert "last request" in refused.reason
    assert totals([end]).requests == totals([end]).refused == 1


async def test_replies_that_follow_each_other_are_one_request() -> None:
    log = numbered(
        [said("user", "Go"), said("assistant", "One"), said("assistant", "Two"), said("user", "On")]
    )
    (end,) = await steps(session(log), engine())
    assert (totals([end]).requests, totals([end]).turns) == (1, 2)


# Usage of the recording ---------------------------------------------------------------------------------------


async def test_what_the_recording_reports_is_used_while_it_is_of_the_same_context() -> None:
    plain, told = work(40), reported(work(40), overhead=4_000)
    without, with_usage = [
        [s for s in await steps(recorded, engine()) if isinstance(s, Compacted)] for recorded in (plain, told)
    ]
    # What every request carried beside the messages counts: the threshold is reached earlier, also after the first
    # compaction, when nothing that is reported counts any more.
    assert with_usage[0].place.seq < without[0].place.seq
    assert with_usage[0].tokens_before >= 13_500
    assert with_usage[0].tokens_after > 4_000
    assert len(with_usage) > len(without)


async def test_after_the_first_compaction_nothing_that_is_reported_counts() -> None:
    told = reported(work(40), overhead=4_000)
    happened = await steps(told, engine())
    first = next(step for step in happened if isinstance(step, Compacted)).place.seq
    silent = reported(work(40), overhead=4_000, through=first)
    assert (await steps(silent, engine()))[-1] == happened[-1]


async def test_after_the_recordings_own_compaction_nothing_that_is_reported_counts() -> None:
    told = replace(reported(work(40), overhead=4_000), compactions=(replace(compaction("c", 9), masks=()),))
    silent = replace(reported(work(40), overhead=4_000, through=9), compactions=told.compactions)
    assert (await steps(told, engine()))[-1] == (await steps(silent, engine()))[-1]


@pytest.mark.parametrize(
    ("change", "last"),
    [
        ({}, 13),
        ({"compactions": (replace(compaction("c", 5), masks=()),)}, 5),
        ({"compactions": (replace(compaction("c", 0), masks=(Mask(seq=8, part=0, stub=redact("s")),)),)}, 8),
        ({"model": "claude-sonnet-4-5"}, 0),
        ({"model": "gpt-4"}, 13),
    ],
)
async def test_usage_is_believed_until_the_recording_differs(change: dict[str, object], last: int) -> None:
    recorded = replace(reported(work(3), overhead=1_000), **change)
    assert believable(recorded, engine()) == last


async def test_usage_of_a_session_that_begins_in_its_midst_is_not_believed() -> None:
    assert believable(reported(work(3), overhead=4_900), engine()) == 13
    assert believable(reported(work(3), overhead=5_100), engine()) == 0
    assert believable(session([text_message(1, "user", "Hello")]), engine()) == 1


# Store and model ----------------------------------------------------------------------------------------------


async def test_the_replayed_conversation_is_kept_and_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    path, recorded = tmp_path / "talks.db", work(40)
    end = totals(await steps(recorded, engine(store=SqliteStore(path))))
    with pytest.raises(InvalidInput, match="has a conversation 'talk' already"):
        await steps(recorded, engine(store=SqliteStore(path)))
    store = SqliteStore(path)
    assert await store.read(Key(conversation="talk")) == recorded.messages
    made = await store.compactions(Key(conversation="talk"))
    assert len([record for record in made if record.status != "prepared"]) == end.compactions
    await store.aclose()


async def test_a_model_writes_the_summaries() -> None:
    async with FakeProvider("<summary>The files were read, one after the other.</summary>") as provider:
        model = OpenAICompatible("any", base_url=provider.url)
        happened = await steps(work(40), engine(summary_model=model))
    made: list[Compaction] = [step.record for step in happened if isinstance(step, Compacted)]
    asked = [record for record in made if record.summary]
    assert asked
    assert len(provider.requests) >= len(asked)
    assert all("The files were read" in record.summary for record in asked)


async def test_a_model_that_fails_is_told_and_stops_nothing() -> None:
    async with FakeProvider("no", api_key="right") as provider:
        model = OpenAICompatible("any", base_url=provider.url, api_key="wrong")
        happened = await steps(work(60), engine(summary_model=model, mode=replace(DEFAULT, mask_first=False)))
    end = totals(happened)
    failed = [step for step in happened if isinstance(step, Failed)]
    assert any("401" in step.reason for step in failed)
    assert any("automatic compactions stopped" in step.reason for step in failed)
    assert end.compactions > 0
    assert (end.refused, end.invalid) == (0, 0)
    assert end.peak <= end.limit


@pytest.mark.parametrize("path", [CODING, OPENAI])
async def test_the_examples_can_be_replayed_in_a_small_window(path: Path) -> None:
    heard: list[Event] = []
    compactor = engine(16_000)
    compactor.subscribe(heard.append)
    happened = await steps(read_session(path), compactor)
    end = totals(happened)
    completed = [event for event in heard if isinstance(event, CompactionCompleted) and event.success]
    assert end.compactions == len(completed)
    assert (end.refused, end.invalid) == (0, 0)
    assert end.peak <= end.limit
