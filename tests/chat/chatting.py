"""What the tests of the chat share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from autocompact.chat import ChatConfig, ChatService, ChatSession, opened
from autocompact.chat.events import ChatEvent
from autocompact.core.messages import Message, ToolCall
from autocompact.ports import Clock
from autocompact.testing import Answer, FakeClock, FakeProvider
from autocompact.testing.provider import Received

E = TypeVar("E")

CHAT, RESPONSES, ANTHROPIC = "compatible:any", "responses:gpt-5-mini", "anthropic:claude-haiku-4-5"
APIS = (CHAT, RESPONSES, ANTHROPIC)


def environment(provider: FakeProvider) -> dict[str, str]:
    return {
        "OPENAI_API_KEY": "sk-of-the-tests-1",
        "OPENAI_BASE_URL": provider.url,
        "ANTHROPIC_API_KEY": "sk-of-the-tests-2",
        "ANTHROPIC_BASE_URL": provider.url,
    }


@asynccontextmanager
async def chatting(
    folder: Path,
    provider: FakeProvider | None = None,
    *,
    config: ChatConfig | None = None,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[ChatService]:
    """A service over a file in ``folder``, with the models of ``provider``, or of ``environ``; time stands still."""
    if environ is None:
        environ = environment(provider) if provider else {}
    async with opened(
        folder / "chats.db", config=config, environ=environ, clock=clock or FakeClock()
    ) as service:
        yield service


def call(tool: str, id: str = "call_1", /, **arguments: object) -> ToolCall:
    return ToolCall(id=id, name=tool, arguments=msgspec.json.encode(arguments).decode())


def calling(*calls: ToolCall, text: str = "") -> Answer:
    return Answer(text=text, calls=calls)


class Heard:
    """What a listener heard."""

    def __init__(self, session: ChatSession) -> None:
        self.events: list[ChatEvent] = []
        self.stop = session.listen(self.events.append)

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def names(self, *kinds: type[object]) -> list[str]:
        return [type(event).__name__ for event in self.events if isinstance(event, kinds)]


async def asked(session: ChatSession, text: str) -> Sequence[Message]:
    """Say something and wait for the end of the turn: the log."""
    await session.send(text)
    await session.wait()
    return await session.conversation.history()


class Held:
    """Answers that come one by one, when the test says so."""

    def __init__(self) -> None:
        self._asked: asyncio.Queue[asyncio.Event] = asyncio.Queue()

    async def __call__(self, request: Received) -> str:
        go = asyncio.Event()
        self._asked.put_nowait(go)
        await go.wait()
        return f"Answer to {request.last_text!r}."

    async def asked(self) -> asyncio.Event:
        """Wait for the next request; what lets it be answered."""
        return await self._asked.get()
