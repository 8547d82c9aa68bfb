"""How a client of each API says the same things: the whole history with every request, replies taken into it.

`Wire` speaks plain HTTP; the others are the providers' own Python clients. All write the same bytes for the same
history, so that they can take turns in one conversation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Protocol

import aiohttp
import anthropic
import openai
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from autocompact.core.messages import Dialect

Json = dict[str, Any]

PARAMETERS: Json = {"type": "object", "properties": {"n": {"type": "integer"}}}
INSTRUCTIONS = "You build modules."


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A reply.

    Attributes:
        items: what the client puts into its history.
        text: the words.
        calls: the ids of the tools called.
        prompt: tokens of the request, as the reply reports them.
    """

    items: Sequence[Json]
    text: str
    calls: Sequence[str]
    prompt: int


class Speaker(Protocol):
    """One API, as an agent speaks it."""

    dialect: Dialect
    path: str

    def begun(self) -> list[Json]:
        """The history before the first word."""
        ...

    def user(self, text: str) -> Json:
        """Words of the user."""
        ...

    def results(self, calls: Sequence[str], texts: Sequence[str]) -> list[Json]:
        """What the tools gave."""
        ...

    def request(self, said: Sequence[Json], *, output: int = 500) -> Json:
        """The body, without ``stream``."""
        ...

    def heard(self, told: Any) -> Said:
        """What a whole reply says."""
        ...

    def words(self, item: Mapping[str, Any]) -> str:
        """What the user said with an item of the history; "" if it is not the user's."""
        ...


class Chat:
    """Chat Completions."""

    dialect: Dialect = "openai_chat"
    path = "/v1/chat/completions"

    def begun(self) -> list[Json]:
        return [{"role": "system", "content": INSTRUCTIONS}]

    def user(self, text: str) -> Json:
        return {"role": "user", "content": text}

    def results(self, calls: Sequence[str], texts: Sequence[str]) -> list[Json]:
        pairs = zip(calls, texts, strict=True)
        return [{"role": "tool", "tool_call_id": call, "content": text} for call, text in pairs]

    def request(self, said: Sequence[Json], *, output: int = 500) -> Json:
        function = {"name": "read", "description": "Read a file.", "parameters": PARAMETERS}
        tools = [{"type": "function", "function": function}]
        return {"model": "m", "messages": list(said), "tools": tools, "max_tokens": output}

    def heard(self, told: Any) -> Said:
        message = told["choices"][0]["message"]
        calls: list[Json] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {
                    "name": call["function"]["name"],
                    "arguments": call["function"]["arguments"],
                },
            }
            for call in message.get("tool_calls") or ()
        ]
        item = {"role": "assistant", "content": message["content"]} | ({"tool_calls": calls} if calls else {})
        return Said(
            items=[item],
            text=message["content"] or "",
            calls=[call["id"] for call in calls],
            prompt=told["usage"]["prompt_tokens"],
        )

    def words(self, item: Mapping[str, Any]) -> str:
        return item["content"] if item["role"] == "user" else ""


class Responses:
    """Responses, with nothing stored."""

    dialect: Dialect = "openai_responses"
    path = "/v1/responses"

    def begun(self) -> list[Json]:
        return []

    def user(self, text: str) -> Json:
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    def results(self, calls: Sequence[str], texts: Sequence[str]) -> list[Json]:
        pairs = zip(calls, texts, strict=True)
        return [{"type": "function_call_output", "call_id": call, "output": text} for call, text in pairs]

    def request(self, said: Sequence[Json], *, output: int = 500) -> Json:
        tool = {"type": "function", "name": "read", "parameters": PARAMETERS, "strict": False}
        return {
            "model": "m",
            "instructions": INSTRUCTIONS,
            "input": list(said),
            "tools": [tool],
            "max_output_tokens": output,
            "store": False,
        }

    def heard(self, told: Any) -> Said:
        items: list[Json] = []
        for item in told["output"]:
            if item["type"] == "message":
                blocks = [{"type": block["type"], "text": block["text"]} for block in item["content"]]
                items.append({"type": "message", "role": "assistant", "content": blocks})
            elif item["type"] == "function_call":
                names = ("type", "call_id", "name", "arguments")
                items.append({name: item[name] for name in names})
        return Said(
            items=items,
            text="".join(block["text"] for item in items for block in item.get("content", ())),
            calls=[item["call_id"] for item in items if item["type"] == "function_call"],
            prompt=told["usage"]["input_tokens"],
        )

    def words(self, item: Mapping[str, Any]) -> str:
        if item.get("role") != "user":
            return ""
        content = item["content"]
        return content if isinstance(content, str) else "".join(block["text"] for block in content)


