"""langchain: `SummarizationMiddleware.before_model` with a trigger that is never reached, as on most turns.

Messages have their ids already, so that it need not make any. The exact counter counts what langchain's own
approximate one looks at: contents and the arguments of calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately

from benchmarks.peers.bench import Case, Count, Said, Stateless, main, quarter

FRAMING = 4


def message(said: Said) -> BaseMessage:
    number = str(said.number)
    match said.role:
        case "user":
            return HumanMessage(said.text, id=number)
        case "call":
            call = {"name": "read", "args": {"path": said.text}, "id": said.call_id}
            return AIMessage("", tool_calls=[call], id=number)
        case "result":
            return ToolMessage(said.text, tool_call_id=said.call_id, id=number)
        case "answer":
            return AIMessage(said.text, id=number)


def tokens(messages: Sequence[Any], *, count: Count) -> int:
    return sum(
        FRAMING
        + count(message.content)
        + sum(count(call["args"]["path"]) for call in getattr(message, "tool_calls", ()))
        for message in messages
    )


def counting(count: Count) -> Any:
    """The peer's own counter for four characters a token, else one that counts with ``count``."""
    return count_tokens_approximately if count is quarter else partial(tokens, count=count)


def before_model(said: Sequence[Said], count: Count) -> Stateless:
    model = FakeListChatModel(responses=["A summary."])
    middleware = SummarizationMiddleware(
        model=model, trigger=("tokens", 10**9), token_counter=counting(count)
    )
    return Stateless(
        [message(one) for one in said],
        lambda messages: middleware.before_model({"messages": messages}, None),
    )


CASES = (Case(operation="SummarizationMiddleware.before_model", make=before_model),)

if __name__ == "__main__":
    main("langchain", CASES)
