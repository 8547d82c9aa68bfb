"""What a client resends as instructions is no history: it goes upstream with each request as it came, in its newest version."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import aiohttp
import pytest

from autocompact.core.messages import ToolCall
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import Answer, FakeProvider, Received
from tests.gateway.serving import gateway_before
from tests.gateway.speakers import Json, Wire, encoded

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7", "A8", "D1")]

WINDOW = 12_000
TURNS = 40
REQUEST = "Read all the modules, and say what rounds to whole cents."
OUTPUT = "The module printed a line that is of no interest at all. " * 20
CLAUDE = (
    "<system-reminder>\nAs you answer, use this context:\n# claudeMd\nContents of /srv/project/CLAUDE.md (version {}):\n\n"
    "Never push without my approval. Use tabs.\n</system-reminder>\n"
)
SKILLS = (
    "<system-reminder>\nThe following skills are available:\n- review: look at a change\n</system-reminder>\n"
)
TODO = "<system-reminder>\nThe list of tasks has not been used for a while.\n</system-reminder>"
AGENTS = "# AGENTS.md instructions for /srv/project\n\n<INSTRUCTIONS>\nNever touch the generated files.\n</INSTRUCTIONS>"
PLACE = "<environment_context>\n  <cwd>/srv/project/{}</cwd>\n</environment_context>"


THOUGHTS = (
    "I looked at the module, compared what it prints with what it should, and go on to the next one. " * 20
)


def reader(asked: Received) -> Answer:
    """Talks a lot, so that it is not enough to mask what its tools printed."""
    call = ToolCall(id=f"call_{len(asked.messages)}", name="read", arguments='{"n":1}')
    return Answer(text=THOUGHTS, calls=(call,))


class ClaudeCode:
    """Its instructions stand in the first message of the user and in system messages of the conversation."""

    path = "/v1/messages"
    standing = (CLAUDE.format(1), SKILLS)
    later = CLAUDE.format(2)
    gone = ("list of tasks", "Today is day 5.", "version 1")
    """What a later version replaced, or was a remark of the moment."""

    rule = "Never push without my approval."

    def begun(self) -> list[Json]:
        blocks = [{"type": "text", "text": text} for text in (*self.standing, REQUEST)]
        return [{"role": "user", "content": blocks}]

    def turn(self, told: Any, turn: int) -> list[Json]:
        calls = [block for block in told["content"] if block["type"] == "tool_use"]
        blocks: list[Json] = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": OUTPUT} for call in calls
        ]
        if turn == 3:
            blocks.append({"type": "text", "text": TODO})
        if turn == 25:
            blocks.append({"type": "text", "text": self.later})
        said: list[Json] = [
            {"role": "assistant", "content": told["content"]},
            {"role": "user", "content": blocks},
        ]
        if turn in (5, 20):
            said.append({"role": "system", "content": f"# Environment\nToday is day {turn}."})
        if turn == 6:
            said.append(
                {"role": "system", "content": [{"type": "text", "text": "# Output style\nBe terse."}]}
            )
        return said

    def body(self, history: list[Json]) -> Json:
        tools = [{"name": "read", "input_schema": {"type": "object"}}]
        system = [{"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}}]
        return {"model": "m", "max_tokens": 500, "system": system, "tools": tools, "messages": history}

    def listed(self, body: Json) -> list[Json]:
        return body["messages"]

    def expected(self, turn: int) -> list[str]:
        """What must be there after so many turns, in this order."""
        told = [*self.standing] if turn < 25 else [self.standing[1], self.later]
        told += ["# Output style\nBe terse."] if turn >= 6 else []
        told += ["# Environment\nToday is day 20."] if turn >= 20 else []
        told += ["# Environment\nToday is day 5."] if 5 <= turn < 20 else []
        return [json.dumps(text)[1:-1] for text in told]


class Codex:
    """Its tools and its prompt are items of the list."""

    path = "/v1/responses"
    gone = ("/srv/project/a<",)
    rule = "Never touch the generated files."

    def begun(self) -> list[Json]:
        prompts = [
            "You are Codex.",
            "<permissions instructions>\nAsk first.\n</permissions instructions>",
            "Skills: none.",
        ]
        developer = [self._said("developer", [text]) for text in prompts]
        return [
            {
                "type": "additional_tools",
                "role": "developer",
                "tools": [{"type": "function", "name": "read", "parameters": {"type": "object"}}],
            },
            *developer,
            self._said("user", [AGENTS, PLACE.format("a")]),
            self._said("user", [REQUEST]),
        ]

    def _said(self, role: str, texts: list[str]) -> Json:
        return {
            "type": "message",
            "role": role,
            "content": [{"type": "input_text", "text": text} for text in texts],
        }

    def turn(self, told: Any, turn: int) -> list[Json]:
        said: list[Json] = []
        for item in told["output"]:
            if item["type"] == "message":
                said.append({"type": "message", "role": "assistant", "content": item["content"]})
            if item["type"] == "function_call":
                names = ("type", "call_id", "name", "arguments")
                said.append({name: item[name] for name in names})
                said.append({"type": "function_call_output", "call_id": item["call_id"], "output": OUTPUT})
        if turn == 5:
            said.append({"type": "configuration_update", "reasoning": {"effort": "high"}})
        if turn == 10:
            said.append(self._said("user", [PLACE.format("b")]))
        if turn == 12:
            said.append(self._said("developer", ["The user switched to plan mode."]))
        return said

    def body(self, history: list[Json]) -> Json:
        return {"model": "m", "input": history, "store": False, "max_output_tokens": 500}

    def listed(self, body: Json) -> list[Json]:
        return body["input"]

    def expected(self, turn: int) -> list[str]:
        """What must be there after so many turns, in this order."""
        first = [encoded(item).decode() for item in self.begun()[:4]]
        place = PLACE.format("b" if turn >= 10 else "a")
        update = encoded({"type": "configuration_update", "reasoning": {"effort": "high"}}).decode()
        mode = encoded(self._said("developer", ["The user switched to plan mode."])).decode()
        return [
            *first,
            json.dumps(AGENTS)[1:-1],
            *([json.dumps(place)[1:-1]] if turn < 10 else []),
            *([update] if turn >= 5 else []),
            *([json.dumps(place)[1:-1]] if turn >= 10 else []),
            *([mode] if turn >= 12 else []),
        ]


class ChatClient:
    """Over Chat Completions: a system message, reminders in the user's place, later system and developer messages."""

    path = "/v1/chat/completions"
    gone = ("list of tasks", "Today is day 5.", "version 1")
    rule = "Never push without my approval."

    def begun(self) -> list[Json]:
        return [
            {"role": "system", "content": "You are an agent."},
            {"role": "developer", "content": "Skills: none."},
            {"role": "user", "content": CLAUDE.format(1)},
            {
                "role": "user",
                "content": [{"type": "text", "text": SKILLS}, {"type": "text", "text": REQUEST}],
            },
        ]

    def turn(self, told: Any, turn: int) -> list[Json]:
        message = told["choices"][0]["message"]
        names = ("role", "content", "tool_calls")
        said: list[Json] = [{name: message[name] for name in names}]
        said += [
            {"role": "tool", "tool_call_id": call["id"], "content": OUTPUT} for call in message["tool_calls"]
        ]
        if turn == 3:
            said.append({"role": "user", "content": TODO})
        if turn in (5, 20):
            said.append({"role": "system", "content": f"# Environment\nToday is day {turn}."})
        if turn == 6:
            said.append(
                {"role": "developer", "content": [{"type": "text", "text": "# Output style\nBe terse."}]}
            )
        if turn == 25:
            said.append({"role": "user", "content": CLAUDE.format(2)})
        return said

    def body(self, history: list[Json]) -> Json:
        function = {"name": "read", "parameters": {"type": "object"}}
        tools = [{"type": "function", "function": function}]
        return {"model": "m", "max_completion_tokens": 500, "tools": tools, "messages": history}

    def expected(self, turn: int) -> list[str]:
        """What must be there after so many turns, in this order."""
        first = [encoded(item).decode() for item in self.begun()[:2]]
        told = [CLAUDE.format(1), SKILLS] if turn < 25 else [SKILLS]
        told += ["# Environment\nToday is day 5."] if 5 <= turn < 20 else []
        told += ["# Output style\nBe terse."] if turn >= 6 else []
        told += ["# Environment\nToday is day 20."] if turn >= 20 else []
        told += [CLAUDE.format(2)] if turn >= 25 else []
        return [*first, *(json.dumps(text)[1:-1] for text in told)]


