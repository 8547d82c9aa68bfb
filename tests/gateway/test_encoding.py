"""Requests whose body comes with a content encoding."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable

import pytest

from autocompact.gateway import Limits
from autocompact.gateway.exchange import Exchange, without_encoding
from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before
from tests.gateway.test_compaction import WINDOW, big
from tests.gateway.test_passing import ODD, post

pytestmark = pytest.mark.requirement("E7")


@pytest.mark.anyio
@pytest.mark.parametrize("name, encode", [("gzip", gzip.compress), ("deflate", zlib.compress)])
async def test_a_request_with_an_encoded_body_is_compacted_as_any_other(
    name: str, encode: Callable[[bytes], bytes]
) -> None:
    body = json.dumps({"model": "m", "max_tokens": 100, "messages": big(80)}).encode()
    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
    ):
        answers = [
            await post(f"{url}/v1/chat/completions", body),
            await post(f"{url}/v1/chat/completions", encode(body), **{"Content-Encoding": name.upper()}),
        ]
    assert [headers["x-autocompact-action"] for _, headers, _ in answers] == ["compacted", "compacted"]
    plain, encoded = provider.requests
    assert encoded.raw == plain.raw
    assert "content-encoding" not in encoded.headers


@pytest.mark.parametrize(
    "name, body",
    [
        ("gzip", b"not encoded at all"),
        ("gzip", gzip.compress(ODD)[:-9]),
        ("gzip", gzip.compress(ODD) + b"more"),
        ("br", b"whatever"),
        ("gzip, gzip", gzip.compress(gzip.compress(ODD))),
    ],
    ids=["plain", "cut", "more", "another", "twice"],
)
def test_a_body_that_cannot_be_decoded_goes_on_as_it_came(name: str, body: bytes) -> None:
    scope = {
        "path": "/v1/messages",
        "query_string": b"",
        "headers": [(b"content-encoding", name.encode())],
        "method": "POST",
    }
    exchange = Exchange.of(scope, configured=["anthropic"])
    assert without_encoding(exchange, body, most=1_000) == (exchange, body)


@pytest.mark.anyio
async def test_a_small_body_that_becomes_a_huge_one_is_refused() -> None:
    body = gzip.compress(b'{"model":"m","messages":[],"x":"%b"}' % (b" " * 1_000_000))
    assert len(body) < 5_000
    async with (
        FakeProvider() as provider,
        gateway_before(provider, limits=Limits(body_bytes=100_000)) as url,
    ):
        status, _, told = await post(f"{url}/v1/chat/completions", body, **{"Content-Encoding": "gzip"})
    assert (status, provider.requests) == (413, [])
    assert "larger than 100,000 bytes" in json.loads(told)["error"]["message"]
