"""What the gateway remembers of the last request: it belongs to one client, and goes with the conversation."""

from __future__ import annotations

import aiohttp
import pytest

from autocompact.gateway import Gateway
from autocompact.gateway.server import running
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeProvider
from autocompact.wire import EarlierRequest
from tests.gateway.serving import config
from tests.gateway.speakers import SPEAKERS, Json, Speaker, encoded

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7")]

by_api = pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)


def headers(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {name}", "anthropic-version": "2023-06-01"}


@by_api
async def test_a_request_goes_on_from_the_client_s_own_and_from_nobody_else_s(speaker: Speaker) -> None:
    async with FakeProvider("Fine.", window=8_000) as provider, aiohttp.ClientSession() as session:
        gateway = Gateway(config(provider, window=8_000, keep_from=0.0), store=MemoryStore())
        conversations = gateway.turns.conversations

        def remembered(request: Json) -> int:
            """How many messages of it are, of whichever client."""
            namespaces = {kept.conversation.internals.replica.key.namespace for kept in conversations.known}
            begun: list[EarlierRequest] = [one for name in namespaces for one in conversations.earlier(name)]
            return max((one.shared(encoded(request), dialect=speaker.dialect)[0] for one in begun), default=0)

        async with running(gateway) as url:
            said = [*speaker.begun(), speaker.user("Hello.")]
            request = speaker.request(said)
            async with session.post(
                url + speaker.path, data=encoded(request), headers=headers("one")
            ) as told:
                reply = speaker.heard(await told.json())
            more = speaker.request([*said, *reply.items, speaker.user("Go on.")])
            assert remembered(request) == remembered(more) > 0
            (kept,) = conversations.known
            assert list(conversations.earlier("another")) == []
            assert len(list(conversations.earlier(kept.conversation.internals.replica.key.namespace))) == 1
            async with session.delete(f"{url}/autocompact/conversations", headers=headers("one")) as told:
                assert told.status == 200
            assert remembered(request) == 0
