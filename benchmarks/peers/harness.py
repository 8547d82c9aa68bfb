"""pydantic-ai-harness: `estimate_context_tokens`, with usage reported in the history (anchored) and without.

Each request carries instructions, as an agent with a system prompt sends them: the harness looks for the newest
ones, and without any it would look through the whole history.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage
from pydantic_ai_harness.compaction import estimate_context_tokens
from pydantic_ai_harness.compaction._shared import find_token_cutoff

from benchmarks.peers.bench import Case, Count, Said, Stateless, main, quarter

INSTRUCTIONS = "You are a helpful assistant."


def messages(said: Sequence[Said], *, reported: bool) -> list[ModelMessage]:
    tokens, made = 0, list[ModelMessage]()
    for one in said:
        usage = RequestUsage(input_tokens=tokens, output_tokens=len(one.text) // 4) if reported else None
        made.append(message(one, usage or RequestUsage()))
        tokens += len(one.text) // 4
    return made


def message(said: Said, usage: RequestUsage) -> ModelMessage:
    match said.role:
        case "user":
            return ModelRequest(parts=[UserPromptPart(said.text)], instructions=INSTRUCTIONS)
        case "call":
            call = ToolCallPart("read", {"path": said.text}, tool_call_id=said.call_id)
            return ModelResponse(parts=[call], usage=usage)
        case "result":
            result = ToolReturnPart("read", said.text, tool_call_id=said.call_id)
            return ModelRequest(parts=[result], instructions=INSTRUCTIONS)
        case "answer":
            return ModelResponse(parts=[TextPart(said.text)], usage=usage)


def estimate(said: Sequence[Said], count: Count, *, reported: bool) -> Stateless:
    tokenizer = None if count is quarter else count
    return Stateless(
        messages(said, reported=reported), lambda taken: estimate_context_tokens(taken, tokenizer)
    )


def cutoff(said: Sequence[Said], count: Count) -> Stateless:
    tokenizer = None if count is quarter else count
    return Stateless(messages(said, reported=True), lambda taken: find_token_cutoff(taken, 8_000, tokenizer))


CASES = (
    Case(operation="estimate_context_tokens, anchored", make=partial(estimate, reported=True)),
    Case(operation="estimate_context_tokens, not anchored", make=partial(estimate, reported=False)),
    Case(operation="find_token_cutoff", make=cutoff, once=True),
)

if __name__ == "__main__":
    main("pydantic-ai-harness", CASES)
