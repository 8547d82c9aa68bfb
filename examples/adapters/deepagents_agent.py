"""A deep agent whose threads never run out of context: ``python examples/adapters/deepagents_agent.py MODEL``."""

import sys
from typing import Any

from deepagents import create_deep_agent  # pyright: ignore[reportUnknownVariableType] - its types are LangChain's
from langgraph.checkpoint.memory import InMemorySaver

from autocompact import Compactor, SqliteStore
from autocompact.adapters.deepagents import AutocompactMiddleware


def agent(model: Any, *, path: str = "chats.db") -> Any:
    compactor = Compactor(SqliteStore(path), window=128_000)
    return create_deep_agent(
        model, middleware=[AutocompactMiddleware(compactor)], checkpointer=InMemorySaver()
    )


if __name__ == "__main__":
    state = agent(sys.argv[1]).invoke(
        {"messages": [("user", input("you: "))]}, {"configurable": {"thread_id": "trip"}}
    )
    print(state["messages"][-1].text)
