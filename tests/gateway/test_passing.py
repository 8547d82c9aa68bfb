from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from itertools import count
from typing import Any

import aiohttp
import pytest

from autocompact.gateway import Limits
from autocompact.testing import Answer, FakeProvider, Recorded
from tests.gateway.serving import gateway_before

pytestmark = pytest.mark.anyio

ODD = b'{ "model":"m",  "messages":[ {"role":"user","content":"Gr\\u00fc\xc3\x9fe"} ] , "unknown" : {"b":1,"a":[ ]}}'
JSON = {"Content-Type": "application/json", "Authorization": "Bearer sk-secret"}


async def post(url: str, body: bytes, **headers: str) -> tuple[int, Mapping[str, str], bytes]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=BytesIO(body), headers=JSON | headers) as response,
    ):
        return response.status, response.headers, await response.read()


@pytest.mark.requirement("E7")
async def test_what_is_not_changed_goes_upstream_byte_for_byte() -> None:
    async with FakeProvider() as provider, gateway_before(provider) as url:
        status, headers, _ = await post(f"{url}/v1/chat/completions", ODD, **{"X-Beta": "one,two"})
    (asked,) = provider.requests
    assert status == 200
    assert asked.raw == ODD
    assert asked.headers["x-beta"] == "one,two"
    assert asked.headers["content-type"] == "application/json"
    assert headers["x-autocompact-action"] == "forwarded"


@pytest.mark.requirement("E7")
@pytest.mark.parametrize("path", ["/messages", "/messages?beta=true", "/chat/completions", "/responses"])
async def test_a_client_that_leaves_the_version_out_of_the_path_is_served_as_with_it(path: str) -> None:
    body = b'{"model":"m","max_tokens":9,"%s":[{"role":"user","content":"Hi"}]}'
    body %= b"input" if path == "/responses" else b"messages"
    version = {"anthropic-version": "2023-06-01"}
    async with FakeProvider("Fine.") as provider, gateway_before(provider) as url:
        without = await post(url + path, body, **version)
        given = await post(f"{url}/v1{path}", body, **version)
    assert (without[0], given[0]) == (200, 200)
    assert json.loads(without[2]).keys() == json.loads(given[2]).keys()
    assert b"Fine." in without[2]
    assert [asked.path for asked in provider.requests] == [f"/v1{path.partition('?')[0]}"] * 2
    assert [asked.raw for asked in provider.requests] == [body] * 2


async def test_what_is_asked_beside_an_answer_is_passed_on_without_the_version_too() -> None:
    async with (
        FakeProvider() as provider,
        gateway_before(provider) as url,
        aiohttp.ClientSession() as session,
    ):
        for path, status in (("/models", 200), ("/v1/models", 200), ("/files", 404)):
            async with session.get(url + path, headers=JSON) as response:
                assert response.status == status
        status, _, _ = await post(f"{url}/messages/count_tokens", ODD, **{"anthropic-version": "2023-06-01"})
    assert status == 200


async def test_a_body_of_many_megabytes_goes_upstream_whole() -> None:
    picture = b"A" * 5_000_000
    body = b'{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"%b"}}]}]}'
    async with (
        FakeProvider("Fine.") as provider,
        gateway_before(provider) as url,
        aiohttp.ClientSession() as session,
        session.post(f"{url}/v1/chat/completions", data=BytesIO(body % picture), headers=JSON) as told,
    ):
        assert told.status == 200
    assert provider.requests[0].raw == body % picture
    assert provider.requests[0].headers["content-length"] == str(len(body % picture))


async def test_answers_and_errors_come_back_as_they_are() -> None:
    told = Recorded(
        body=b'{"odd":  1}',
        status=418,
        content_type="application/json",
        headers={"X-Request-Id": "r1", "Retry-After": "7"},
    )
    async with FakeProvider([told]) as provider, gateway_before(provider) as url:
        status, headers, body = await post(f"{url}/v1/chat/completions", ODD)
    assert (status, body) == (418, b'{"odd":  1}')
    assert (headers["X-Request-Id"], headers["Retry-After"]) == ("r1", "7")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
async def test_a_stream_is_the_stream_of_the_provider(path: str) -> None:
    said: dict[str, Any] = {"model": "m", "stream": True, "max_tokens": 50}
    said["input" if path.endswith("responses") else "messages"] = [{"role": "user", "content": "Say it."}]
    body = json.dumps(said).encode()
    replies = [Answer(text="One two three.")] * 2
    async with FakeProvider(replies) as bare:
        direct = await post(f"{bare.url}{path}", body, **{"anthropic-version": "2023-06-01"})
    async with FakeProvider(replies) as provider, gateway_before(provider) as url:
        through = await post(f"{url}{path}", body, **{"anthropic-version": "2023-06-01"})
    assert through[2] == direct[2]
    assert through[1]["Content-Type"] == direct[1]["Content-Type"]


