"""An OpenHands agent that never runs out of context: ``chat(llm, ["Where do we change trains?"])``."""

from collections.abc import Iterable

from openhands.sdk import LLM, Agent, Conversation
from openhands.sdk.conversation import get_agent_final_response

from autocompact import Compactor, SqliteStore
from autocompact.adapters.openhands import AutocompactCondenser


def chat(llm: LLM, questions: Iterable[str], *, path: str = "chats.db", folder: str = ".") -> str:
    condenser = AutocompactCondenser(Compactor(SqliteStore(path), window=128_000))
    agent = Agent(llm=llm, condenser=condenser)
    conversation = Conversation(agent=agent, workspace=folder, callbacks=[condenser.on_event])
    for question in questions:
        conversation.send_message(question)
        conversation.run()
    return get_agent_final_response(conversation.state.events)
