"""Exceptions of the SDKs, raised by the real ones before a strict provider."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from anthropic import AsyncAnthropic
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI
from pydantic import SecretStr

from autocompact.errors import ModelOverflow
from autocompact.models.sdk_errors import is_overflow
from autocompact.testing.provider import FakeProvider, FaultKind, Flavour

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("F3")]

FLAVOURS: list[Flavour] = ["openai", "vllm", "llama_cpp", "gemini", "ollama"]
OTHERS: list[FaultKind] = ["rate_limit", "server_error", "garbage"]


async def openai(provider: FakeProvider) -> None:
    async with AsyncOpenAI(base_url=provider.base_url, api_key="fake", max_retries=0) as client:
        await client.chat.completions.create(model="any", messages=[{"role": "user", "content": "Hello."}])


async def responses(provider: FakeProvider) -> None:
    async with AsyncOpenAI(base_url=provider.base_url, api_key="fake", max_retries=0) as client:
        await client.responses.create(model="any", input="Hello.")


async def anthropic(provider: FakeProvider) -> None:
    async with AsyncAnthropic(base_url=provider.url, api_key="fake", max_retries=0) as client:
        await client.messages.create(
            model="any", max_tokens=100, messages=[{"role": "user", "content": "Hello."}]
        )


async def langchain_openai(provider: FakeProvider) -> None:
    model = ChatOpenAI(model="any", base_url=provider.base_url, api_key=SecretStr("fake"), max_retries=0)
    await asyncio.to_thread(model.invoke, "Hello.")


async def langchain_anthropic(provider: FakeProvider) -> None:
    model = ChatAnthropic.model_validate(
        {"model": "any", "base_url": provider.url, "api_key": "fake", "max_retries": 0}
    )
    await asyncio.to_thread(model.invoke, "Hello.")


Call = Callable[[FakeProvider], Awaitable[None]]
CALLS: list[Call] = [openai, responses, anthropic, langchain_openai, langchain_anthropic]
by_sdk = pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)


@by_sdk
@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_an_overflow_is_recognised_in_the_exception_and_in_what_wraps_it(
    call: Call, flavour: Flavour
) -> None:
    async with FakeProvider("Hello!", flavour=flavour) as provider:
        provider.fail("overflow")
        with pytest.raises(Exception) as raised:
            await call(provider)
    assert is_overflow(raised.value) is not None
    wrapper = RuntimeError("the run failed")
    wrapper.__cause__ = raised.value
    assert is_overflow(ExceptionGroup("several", [ValueError("x"), wrapper])) == is_overflow(raised.value)


@by_sdk
@pytest.mark.parametrize("kind", OTHERS)
async def test_another_failure_is_none(call: Call, kind: FaultKind) -> None:
    async with FakeProvider("Hello!") as provider:
        provider.fail(kind)
        with pytest.raises(Exception) as raised:
            await call(provider)
    assert is_overflow(raised.value) is None


class ContextWindowOverflowException(Exception):
    """As Strands raises it: without a response."""


class LLMContextWindowExceedError(Exception):
    """As OpenHands raises it."""


class ClientError(Exception):
    """As botocore raises it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.response = {
            "Error": {"Code": "ValidationException", "Message": message},
            "ResponseMetadata": {"HTTPStatusCode": 400},
        }


async def test_classes_that_say_it_and_bodies_with_capitals_are_known() -> None:
    assert is_overflow(ContextWindowOverflowException("it is too long")) is not None
    assert is_overflow(LLMContextWindowExceedError("it is too long")) is not None
    found = is_overflow(ModelOverflow("prompt is too long: 5 tokens > 3 maximum"))
    assert found is not None
    assert (found.requested, found.limit) == (5, 3)
    assert is_overflow(ClientError("Input is too long for requested model.")) is not None
    assert is_overflow(ClientError("The provided model identifier is invalid.")) is None


async def test_the_words_of_a_tool_are_no_overflow() -> None:
    assert is_overflow(ValueError("prompt is too long: 5 tokens > 3 maximum")) is None
