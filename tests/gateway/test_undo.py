"""What follows an undo: the whole history goes upstream as long as it fits, and until it has grown."""

from __future__ import annotations

import aiohttp
import pytest

from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before
from tests.gateway.speakers import SPEAKERS, Json, Speaker, Wire, encoded

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E2")]

WINDOW = 8_000

by_api = pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)


def talk(speaker: Speaker, turns: int) -> list[Json]:
    said = [*speaker.begun(), speaker.user("Start")]
    for turn in range(turns):
        words = f"{turn} It printed line after line, and nothing of interest. " * 8
        said += [{"role": "assistant", "content": f"Done {turn}."}, speaker.user(words)]
    return said


@by_api
async def test_an_undo_holds_until_the_context_has_grown_or_does_not_fit(speaker: Speaker) -> None:
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, keep_from=0.0) as url,
        aiohttp.ClientSession(headers={"Authorization": "Bearer k"}) as session,
    ):
        client = Wire(session, url, path=speaker.path)

        async def compacted(turns: int) -> bool:
            """Whether the request was, and then that is taken back."""
            status, headers, _ = await client.post(encoded(speaker.request(talk(speaker, turns))))
            assert status == 200
            if headers["x-autocompact-action"] != "compacted":
                return False
            name = headers["x-autocompact-conversation"]
            async with session.post(f"{url}/autocompact/conversations/{name}/undo") as undone:
                assert undone.status == 200, await undone.text()
            return True

        done = [turns for turns in range(40, 85) if await compacted(turns)]
        first, second, *_, last = done
        assert first + 1 < second, "until it has grown nothing is compacted again"
        assert last == 84, "what does not fit is compacted whatever was undone"
        assert await compacted(last)
