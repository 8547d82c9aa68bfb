"""An agent of Pydantic AI that never runs out of context: ``python examples/adapters/pydantic_ai_agent.py MODEL``."""

import sys
from typing import Any

from pydantic_ai import Agent

from autocompact import Compactor, SqliteStore
from autocompact.adapters.pydantic_ai import AutocompactCapability


def agent(model: Any, *, path: str = "chats.db") -> Agent[None, str]:
    compactor = Compactor(SqliteStore(path), window=128_000)
    return Agent(model, capabilities=[AutocompactCapability(compactor)])


if __name__ == "__main__":
    trip, history = agent(sys.argv[1]), []
    while words := input("you: "):
        result = trip.run_sync(words, message_history=history, conversation_id="trip")
        history = result.all_messages()
        print(result.output)
