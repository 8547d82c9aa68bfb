"""An agent of Google ADK that never runs out of context: ``asyncio.run(chat(model, ["Where do we change trains?"]))``."""

from collections.abc import Iterable

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm
from google.adk.runners import InMemoryRunner

from autocompact import Compactor, SqliteStore
from autocompact.adapters.google_adk import Autocompact


async def chat(model: BaseLlm, questions: Iterable[str], *, path: str = "chats.db") -> list[str]:
    async with Compactor(SqliteStore(path), window=128_000) as compactor:
        agent = LlmAgent(name="guide", model=model, instruction="You are brief.")
        runner = InMemoryRunner(app=App(name="trip", root_agent=agent, plugins=[Autocompact(compactor)]))
        return [
            event.content.parts[0].text or ""
            for question in questions
            for event in await runner.run_debug(question, quiet=True)
            if event.content and event.content.parts
        ]
