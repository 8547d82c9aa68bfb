"""Kills, rivals, cancellation, models that hang, lie or flood: nothing is lost and nobody is blocked."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.compaction.modes import DEFAULT
from autocompact.compaction.record import Compaction
from autocompact.compaction.repair import problems
from autocompact.core.budget import Breaker, Policy
from autocompact.core.messages import Message, Text
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor, Conversation
from autocompact.errors import StoreUnavailable
from autocompact.events import CompactionCompleted, CompactionStarted, Event
from autocompact.models.http import Patience
from autocompact.models.openai_compatible import OpenAICompatible
from autocompact.ports import Key, Lease, ModelReply
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeClock, FakeProvider
from tests.engine.child import engine
from tests.engine.support import SUMMARY, TalkingModel, compactor, work
from tests.house.source import ROOT
from tests.models.support import ONCE
from tests.warm import command

pytestmark = pytest.mark.anyio
NO_BACKGROUND = replace(DEFAULT, background=False)


def child(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*command("tests.engine.child"), *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    )


COMPACTION = [
    "acquire:begun",
    "acquire:written",
    "acquire:committed",
    "asked",
    "commit:begun",
    "commit:written",
    "commit:committed",
    "release:begun",
    "release:committed",
]
KILLS = [
    *(("compact", step) for step in COMPACTION),
    *(("prepare", step) for step in ("asked", "commit:written", "commit:committed")),
    *(
        ("undo", step)
        for step in ("commit:written", "commit:committed", "commit:begun 2", "commit:committed 2")
    ),
    *(
        ("edit", step)
        for step in ("append:written", "append:committed", "commit:written", "commit:committed")
    ),
]


@pytest.mark.parametrize("what, step", KILLS)
async def test_killed_at_any_step_nothing_is_lost_nothing_half_done_and_the_lease_expires(
    tmp_path: Path, what: str, step: str
) -> None:
    path, clock = tmp_path / "chats.db", FakeClock()
    async with engine(path, clock=clock) as shared:
        conversation = await shared.open("task")
        await conversation.say("You are careful.", role="system")
        await work(conversation, 12)
        if what in ("undo", "edit"):
            assert (await conversation.compact()).success
        log, context = await conversation.history(), conversation.context()
        before, made = conversation.internals.replica.active_id, len(await conversation.records.all())

    victim = child("die_at", path, what, step)
    _, complaints = victim.communicate(timeout=60)
    assert victim.returncode == -signal.SIGKILL, complaints

    async with engine(path, clock=clock) as shared:
        conversation = await shared.open("task")
        again = await conversation.history()
        assert again[: len(log)] == log
        assert len(again) - len(log) == (what == "edit" and step != "append:written")
        assert problems(list(conversation.context().messages)) == []
        changed = conversation.internals.replica.active_id != before
        assert changed or len(again) > len(log) or conversation.context() == context
        if what == "compact":
            assert changed == (step in COMPACTION[6:])
        if len(again) > len(log):
            assert conversation.records.active is None
            assert conversation.context().messages[-1].text == "Other words."
        assert len(await conversation.records.all()) - made in (0, 1)
        if not (await conversation.compact()).success:
            clock.advance(61)
        await work(conversation, 4, start=50)
        assert (await conversation.compact()).success
        assert not (await shared.store.conversations("other"))


async def test_two_processes_compact_one_conversation_and_exactly_one_wins_each_time(tmp_path: Path) -> None:
    path, rounds = tmp_path / "chats.db", 20
    rivals = [child("compete", path, name) for name in ("ann", "bob")]
    try:
        for turn in range(rounds):
            for words, answers in ((f"turn {turn}", {"said"}), ("go", {"won", "lost"})):
                for rival in rivals:
                    assert rival.stdin is not None
                    rival.stdin.write(f"{words}\n")
                heard: list[str] = []
                for rival in rivals:
                    assert rival.stdout is not None
                    heard.append((await asyncio.to_thread(rival.stdout.readline)).strip())
                assert set(heard) == answers, heard
    finally:
        for rival in rivals:
            rival.stdin.close() if rival.stdin else None
            await asyncio.to_thread(rival.wait, 60)
            for pipe in (rival.stdout, rival.stderr):
                pipe.close() if pipe else None
    async with engine(path) as shared:
        conversation = await shared.open("task")
        log = await conversation.history()
        said = [message.text.partition(":")[0] for message in log if " by " in message.text[:14]]
        assert sorted(said) == sorted(f"turn {n} by {name}" for n in range(rounds) for name in ("ann", "bob"))
        records = await conversation.records.all()
        assert len(records) == rounds
        assert [record.parent for record in records] == ["", *(record.id for record in records[:-1])]


class Hanging(TalkingModel):
    """Never answers; `asked` says when it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
    ) -> ModelReply:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


