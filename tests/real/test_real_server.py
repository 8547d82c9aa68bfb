"""The gateway before a server that runs a model: ``make test-real`` starts one, of llama.cpp, with random weights.

Any server of OpenAI's API that refuses what is too large will do: ``AUTOCOMPACT_REAL_SERVER`` is its address without
``/v1``, ``AUTOCOMPACT_REAL_WINDOW`` its window in tokens. What the model says is of no interest, only that it can.
"""

from __future__ import annotations

import os
from typing import Any

import openai
import pytest

from autocompact.gateway import Config, Gateway
from autocompact.gateway.server import running
from autocompact.stores.memory import MemoryStore

SERVER = os.environ.get("AUTOCOMPACT_REAL_SERVER", "")
WINDOW = int(os.environ.get("AUTOCOMPACT_REAL_WINDOW", "8192"))
OUTPUT = 8

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.requirement("E7"),
    pytest.mark.skipif(not SERVER, reason="no model server is given: `make test-real` starts one"),
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def gateway() -> Gateway:
    config = Config(upstreams={"openai": SERVER}, namespace_key=b"of no interest here", window=WINDOW)
    return Gateway(config, store=MemoryStore())


def client_of(url: str) -> Any:
    return openai.AsyncOpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0)


def words(turn: int) -> str:
    return f"In module {turn} the build printed line after line. " * 40


async def asked(client: Any, messages: list[Any], *, stream: bool = False) -> str:
    """The reply's words; the same for the same messages."""
    said: Any = {"model": "tiny", "messages": messages, "max_tokens": OUTPUT, "temperature": 0, "seed": 1}
    if not stream:
        done = await client.chat.completions.create(**said)
        assert done.usage.prompt_tokens + OUTPUT <= WINDOW
        return done.choices[0].message.content or ""
    pieces = [piece async for piece in await client.chat.completions.create(**said, stream=True)]
    return "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)


async def test_the_server_refuses_what_is_too_large() -> None:
    async with client_of(SERVER) as client:
        with pytest.raises(openai.BadRequestError, match="context"):
            await asked(client, [{"role": "user", "content": words(0) * (WINDOW // 250)}])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_below_the_threshold_the_answer_is_the_one_without_the_gateway(stream: bool) -> None:
    messages = [{"role": "system", "content": "You build."}, {"role": "user", "content": words(0)}]
    async with client_of(SERVER) as client:
        direct = await asked(client, messages, stream=stream)
    async with running(gateway()) as url, client_of(url) as client:
        assert await asked(client, messages, stream=stream) == direct


async def test_a_conversation_of_many_windows_is_never_refused() -> None:
    """Also where the tokens of the model are not those that the gateway counts: here nearly each byte is one."""
    messages: list[Any] = [{"role": "system", "content": "You build modules."}]
    served = gateway()
    async with running(served) as url, client_of(url) as client:
        for turn in range(3 * WINDOW // 2_000):
            messages.append({"role": "user", "content": words(turn)})
            said = await asked(client, messages, stream=turn % 2 > 0)
            messages.append({"role": "assistant", "content": said})
        (kept,) = served.turns.conversations.known
        compactions = await served.turns.conversations.store.compactions(
            kept.conversation.internals.replica.key
        )
    assert len(compactions) >= 2
