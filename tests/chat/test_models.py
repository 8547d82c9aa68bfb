"""Which models the chat finds, and changing from one to another in the midst of a conversation."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocompact.chat import ChatConfig, run_command
from autocompact.chat.model_choices import access, choice_of, offered, probed
from autocompact.errors import InvalidInput
from autocompact.testing import Answer, FakeProvider
from autocompact.testing.provider import Received
from tests.chat.chatting import ANTHROPIC, APIS, CHAT, RESPONSES, asked, call, chatting

pytestmark = pytest.mark.anyio

HERE = "http://127.0.0.1:9"  # nobody answers there


@pytest.mark.parametrize(
    "environ, names",
    [
        ({}, ["offline"]),
        ({"OPENAI_API_KEY": "k"}, ["openai:gpt-5-mini", "offline"]),
        ({"ANTHROPIC_API_KEY": "k"}, ["anthropic:claude-haiku-4-5", "offline"]),
        (
            {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"},
            ["anthropic:claude-haiku-4-5", "openai:gpt-5-mini", "offline"],
        ),
        ({"OPENAI_BASE_URL": HERE}, ["offline"]),
        ({"OPENAI_BASE_URL": HERE, "AUTOCOMPACT_MODEL": "qwen3:8b"}, ["compatible:qwen3:8b", "offline"]),
        (
            {"OPENAI_BASE_URL": HERE, "ANTHROPIC_API_KEY": "k", "AUTOCOMPACT_MODEL": "claude-sonnet-4-5"},
            ["anthropic:claude-sonnet-4-5", "offline"],
        ),
        ({"OLLAMA_HOST": "127.0.0.1:1", "AUTOCOMPACT_MODEL": "qwen3:8b"}, ["ollama:qwen3:8b", "offline"]),
        ({"OPENAI_API_KEY": "k", "AUTOCOMPACT_MODEL": "offline"}, ["offline", "openai:gpt-5-mini"]),
        (
            {"OPENAI_API_KEY": "k", "AUTOCOMPACT_MODEL": "llamacpp:x"},
            ["llamacpp:x", "openai:gpt-5-mini", "offline"],
        ),
    ],
)
def test_what_the_environment_offers(environ: dict[str, str], names: list[str]) -> None:
    assert [choice.name for choice in offered(environ)] == names


def test_models_of_the_large_providers_are_known_by_their_names_alone() -> None:
    assert choice_of("claude-haiku-4-5").name == ANTHROPIC
    assert choice_of("gpt-5-mini").name == "openai:gpt-5-mini"
    with pytest.raises(InvalidInput, match="PROVIDER:MODEL"):
        choice_of("nobody")


async def test_servers_on_this_machine_are_asked_for_their_models() -> None:
    async with (
        FakeProvider(models=["qwen3:8b", "llama3"]) as ollama,
        FakeProvider(models=["gemma"]) as llamacpp,
        FakeProvider(models=["mine"], api_key="k") as own,
    ):
        found = await probed(
            {
                "OLLAMA_HOST": ollama.url.removeprefix("http://"),
                "LLAMACPP_HOST": llamacpp.url.removeprefix("http://"),
                "OPENAI_BASE_URL": f"{own.url}/v1",
                "OPENAI_API_KEY": "k",
            }
        )

    assert [choice.name for choice in found] == [
        *("ollama:qwen3:8b", "ollama:llama3"),
        "llamacpp:gemma",
        "compatible:mine",
    ]


async def test_servers_that_do_not_answer_offer_nothing() -> None:
    assert await probed({"OLLAMA_HOST": HERE, "LLAMACPP_HOST": HERE, "OPENAI_BASE_URL": HERE}) == ()


@pytest.mark.parametrize("variable, provider", [("OLLAMA_HOST", "ollama"), ("LLAMACPP_HOST", "llamacpp")])
async def test_a_model_on_this_machine_answers(tmp_path: Path, variable: str, provider: str) -> None:
    async with FakeProvider(["Here I am."], models=["small"]) as server:
        environ = {variable: server.url, "OLLAMA_HOST": HERE, "LLAMACPP_HOST": HERE} | {variable: server.url}
        async with chatting(tmp_path, environ=environ) as service:
            session = await service.create()
            listed = await run_command("/model", session=session, service=service)
            await run_command(f"/model {provider}:small", session=session, service=service)
            log = await asked(session, "Where are you?")

    assert f"`{provider}:small`" in listed.text
    assert log[-1].text == "Here I am."


def test_a_model_whose_key_is_missing_says_which() -> None:
    with pytest.raises(InvalidInput, match="ANTHROPIC_API_KEY"):
        access(choice_of(ANTHROPIC), environ={})
    with pytest.raises(InvalidInput, match="OPENAI_BASE_URL"):
        access(choice_of(CHAT), environ={})


@pytest.mark.parametrize("compacting", [False, True])
async def test_changing_between_the_apis_keeps_every_context_valid(tmp_path: Path, compacting: bool) -> None:
    (tmp_path / "tides.txt").write_text("Bergen 06:12\n")

    def answer(request: Received) -> Answer:
        number = len(provider.requests)
        if "tool_result" in str(request.messages[-1]) or number % 2 == 0:
            return Answer(text="At 06:12.", reasoning="Found.")
        return Answer(
            text="Let me look.",
            reasoning="The file says it.",
            calls=(call("read_file", f"call_{number}", path="tides.txt"), call("tasks", f"other_{number}")),
        )

    config = ChatConfig(model=CHAT, workspace=tmp_path, summary_model="offline")
    switches = (ANTHROPIC, RESPONSES, CHAT, RESPONSES, ANTHROPIC, "offline", CHAT)
    async with (
        FakeProvider(answer) as provider,
        chatting(tmp_path, provider, config=config) as service,
    ):
        session = await service.create()
        await asked(session, "When is high water in Bergen?")
        for model in switches:
            await session.choose_model(model)
            if compacting:
                await session.compact()
            await session.send(f"And for {model}?")
            ended = await session.wait()
            assert ended is not None
            assert ended.outcome == "finished", ended.message
        requests = provider.requests
        models = {message.model for message in await session.conversation.history()}

    assert all(request.tokens for request in requests), "the provider refused a request"
    assert len(requests) == 14
    assert {name.partition(":")[2] for name in APIS} <= {model.partition(":")[2] or model for model in models}