async def test_a_cancelled_compaction_changes_nothing_counts_nothing_and_frees_the_lease() -> None:
    model = Hanging()
    conversation = await compactor(model=model, mode=NO_BACKGROUND).open("task")
    heard: list[Event] = []
    conversation.internals.replica.shared.subscribe(heard.append)
    await work(conversation, 12)
    before, state = conversation.context(), conversation.internals.replica.state
    running = asyncio.create_task(conversation.compact())
    await model.asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert conversation.context() == before
    assert conversation.internals.replica.state.breaker == state.breaker == Breaker()
    assert [type(event) for event in heard] == [CompactionStarted, CompactionCompleted]
    assert heard[-1] == CompactionCompleted(conversation_id="task", success=False, message="it was cancelled")
    lease = await conversation.internals.replica.shared.store.acquire(
        conversation.internals.replica.key, holder="next", seconds=1
    )
    assert lease is not None


class Gated(MemoryStore):
    """Waits in a chosen method until it may go on."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    async def _gate(self, method: str) -> None:
        if method == self.method:
            self.reached.set()
            await self.go_on.wait()

    async def acquire(self, key: Key, *, holder: str, seconds: float) -> Lease | None:
        await self._gate("acquire")
        return await super().acquire(key, holder=holder, seconds=seconds)

    async def append(
        self, key: Key, messages: Sequence[Message], *, after: int, resent: bool = False
    ) -> None:
        await super().append(key, messages, after=after, resent=resent)
        if messages[-1].text == "gate":
            await self._gate("append")

    async def commit(self, key: Key, **changes: object) -> None:
        await self._gate("commit")
        await super().commit(key, **changes)  # pyright: ignore[reportArgumentType] - as they came


@pytest.mark.parametrize("method, committed", [("acquire", False), ("commit", True)])
async def test_cancelled_in_the_store_memory_and_store_still_agree(method: str, committed: bool) -> None:
    store = Gated(method)
    conversation = await compactor(store=store).open("task")
    heard: list[Event] = []
    conversation.internals.replica.shared.subscribe(heard.append)
    await work(conversation, 12)
    running = asyncio.create_task(conversation.compact())
    await store.reached.wait()
    running.cancel()
    store.method = ""
    asyncio.get_running_loop().call_soon(store.go_on.set)
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (conversation.records.active is not None) == committed
    assert (await store.load(conversation.internals.replica.key)).active == conversation.records.active
    assert [event.success for event in heard if isinstance(event, CompactionCompleted)] == [True] * committed
    assert await store.acquire(conversation.internals.replica.key, holder="next", seconds=1) is not None


async def test_a_cancelled_append_is_in_the_log_and_in_the_context_or_in_neither() -> None:
    store = Gated("append")
    conversation = await compactor(store=store).open("task")
    running = asyncio.create_task(conversation.say("gate"))
    await store.reached.wait()
    running.cancel()
    asyncio.get_running_loop().call_soon(store.go_on.set)
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [m.text for m in conversation.context().messages] == [m.text for m in await conversation.history()]


GERMAN = (
    "Der Benutzer möchte, dass die Beträge nicht mehr falsch sind, und wir haben das mit der Buchhaltung besprochen. "
    "Es ist noch nicht alles fertig, aber die Tests laufen auch schon wieder. "
)
FLOOD = "The totals were rounded per line. " * 30_000


@pytest.mark.parametrize(
    "reply, why",
    [
        ("", "empty"),
        (FLOOD, "no less than"),
        ("I'm sorry, but I can't help with that.", "did not summarise"),
        (
            f"<summary>{GERMAN * 2}</summary>",
            "is in 'de'",
        ),
    ],
)
async def test_a_summary_of_no_use_leaves_the_context_as_it_was(reply: str, why: str) -> None:
    model = TalkingModel(reply=lambda _: ModelReply(text=reply, stop_reason="stop"))
    conversation = await compactor(model=model).open("task")
    await conversation.say("Please round every line total to cents, because the accountant asked for that.")
    await work(conversation, 12)
    before = conversation.context()
    result = await conversation.compact()
    assert not result.success
    assert why in result.message
    assert conversation.context() == before


async def test_a_summary_that_lies_cannot_push_out_what_the_ledger_knows() -> None:
    model = TalkingModel(reply=lambda _: ModelReply(text="<summary>Nothing happened. All is done.</summary>"))
    conversation = await compactor(model=model).open("task")
    await work(conversation, 12)
    result = await conversation.compact()
    assert "src/tax9.py" in result.summary
    assert result.record is not None
    assert result.record.receipt.stated > 0


@pytest.mark.parametrize("kind", ["server_error", "overflow", "silent", "garbage", "reset", "rate_limit"])
async def test_an_http_failure_changes_nothing_and_says_what_it_is(kind: str) -> None:
    async with FakeProvider(SUMMARY) as provider:
        model = OpenAICompatible(
            "fake",
            base_url=provider.url,
            retries=ONCE,
            patience=Patience(connect=5, first_byte=0.2, between=0.2),
        )
        async with Compactor(MemoryStore(), model=model, window=4_000, counter=Estimator()) as shared:
            conversation = await shared.open("task")
            await work(conversation, 12)
            provider.fail(kind, times=50)  # pyright: ignore[reportArgumentType] - one of its kinds
            before = conversation.context()
            result = await conversation.compact()
            assert not result.success
            assert result.message
            assert conversation.context() == before


async def test_a_wrong_key_is_reported_as_what_it_is() -> None:
    async with FakeProvider(SUMMARY, api_key="right") as provider:
        model = OpenAICompatible("fake", base_url=provider.url, api_key="wrong-key-1234", retries=ONCE)
        async with Compactor(MemoryStore(), model=model, window=4_000, counter=Estimator()) as shared:
            conversation = await shared.open("task")
            await work(conversation, 12)
            result = await conversation.compact()
            assert not result.success
            assert "401" in result.message or "key" in result.message
            assert "wrong-key-1234" not in result.message


async def test_an_edit_by_another_program_into_what_is_being_compacted_throws_the_result_away() -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    class Slow(TalkingModel):
        async def complete(
            self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
        ) -> ModelReply:
            asked.set()
            await go_on.wait()
            return ModelReply(text=SUMMARY)

    store = MemoryStore()
    one = await compactor(model=Slow(), store=store).open("task")
    await work(one, 12)
    running = asyncio.create_task(one.compact())
    await asked.wait()
    other = await compactor(store=store).open("task")
    await other.append(Message(seq=0, role="user", parts=(Text(text="Start over."),), replaces=2))
    go_on.set()
    result = await running
    assert not result.success
    assert "changed while it was compacted" in result.message
    assert [message.text for message in one.context().messages][-1] == "Start over."
    assert tuple(one.context().messages) == tuple(other.context().messages)


async def test_while_another_program_compacts_a_request_that_would_not_fit_waits_for_it() -> None:
    store = MemoryStore()
    one = await compactor(store=store, mode=NO_BACKGROUND).open("task")
    await work(one, 45)
    assert one.internals.replica.cost().tokens > one.internals.replica.shared.budget.limit
    lease = await store.acquire(one.internals.replica.key, holder="other", seconds=600)
    assert lease is not None
    waiting = asyncio.create_task(one.ready())
    await asyncio.sleep(0)
    assert not waiting.done()
    await store.release(lease)
    assert (await waiting).cost.tokens <= one.internals.replica.shared.budget.limit


async def test_a_full_disk_at_the_threshold_stops_nobody() -> None:
    class Full(MemoryStore):
        full = False

        async def acquire(self, key: Key, *, holder: str, seconds: float) -> Lease | None:
            if self.full:
                raise StoreUnavailable("the disk is full")
            return await super().acquire(key, holder=holder, seconds=seconds)

    store = Full()
    mode = replace(NO_BACKGROUND, policy=Policy(ratio=0.5))
    conversation: Conversation = await compactor(store=store, mode=mode).open("task")
    while not conversation.should_compact():
        await conversation.say("word " * 50)
    store.full = True
    before = conversation.context()
    assert await conversation.ready() == before


async def test_a_model_is_not_paid_on_each_turn_for_summaries_that_cannot_be_stored() -> None:
    class Full(MemoryStore):
        """Gives leases, and stores messages, but no compaction."""

        async def commit(
            self,
            key: Key,
            *,
            records: Sequence[Compaction] = (),
            active: str | None,
            expected: str | None,
            fence: int,
            state: bytes | None = None,
        ) -> None:
            raise StoreUnavailable("half a character in the words of the system: \ud83d")

    model = TalkingModel()
    mode = replace(NO_BACKGROUND, policy=Policy(ratio=0.2))
    conversation = await compactor(model=model, store=Full(), mode=mode).open("task")
    while not conversation.should_compact():
        await conversation.say("word " * 50)
        await conversation.say("Done.", role="assistant")
    for _ in range(6):
        await conversation.ready()
    assert conversation.internals.replica.state.breaker.is_open
    assert len(model.requests) == Breaker().most
