"""A recorded session, compacted with a summary that a model writes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from autocompact.core.messages import Message
from autocompact.core.tokens import Estimator
from autocompact.errors import InvalidInput, ModelError, ModelRefused
from autocompact.history.recorded import Compacted, Options, compact_session, compact_with
from autocompact.models.openai_compatible import OpenAICompatible
from autocompact.sessions import Session
from autocompact.testing import FakeProvider
from autocompact.testing.clock import FakeClock
from tests.core.strategies import call, numbered, result, said

pytestmark = pytest.mark.anyio
COUNTER = Estimator()
SUMMARY = "<summary>\n## Summary\nThe pump was mended with a new seal.\n</summary>"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def session(steps: int = 30) -> Session:
    log: list[Message] = [said("user", "Please mend the pump in pump.py")]
    for step in range(steps):
        log += [
            said("assistant", call(f"c{step}", "read", f'{{"path": "part_{step}.py"}}')),
            said("tool", result(f"c{step}", f"def part_{step}(): ...\n" * 30)),
        ]
    return Session(format="openai", messages=tuple(numbered([*log, said("assistant", "Mended.")])))


async def compacted(
    provider: FakeProvider,
    recorded: Session | None = None,
    *,
    fallback: bool = False,
    key: str = "",
    **options: object,
) -> Compacted:
    async with OpenAICompatible("any", base_url=provider.url, api_key=key) as model:
        return await compact_with(
            model,
            recorded or session(),
            options=Options(**options),  # pyright: ignore[reportArgumentType] - each test gives fitting ones
            counter=COUNTER,
            clock=FakeClock(),
            fallback=fallback,
        )


def words(messages: Sequence[Message]) -> str:
    return "\n".join(message.text for message in messages)


@pytest.mark.requirement("B6", "E1")
async def test_the_models_summary_is_in_the_context_and_was_checked() -> None:
    async with FakeProvider(SUMMARY) as provider:
        done = await compacted(provider, summary_tokens=800)
    assert done.record is not None
    assert done.receipt.model == "any"
    assert "The pump was mended with a new seal." in words(done.after.messages)
    assert "Please mend the pump in pump.py" in words(done.after.messages)
    assert (
        done.receipt.stated + done.receipt.referenced + done.receipt.missing == len(done.ledger.entries) > 0
    )
    (asked,) = provider.requests
    assert "part_3.py" in str(asked.messages)


async def test_a_session_larger_than_the_models_window_goes_in_pieces() -> None:
    # the window of gpt-4: 8,192 tokens
    async with FakeProvider(SUMMARY) as provider, OpenAICompatible("gpt-4", base_url=provider.url) as model:
        done = await compact_with(model, session(150), options=Options(), counter=COUNTER, clock=FakeClock())
    assert len(provider.requests) > 1
    assert "The pump was mended" in done.summary


async def test_a_model_is_not_asked_where_masking_is_enough_or_nothing_is_to_be_done() -> None:
    async with FakeProvider(SUMMARY) as provider:
        masked = await compacted(
            provider,
            to=compact_session(session(), Options(), counter=COUNTER, clock=FakeClock()).before.cost.tokens
            - 500,
        )
        small = await compacted(provider, session(1), to=50_000)
    assert provider.requests == []
    assert masked.receipt.rung == "mask"
    assert small.receipt.rung == "none"


@pytest.mark.parametrize(
    ("reply", "problem"),
    [("<summary></summary>", "empty"), ("I cannot help with that.", "did not summarise")],
)
async def test_a_summary_of_no_use_is_an_error(reply: str, problem: str) -> None:
    async with FakeProvider(reply) as provider:
        with pytest.raises(ModelError, match=f"of no use: .*{problem}"):
            await compacted(provider)


async def test_a_model_that_fails_is_an_error_or_the_summary_is_made_without_it() -> None:
    offline = compact_session(session(), Options(), counter=COUNTER, clock=FakeClock())
    async with FakeProvider(SUMMARY, api_key="right") as provider:
        with pytest.raises(ModelRefused, match="401"):
            await compacted(provider, key="sk-wrong-key-1234567890")
        done = await compacted(provider, key="sk-wrong-key-1234567890", fallback=True)
    assert done.after.messages == offline.after.messages
    assert done.receipt.model == "offline"
    assert "401" in done.receipt.problem
    assert "sk-wrong-key" not in done.receipt.problem


async def test_a_given_summary_and_a_model_do_not_go_together() -> None:
    async with FakeProvider(SUMMARY) as provider:
        with pytest.raises(InvalidInput, match="a summary is given"):
            await compacted(provider, summary="Mine.")
    assert provider.requests == []
