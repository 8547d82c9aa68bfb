"""An agent of LangChain whose threads never run out of context: ``python examples/adapters/langchain_agent.py MODEL``."""

import sys
from typing import Any

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] - its checkpointer is of an unknown type
from langgraph.checkpoint.memory import InMemorySaver

from autocompact import Compactor, SqliteStore
from autocompact.adapters.langchain import AutocompactMiddleware


def agent(model: Any, *, path: str = "chats.db") -> Any:
    compactor = Compactor(SqliteStore(path), window=128_000)
    return create_agent(
        model, tools=[], middleware=[AutocompactMiddleware(compactor)], checkpointer=InMemorySaver()
    )


if __name__ == "__main__":
    state = agent(sys.argv[1]).invoke(
        {"messages": [("user", input("you: "))]}, {"configurable": {"thread_id": "trip"}}
    )
    print(state["messages"][-1].text)
