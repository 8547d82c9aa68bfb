"""An agent of agent-framework that never runs out of context: ``asyncio.run(chat(client, ["Where do we change trains?"]))``."""

from collections.abc import Iterable
from typing import Any

from agent_framework import Agent

from autocompact import Compactor, SqliteStore
from autocompact.adapters.agent_framework import Autocompact


async def chat(client: Any, questions: Iterable[str], *, path: str = "chats.db") -> list[str]:
    async with Compactor(SqliteStore(path), window=128_000) as compactor:
        agent: Any = Agent(
            client=client, instructions="You are brief.", context_providers=[Autocompact(compactor)]
        )
        session = agent.create_session(session_id="trip")
        return [(await agent.run(question, session=session)).text for question in questions]
