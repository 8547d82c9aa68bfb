"""The upstream says that a request is too large: one smaller request, and then its answer as it is."""

from __future__ import annotations

import json
from collections.abc import Callable

import aiohttp
import msgspec
import pytest

from autocompact.core.messages import Dialect
from autocompact.testing import Answer, FakeProvider, Received, Recorded
from autocompact.testing.provider import Flavour, Reply
from tests.gateway.searches import indexed, names
from tests.gateway.serving import gateway_before
from tests.gateway.speakers import SPEAKERS, Json, Speaker, Wire, encoded

pytestmark = pytest.mark.anyio

LARGE = 8_000
"""What the upstream really takes, in tokens; the gateway was told otherwise."""

TOLD = 100_000

STREAM = "text/event-stream; charset=utf-8"

by_api = pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)


def long_history(speaker: Speaker, turns: int = 50) -> list[Json]:
    history = [*speaker.begun(), speaker.user("Start")]
    for turn in range(turns):
        reply: Json = {"role": "assistant", "content": f"Done {turn}."}
        history += [reply, speaker.user(f"The build of module {turn} printed line after line. " * 20)]
    return history


async def asked_of(provider: FakeProvider, speaker: Speaker, body: Json) -> tuple[int, str, bytes]:
    """Status, what the gateway did, and the answer."""
    store = indexed()  # so that a smaller request brings the memory tools
    async with (
        gateway_before(provider, store=store, window=TOLD) as url,
        aiohttp.ClientSession() as session,
    ):
        status, headers, told = await Wire(session, url, path=speaker.path).post(encoded(body))
    return status, headers.get("x-autocompact-action", ""), told


def event(value: Json, *, name: str = "") -> bytes:
    return (b"event: %b\n" % name.encode() if name else b"") + b"data: %b\n\n" % msgspec.json.encode(value)


OVERFLOW = {
    "code": "context_length_exceeded",
    "message": "Your input exceeds the context window of this model.",
}
BEGUN: Json = {"id": "resp_1", "object": "response", "status": "in_progress", "error": None, "output": []}


def first_event(dialect: Dialect) -> list[bytes]:
    """The chunks of a stream that is nothing but an overflow, as each API sends it."""
    match dialect:
        case "openai_chat":
            return [event({"error": OVERFLOW | {"type": "invalid_request_error", "param": "messages"}})]
        case "anthropic":
            error = {
                "type": "invalid_request_error",
                "message": "prompt is too long: 9000 tokens > 8000 maximum",
            }
            return [event({"type": "error", "error": error}, name="error")]
        case "openai_responses":
            failed = BEGUN | {"status": "failed", "error": OVERFLOW}
            kinds = (("created", BEGUN), ("in_progress", BEGUN), ("failed", failed))
            return [
                event(
                    {"type": f"response.{kind}", "sequence_number": n, "response": told},
                    name=f"response.{kind}",
                )
                for n, (kind, told) in enumerate(kinds)
            ]


def streams_overflow(dialect: Dialect) -> Callable[[Received], Reply]:
    """An upstream that always answers 200 and then says in the stream that the request was too large."""

    def reply(asked: Received) -> Reply:
        if asked.tokens <= LARGE:
            return Answer(text="Fine.")
        return Recorded(body=b"".join(first_event(dialect)), content_type=STREAM)

    return reply


@by_api
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_an_overflow_leads_to_one_smaller_request(speaker: Speaker, stream: bool) -> None:
    body = speaker.request(long_history(speaker)) | {"stream": stream}
    async with FakeProvider("Fine.", window=LARGE) as provider:
        status, action, told = await asked_of(provider, speaker, body)
    assert (status, action) == (200, "retried")
    assert b"Fine." in told
    refused, answered = provider.requests
    assert refused.raw == encoded(body)
    assert answered.tokens <= LARGE - 500
    assert answered.messages[-1] == refused.messages[-1]


@pytest.mark.parametrize("flavour", ["openai", "anthropic", "vllm", "llama_cpp", "gemini", "ollama"])
async def test_every_providers_words_for_it_are_understood(flavour: Flavour) -> None:
    speaker = SPEAKERS[0]
    body = speaker.request(long_history(speaker))
    async with FakeProvider("Fine.", window=LARGE, flavour=flavour) as provider:
        status, action, told = await asked_of(provider, speaker, body)
    assert (status, action, len(provider.requests)) == (200, "retried", 2), told


@by_api
async def test_an_overflow_that_comes_as_the_first_event_of_a_stream_is_cured_too(speaker: Speaker) -> None:
    body = speaker.request(long_history(speaker)) | {"stream": True}
    async with FakeProvider(streams_overflow(speaker.dialect)) as provider:
        status, action, told = await asked_of(provider, speaker, body)
    assert (status, action, len(provider.requests)) == (200, "retried", 2)
    assert b"Fine." in told
    assert b"exceeds" not in told
    assert b"too long" not in told


