"""What a provider is sent and what is read from it: with our own wire formats, and without any SDK."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from anyio import run_process
from hypothesis import given
from hypothesis import strategies as st

from autocompact.chat import ChatConfig
from autocompact.chat import events as chat
from autocompact.chat.thinking_tags import BEGIN, END, thinking_and_words
from autocompact.core.messages import Reasoning
from autocompact.testing import Answer, FakeProvider
from autocompact.testing.provider import Received
from tests.chat.chatting import ANTHROPIC, APIS, CHAT, RESPONSES, Heard, asked, call, chatting

pytestmark = pytest.mark.anyio

ASKING = """
import asyncio, sys
from pathlib import Path
from typing import Any
from autocompact.chat import ChatConfig, opened

async def main(folder, url, model):
    environ = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "OPENAI_BASE_URL": url + "/v1", "ANTHROPIC_BASE_URL": url}
    async with opened(Path(folder) / "chats.db", config=ChatConfig(model=model), environ=environ) as service:
        session = await service.create()
        await session.send("Hello.")
        ended = await session.wait()
        print(ended.outcome, *sorted({"anthropic", "openai", "httpx", "pydantic", "pydantic_ai"} & sys.modules.keys()))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("model", APIS)
async def test_no_sdk_is_imported(tmp_path: Path, model: str) -> None:
    async with FakeProvider("Hello.") as provider:
        command = [sys.executable, "-c", ASKING, str(tmp_path), provider.url, model]
        done = await run_process(command, env={"PYTHONPATH": "src"}, stderr=subprocess.STDOUT, check=False)
    assert done.stdout.decode() == "finished\n"


async def second_request(folder: Path, model: str, *, then: str = "") -> Received:
    """The request after an answer with thinking and a call, or the first one to the model ``then``."""
    (folder / "a.txt").write_text("A")
    replies = [
        Answer(reasoning="Hm.", calls=(call("read_file", path="a.txt"),)),
        Answer(text="It is A.", reasoning="Ah."),
        "Yes.",
    ]
    config = ChatConfig(model=model, workspace=folder)
    async with FakeProvider(replies) as provider, chatting(folder, provider, config=config) as service:
        session = await service.create()
        await asked(session, "What is in it?")
        if then:
            await session.choose_model(then)
        await asked(session, "Sure?")
        return provider.requests[-1]


@pytest.mark.parametrize("model", APIS)
async def test_thinking_goes_back_to_its_own_model_and_to_no_other(tmp_path: Path, model: str) -> None:
    own = await second_request(tmp_path, model)
    assert b"Hm." in own.raw
    assert b"Ah." in own.raw
    other = await second_request(tmp_path, model, then=f"{model}-2")
    assert b"Hm." not in other.raw
    assert b"It is A." in other.raw


async def test_what_stays_the_same_is_marked_for_anthropics_cache(tmp_path: Path) -> None:
    body: Any = (await second_request(tmp_path, ANTHROPIC)).body
    mark = {"type": "ephemeral"}
    system, tools = body["system"], body["tools"]
    assert [body["cache_control"], system[-1]["cache_control"], tools[-1]["cache_control"]] == [mark] * 3
    assert [tool.get("cache_control") for tool in tools[:-1]] == [None] * (len(tools) - 1)


async def test_responses_keeps_nothing_and_sends_its_thinking_sealed(tmp_path: Path) -> None:
    body: Any = (await second_request(tmp_path, RESPONSES)).body
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert {tool["strict"] for tool in body["tools"]} == {False}


async def test_members_of_the_settings_win_over_ours(tmp_path: Path) -> None:
    config = ChatConfig(model=RESPONSES, extra={"include": [], "service_tier": "flex"})
    async with FakeProvider("Hi.") as provider, chatting(tmp_path, provider, config=config) as service:
        await asked(await service.create(), "Hello.")
        body = provider.requests[-1].body
    assert (body["include"], body["service_tier"]) == ([], "flex")


@pytest.mark.parametrize("model", APIS)
async def test_a_server_that_does_not_stream_is_understood(tmp_path: Path, model: str) -> None:
    replies = [Answer(text="Said at once.", reasoning="Hm.")]
    async with (
        FakeProvider(replies) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=model)) as service,
    ):
        provider.fail("unstreamed")
        log = await asked(await service.create(), "Hello.")
    assert log[-1].text == "Said at once."


async def test_thinking_in_tags_is_told_apart_while_it_streams_and_in_the_log(tmp_path: Path) -> None:
    words = f"\n{BEGIN}\nFirst this, then that.\n{END}\n\nIt is **A**, not {BEGIN}."
    async with (
        FakeProvider([words]) as provider,
        chatting(tmp_path, provider, config=ChatConfig(model=CHAT)) as service,
    ):
        session = await service.create()
        heard = Heard(session)
        log = await asked(session, "Hello.")
    thought = "".join(event.text for event in heard.of(chat.ReasoningDelta))
    said = "".join(event.text for event in heard.of(chat.TextDelta))
    assert (thought, said) == ("First this, then that.", f"It is **A**, not {BEGIN}.")
    (reasoning,) = [part for part in log[-1].parts if isinstance(part, Reasoning)]
    assert (reasoning.text, log[-1].text) == (thought, said)


@given(st.lists(st.sampled_from([BEGIN, END, "<", "think>", "</", "a", " ", "\n"])))
def test_what_was_told_apart_only_grows_while_an_answer_comes(pieces: list[str]) -> None:
    texts = ["".join(pieces[:size]) for size in range(len(pieces) + 1)]
    for (thinking, words), (more_thinking, more_words) in pairwise(map(thinking_and_words, texts)):
        assert more_thinking.startswith(thinking)
        assert more_words.startswith(words)


@pytest.mark.parametrize("text", ["", "a", "a <think>b</think>", "<thinking>a", "< think>a", "<thought>"])
def test_an_answer_without_the_tag_at_its_beginning_is_words(text: str) -> None:
    assert thinking_and_words(text) == ("", text)