async def test_each_event_arrives_before_the_next_one_is_sent() -> None:
    async with FakeProvider(" ".join(["word"] * 40)) as provider, gateway_before(provider) as url:
        provider.fail("slow", pause=0.02)
        body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]})
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/v1/chat/completions", data=body, headers=JSON) as response,
        ):
            first = await response.content.readany()
            rest = await response.read()
    assert b"[DONE]" not in first
    assert b"[DONE]" in rest


async def test_a_client_that_goes_away_ends_the_request_upstream() -> None:
    async with FakeProvider() as provider, gateway_before(provider) as url:
        provider.fail("silent")
        body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]})
        async with aiohttp.ClientSession() as session:
            asking = asyncio.ensure_future(
                session.post(f"{url}/v1/chat/completions", data=body, headers=JSON)
            )
            await provider.wait_for_requests(1)
            asking.cancel()
            await asyncio.wait([asking])
        await asyncio.wait_for(provider.wait_for_abandoned(), 10)
    assert len(provider.abandoned) == 1


async def test_other_paths_below_v1_are_passed_through() -> None:
    async with FakeProvider(models=["one"]) as provider, gateway_before(provider) as url:
        async with aiohttp.ClientSession() as session, session.get(f"{url}/v1/models?limit=2") as response:
            listed = await response.json()
        status, _, body = await post(f"{url}/v1/unheard/of", b"abc")
        counted = await post(
            f"{url}/v1/messages/count_tokens",
            b'{"model":"one","messages":[{"role":"user","content":"How many?"}]}',
            **{"anthropic-version": "2023-06-01"},
        )
    assert [model["id"] for model in listed["data"]] == ["one"]
    assert status == 404
    assert b"Invalid URL (POST /v1/unheard/of)" in body
    assert json.loads(counted[2])["input_tokens"] > 0


@pytest.mark.parametrize(
    "path, member", [("/v1/chat/completions", "code"), ("/v1/messages", "type"), ("/v1/responses", "code")]
)
async def test_limits_answer_in_the_format_of_the_api(path: str, member: str) -> None:
    limits = Limits(body_bytes=1_000, messages=2)
    async with FakeProvider() as provider, gateway_before(provider, limits=limits) as url:
        large = await post(f"{url}{path}", b"x" * 1_001)
        field = "input" if path.endswith("responses") else "messages"
        many = await post(f"{url}{path}", json.dumps({"model": "m", field: [{"role": "user"}] * 3}).encode())
    for status, _, body in (large, many):
        assert status == 413
        assert member in json.loads(body)["error"]
    assert provider.requests == []


async def test_a_request_that_is_nested_too_deeply_is_refused() -> None:
    body = b'{"model":"m","messages":[{"role":"user","content":' + b"[" * 100_000 + b"]" * 100_000 + b"}]}"
    async with FakeProvider() as provider, gateway_before(provider) as url:
        status, _, told = await post(f"{url}/v1/chat/completions", body)
    assert (status, provider.requests) == (400, [])
    assert "nested too deeply" in json.loads(told)["error"]["message"]


async def test_a_body_that_is_no_request_is_for_the_provider_to_refuse() -> None:
    async with FakeProvider() as provider, gateway_before(provider) as url:
        status, _, body = await post(f"{url}/v1/chat/completions", b"[1, 2")
    assert status == 400
    assert provider.requests[0].raw == b"[1, 2"
    assert "error" in json.loads(body)


async def test_no_request_chooses_where_it_goes() -> None:
    async with FakeProvider() as provider, gateway_before(provider) as url:
        elsewhere = await post(f"{url}/v1/chat/completions", ODD, Host="evil.example")
        outside = await post(f"{url}/other", b"")
        page = await post(f"{url}/v1/chat/completions", ODD, **{"Sec-Fetch-Site": "cross-site"})
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(b"GET /v1/%2e%2e/admin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        above = await reader.read()
        writer.close()
    assert (elsewhere[0], outside[0], page[0]) == (403, 404, 403)
    assert above.startswith(b"HTTP/1.1 400")
    assert provider.requests == []


async def test_an_upstream_that_is_not_there_is_said_to_be_so() -> None:
    async with FakeProvider() as provider:
        gone = provider.url
    upstreams = {"anthropic": gone}
    async with gateway_before(provider, upstreams=upstreams) as url:
        down = await post(f"{url}/v1/messages", ODD)
        none = await post(f"{url}/v1/responses", b'{"model":"m","input":"Hi"}')
    assert down[0] == 502
    assert json.loads(down[2])["error"]["type"] == "api_error"
    assert none[0] == 404
    assert "--upstream openai=" in json.loads(none[2])["error"]["message"]


async def test_a_stream_that_breaks_off_is_not_ended_as_if_it_were_whole() -> None:
    async with FakeProvider("Some words of an answer.") as provider, gateway_before(provider) as url:
        provider.fail("cut")
        body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]})
        with pytest.raises(aiohttp.ClientError):
            await post(f"{url}/v1/chat/completions", body.encode())


