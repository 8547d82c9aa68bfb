"""The examples of the adapters run, before a scripted model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from autocompact import Compactor, SqliteStore
from examples.adapters import langchain_agent, pydantic_ai_agent

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("F3")]

ROOT = Path(__file__).parents[2]


async def test_langchain(tmp_path: Path) -> None:
    path = str(tmp_path / "chats.db")
    model = GenericFakeChatModel(messages=iter([AIMessage("Hello!"), AIMessage("At Mainz.")]))
    agent = langchain_agent.agent(model, path=path)
    config = {"configurable": {"thread_id": "trip"}}
    for words in ("Hello.", "Where do we change?"):
        state = await agent.ainvoke({"messages": [("user", words)]}, config)
    assert state["messages"][-1].text == "At Mainz."
    async with Compactor(SqliteStore(path), window=128_000) as compactor:
        log = await (await compactor.open("trip")).history()
    assert [message.text for message in log] == ["Hello.", "Hello!", "Where do we change?", "At Mainz."]


async def test_pydantic_ai(tmp_path: Path) -> None:
    path = str(tmp_path / "chats.db")
    said = iter(["Hello!", "At Mainz."])

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart(next(said))])

    model = FunctionModel(answer)
    agent, history = pydantic_ai_agent.agent(model, path=path), []
    for words in ("Hello.", "Where do we change?"):
        result = await agent.run(words, message_history=history, conversation_id="trip")
        history = result.all_messages()
    assert result.output == "At Mainz."
    async with Compactor(SqliteStore(path), window=128_000) as compactor:
        log = await (await compactor.open("trip")).history()
    assert [message.text for message in log] == ["Hello.", "Hello!", "Where do we change?", "At Mainz."]


@pytest.mark.parametrize("name", ["langchain", "pydantic-ai"])
def test_the_page_shows_the_example(name: str) -> None:
    page = (ROOT / f"docs/guides/adapters/{name}.md").read_text(encoding="utf-8")
    shown = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    example = f"examples/adapters/{name.replace('-', '_')}_agent.py"
    assert shown[0] == (ROOT / example).read_text(encoding="utf-8")


def test_the_lowest_release_that_is_tested_is_the_one_that_the_extra_allows() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for path in (ROOT / "tools" / "adapters").glob("*.in"):
        framework, lowest = path.read_text(encoding="utf-8").splitlines()[0].split("==")
        extra = re.search(rf'"{re.escape(framework)}>=([\d.]+)[";]', pyproject)
        assert extra is not None
        assert lowest.removesuffix(".0") == extra[1].removesuffix(".0")
        assert f"{framework}=={lowest}" in path.with_suffix(".txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "pins", sorted((ROOT / "tools" / "adapters").glob("*.in")), ids=lambda path: path.stem
)
def test_the_page_names_the_lowest_and_the_newest_release_that_the_suite_runs_with(pins: Path) -> None:
    page = (ROOT / f"docs/guides/adapters/{pins.stem.replace('_', '-')}.md").read_text(encoding="utf-8")
    framework, lowest = pins.read_text(encoding="utf-8").splitlines()[0].split("==")
    lock = (ROOT / "uv.lock").read_text(encoding="utf-8")
    newest = re.search(rf'^name = "{re.escape(framework)}"\nversion = "([\d.]+)"$', lock, re.MULTILINE)
    assert newest is not None
    named = re.findall(r"\d+(?:\.\d+)+", page)
    assert {lowest, newest[1]} - set(named) == set()