@by_api
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_there_is_one_retry_and_then_the_upstreams_answer_as_it_is(
    speaker: Speaker, stream: bool
) -> None:
    body = speaker.request(long_history(speaker)) | {"stream": stream}
    async with FakeProvider(window=LARGE) as bare:
        bare.fail("overflow")
        async with aiohttp.ClientSession() as session:
            status, _, direct = await Wire(session, bare.url, path=speaker.path).post(encoded(body))
    async with FakeProvider(window=LARGE) as provider:
        provider.fail("overflow", times=5)
        through = await asked_of(provider, speaker, body)
    assert (through[0], json.loads(through[2])) == (status, json.loads(direct))
    assert len(provider.requests) == 2
    assert "memory_search" in names(provider.requests[1])


@by_api
async def test_an_overflow_in_the_stream_that_is_not_cured_is_passed_on_as_it_is(speaker: Speaker) -> None:
    body = speaker.request(long_history(speaker)) | {"stream": True}
    told = b"".join(first_event(speaker.dialect))
    always = Recorded(body=told, content_type=STREAM)
    async with FakeProvider(lambda _: always) as provider:
        through = await asked_of(provider, speaker, body)
    assert (through[0], through[2], len(provider.requests)) == (200, told, 2)


@by_api
async def test_an_overflow_after_the_first_words_is_passed_on(speaker: Speaker) -> None:
    body = speaker.request(long_history(speaker)) | {"stream": True}
    async with FakeProvider("Some words.") as bare, aiohttp.ClientSession() as session:
        _, _, words = await Wire(session, bare.url, path=speaker.path).post(encoded(body))
    begun = words[: words.index(b"words")] + b'"}\n\n'
    told = begun + first_event(speaker.dialect)[-1]
    async with FakeProvider([Recorded(body=told, content_type=STREAM)]) as provider:
        through = await asked_of(provider, speaker, body)
    assert (through[0], through[2], len(provider.requests)) == (200, told, 1)


@by_api
async def test_other_errors_are_never_taken_for_an_overflow(speaker: Speaker) -> None:
    body = speaker.request(long_history(speaker)) | {"stream": True}
    async with FakeProvider() as provider:
        provider.fail("rate_limit", retry_after="7")
        status, action, _ = await asked_of(provider, speaker, body)
    assert (status, action, len(provider.requests)) == (429, "forwarded", 1)


@by_api
async def test_a_conversation_that_was_compacted_is_compacted_more_if_it_overflows(speaker: Speaker) -> None:
    """The gateway was told twice the window that the upstream has."""
    history = long_history(speaker, 160)
    actions: list[str] = []
    async with (
        FakeProvider("Fine.", window=LARGE) as provider,
        gateway_before(provider, window=LARGE * 2) as url,
        aiohttp.ClientSession() as session,
    ):
        client = Wire(session, url, path=speaker.path)
        for length in range(len(history) - 200, len(history) + 1, 40):
            status, headers, _ = await client.post(encoded(speaker.request(history[:length])))
            assert status == 200
            actions.append(headers["x-autocompact-action"])
    assert "retried" in actions[1:]
    assert len(provider.requests) == len(actions) + actions.count("retried")


@by_api
async def test_a_proxy_before_the_provider_that_takes_no_such_body_is_obeyed(speaker: Speaker) -> None:
    body = speaker.request(long_history(speaker))
    page = b"<html><head><title>413 Request Entity Too Large</title></head></html>"

    def reply(asked: Received) -> Reply:
        too_large = Recorded(body=page, status=413, content_type="text/html")
        return too_large if asked.tokens > LARGE else Answer(text="Fine.")

    async with FakeProvider(reply) as provider:
        status, action, _ = await asked_of(provider, speaker, body)
    assert (status, action, len(provider.requests)) == (200, "retried", 2)


@by_api
async def test_a_window_that_the_upstream_told_is_kept_to_from_then_on(speaker: Speaker) -> None:
    history = long_history(speaker)
    async with (
        FakeProvider("Fine.", window=LARGE, flavour="anthropic") as provider,
        gateway_before(provider, window=TOLD) as url,
        aiohttp.ClientSession() as session,
    ):
        wire = Wire(session, url, path=speaker.path)
        actions: list[str] = []
        for _ in range(4):
            status, headers, told = await wire.post(encoded(speaker.request(history)))
            assert status == 200, told
            actions.append(headers["x-autocompact-action"])
            history = [*history, {"role": "assistant", "content": "Fine."}, speaker.user("Go on. " * 200)]
    assert actions == ["retried", "compacted", "compacted", "compacted"]
    assert len(provider.requests) == 5


async def test_a_request_that_cannot_become_smaller_is_not_sent_twice() -> None:
    speaker = SPEAKERS[0]
    body = speaker.request([*speaker.begun(), speaker.user("One word after the other. " * 3_000)])
    async with FakeProvider("Fine.", window=LARGE) as provider:
        status, action, _ = await asked_of(provider, speaker, body)
    assert (status, action, len(provider.requests)) == (400, "forwarded", 1)
