"""llama-index: `ChatSummaryMemoryBuffer.get` with a limit that is never reached, so that nothing is summarised.

Its tokenizer returns the tokens themselves: for four characters a token a `range` of that length, which costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.memory import ChatSummaryMemoryBuffer

from benchmarks.peers.bench import Case, Count, Said, main


def message(said: Said) -> ChatMessage:
    match said.role:
        case "user":
            return ChatMessage(role="user", content=said.text)
        case "call":
            call = {"id": said.call_id, "function": {"name": "read", "arguments": said.text}}
            return ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": [call]})
        case "result":
            return ChatMessage(
                role="tool", content=said.text, additional_kwargs={"tool_call_id": said.call_id}
            )
        case "answer":
            return ChatMessage(role="assistant", content=said.text)


class Buffer:
    def __init__(self, said: Sequence[Said], count: Count) -> None:
        tokenizer: Callable[[str], Any] = lambda text: range(count(text))  # noqa: E731 - its type is asked for
        self.messages = [message(one) for one in said]
        self.memory = ChatSummaryMemoryBuffer.from_defaults(
            llm=MockLLM(), token_limit=10**9, tokenizer_fn=tokenizer
        )

    def add(self, index: int) -> None:
        self.memory.put(self.messages[index])

    def turn(self, index: int) -> None:
        self.memory.put(self.messages[index])
        self.memory.get()

    def settle(self) -> None:
        pass


CASES = (Case(operation="ChatSummaryMemoryBuffer.get", make=Buffer),)

if __name__ == "__main__":
    main("llama-index-core", CASES)