AnyClient: TypeAlias = ClaudeCode | Codex | ChatClient


@dataclass(slots=True, kw_only=True)
class Agent:
    """Works on and on, and looks at what went upstream."""

    client: AnyClient
    wire: Wire
    provider: FakeProvider
    history: list[Json] = field(default_factory=list[Json])
    compactions: list[str] = field(default_factory=list[str])
    turns: int = 0

    async def work(self, turns: int, *, checked: bool = True) -> None:
        """So many turns."""
        self.history = self.history or self.client.begun()
        for _ in range(turns):
            body = encoded(self.client.body(self.history))
            status, headers, told = await self.wire.post(body)
            assert status == 200, told
            compaction = headers.get("x-autocompact-compaction", "none")
            if compaction != "none" and compaction not in self.compactions:
                self.compactions.append(compaction)
            if checked:
                self.check()
            self.turns += 1
            self.history += self.client.turn(json.loads(told), self.turns)

    def check(self) -> None:
        """All instructions stand in the last request, in order and before the summary, and the request as well."""
        raw = self.provider.requests[-1].raw.decode()
        places = [raw.find(text) for text in self.client.expected(self.turns)]
        assert -1 not in places, self.client.expected(self.turns)[places.index(-1)]
        assert REQUEST in raw
        if self.compactions and self.turns >= 30:
            summary = raw.index("# Conversation Summary")
            before_summary = [place for place in places if place < summary]
            assert before_summary == sorted(before_summary)
            assert before_summary


