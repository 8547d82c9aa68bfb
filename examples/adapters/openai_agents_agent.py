"""An agent of the OpenAI Agents SDK that never runs out of context: ``asyncio.run(chat("gpt-5", ["Where do we change?"]))``."""

from collections.abc import Iterable

from agents import Agent, Model, Runner

from autocompact import Compactor, SqliteStore
from autocompact.adapters.openai_agents import AutocompactSession


async def chat(model: str | Model, questions: Iterable[str], *, path: str = "chats.db") -> list[str]:
    async with Compactor(SqliteStore(path), window=128_000) as compactor:
        agent, session = Agent(name="guide", model=model), AutocompactSession(compactor, conversation="trip")
        config = session.run_config()
        return [
            (await Runner.run(agent, question, session=session, run_config=config)).final_output
            for question in questions
        ]
