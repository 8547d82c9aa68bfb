"""What the gateway refuses itself: in the API's own format, so that the official clients raise what they would."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import anthropic
import httpx2
import openai
import pytest

from autocompact.gateway import AccessToken, Limits
from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before
from tests.gateway.test_compaction import WINDOW, BrokenStore, big, words
from tests.gateway.test_passing import post

pytestmark = pytest.mark.anyio

SAID: list[Any] = [{"role": "user", "content": "Hi"}]
CLOSED: dict[str, Any] = {
    "upstream_keys": {"openai": "sk-up", "anthropic": "sk-up"},
    "access_tokens": (AccessToken.of("token"),),
}
NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Settings and headers that lead to a refusal, and what the clients make of it."""

    status: int
    openai: type[openai.APIStatusError]
    anthropic: type[anthropic.APIStatusError]
    openai_type: str
    anthropic_type: str
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    headers: dict[str, str] = field(default_factory=dict[str, str])
    messages: list[Any] = field(default_factory=lambda: SAID)


CASES = {
    "the context cannot be made to fit": Case(
        status=400,
        openai=openai.BadRequestError,
        anthropic=anthropic.BadRequestError,
        openai_type="invalid_request_error",
        anthropic_type="invalid_request_error",
        settings={"fail_closed": True, "window": 4_000},
        messages=[{"role": "user", "content": words(0) * 60}],
    ),
    "no access token": Case(
        status=401,
        openai=openai.AuthenticationError,
        anthropic=anthropic.AuthenticationError,
        openai_type="authentication_error",
        anthropic_type="authentication_error",
        settings=CLOSED,
    ),
    "a page of another site": Case(
        status=403,
        openai=openai.PermissionDeniedError,
        anthropic=anthropic.PermissionDeniedError,
        openai_type="invalid_request_error",
        anthropic_type="permission_error",
        headers={"Sec-Fetch-Site": "cross-site"},
    ),
    "another host name": Case(
        status=403,
        openai=openai.PermissionDeniedError,
        anthropic=anthropic.PermissionDeniedError,
        openai_type="invalid_request_error",
        anthropic_type="permission_error",
        headers={"Host": "evil.example"},
    ),
    "no upstream": Case(
        status=404,
        openai=openai.NotFoundError,
        anthropic=anthropic.NotFoundError,
        openai_type="not_found_error",
        anthropic_type="not_found_error",
        settings={"upstreams": {}},
    ),
    "a large body": Case(
        status=413,
        openai=openai.APIStatusError,
        anthropic=anthropic.RequestTooLargeError,
        openai_type="invalid_request_error",
        anthropic_type="request_too_large",
        settings={"limits": Limits(body_bytes=10)},
    ),
    "an upstream that is down": Case(
        status=502,
        openai=openai.InternalServerError,
        anthropic=anthropic.InternalServerError,
        openai_type="server_error",
        anthropic_type="api_error",
        settings={"upstreams": {"openai": NOWHERE, "anthropic": NOWHERE}},
    ),
    "too many requests at a time": Case(
        status=503,
        openai=openai.InternalServerError,
        anthropic=anthropic.InternalServerError,
        openai_type="server_error",
        anthropic_type="overloaded_error",
        settings={"limits": Limits(concurrent=0)},
    ),
    "a store that is broken": Case(
        status=503,
        openai=openai.InternalServerError,
        anthropic=anthropic.InternalServerError,
        openai_type="server_error",
        anthropic_type="overloaded_error",
        settings={"fail_closed": True, "window": WINDOW, "store": BrokenStore()},
        messages=big(30),
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_the_official_clients_raise_what_they_do_for_the_providers_own_errors(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    case = CASES[name]
    async with FakeProvider("Fine.") as provider, gateway_before(provider, **case.settings) as url:
        chat = openai.AsyncOpenAI(
            api_key="k", base_url=f"{url}/v1", max_retries=0, default_headers=case.headers
        )
        claude = anthropic.AsyncAnthropic(
            api_key="k", base_url=url, max_retries=0, default_headers=case.headers
        )
        async with chat, claude:
            with pytest.raises(case.openai) as first:
                await chat.chat.completions.create(model="m", messages=case.messages, max_tokens=9)
            with pytest.raises(case.openai):
                await chat.responses.create(model="m", input=case.messages, max_output_tokens=9)
            with pytest.raises(case.anthropic) as last:
                await claude.messages.create(model="m", messages=case.messages, max_tokens=9)
    assert provider.requests == []
    assert first.value.status_code == last.value.status_code == case.status
    body: Any = first.value.body
    assert body["type"] == case.openai_type
    assert set(body) == {"message", "type", "param", "code"}
    told: Any = last.value.body
    assert (told["type"], told["error"]["type"]) == ("error", case.anthropic_type)
    for error in (first.value, last.value):
        assert error.response.headers["x-autocompact-action"] == "refused"
        assert error.response.headers["content-type"] == "application/json"
        assert ("retry-after" in error.response.headers) == (case.status == 503)
    logged = [vars(record) for record in caplog.records if record.message == "a request was refused"]
    # each of them with its reason, and nothing of what was said
    assert [(each["status"], bool(each["reason"])) for each in logged] == [(case.status, True)] * 3
    assert not [text for said in case.messages if (text := said["content"]) in str(logged)]


class Deep(httpx2.AsyncHTTPTransport):
    """Sends another body than the client gave it: no client writes one that is nested as deeply as this."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        nested = b"[" * 100_000 + b"]" * 100_000
        body = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":' + nested + b"}]}"
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
        return await super().handle_async_request(
            httpx2.Request(request.method, request.url, headers=headers, content=body)
        )


async def test_a_request_that_is_nested_too_deeply_is_a_bad_request_of_the_official_clients() -> None:
    async with (
        FakeProvider() as provider,
        gateway_before(provider) as url,
        httpx2.AsyncClient(transport=Deep()) as deep,
    ):
        chat = openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0, http_client=deep)
        claude = anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0, http_client=deep)
        with pytest.raises(openai.BadRequestError, match="nested too deeply"):
            await chat.chat.completions.create(model="m", messages=SAID)
        with pytest.raises(anthropic.BadRequestError, match="nested too deeply"):
            await claude.messages.create(model="m", messages=SAID, max_tokens=9)
    assert provider.requests == []


async def test_a_refusal_says_how_to_go_on() -> None:
    async with FakeProvider() as provider:
        async with gateway_before(provider, limits=Limits(concurrent=0)) as url:
            _, busy, _ = await post(f"{url}/v1/chat/completions", b"{}")
        async with gateway_before(provider, **CLOSED) as url:
            _, closed, _ = await post(f"{url}/v1/messages", b"{}")
    assert busy["Retry-After"] == "1"
    assert closed["WWW-Authenticate"].startswith("Bearer")


ODD_REQUESTS = (
    ("POST", "/autocompact", 405),
    ("POST", "/", 405),
    ("GET", "/autocompact/unheard", 404),
    ("GET", "/autocompact/health/", 404),
    ("GET", "/autocompact/conversations/x", 404),
    ("PUT", "/autocompact/health", 405),
    ("PATCH", "/autocompact/conversations/x", 405),
    ("GET", "/autocompact/conversations?limit=0", 400),
    ("GET", "/autocompact/conversations?limit=1001", 400),
    ("GET", "/autocompact/conversations?limit=many", 400),
    ("GET", f"/autocompact/conversations?after={'x' * 401}", 400),
    ("GET", "/autocompact/conversations/x/messages?from_seq=-1", 400),
    ("POST", "/autocompact/conversations/x/undo", 404),
)


@pytest.mark.parametrize("method, path, status", ODD_REQUESTS)
async def test_administration_refuses_in_the_same_format(method: str, path: str, status: int) -> None:
    async with (
        FakeProvider() as provider,
        gateway_before(provider) as url,
        aiohttp.ClientSession() as session,
        session.request(method, f"{url}{path}", headers={"x-api-key": "k"}) as response,
    ):
        told = await response.json()
    assert response.status == status
    assert set(told["error"]) == {"message", "type", "param", "code"}
    assert response.headers["x-autocompact-action"] == "refused"
    if status == 405:
        allowed = response.headers["allow"]
        assert allowed in ("GET", "GET, DELETE")


async def test_what_is_sent_to_compact_is_checked_and_bounded() -> None:
    async with FakeProvider("Fine.") as provider, gateway_before(provider, window=WINDOW) as url:
        body = json.dumps({"model": "m", "max_tokens": 9, "messages": big(50)}).encode()
        _, headers, _ = await post(f"{url}/v1/chat/completions", body)
        compact = f"{url}/autocompact/conversations/{headers['x-autocompact-conversation']}/compact"
        answers = [
            (await post(compact, sent))[0]
            for sent in (b"{", b'{"focus":1}', b'{"other":"x"}', b"\xff\xfe", b"x" * 300_000)
        ]
        undone = await post(compact.replace("/compact", "/undo"), b"")
        nothing = await post(compact.replace("/compact", "/undo"), b"")
    assert answers == [400, 400, 400, 400, 413]
    assert json.loads(undone[2]) == {"active": None}
    assert nothing[0] == 409
    assert "nothing to undo" in json.loads(nothing[2])["error"]["message"]


@pytest.mark.parametrize(
    "path", ["/autocompact/conversations", "/autocompact/health", "/metrics", "/v1/models"]
)
@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Host": "evil.example"}]
)
async def test_pages_of_other_sites_and_other_host_names_reach_nothing(
    path: str, headers: dict[str, str]
) -> None:
    async with (
        FakeProvider() as provider,
        gateway_before(provider) as url,
        aiohttp.ClientSession() as session,
        session.get(f"{url}{path}", headers=headers) as refused,
        session.get(f"{url}{path}", headers={"Sec-Fetch-Site": "same-origin"}) as own,
    ):
        assert (refused.status, own.status) == (403, 200)