@asynccontextmanager
async def working(client: AnyClient, file: Path) -> AsyncGenerator[tuple[Agent, str]]:
    async with (
        FakeProvider(reader) as provider,
        gateway_before(provider, window=WINDOW, store=SqliteStore(file)) as url,
        aiohttp.ClientSession() as session,
    ):
        yield Agent(client=client, wire=Wire(session, url, path=client.path), provider=provider), url


CLIENTS = pytest.mark.parametrize(
    "client", [ClaudeCode(), Codex(), ChatClient()], ids=["Claude Code", "Codex", "Chat"]
)


@CLIENTS
async def test_instructions_outlive_any_number_of_compactions(client: AnyClient, tmp_path: Path) -> None:
    async with working(client, tmp_path / "db") as (agent, _):
        await agent.work(TURNS)
    assert len(agent.compactions) >= 3
    last = agent.provider.requests[-1].raw.decode()
    assert not [text for text in client.gone if text in last]
    assert last.count(client.rule) == 1, "no summary repeats a rule that stands before it"


@CLIENTS
async def test_instructions_outlive_a_restart_an_undo_and_a_request_that_is_sent_again(
    client: AnyClient, tmp_path: Path
) -> None:
    async with working(client, tmp_path / "db") as (agent, url):
        await agent.work(30)
        history = agent.history
        body = encoded(client.body(history))
        await agent.wire.post(body)
        status, headers, _ = await agent.wire.post(body)
        assert status == 200
        again = [asked.raw for asked in agent.provider.requests[-2:]]
        assert again[0] == again[1]
        name = headers["x-autocompact-conversation"]
        async with aiohttp.ClientSession(headers={"Authorization": "Bearer k"}) as session:
            undo = await session.post(f"{url}/autocompact/conversations/{name}/undo")
            assert undo.status == 200
        await agent.work(1)
    async with working(client, tmp_path / "db") as (after, _):
        after.history, after.turns = agent.history, agent.turns
        after.compactions = agent.compactions
        await after.work(3)


async def test_words_beside_a_block_of_instructions_stay_a_request(tmp_path: Path) -> None:
    client = ClaudeCode()
    client.later = SKILLS  # no newer version than the one below, whenever the last compaction comes
    async with working(client, tmp_path / "db") as (agent, _):
        await agent.work(15)
        said = "By the way, use half-even rounding from now on. What did you find?"
        agent.history[-1]["content"].append({"type": "text", "text": CLAUDE.format(7) + said})
        await agent.work(15, checked=False)
    raw = agent.provider.requests[-1].raw.decode()
    assert said in raw, "the last request stands verbatim"
    assert raw.count("version 7") == 1
    assert raw.index("version 7") < raw.index("# Conversation Summary") < raw.index(said)
