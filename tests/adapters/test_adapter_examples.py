"""The examples of the adapters run, with models that say what is planned."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import agent_framework as af
import pytest
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

EXAMPLES = Path(__file__).parents[2] / "examples" / "adapters"
QUESTIONS = ["Where do we change trains?", "And when?"]

pytestmark = [
    pytest.mark.requirement("F3"),
    pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning"),  # ADK's own, once a process
]


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Llm(BaseLlm):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse]:
        said = f"answer to {len(llm_request.contents)}"
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=said)]))


class Client(af.FunctionInvocationLayer, af.ChatMiddlewareLayer, af.BaseChatClient):
    OTEL_PROVIDER_NAME = "example"

    async def _answer(self, messages: Any) -> af.ChatResponse:
        return af.ChatResponse(messages=[af.Message("assistant", [f"answer to {len(messages)}"])])

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **kwargs: Any) -> Any:
        return self._answer(messages)


def test_the_example_of_google_adk(tmp_path: Path) -> None:
    chat = example("google_adk_agent").chat
    said = asyncio.run(chat(Llm(model="any"), QUESTIONS, path=str(tmp_path / "chats.db")))
    assert said == ["answer to 1", "answer to 3"]


def test_the_example_of_agent_framework(tmp_path: Path) -> None:
    chat = example("agent_framework_agent").chat
    said = asyncio.run(chat(Client(), QUESTIONS, path=str(tmp_path / "chats.db")))
    assert said == ["answer to 1", "answer to 3"]
