"""A loop that keeps its own list of messages, and never runs out of context: ``python examples/own_list.py MODEL``."""

import asyncio
import sys
from typing import Any

from openai import AsyncOpenAI

from autocompact import Compactor, SqliteStore


async def chat(client: AsyncOpenAI, model: str, *, path: str = "chats.db") -> None:
    messages: list[Any] = [{"role": "system", "content": "You are brief."}]
    async with Compactor(SqliteStore(path), window=128_000) as compactor:
        conversation = await compactor.open("own list")
        while words := await asyncio.to_thread(input, "you: "):
            messages.append({"role": "user", "content": words})
            context = await conversation.follow(messages)
            response = await client.chat.completions.create(model=model, messages=context)
            await conversation.heard(response)
            messages.append(response.choices[0].message)
            print(messages[-1].content, f"[{conversation.usage().used:,} tokens]", sep="\n")


if __name__ == "__main__":
    asyncio.run(chat(AsyncOpenAI(), sys.argv[1]))
