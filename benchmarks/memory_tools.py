"""What the memory tools of the gateway cost, and what they spare: one scripted agent session with and without them.

    python -m benchmarks.memory_tools [--turns 200] [--window 60000]

An agent of Anthropic's API, which marks its cache as Claude Code does, reads one file a turn. Every eighth turn it needs a
line of a file that it read at least 30 turns ago. With the tools the model searches for it. Without them it reads the file
again, unless the line is still in its context. The fake provider counts what its cache serves; the prices are Claude Sonnet's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from autocompact.core.messages import ToolCall
from autocompact.gateway import Config, Gateway
from autocompact.gateway.server import running
from autocompact.stores.memory import MemoryStore
from autocompact.stores.memory_index import MemoryIndex
from autocompact.testing import Answer, FakeProvider, Received

PER_MILLION = {"input": 3.0, "read": 0.3, "written": 3.75, "output": 15.0}
EVERY, AGO = 8, 30
TOOL: Any = {
    "name": "read",
    "description": "Read a file of the project.",
    "input_schema": {"type": "object", "properties": {"part": {"type": "integer"}}, "required": ["part"]},
}
SYSTEM = "You are careful. " + "Follow the conventions of this project in all that you write. " * 400


def fact(number: int) -> str:
    return f"limit_of_shard_{number} = {(number * 7919) % 10_007}"


def part(number: int) -> str:
    """A file of about 1,500 tokens, with one line that is asked for later."""
    lines = [f"def step_{number}_{line}(x): return x + {line * number % 97}" for line in range(70)]
    return "\n".join([*lines[:40], fact(number), *lines[40:]])


@dataclass(kw_only=True)
class Model:
    """The script: reads part after part; where it needs a line, it looks it up as it can.

    Attributes:
        needs: it needs earlier lines.
    """

    needs: bool
    turn: int = 0
    needed_in: int = 0
    wanted: int = 0
    asked: int = 0
    searched: int = 0
    read_again: int = 0
    calls: int = 0
    chosen: random.Random = field(default_factory=lambda: random.Random(7))

    def __call__(self, request: Received) -> Answer:
        text = request.raw.decode()
        if self.wanted and fact(self.wanted) in text:
            self.wanted = 0
        elif self.wanted and '"memory_search"' in text and not self.searched_last(request):
            self.searched += 1
            query = json.dumps({"query": f"limit_of_shard_{self.wanted}"})
            return Answer(text="I look that up.", calls=(self.call("memory_search", query),))
        elif self.wanted:
            self.read_again += 1
            return self.reading(self.wanted)
        self.turn += 1
        if self.needs and self.turn > AGO and self.turn % EVERY == 0 and self.needed_in < self.turn:
            self.needed_in = self.turn
            self.asked += 1
            self.wanted = self.chosen.randrange(1, self.turn - AGO + 1)
            self.turn -= 1
            return self(request)
        return self.reading(self.turn)

    def searched_last(self, request: Received) -> bool:
        blocks: Any = request.messages[-1]["content"]
        return any(str(block.get("tool_use_id", "")).startswith("mem") for block in blocks)

    def reading(self, number: int) -> Answer:
        return Answer(text=f"I read part {number}.", calls=(self.call("read", json.dumps({"part": number})),))

    def call(self, name: str, arguments: str) -> ToolCall:
        self.calls += 1
        return ToolCall(
            id=f"{'mem' if name != 'read' else 'own'}_{self.calls}", name=name, arguments=arguments
        )


def marked(messages: list[Any]) -> list[Any]:
    """The messages with cache marks on the last two of the user, as Claude Code sets them."""
    shown = json.loads(json.dumps(messages))
    for message in [each for each in shown if each["role"] == "user"][-2:]:
        message["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return shown


def following(reply: Any) -> list[Any]:
    """The reply as the client appends it, with the results of its calls."""
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": part(block["input"]["part"])}
        for block in reply["content"]
        if block["type"] == "tool_use"
    ]
    return [{"role": "assistant", "content": reply["content"]}, {"role": "user", "content": results}]


async def session(*, turns: int, window: int, tools: bool, needs: bool) -> dict[str, Any]:
    """The figures of one run."""
    model = Model(needs=needs)
    asked = [{"type": "text", "text": "Go through all parts and tell me what you find."}]
    messages: list[Any] = [{"role": "user", "content": asked}]
    system = [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}]
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    compactions: set[str] = set()
    output = 0
    async with FakeProvider(model) as provider, aiohttp.ClientSession(headers=headers) as client:
        config = Config(
            upstreams={"anthropic": provider.url},
            namespace_key=b"a key of thirty-two bytes, or so",
            window=window,
            memory_tools=tools,
        )
        gateway = Gateway(config, store=MemoryStore(indexer=MemoryIndex()))
        async with running(gateway) as url:
            while model.turn < turns:
                body = {"model": "m", "max_tokens": 2_000, "system": system, "tools": [TOOL]}
                body["messages"] = marked(messages)
                async with client.post(f"{url}/v1/messages", json=body) as response:
                    reply = await response.json()
                    assert response.status == 200, reply
                    compactions.add(response.headers.get("x-autocompact-compaction", "none"))
                output += reply["usage"]["output_tokens"]
                messages += following(reply)
        received = provider.requests
    prompt, read = (sum(getattr(each, name) for each in received) for name in ("tokens", "cached"))
    cost = (
        (prompt - read) * PER_MILLION["written"] + read * PER_MILLION["read"] + output * PER_MILLION["output"]
    )
    return {
        "tools": tools,
        "asked": model.asked,
        "searched": model.searched,
        "read again": model.read_again,
        "requests": len(received),
        "compactions": len(compactions - {"none"}),
        "prompt": prompt,
        "cache reads": read,
        "dollars": round(cost / 1e6, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--window", type=int, default=60_000)
    given = parser.parse_args()
    for needs in (False, True):
        for tools in (False, True):
            figures = asyncio.run(session(turns=given.turns, window=given.window, tools=tools, needs=needs))
            sys.stdout.write(json.dumps(figures) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
