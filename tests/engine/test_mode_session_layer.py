"""Design C, its first layer: a working session is closed at a threshold, archived, and goes on much smaller."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocompact.compaction.modes import SESSION_LAYER, at_preset
from autocompact.core.budget import Continue
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor, Conversation
from autocompact.errors import InvalidInput
from autocompact.memory.documents.context_archive import CONTEXT_ARCHIVE
from autocompact.memory.upkeep import run_upkeep
from autocompact.models.openai_compatible import OpenAICompatible
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeClock, FakeProvider
from tests.engine.support import work
from tests.models.support import AT_ONCE

pytestmark = pytest.mark.anyio

SUMMARY = """<summary>
## Tasks
- TASK-12: rounding of invoice lines, done, 41 tests passed

## Decisions
Round half up, because the accountant asked for it.

## State
Branch rounding, commit 4f2a91c.

## Next steps
1. Run the export.

## Metrics
12 files changed, 41 passed, 0 failed, 93 % coverage.
</summary>"""


async def session(folder: Path, provider: FakeProvider, *, preset: str = "session-100k") -> Conversation:
    shared = Compactor(
        MemoryStore(clock=FakeClock()),
        model=OpenAICompatible("fake", base_url=provider.url, retries=AT_ONCE),
        mode=at_preset(SESSION_LAYER, preset),
        window=200_000,
        counter=Estimator(),
        memory_folder=folder,
        clock=FakeClock(),
    )
    return await shared.open("week-12")


@pytest.mark.requirement("C1", "C6", "C9")
async def test_at_100k_tokens_the_session_is_summarised_archived_and_goes_on_90_percent_smaller(
    tmp_path: Path,
) -> None:
    (tmp_path / "DECISIONS.md").write_text("Amounts are Decimal, never float.\n", encoding="utf-8")
    (tmp_path / "activeContext.md").write_text("The importer is next.\n", encoding="utf-8")
    async with FakeProvider(SUMMARY) as provider:
        conversation = await session(tmp_path, provider)
        sizes: list[int] = []
        while conversation.records.active is None:
            await work(conversation, 20, start=20 * len(sizes))
            sizes.append(conversation.usage().used)
            await conversation.ready()
        assert sizes[-2] < 100_000 <= sizes[-1]
        (asked,) = provider.requests
        text = asked.last_text
        assert all(
            f"## {title}" in text for title in ("Tasks", "Decisions", "State", "Next steps", "Metrics")
        )
        assert "Amounts are Decimal, never float." in text
        assert "<memory>\nFile activeContext.md:\n\nThe importer is next.\n</memory>" in text
        receipt = conversation.records.active.receipt
        share = 1 - receipt.tokens_after / receipt.tokens_before
        assert 0.88 <= share < 1
        # the metrics of this compaction, and where the original transcript is
        entry = (tmp_path / CONTEXT_ARCHIVE).read_text("utf-8")
        assert "2026-01-01" in entry
        assert f"{receipt.tokens_before:,} in, {receipt.tokens_after:,} out ({share:.0%} recovered)" in entry
        assert f"Peak: {sizes[-1]:,} tokens" in entry
        assert "TASK-12" in entry
        assert (
            f"autocompact show week-12 --from 1 --through {conversation.records.active.through_seq}" in entry
        )
        # and on it goes
        await conversation.say("Next: the export.")
        context = await conversation.ready()
        assert "TASK-12" in context.messages[0].text
        assert context.messages[-1].text == "Next: the export."
        await conversation.internals.replica.shared.aclose()


@pytest.mark.requirement("C9")
async def test_each_compaction_adds_one_entry(tmp_path: Path) -> None:
    async with FakeProvider(SUMMARY) as provider:
        conversation = await session(tmp_path, provider)
        for round in range(3):
            await work(conversation, 20, start=20 * round)
            assert (await conversation.compact()).success
        assert (tmp_path / CONTEXT_ARCHIVE).read_text("utf-8").count("\n## 2026-") == 3
        await conversation.internals.replica.shared.aclose()


@pytest.mark.requirement("C10")
async def test_memory_files_survive_every_compaction(tmp_path: Path) -> None:
    names = ("MEMORY.md", "ACTIVE_RULES.md", "OBSERVATIONS.md", "DONE.md", "DECISIONS.md", "TASK_ARCHIVE.md")
    before = {name: f"# {name}\r\n\n- as it was, ünchanged".encode() for name in names}
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    async with FakeProvider(SUMMARY) as provider:
        conversation = await session(tmp_path, provider)
        for round in range(3):
            await work(conversation, 20, start=20 * round)
            assert (await conversation.compact()).success
        await conversation.internals.replica.shared.aclose()
    assert {name: (tmp_path / name).read_bytes() for name in names} == before


@pytest.mark.requirement("C1")
async def test_tasks_of_conversations_that_were_compacted_by_themselves_are_noted_by_the_task_layer(
    tmp_path: Path,
) -> None:
    async with FakeProvider(SUMMARY) as provider:
        conversation = await session(tmp_path, provider)
        for round in range(2):
            await work(conversation, 20, start=20 * round)
            assert (await conversation.compact()).success
        await conversation.internals.replica.shared.aclose()
    run_upkeep(tmp_path, layers=["tasks"], clock=FakeClock())
    done = (tmp_path / "DONE.md").read_text("utf-8")
    assert done.count("TASK-12: rounding of invoice lines\n  - Outcome: done, 41 tests passed") == 1
    assert run_upkeep(tmp_path, layers=["tasks"], clock=FakeClock()).changes == ()


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("name, tokens", [("session-50k", 50_000), ("session-150k", 150_000)])
async def test_the_other_presets_compact_at_their_own_number(tmp_path: Path, name: str, tokens: int) -> None:
    async with FakeProvider(SUMMARY) as provider:
        conversation = await session(tmp_path, provider, preset=name)
        sizes: list[int] = []
        while conversation.records.active is None:
            await work(conversation, 20, start=20 * len(sizes))
            sizes.append(conversation.usage().used)
            await conversation.ready()
        assert sizes[-2] < tokens <= sizes[-1]
        await conversation.internals.replica.shared.aclose()


@pytest.mark.requirement("C1")
async def test_never_is_never_and_an_unknown_preset_is_refused(tmp_path: Path) -> None:
    async with FakeProvider(SUMMARY) as provider:
        conversation = await session(tmp_path, provider, preset="never")
        await work(conversation, 450)
        assert conversation.usage().used > 100_000
        await conversation.ready()
        assert isinstance(conversation.internals.decisions.decide(), Continue)
        assert provider.requests == []
        assert not (tmp_path / CONTEXT_ARCHIVE).exists()
        await conversation.internals.replica.shared.aclose()
    with pytest.raises(InvalidInput, match="session-50k"):
        at_preset(SESSION_LAYER, "sometimes")


async def test_an_archive_that_cannot_be_written_does_not_stop_the_session(tmp_path: Path) -> None:
    (tmp_path / CONTEXT_ARCHIVE).mkdir()
    async with FakeProvider(SUMMARY) as provider:
        conversation = await session(tmp_path, provider)
        await work(conversation, 20)
        assert (await conversation.compact()).success
        await conversation.internals.replica.shared.aclose()
