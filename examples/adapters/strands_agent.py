"""A Strands agent that never runs out of context: ``chat(model, ["Where do we change trains?"])``."""

from collections.abc import Iterable

from strands import Agent
from strands.agent.conversation_manager import NullConversationManager
from strands.models import Model

from autocompact import Compactor, SqliteStore
from autocompact.adapters.strands import Autocompact


def chat(model: Model, questions: Iterable[str], *, path: str = "chats.db") -> list[str]:
    hook = Autocompact(Compactor(SqliteStore(path), window=128_000), conversation="trip")
    agent = Agent(model=model, hooks=[hook], conversation_manager=NullConversationManager())
    return [str(agent(question)).strip() for question in questions]
