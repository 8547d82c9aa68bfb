"""Heads that servers on the way may understand in different ways, pages of other origins, and what a shared key may do."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from autocompact.gateway import AccessToken
from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before
from tests.gateway.test_connections import wire_to
from tests.gateway.test_passing import ODD, post

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7")]

CLOSED: dict[str, Any] = {
    "upstream_keys": {"openai": "sk-up", "anthropic": "sk-up"},
    "access_tokens": (AccessToken.of("token-a"), AccessToken.of("token-b")),
}
TOKEN = {"Authorization": "Bearer token-a"}
SAID = {"model": "m", "input": "Hi"}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A request as an upstream got it."""

    path: str
    headers: dict[str, str]
    raw: bytes


class Echo:
    """An upstream that takes every request and keeps it."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self.url = ""

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append(Seen(path=request.raw_path, headers=headers, raw=await request.read()))
        return web.json_response({"taken": True})


@asynccontextmanager
async def gateway_before_echo(**settings: Any) -> AsyncGenerator[tuple[Echo, str]]:
    """An upstream that takes everything, and the address of a gateway before it."""
    echo = Echo()
    runner = web.ServerRunner(web.Server(echo.answer))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    echo.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    upstreams = {"openai": echo.url, "anthropic": echo.url}
    try:
        async with FakeProvider() as unused, gateway_before(unused, upstreams=upstreams, **settings) as url:
            yield echo, url
    finally:
        await runner.cleanup()


async def raw(url: str, *lines: bytes, body: bytes = b"") -> tuple[int, dict[str, Any]]:
    async with wire_to(url) as wire:
        await wire.send(b"\r\n".join((*lines, b"", b"")) + body)
        status, told = await wire.answer()
        return status, dict(told)


# Trailers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [b"/v1/chat/completions", b"/v1/embeddings", b"/v1/messages"])
async def test_a_trailer_never_becomes_a_header_upstream(path: bytes) -> None:
    trailers = (
        b"Authorization: Bearer stolen\r\nX-Api-Key: stolen\r\nX-Trailed: yes\r\nHost: evil.example\r\n"
    )
    body = b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(ODD), ODD, trailers)
    async with gateway_before_echo() as (provider, url):
        await raw(
            url,
            b"POST %b HTTP/1.1" % path,
            b"Host: localhost",
            b"Content-Type: application/json",
            b"Trailer: Authorization, X-Trailed",
            b"Transfer-Encoding: chunked",
            body=body,
        )
        (request,) = provider.requests
    assert "stolen" not in str(request.headers)
    assert not {"authorization", "x-api-key", "x-trailed", "trailer"} & {
        name.lower() for name in request.headers
    }
    assert request.raw == ODD


async def test_a_request_after_one_with_trailers_has_its_own_headers() -> None:
    chunked = b"%x\r\n%b\r\n0\r\nX-Trailed: yes\r\n\r\n" % (len(ODD), ODD)
    head = b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\n"
    async with gateway_before_echo() as (provider, url), wire_to(url) as wire:
        await wire.send(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunked)
        await wire.answer()
        await wire.send(head + b"X-Own: yes\r\nContent-Length: %d\r\n\r\n%b" % (len(ODD), ODD))
        await wire.answer()
        first, second = provider.requests
    assert "x-trailed" not in {name.lower() for name in (*first.headers, *second.headers)}
    assert {name.lower(): value for name, value in second.headers.items()}["x-own"] == "yes"


# Heads ---------------------------------------------------------------------------------------------------------


async def test_two_hosts_are_refused() -> None:
    async with FakeProvider() as provider, gateway_before(provider) as url:
        for second in (b"localhost", b"evil.example"):
            lines = b"GET /v1/models HTTP/1.1", b"Host: localhost", b"Host: " + second
            status, told = await raw(url, *lines)
            assert (status, "2 Host headers" in told["error"]["message"]) == (400, True)
    assert provider.requests == []


@pytest.mark.parametrize("path", [b"/v1/chat/completions", b"/autocompact/health"])
async def test_trace_is_refused(path: bytes) -> None:
    async with FakeProvider() as provider, gateway_before(provider) as url:
        status, _ = await raw(url, b"TRACE %b HTTP/1.1" % path, b"Host: localhost", b"Cookie: secret")
    assert status == 405
    assert provider.requests == []


@pytest.mark.parametrize(
    "path",
    [
        b"/v1/..;/admin",
        b"/v1/models/..;x=1/admin",
        b"/v1/\\..\\admin",
        b"/v1/%5c..%5cadmin",
        b"/v1/%5Cadmin",
        b"/v1/%255cadmin",
        b"/v1/../admin",
        b"/v1/%2e%2e/admin",
        b"/v1/.%2E/admin",
        b"/v1/%252e%252e/admin",
        b"/v1/..%2fadmin",
        b"/v1/models/./x",
        b"/v1//admin",
        b"//v1/models",
        b"/v1/models%0d%0aX-Evil:%20yes",
        b"/v1/models%00",
        b"/autocompact/..;/v1/models",
    ],
)
async def test_a_path_that_can_be_read_in_two_ways_is_refused(path: bytes) -> None:
    async with FakeProvider() as provider, gateway_before(provider) as url:
        status, told = await raw(url, b"GET %b HTTP/1.1" % path, b"Host: localhost")
    assert status == 400
    assert told["error"]["message"]
    assert provider.requests == []


@pytest.mark.parametrize(
    "path", [b"/v1/models/org%2Fname", b"/v1/models/m.1..2", b"/v1/models/a;b", b"/v1/models/x%20y"]
)
async def test_an_ordinary_path_goes_on_as_it_came(path: bytes) -> None:
    async with gateway_before_echo() as (provider, url):
        await raw(url, b"GET %b HTTP/1.1" % path, b"Host: localhost")
    assert [request.path for request in provider.requests] == [path.decode()]


# Pages of other origins ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "served"),
    [
        ({}, True),
        ({"Origin": "http://HOST"}, True),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "http://localhost:1"}, False),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://HOST"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
    ],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/autocompact/conversations"])
async def test_only_pages_of_the_same_origin_and_programs_are_served(
    path: str, headers: dict[str, str], *, served: bool
) -> None:
    async with (
        FakeProvider() as provider,
        gateway_before(provider) as url,
        aiohttp.ClientSession() as session,
    ):
        own = {name: value.replace("HOST", url.partition("://")[2]) for name, value in headers.items()}
        method = "POST" if path.startswith("/v1") else "DELETE"
        async with session.request(method, url + path, data=ODD, headers=own) as answer:
            assert (answer.status != 403) is served
    assert bool(provider.requests) is (served and path.startswith("/v1"))


# A shared key --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/files"),
        ("POST", "/v1/files"),
        ("GET", "/v1/files/file-1/content"),
        ("POST", "/v1/batches"),
        ("GET", "/v1/batches"),
        ("POST", "/v1/messages/batches"),
        ("GET", "/v1/messages/batches"),
        ("POST", "/v1/fine_tuning/jobs"),
        ("GET", "/v1/assistants"),
        ("POST", "/v1/threads"),
        ("GET", "/v1/vector_stores"),
        ("GET", "/v1/responses/resp_1"),
        ("DELETE", "/v1/responses/resp_1"),
        ("GET", "/v1/responses/resp_1/input_items"),
        ("GET", "/v1/chat/completions"),
        ("GET", "/v1/conversations/c1"),
        ("DELETE", "/v1/models/ft:mine"),
        ("GET", "/v1/organization/admin_api_keys"),
        ("POST", "/v1/chat/completions/"),
        ("POST", "/v1/chat%2Fcompletions/x"),
    ],
)
async def test_what_a_provider_keeps_is_not_served_with_a_shared_key(method: str, path: str) -> None:
    async with (
        FakeProvider() as provider,
        gateway_before(provider, **CLOSED) as url,
        aiohttp.ClientSession() as session,
    ):
        async with session.request(method, url + path, headers=TOKEN) as answer:
            told = await answer.json()
        async with session.request(method, url + path) as nobody:
            assert nobody.status == 401
    assert answer.status == 403
    assert "without --upstream-key" in told["error"]["message"]
    assert provider.requests == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/responses"),
        ("POST", "/v1/messages"),
        ("POST", "/v1/messages/count_tokens"),
        ("POST", "/v1/embeddings"),
        ("POST", "/v1/moderations"),
        ("GET", "/v1/models"),
        ("GET", "/v1/models/org/name"),
    ],
)
async def test_what_is_answered_at_once_is_served_with_a_shared_key(method: str, path: str) -> None:
    async with (
        gateway_before_echo(**CLOSED) as (provider, url),
        aiohttp.ClientSession() as session,
    ):
        body = json.dumps(SAID).encode() if path == "/v1/responses" else ODD
        async with session.request(
            method, url + path, data=body if method == "POST" else None, headers=TOKEN
        ):
            pass
    assert [request.path for request in provider.requests] == [path]


@pytest.mark.parametrize(
    "more",
    [
        {"previous_response_id": "resp_1"},
        {"conversation": "conv_1"},
        {"conversation": {"id": "conv_1"}},
        {"background": True},
        {"input": [{"type": "item_reference", "id": "msg_1"}]},
    ],
)
async def test_stored_responses_are_not_shared_by_the_clients_of_one_key(more: dict[str, Any]) -> None:
    body = json.dumps(SAID | more).encode()
    async with FakeProvider() as provider:
        async with gateway_before(provider, **CLOSED) as url:
            status, _, told = await post(f"{url}/v1/responses", body, **TOKEN)
        assert status == 400
        assert json.loads(told)["error"]["code"] == "stored_responses_are_shared"
        assert '"store": false' in json.loads(told)["error"]["message"]
        assert provider.requests == []
        async with gateway_before(provider) as url:
            await post(f"{url}/v1/responses", body)
        assert [request.raw for request in provider.requests] == [body]


_FILE = {"type": "file", "file_id": "file_1"}


@pytest.mark.parametrize(
    ("path", "more", "named"),
    [
        ("responses", {"input": [{"role": "user", "content": [_FILE | {"type": "input_file"}]}]}, "file_id"),
        ("responses", {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]}, "vector_store_ids"),
        ("responses", {"tools": [{"type": "code_interpreter", "container": "cntr_1"}]}, "container"),
        ("responses", {"tools": [{"container": {"type": "auto", "file_ids": ["f"]}}]}, "file_ids"),
        ("responses", {"input": [{"type": "code_interpreter_call", "container_id": "c"}]}, "container_id"),
        ("responses", {"prompt": {"id": "pmpt_1"}}, "prompt.id"),
        ("chat/completions", {"messages": [{"role": "user", "content": [{"file": _FILE}]}]}, "file_id"),
        ("chat/completions", {"messages": [{"role": "assistant", "audio": {"id": "a"}}]}, "audio.id"),
        ("messages", {"container": "container_1"}, "container"),
        ("messages", {"container": {"id": "c"}}, "container.id"),
        ("messages", {"container": {"skills": [{"type": "custom", "skill_id": "s"}]}}, "skill_id"),
        ("messages", {"messages": [{"role": "user", "content": [{"source": _FILE}]}]}, "file_id"),
        ("messages/count_tokens", {"messages": [{"role": "user", "content": [_FILE]}]}, "file_id"),
        ("images/edits", {"images": [{"file_id": "file_1"}]}, "file_id"),
    ],
)
async def test_what_a_request_names_at_the_provider_is_not_shared_by_the_clients_of_one_key(
    path: str, more: dict[str, Any], named: str
) -> None:
    body = json.dumps({"model": "m", "max_tokens": 9} | more).encode()
    hidden = body.replace(b"_id", b"\\u005fid") if b"_id" in body else body
    async with gateway_before_echo(**CLOSED) as (provider, url):
        for each in (body, hidden):
            status, _, told = await post(f"{url}/v1/{path}", each, **TOKEN)
            error = json.loads(told)["error"]
            assert status == 400
            assert error["message"].startswith(f"{named} is not served with the gateway's key")
            assert "without --upstream-key" in error["message"]
        assert provider.requests == []
    async with gateway_before_echo() as (provider, url):
        await post(f"{url}/v1/{path}", body)
        assert [request.raw for request in provider.requests] == [body]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (
            "chat/completions",
            b'{"model":"m","messages":[], "tools":[{"function":{"parameters":{"properties":{"file_id":{"type":"string"}}}}}]}',
        ),
        (
            "messages",
            b'{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f",'
            b'"input":{"file_id":"mine"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"\\u00e9"}]}],'
            b'"container":{"id":null,"skills":[{"type":"anthropic","skill_id":"pptx"}]}}',
        ),
        (
            "responses",
            b'{"model":"m","input":"Hi","tools":[{"type":"code_interpreter","container":{"type":"auto"}}]}',
        ),
        ("embeddings", b'{"model":"m", "input":["file_id"]}'),
        ("completions", b'{"model":"m", "prompt":"container"}'),
    ],
)
async def test_what_only_looks_like_a_name_of_something_kept_goes_on_as_it_came(
    path: str, body: bytes
) -> None:
    async with gateway_before_echo(**CLOSED) as (provider, url):
        await post(f"{url}/v1/{path}", body, **TOKEN)
        assert [request.raw for request in provider.requests] == [body]


@pytest.mark.parametrize("path", ["/v1/responses/input_tokens", "/v1/responses/compact"])
async def test_nor_are_they_counted_or_compacted_for_another_client(path: str) -> None:
    body = json.dumps(SAID | {"previous_response_id": "resp_1"}).encode()
    async with gateway_before_echo(**CLOSED) as (provider, url):
        status, _, told = await post(f"{url}{path}", body, **TOKEN)
        assert status == 400
        assert json.loads(told)["error"]["code"] == "stored_responses_are_shared"
        status, *_ = await post(f"{url}{path}", json.dumps(SAID).encode(), **TOKEN)
        assert [request.path for request in provider.requests] == [path]


async def test_a_response_that_says_nothing_of_stored_ones_goes_on_as_it_came() -> None:
    body = b'{"model":"m", "input":"item_reference", "previous_response_id":null, "background":false, "store":true}'
    async with FakeProvider() as provider, gateway_before(provider, **CLOSED) as url:
        await post(f"{url}/v1/responses", body, **TOKEN)
        broken, _, _ = await post(f"{url}/v1/responses", b"{", **TOKEN)
    assert [request.raw for request in provider.requests] == [body]
    assert broken == 400
