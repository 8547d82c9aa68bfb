"""The page of the gateway for people: where it is, who may open it, and what it gives away. In a browser: `tests.ui.web`."""

from __future__ import annotations

import re

import aiohttp
import pytest

from autocompact.gateway import AccessToken
from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before
from tests.gateway.test_compaction import big, listed, send

pytestmark = pytest.mark.anyio

PLACES = ("/", "/autocompact", "/autocompact/")
LINK = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.mark.parametrize("path", PLACES)
async def test_the_page_is_there_and_takes_nothing_from_elsewhere(path: str) -> None:
    async with (
        FakeProvider() as provider,
        gateway_before(provider, keep_from=0.0) as url,
        aiohttp.ClientSession() as session,
    ):
        async with session.get(url + path) as told:
            page = await told.text()
            assert (told.status, told.content_type) == (200, "text/html")
            policy = told.headers["Content-Security-Policy"]
            assert told.headers["Cache-Control"] == "no-store"
        assert "<h1>The gateway is running</h1>" in page
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert not re.search(r"://|src=|@import|innerHTML|document\.write|\beval\b", page)
        async with session.head(url + path) as told:
            assert (told.status, await told.read()) == (200, b"")
        async with session.post(url + path, json={}) as told:
            assert (told.status, told.headers["Allow"]) == (405, "GET")
            assert "takes GET, not POST" in await told.text()


async def test_a_gateway_that_asks_for_tokens_shows_the_page_and_no_conversations() -> None:
    keys = {"openai": "sk-upstream", "anthropic": "sk-upstream"}
    async with (
        FakeProvider() as provider,
        gateway_before(
            provider, upstream_keys=keys, keep_from=0.0, access_tokens=(AccessToken.of("ours"),)
        ) as url,
        aiohttp.ClientSession() as session,
    ):
        await send(url, big(3, first="What nobody else may read"), key="ours")
        for path in PLACES:
            async with session.get(url + path) as told:
                page = await told.text()
                assert told.status == 200
                assert "What nobody else may read" not in page
        assert [line["title"] for line in await listed(url, "ours")] == ["What nobody else may read"]
        for headers in ({}, {"Authorization": "Bearer theirs"}):
            async with session.get(f"{url}/autocompact/conversations", headers=headers) as told:
                assert told.status == 401


@pytest.mark.parametrize(
    "path, headers, status",
    [
        ("/", LINK, 200),
        ("/autocompact", LINK, 200),
        ("/autocompact/admin", LINK, 200),
        ("/autocompact", LINK | {"Sec-Fetch-Dest": "iframe"}, 403),
        ("/autocompact", LINK | {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "empty"}, 403),
        ("/autocompact/conversations", LINK, 403),
        ("/v1/models", LINK, 403),
    ],
)
async def test_a_link_of_another_site_opens_a_page_and_reaches_nothing_else(
    path: str, headers: dict[str, str], status: int
) -> None:
    async with (
        FakeProvider() as provider,
        gateway_before(provider, keep_from=0.0) as url,
        aiohttp.ClientSession() as session,
        session.get(url + path, headers=headers) as told,
    ):
        assert told.status == status


async def test_a_slash_too_many_is_forgiven_to_the_page_alone() -> None:
    """Else the address of one conversation, its name forgotten, would delete all of them."""
    async with (
        FakeProvider() as provider,
        gateway_before(provider, keep_from=0.0) as url,
        aiohttp.ClientSession() as session,
    ):
        await send(url, big(3))
        async with session.delete(
            f"{url}/autocompact/conversations/", headers={"Authorization": "Bearer k"}
        ) as told:
            assert told.status == 404
        assert len(await listed(url)) == 1