@asynccontextmanager
async def server(*answers: bytes) -> AsyncGenerator[tuple[str, list[int]]]:
    """A server that gives these answers, whole as they are, and closes; with the number of each one's connection.

    b"" closes without an answer; an answer that begins with "keep " leaves the connection open for the next request,
    which is closed as soon as it comes in.
    """
    asked: list[int] = []
    waiting = list(answers)
    connections = count()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, keeps = next(connections), True
        while keeps and (head := await reader.readuntil(b"\r\n\r\n")):
            size = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(size.partition(b":")[2]))
            asked.append(number)
            answer = waiting.pop(0)
            keeps = answer.startswith(b"keep ")
            writer.write(answer.removeprefix(b"keep "))
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", asked


FINE = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 6\r\n\r\n"fine"'


@pytest.mark.parametrize("body", [ODD, ODD + b" " * 2_000_000], ids=["small", "large"])
async def test_a_connection_that_was_closed_while_it_was_idle_costs_nobody_the_answer(body: bytes) -> None:
    async with (
        server(b"keep " + FINE, b"", FINE) as (address, asked),
        FakeProvider() as provider,
        gateway_before(provider, upstreams={"openai": address}) as url,
    ):
        for _ in range(2):
            status, _, told = await post(f"{url}/v1/chat/completions", body)
            assert (status, told) == (200, b'"fine"')
    assert asked == [0, 0, 1]


async def test_what_may_have_been_taken_is_not_sent_twice(caplog: pytest.LogCaptureFixture) -> None:
    async with (
        server(b"", b"keep " + FINE, b"HTTP/1.1 200 OK\r\ncontent-le", b"keep " + FINE, b"", b"") as (
            address,
            asked,
        ),
        FakeProvider() as provider,
        gateway_before(provider, upstreams={"openai": address}) as url,
    ):
        told = [await post(f"{url}/v1/chat/completions", ODD) for _ in range(5)]
    assert [status for status, _, _ in told] == [502, 200, 502, 200, 502]
    assert asked == [0, 1, 1, 2, 2, 3]  # a new connection, an answer that had begun, and one retry at most
    assert "it closed the connection without an answer" in json.loads(told[0][2])["error"]["message"]
    assert [record.__dict__["reason"] for record in caplog.records if "cannot be reached" in record.message]


async def test_what_is_passed_piece_by_piece_is_not_sent_twice() -> None:
    async with (
        server(b"keep " + FINE, b"") as (address, asked),
        FakeProvider() as provider,
        gateway_before(provider, upstreams={"openai": address}) as url,
    ):
        told = [await post(f"{url}/v1/files", ODD) for _ in range(2)]
    assert [status for status, _, _ in told] == [200, 502]
    assert asked == [0, 0]


@pytest.mark.parametrize(
    "answer, said",
    [
        (b"SSH-2.0-Server\r\n\r\n", "is not HTTP"),
        (b"", "without an answer"),
        (b"HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\n{}", "is not HTTP"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX-Odd: a\x01b\r\nContent-Length: 2\r\n\r\n{}", "is not HTTP"),
    ],
)
async def test_what_an_upstream_does_instead_of_an_answer_is_said(answer: bytes, said: str) -> None:
    async with (
        server(answer) as (address, _),
        FakeProvider() as provider,
        gateway_before(provider, upstreams={"openai": address}) as url,
    ):
        status, _, told = await post(f"{url}/v1/chat/completions", ODD)
    assert status == 502
    assert said in json.loads(told)["error"]["message"]


async def test_an_answer_that_breaks_off_closes_the_connection_and_shows_no_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 60\r\n\r\n" + b'{"a":'
    async with (
        server(begun) as (address, _),
        FakeProvider() as provider,
        gateway_before(provider, upstreams={"openai": address}) as url,
    ):
        with pytest.raises(aiohttp.ClientPayloadError):
            await post(f"{url}/v1/chat/completions", ODD)
    assert [record.message for record in caplog.records] == ["an upstream broke off"]
    assert caplog.records[0].exc_info is None


@pytest.mark.parametrize("path", ["chat/completions", "files"])
async def test_a_client_that_goes_away_within_its_request_is_nobodys_failure(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "autocompact")
    async with FakeProvider() as provider, gateway_before(provider) as url:
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(f"POST /v1/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n{{".encode())
        await writer.drain()
        writer.close()
        async with asyncio.timeout(10):
            metrics = await got(f"{url}/metrics")
            while not caplog.records:
                metrics = await got(f"{url}/metrics")
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert b"autocompact_refusals_total{" not in metrics
    assert b"autocompact_failures_total{" not in metrics


async def got(url: str) -> bytes:
    async with aiohttp.ClientSession() as session, session.get(url) as told:
        return await told.read()


async def test_what_is_only_passed_is_not_held_in_memory_and_has_no_limit_of_ours() -> None:
    limits = Limits(body_bytes=1_000)
    async with FakeProvider() as provider, gateway_before(provider, limits=limits) as url:
        status, headers, _ = await post(f"{url}/v1/files", b"x" * 3_000_000)
    assert (status, headers["x-autocompact-action"]) == (404, "forwarded")