class Messages:
    """Anthropic Messages."""

    dialect: Dialect = "anthropic"
    path = "/v1/messages"

    def begun(self) -> list[Json]:
        return []

    def user(self, text: str) -> Json:
        return {"role": "user", "content": text}

    def results(self, calls: Sequence[str], texts: Sequence[str]) -> list[Json]:
        blocks = [
            {"type": "tool_result", "tool_use_id": call, "content": text}
            for call, text in zip(calls, texts, strict=True)
        ]
        return [{"role": "user", "content": blocks}]

    def request(self, said: Sequence[Json], *, output: int = 500) -> Json:
        tools = [{"name": "read", "description": "Read a file.", "input_schema": PARAMETERS}]
        return {
            "model": "m",
            "system": INSTRUCTIONS,
            "messages": list(said),
            "tools": tools,
            "max_tokens": output,
        }

    def heard(self, told: Any) -> Said:
        blocks: list[Json] = []
        for block in told["content"]:
            names = ("type", "text") if block["type"] == "text" else ("type", "id", "name", "input")
            blocks.append({name: block[name] for name in names})
        usage = told["usage"]
        cached = usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]
        return Said(
            items=[{"role": "assistant", "content": blocks}],
            text="".join(block.get("text", "") for block in blocks),
            calls=[block["id"] for block in blocks if block["type"] == "tool_use"],
            prompt=usage["input_tokens"] + cached,
        )

    def words(self, item: Mapping[str, Any]) -> str:
        if item["role"] != "user":
            return ""
        content = item["content"]
        if isinstance(content, str):
            return content
        return "\n".join(block["text"] for block in content if block["type"] == "text")


SPEAKERS: tuple[Speaker, ...] = (Chat(), Responses(), Messages())


def encoded(body: Json) -> bytes:
    """JSON as the official clients write it."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


class Client(Protocol):
    """Asks for replies."""

    async def ask(self, body: Json, *, stream: bool) -> Any:
        """The reply's JSON, put together from its pieces where it is streamed."""
        ...


class Wire:
    """Plain HTTP: the cheapest client of all.

    Args:
        session: the connections.
        url: of the gateway, without ``/v1``.
        path: of the API.
        key: who the client is.
    """

    def __init__(self, session: aiohttp.ClientSession, url: str, *, path: str, key: str = "k") -> None:
        self._session = session
        self._address = url + path
        self._headers = {
            "Authorization": f"Bearer {key}",
            "anthropic-version": "2023-06-01",
            "Content-Type": "application/json",
        }

    async def post(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of the answer, whatever it is."""
        async with self._session.post(self._address, data=BytesIO(body), headers=self._headers) as told:
            return told.status, told.headers, await told.read()

    async def ask(self, body: Json, *, stream: bool = False) -> Any:
        """The reply's JSON. Only whole ones: putting a stream together is what the official clients are for."""
        assert not stream
        status, _, told = await self.post(encoded(body))
        assert status == 200, told
        return json.loads(told)


class Official(Client, Protocol):
    """A provider's own Python client."""

    async def post(self, body: Json) -> Any:
        """The whole reply, in the quickest way that the client offers."""
        ...


class OfficialOpenAI:
    """The ``openai`` package, for Chat Completions and Responses.

    Its typed methods walk through the whole history for each request, which takes ten times as long as everything else;
    `post` is the same client below them.
    """

    def __init__(self, client: openai.AsyncOpenAI, *, dialect: Dialect) -> None:
        self._client: Any = client
        self._chat = dialect == "openai_chat"

    async def post(self, body: Json) -> Any:
        """The whole reply, without the typed methods."""
        path, kind = ("/chat/completions", ChatCompletion) if self._chat else ("/responses", Response)
        return (await self._client.post(path, body=body, cast_to=kind)).to_dict()

    async def ask(self, body: Json, *, stream: bool) -> Any:
        """The reply as the client's own objects have it."""
        api = self._client.chat.completions if self._chat else self._client.responses
        if not stream:
            return (await api.create(**body)).to_dict()
        if self._chat:
            body = body | {"stream_options": {"include_usage": True}}
        async with api.stream(**body) as events:
            final = await (events.get_final_completion() if self._chat else _final_response(events))
            return final.to_dict()


async def _final_response(events: Any) -> Any:
    return await events.get_final_response()


class OfficialAnthropic:
    """The ``anthropic`` package."""

    def __init__(self, client: anthropic.AsyncAnthropic) -> None:
        self._client: Any = client

    async def post(self, body: Json) -> Any:
        """The whole reply."""
        return await self.ask(body, stream=False)

    async def ask(self, body: Json, *, stream: bool) -> Any:
        """The reply as the client's own objects have it."""
        if not stream:
            return (await self._client.messages.create(**body)).to_dict()
        async with self._client.messages.stream(**body) as events:
            return (await events.get_final_message()).to_dict()


def official(speaker: Speaker, url: str) -> tuple[Official, Any]:
    """The provider's own client at the gateway, and what to close in the end."""
    if speaker.dialect == "anthropic":
        client = anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0)
        return OfficialAnthropic(client), client
    opened = openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)
    return OfficialOpenAI(opened, dialect=speaker.dialect), opened
