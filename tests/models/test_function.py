"""A function as a model."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from autocompact import Compactor, MemoryStore
from autocompact.core.messages import Usage, text_message
from autocompact.core.tokens import Estimator
from autocompact.errors import InvalidInput, ModelError, ModelUnavailable
from autocompact.models.function import FunctionModel
from autocompact.ports import ModelReply
from tests.engine.support import SUMMARY, work

pytestmark = pytest.mark.anyio
ASKED = (text_message(1, "system", "You are careful."), text_message(2, "user", "What is the total?"))


async def test_a_plain_function_gets_the_messages_of_openai_and_runs_beside_the_event_loop() -> None:
    seen: list[Any] = []

    def answer(messages: list[dict[str, object]]) -> str:
        seen.append((messages, threading.current_thread() is threading.main_thread()))
        return "It is 12."

    model = FunctionModel(answer)
    reply = await model.complete(ASKED, max_tokens=100, tools=b"[]")
    assert (reply.text, reply.model) == ("It is 12.", "function:answer")
    assert seen == [
        (
            [
                {"role": "system", "content": "You are careful."},
                {"role": "user", "content": "What is the total?"},
            ],
            False,
        )
    ]
    assert await model.count(ASKED) < await model.count(ASKED, tools=b'[{"name":"Read"}]')
    await model.aclose()


async def test_an_async_function_and_one_that_returns_something_to_wait_for_are_models_too() -> None:
    async def answer(_: list[dict[str, object]]) -> ModelReply:
        return ModelReply(text="12", usage=Usage(prompt=9), stop_reason="length")

    assert (await FunctionModel(answer).complete(ASKED)).usage == Usage(prompt=9)
    wrapped = FunctionModel(lambda messages: answer(messages), name="own", window=32_000)
    assert (await wrapped.complete(ASKED)).stop_reason == "length"
    assert (wrapped.name, wrapped.window) == ("own", 32_000)


@pytest.mark.parametrize("error", [ValueError("no key"), StopIteration()])
async def test_what_a_function_raises_is_a_failure_of_the_model(error: Exception) -> None:
    def answer(_: list[dict[str, object]]) -> str:
        raise error

    with pytest.raises(ModelError, match=f"'function:answer' .*{type(error).__name__}") as raised:
        await FunctionModel(answer).complete(ASKED)
    assert raised.value.__cause__ is error


async def test_an_error_of_ours_stays_what_it_is() -> None:
    async def answer(_: list[dict[str, object]]) -> str:
        raise ModelUnavailable("overloaded", status=529)

    with pytest.raises(ModelUnavailable):
        await FunctionModel(answer).complete(ASKED)


async def test_an_answer_that_is_none_is_told_what_one_is() -> None:
    model = FunctionModel(lambda _: None)  # pyright: ignore[reportArgumentType] - that is what this test is about
    with pytest.raises(ModelError, match="answered with NoneType: return the reply's text, or a ModelReply"):
        await model.complete(ASKED)


@pytest.mark.requirement("E6")
async def test_a_function_given_to_a_compactor_makes_the_summaries() -> None:
    asked: list[list[dict[str, object]]] = []

    def answer(messages: list[dict[str, object]]) -> str:
        asked.append(messages)
        return SUMMARY

    async with Compactor(MemoryStore(), model=answer, window=4_000, counter=Estimator()) as shared:
        conversation = await shared.open("task")
        await work(conversation, 12)
        result = await conversation.compact()
        assert result.success
        assert "The totals were rounded per line." in result.summary
        assert result.record is not None
        assert result.record.receipt.model == "function:answer"
        assert shared.model_name == "function:answer"
    assert asked[0][0]["role"] == "user"


def _of_nothing() -> str:
    return SUMMARY


def _of_three(_: object, __: object, ___: object) -> str:
    return SUMMARY


def _of_a_name(*, _: object) -> str:
    return SUMMARY


def _of_one_or_two(_: object, __: float = 0.5) -> str:
    return SUMMARY


def _of_anything(*_: object, **__: object) -> str:
    return SUMMARY


@pytest.mark.parametrize("given", [_of_nothing, _of_three, _of_a_name])
async def test_a_function_that_cannot_take_the_messages_is_refused_where_it_is_given(given: Any) -> None:
    with pytest.raises(InvalidInput, match="cannot be called with the messages"):
        Compactor(MemoryStore(), model=given)


@pytest.mark.parametrize("given", [_of_one_or_two, _of_anything, max])
async def test_a_function_with_more_that_may_be_left_out_is_taken_and_so_is_one_written_in_c(
    given: Any,
) -> None:
    assert FunctionModel(given).name == f"function:{given.__name__}"
