"""A chat that never runs out of context: ``python examples/ten_lines.py MODEL`` (key and address from the environment)."""

import asyncio
import sys

from autocompact import Compactor, OpenAICompatible, SqliteStore


async def chat(model: OpenAICompatible, *, path: str = "chats.db") -> None:
    async with Compactor(SqliteStore(path), model=model) as compactor:
        conversation = await compactor.open("first chat")
        while words := await asyncio.to_thread(input, "you: "):
            await conversation.say(words)
            reply = await conversation.attempt(lambda context: model.complete(context.messages))
            await conversation.say(reply.text, role="assistant", usage=reply.usage)
            print(reply.text, f"[{conversation.usage().used:,} tokens]", sep="\n")


if __name__ == "__main__":
    asyncio.run(chat(OpenAICompatible.from_environment(sys.argv[1])))
