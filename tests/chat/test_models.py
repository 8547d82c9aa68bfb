"""Which models the chat finds, and changing from one to another in the midst of a conversation."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocompact.chat import ChatConfig, run_command
from autocompact.chat.model_choices import Kept, access, choice_of, offered, probed
from autocompact.chat.model_lists import Api, model_names, try_model
from autocompact.errors import InvalidInput, ModelRefused, ModelUnavailable
from autocompact.testing import Answer, FakeProvider
from autocompact.testing.provider import Received
from tests.chat.chatting import ANTHROPIC, APIS, CHAT, RESPONSES, asked, call, chatting

pytestmark = pytest.mark.anyio

HERE = "http://127.0.0.1:9"  # nobody answers there
NOBODY = {f"{name}_HOST": HERE for name in ("OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM")}


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
        FakeProvider(models=["llama-4"]) as vllm,
        FakeProvider(models=["mine"], api_key="k") as own,
    ):
        found = await probed(
            {
                "OLLAMA_HOST": ollama.url.removeprefix("http://"),
                "LLAMACPP_HOST": llamacpp.url.removeprefix("http://"),
                "LMSTUDIO_HOST": HERE,
                "VLLM_HOST": vllm.url,
                "OPENAI_BASE_URL": f"{own.url}/v1",
                "OPENAI_API_KEY": "k",
            }
        )

    assert [choice.name for choice in found] == [
        *("ollama:qwen3:8b", "ollama:llama3"),
        "llamacpp:gemma",
        "vllm:llama-4",
        "compatible:mine",
    ]


async def test_servers_that_do_not_answer_offer_nothing() -> None:
    assert await probed({**NOBODY, "OPENAI_BASE_URL": HERE}) == ()


def test_a_kept_key_goes_to_the_address_that_it_was_entered_for_and_nowhere_else() -> None:
    kept = Kept(
        keys={"https://api.anthropic.com": "a", "https://own.example/v1": "o"}, base_url="https://own.example"
    )
    assert [choice.name for choice in offered({}, kept=kept)] == [ANTHROPIC, "offline"]
    assert access(choice_of(ANTHROPIC), environ={}, kept=kept).api_key == "a"
    found = access(choice_of("compatible:x"), environ={"OPENAI_API_KEY": "env"}, kept=kept)
    assert (found.base_url, found.api_key) == ("https://own.example/v1", "o")
    with pytest.raises(InvalidInput, match="ANTHROPIC_API_KEY"):
        access(choice_of(ANTHROPIC), environ={"ANTHROPIC_BASE_URL": "https://else.example"}, kept=kept)
    other = Kept(keys=kept.keys, base_url="https://else.example")
    assert access(choice_of("compatible:x"), environ={"OPENAI_API_KEY": "env"}, kept=other).api_key == ""
    assert "own.example" not in repr(kept)


async def test_the_models_of_a_provider_are_a_test_of_its_key() -> None:
    async with FakeProvider(models=["large"], api_key="k-0123456789") as provider:
        apis: dict[Api, str] = {"openai": f"{provider.url}/v1", "anthropic": provider.url}
        for api, base_url in apis.items():
            assert await model_names(base_url, key="k-0123456789", seconds=9, api=api) == ("large",)
            with pytest.raises(ModelRefused) as caught:
                await model_names(base_url, key="k-wrong-9876543210", seconds=9, api=api)
            assert "9876543210" not in str(caught.value)
        with pytest.raises(ModelRefused, match="base URL"):
            await model_names(f"{provider.url}/v2", key="k-0123456789", seconds=9)
        await try_model(f"{provider.url}/v1", "large", key="k-0123456789", seconds=9)
        with pytest.raises(ModelRefused):
            await try_model(f"{provider.url}/v1", "none", key="k-0123456789", seconds=9)
    with pytest.raises(ModelUnavailable, match="nobody answers at"):
        await model_names(HERE, key="", seconds=9)


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
