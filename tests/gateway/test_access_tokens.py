"""Access tokens of the gateway's own: who has none gets nothing, and no two ever meet."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from autocompact.errors import InvalidInput
from autocompact.gateway import AccessToken, Config
from autocompact.gateway.endpoints import ENDPOINTS, Endpoint
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from tests.gateway.serving import NAMESPACE_KEY, gateway_before
from tests.gateway.test_compaction import WINDOW, big, everything_in, listed, send

pytestmark = pytest.mark.anyio

OURS, THEIRS = "token-of-ann", "token-of-bob"
CLOSED: dict[str, Any] = {
    "window": WINDOW,
    "upstream_keys": {"openai": "sk-upstream", "anthropic": "sk-upstream"},
    "access_tokens": (
        AccessToken.of(OURS, name="operator-ann"),
        AccessToken(digest=sha256(THEIRS.encode()).hexdigest(), name="operator-bob"),
    ),
}
SECURED = [endpoint for endpoint in ENDPOINTS if not endpoint.open]
NAMED = [endpoint for endpoint in SECURED if "{id}" in endpoint.path]


async def ask(
    url: str, endpoint: Endpoint, *, id: str = "x", headers: dict[str, str] | None = None
) -> tuple[int, str]:
    """Status and body."""
    path = endpoint.path.replace("{id}", id)
    async with (
        aiohttp.ClientSession() as session,
        session.request(endpoint.method, f"{url}{path}", headers=headers) as told,
    ):
        return told.status, await told.text()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


WRONG: tuple[dict[str, str], ...] = (
    {},
    bearer(""),
    bearer("sk-upstream"),
    bearer(OURS[:-1]),
    bearer(f"{OURS}x"),
    bearer(OURS.upper()),
    bearer(sha256(OURS.encode()).hexdigest()),
    {"Authorization": f"Basic {OURS}"},
    {"x-api-key": "Ann"},
)


async def test_without_a_token_that_is_known_nothing_is_answered() -> None:
    async with FakeProvider(models=["m"]) as provider, gateway_before(provider, **CLOSED) as url:
        for headers in WRONG:
            answers = [await ask(url, endpoint, headers=headers) for endpoint in SECURED]
            async with aiohttp.ClientSession(headers=headers) as session:
                for path in ("models", "files/secret"):
                    async with session.get(f"{url}/v1/{path}") as told:
                        answers.append((told.status, await told.text()))
                for path in ("chat/completions", "responses", "messages", "messages/count_tokens"):
                    async with session.post(f"{url}/v1/{path}", json={"model": "m"}) as told:
                        answers.append((told.status, await told.text()))
                        assert told.headers["WWW-Authenticate"] == 'Bearer realm="autocompact"'
            assert {status for status, _ in answers} == {401}
            assert all("error" in json.loads(body) for _, body in answers)
    assert provider.requests == []


@pytest.mark.parametrize("headers", [bearer(OURS), {"x-api-key": OURS}, {"api-key": OURS}])
async def test_a_known_token_is_replaced_by_the_key_for_the_upstream(headers: dict[str, str]) -> None:
    async with (
        FakeProvider("Fine.", models=["m"], api_key="sk-upstream") as provider,
        gateway_before(provider, **CLOSED) as url,
        aiohttp.ClientSession(headers=headers) as session,
    ):
        said = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
        statuses: list[int] = []
        for path in ("chat/completions", "messages", "messages/count_tokens"):
            async with session.post(
                f"{url}/v1/{path}", json=said, headers={"anthropic-version": "2023-06-01"}
            ) as told:
                statuses.append(told.status)
        async with session.get(f"{url}/v1/models") as told:
            statuses.append(told.status)
    assert statuses == [200] * 4
    assert OURS not in "".join(f"{asked.headers}{asked.raw!r}" for asked in provider.requests)


async def test_no_token_reaches_what_is_another_ones(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "conversations.db")
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, store=store, **CLOSED) as url,
    ):
        names: dict[str, str] = {}
        for token in (OURS, THEIRS):  # the very same words
            headers, _ = await send(url, big(50), key=token)
            names[token] = headers["x-autocompact-conversation"]
        assert names[OURS] != names[THEIRS]
        before = [await listed(url, token) for token in (OURS, THEIRS)]
        assert [[line["id"] for line in lines] for lines in before] == [[names[OURS]], [names[THEIRS]]]
        for mine, theirs in ((OURS, THEIRS), (THEIRS, OURS)):
            for endpoint in NAMED:
                status, body = await ask(url, endpoint, id=names[theirs], headers=bearer(mine))
                assert (endpoint.name, status) == (endpoint.name, 404)
                assert "module" not in body
        assert [await listed(url, token) for token in (OURS, THEIRS)] == before
        await ask(url, next(one for one in SECURED if one.name == "delete_all"), headers=bearer(OURS))
        assert [await listed(url, token) for token in (OURS, THEIRS)] == [[], before[1]]
        again, _ = await send(url, big(50), key=THEIRS)
    assert again["x-autocompact-conversation"] == names[THEIRS]


@pytest.mark.requirement("E7")
async def test_a_search_finds_nothing_of_another_token(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "conversations.db")
    words = {OURS: "the yellow kestrel", THEIRS: "the purple heron"}
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, store=store, **CLOSED) as url,
        aiohttp.ClientSession() as session,
    ):
        names = [
            (await send(url, big(50, first=f"It is on {word}."), key=token))[0]["x-autocompact-conversation"]
            for token, word in words.items()
        ]
        found: list[list[str]] = []
        for token in words:
            for word in ("yellow kestrel", "purple heron"):
                for within in ({}, {"conversation": names[0]}, {"conversation": names[1]}):
                    asked = {"q": word, **within}
                    address = f"{url}/autocompact/search"
                    async with session.get(address, params=asked, headers=bearer(token)) as told:
                        found.append([each["conversation"] for each in (await told.json())["results"]])
    mine, theirs = [names[0]], [names[1]]
    assert found == [mine, mine, [], [], [], [], [], [], [], theirs, [], theirs]


async def test_what_everybody_may_read_says_nothing_of_anybody(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "conversations.db")
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, store=store, **CLOSED) as url,
    ):
        headers, _ = await send(url, big(50), key=OURS)
        told = [await ask(url, endpoint) for endpoint in ENDPOINTS if endpoint.open]
    assert {status for status, _ in told} == {200}
    everything = "".join(body for _, body in told)
    name: str = headers["x-autocompact-conversation"]
    for private in (OURS, THEIRS, "operator-", name, "sk-upstream", "module 7"):
        assert private not in everything


async def test_tokens_and_keys_are_neither_stored_nor_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    store = SqliteStore(tmp_path / "conversations.db")
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, store=store, **CLOSED) as url,
    ):
        await send(url, big(50), key=OURS)
        for endpoint in SECURED:
            await ask(url, endpoint, headers=bearer("token-of-nobody"))
            await ask(url, endpoint, headers=bearer(THEIRS))
    files = everything_in(tmp_path)
    for secret in (OURS, THEIRS, "token-of-nobody", "sk-upstream"):
        assert secret.encode() not in files
        assert sha256(secret.encode()).hexdigest().encode() not in files
        assert secret not in caplog.text
    assert OURS not in repr(CLOSED["access_tokens"])


def test_access_tokens_are_checked_when_they_are_configured() -> None:
    digest = sha256(b"x").hexdigest()
    with pytest.raises(InvalidInput, match="'ann' is empty"):
        AccessToken.of("", name="ann")
    for wrong in ("token", digest[:-1], digest.upper()):
        with pytest.raises(InvalidInput, match="64 hexadecimal digits"):
            AccessToken(digest=wrong, name="ann")
    with pytest.raises(InvalidInput, match="'ann' is the SHA-256 of an empty text"):
        AccessToken(digest=sha256(b"").hexdigest(), name="ann")
    with pytest.raises(InvalidInput, match="-1 days"):
        AccessToken(digest=digest, expire_after_days=-1)
    with pytest.raises(InvalidInput, match="-2 days"):
        Config(upstreams={}, namespace_key=NAMESPACE_KEY, expire_after_days=-2)
