"""An agent whose provider compacts for it, with the providers' own clients."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import anthropic
import openai

from autocompact.core.messages import Dialect, ToolCall
from autocompact.testing import Answer, Received
from tests.gateway.speakers import PARAMETERS, Json

DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai_responses")
RULE = "Never push to main without my approval."
CAUSE = "The upload fails because the token of the night worker expires after an hour."
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
LIMIT = 1_900
"""Tokens at which the provider compacts."""

Sends = Literal["whole", "block"]
"""What a client sends once its provider has compacted: the whole history, or what begins with the block."""


def model(asked: Received) -> Answer:
    """Reads a file in each turn, says once why it fails, and then is done."""
    last = asked.messages[-1]
    text = str(last)
    if "tool_result" in text or "function_call_output" in text:
        return Answer(text=CAUSE if "module 1." in text else "Read.")
    number = len(asked.raw)
    return Answer(calls=(ToolCall(id=f"call_{number}", name="read", arguments='{"n":1}'),))


def printed(turn: int) -> str:
    return f"module {turn}. " + f"The build of module {turn} printed line after line. " * 30


@dataclass(slots=True, kw_only=True)
class Agent:
    """Asks, calls its tool, and keeps what its provider's documents say.

    Attributes:
        dialect: the API.
        client: the provider's.
        sends: what it sends after a compaction.
        stream: whether it has the answers streamed.
        headers: of the last answer.
        compactions: the blocks that came, as they came.
    """

    dialect: Dialect
    client: Any
    sends: Sends = "whole"
    stream: bool = False
    limit: int = LIMIT
    history: list[Json] = field(default_factory=list[Json])
    headers: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])
    compactions: list[Json] = field(default_factory=list[Json])

    @property
    def actions(self) -> list[str]:
        """What the gateway did, answer for answer."""
        return [headers["x-autocompact-action"] for headers in self.headers]

    async def say(self, text: str, *, turn: int) -> None:
        """One turn of the user, with a call of the tool."""
        self.history.append({"role": "user", "content": text})
        calls = await self.ask()
        for call in calls:
            self.history.append(self._result(call, printed(turn)))
            await self.ask()

    def _result(self, call: str, text: str) -> Json:
        if self.dialect == "anthropic":
            return {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": call, "content": text}],
            }
        return {"type": "function_call_output", "call_id": call, "output": text}

    async def ask(self) -> list[str]:
        """One request; the calls that the model makes."""
        anthropic_ = self.dialect == "anthropic"
        said = await (self._anthropic() if anthropic_ else self._openai())
        blocks: list[Json] = said["content"] if anthropic_ else said["output"]
        self.history += [{"role": "assistant", "content": blocks}] if anthropic_ else blocks
        if found := [block for block in blocks if block["type"] == "compaction"]:
            self.compactions += found
            if self.sends == "block":
                del self.history[: -1 if anthropic_ else -len(blocks)]
        return [
            block["id" if anthropic_ else "call_id"]
            for block in blocks
            if block["type"].endswith(("tool_use", "function_call"))
        ]

    async def _anthropic(self) -> Json:
        edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": self.limit}}
        body: Json = {
            "model": "m",
            "max_tokens": 500,
            "system": "You build modules.",
            "messages": self.history,
            "tools": [{"name": "read", "description": "Read a file.", "input_schema": PARAMETERS}],
            "betas": ["compact-2026-01-12"],
            "context_management": {"edits": [edit]},
            "cache_control": {"type": "ephemeral"},
        }
        api = self.client.beta.messages
        if self.stream:
            async with api.stream(**body) as events:
                self.headers.append(events.response.headers)
                return _plain(await events.get_final_message())
        told = await api.with_raw_response.create(**body)
        self.headers.append(told.headers)
        return _plain(await told.parse())

    async def _openai(self) -> Json:
        body: Json = {
            "model": "m",
            "instructions": "You build modules.",
            "input": self.history,
            "tools": [{"type": "function", "name": "read", "parameters": PARAMETERS, "strict": False}],
            "store": False,
            "context_management": [{"type": "compaction", "compact_threshold": self.limit}],
        }
        if not self.stream:
            told = await self.client.responses.with_raw_response.create(**body)
            self.headers.append(told.headers)
            return _plain(told.parse())
        told = await self.client.responses.with_raw_response.create(**body, stream=True)
        self.headers.append(told.headers)
        async for event in told.parse():
            if event.type == "response.completed":
                return _plain(event.response)
        raise AssertionError("the stream did not end")


def _plain(told: Any) -> Json:
    return told.to_dict(exclude_none=True)


@asynccontextmanager
async def agent(dialect: Dialect, url: str, **options: Any) -> AsyncGenerator[Agent]:
    """An agent that asks at ``url``."""
    if dialect == "anthropic":
        async with anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0) as client:
            yield Agent(dialect=dialect, client=client, **options)
    else:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
            yield Agent(dialect=dialect, client=client, **options)


async def build(agent: Agent, turns: int = 12, *, first: int = 0) -> None:
    """A conversation of so many turns, which begins with a rule and a secret."""
    for turn in range(first, first + turns):
        start = f"{RULE} The token is {SECRET}. " if not turn else ""
        await agent.say(f"{start}Please build module {turn}.", turn=turn)


def added(asked: Received) -> list[str]:
    """The texts in a request that stand beside a compaction."""
    blocks = [
        block
        for message in asked.messages
        for block in (message["content"] if isinstance(message.get("content"), list) else ())
    ]
    texts = (str(block.get("text", "")) for block in blocks)
    return [text for text in texts if text.startswith("# Conversation Record")]
