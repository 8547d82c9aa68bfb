"""What the compactor's tests share: a model that answers as told, and a conversation with work in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from autocompact.compaction.modes import DEFAULT, Mode
from autocompact.core.messages import Message, Text, ToolCall, ToolResult
from autocompact.core.tokens import Estimator, message_cost
from autocompact.engine import Compactor, Conversation
from autocompact.ports import ModelReply
from autocompact.stores.memory import MemoryStore

SUMMARY = "<summary>\n## Summary\nThe totals were rounded per line.\n</summary>"
LINE = "src/invoices/tax.py:{n}: rounded the line total of item {n} to cents, because the accountant asked for it"


@dataclass
class TalkingModel:
    """Answers with what `reply` says; keeps the requests."""

    reply: Callable[[Sequence[Message]], ModelReply | Exception] = lambda _: ModelReply(
        text=SUMMARY, stop_reason="stop"
    )
    name: str = "talking-model"
    requests: list[tuple[Message, ...]] = field(default_factory=list[tuple[Message, ...]])
    tools: list[bytes | None] = field(default_factory=list[bytes | None])

    async def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
    ) -> ModelReply:
        self.requests.append(tuple(messages))
        self.tools.append(tools)
        answer = self.reply(messages)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def count(self, messages: Sequence[Message], *, tools: bytes | None = None) -> int:
        return sum(message_cost(message, Estimator()).tokens for message in messages)

    async def aclose(self) -> None:
        pass


class HeldModel(TalkingModel):
    """Answers once it may (`go_on`); `asked` says when it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go_on = asyncio.Event(), asyncio.Event()

    async def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
    ) -> ModelReply:
        self.asked.set()
        await self.go_on.wait()
        return await super().complete(messages, max_tokens=max_tokens, tools=tools)


def compactor(
    *,
    model: TalkingModel | None = None,
    mode: Mode = DEFAULT,
    window: int = 4_000,
    store: MemoryStore | None = None,
) -> Compactor:
    return Compactor(
        store or MemoryStore(),
        model=model,
        mode=mode,
        window=window,
        reserve=window // 10,
        counter=Estimator(),
    )


async def step(conversation: Conversation, number: int, *, lines: int = 6) -> None:
    """One tool call of the model and its long answer."""
    call = ToolCall(id=f"c{number}", name="Read", arguments=f'{{"file_path":"src/tax{number}.py"}}')
    await conversation.append(
        Message(seq=0, role="assistant", parts=(Text(text=f"Looking at {number}."), call))
    )
    text = "\n".join(LINE.format(n=number * 100 + line) for line in range(lines))
    await conversation.append(Message(seq=0, role="tool", parts=(ToolResult(call_id=call.id, text=text),)))


async def work(conversation: Conversation, steps: int, *, start: int = 0) -> None:
    """A request every five steps."""
    for number in range(start, start + steps):
        if number % 5 == 0:
            await conversation.say(f"Please round item {number} as well.")
        await step(conversation, number)
