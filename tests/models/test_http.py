"""What goes wrong on the way to a model, over real HTTP, and what becomes of it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import socket
from collections.abc import Iterator

import pytest

from autocompact.chat.loop_thread import LoopThread
from autocompact.core.messages import text_message
from autocompact.errors import InvalidInput, ModelError, ModelOverflow, ModelRefused, ModelUnavailable
from autocompact.models.failures import Secret
from autocompact.models.http import Patience, Retries, Transport
from autocompact.models.openai_compatible import OpenAICompatible
from autocompact.testing import FakeProvider, Recorded
from autocompact.testing.provider_faults import FaultKind
from tests.models.support import APIS, AT_ONCE, KEY, ONCE, SHORT, Make, anthropic, chat

pytestmark = pytest.mark.anyio
HELLO = [text_message(1, "user", "Hello there, what is new?")]


@pytest.mark.parametrize(
    "kind",
    [
        "rate_limit",
        "server_error",
        "bad_gateway",
        "unavailable",
        "overloaded",
        "reset",
        "cut",
        "stream_error",
    ],
)
@pytest.mark.parametrize("api", APIS)
async def test_a_passing_failure_is_tried_again_until_the_answer_comes(api: str, kind: FaultKind) -> None:
    async with FakeProvider("Here I am.") as provider:
        provider.fail(kind, times=2)
        async with APIS[api](provider) as model:
            reply = await model.complete(HELLO, max_tokens=50)
    assert reply.text == "Here I am."
    assert len(provider.requests) == 3
    assert len({asked.raw for asked in provider.requests}) == 1


@pytest.mark.parametrize(
    "kind",
    [
        "rate_limit",
        "server_error",
        "bad_gateway",
        "unavailable",
        "overloaded",
        "reset",
        "cut",
        "stream_error",
    ],
)
@pytest.mark.parametrize("api", APIS)
async def test_a_failure_that_does_not_pass_is_reported_after_the_last_attempt(
    api: str, kind: FaultKind
) -> None:
    async with FakeProvider("Here I am.") as provider:
        provider.fail(kind, times=9)
        async with APIS[api](provider) as model:
            with pytest.raises(ModelUnavailable, match=r"'fake' at 127\.0\.0\.1"):
                await model.complete(HELLO, max_tokens=50)
    assert len(provider.requests) == 3


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        ("quota", ModelRefused, "exceeded your current quota|credit balance is too low"),
        ("overflow", ModelOverflow, "larger than 'fake'"),
        ("garbage", ModelError, "answered with something else"),
    ],
)
@pytest.mark.parametrize("api", APIS)
async def test_what_another_attempt_cannot_mend_is_reported_at_once(
    api: str, kind: FaultKind, error: type[ModelError], words: str
) -> None:
    async with FakeProvider() as provider:
        provider.fail(kind, times=9)
        async with APIS[api](provider) as model:
            with pytest.raises(error, match=words):
                await model.complete(HELLO, max_tokens=50)
    assert len(provider.requests) == 1


@pytest.mark.parametrize("api", APIS)
async def test_an_empty_answer_is_an_answer(api: str) -> None:
    async with FakeProvider() as provider:
        provider.fail("empty")
        async with APIS[api](provider) as model:
            assert (await model.complete(HELLO, max_tokens=50)).text == ""


@pytest.mark.parametrize("api", APIS)
async def test_a_megabyte_arrives_whole(api: str) -> None:
    async with FakeProvider(max_output=10_000_000) as provider:
        provider.fail("large")
        async with APIS[api](provider) as model:
            assert len((await model.complete(HELLO, max_tokens=10_000_000)).text) == 1_000_000


@pytest.mark.parametrize("whole", [True, False])
async def test_an_answer_without_end_is_given_up(whole: bool) -> None:
    async with FakeProvider(max_output=10_000_000) as provider:
        provider.fail("large")
        transport = Transport(
            provider.base_url,
            model="fake",
            secret=Secret(None),
            header=("Authorization", "Bearer {}"),
            most_bytes=100_000,
        )
        body = b'{"model":"fake","messages":[{"role":"user","content":"x"}],"stream":%s}' % (
            b"false" if whole else b"true"
        )
        with pytest.raises(ModelError, match="more than 100,000 bytes"):
            await transport.reply("/chat/completions", body, dialect="openai_chat")
        await transport.aclose()
    assert len(provider.requests) == 1


@pytest.mark.parametrize("kind", ["silent", "stalled"])
@pytest.mark.parametrize("api", APIS)
async def test_silence_is_given_up_once_and_the_connection_closed(api: str, kind: FaultKind) -> None:
    async with FakeProvider("many words " * 100) as provider:
        provider.fail(kind, times=9)
        async with APIS[api](provider, patience=SHORT) as model:
            with pytest.raises(ModelUnavailable, match=r"said nothing for 0\.1 s"):
                await model.complete(HELLO, max_tokens=2_000)
            await provider.wait_for_abandoned()
    assert len(provider.requests) == 1


async def test_a_slow_answer_may_take_longer_in_all_than_any_silence_may() -> None:
    async with FakeProvider("many words " * 100) as provider:
        provider.fail("slow", pause=0.06)
        async with chat(provider, patience=Patience(first_byte=1, between=1)) as model:
            assert (await model.complete(HELLO)).text == "many words " * 100
    assert len(provider.requests) == 1


async def test_giving_up_the_wait_closes_the_connection() -> None:
    async with FakeProvider() as provider:
        provider.fail("silent")
        async with chat(provider) as model:
            waiting = asyncio.create_task(model.complete(HELLO))
            await provider.wait_for_requests(1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await provider.wait_for_abandoned()
    assert provider.abandoned == provider.requests


async def test_a_wait_that_the_server_asks_for_is_kept_where_it_is_short() -> None:
    async with FakeProvider("Here.") as provider:
        provider.fail("rate_limit", retry_after="0")
        provider.fail("unavailable", retry_after="Wed, 21 Oct 2015 07:28:00 GMT")
        # With a first wait of an hour the answer only comes in time if the server's own wait is kept.
        async with chat(provider, retries=Retries(attempts=3, first_wait=3_600, longest_wait=3_600)) as model:
            assert (await asyncio.wait_for(model.complete(HELLO), 20)).text == "Here."
    assert len(provider.requests) == 3


async def test_a_server_that_asks_for_a_long_wait_is_not_asked_again() -> None:
    async with FakeProvider("Here.") as provider:
        provider.fail("rate_limit", retry_after="3600")
        async with chat(provider) as model:
            with pytest.raises(ModelUnavailable, match="asks to wait 3,600 s"):
                await model.complete(HELLO)
    assert len(provider.requests) == 1


async def test_nobody_there_is_reported_as_that() -> None:
    async with FakeProvider() as provider:
        url = provider.url
    model = OpenAICompatible("fake", base_url=url, retries=AT_ONCE)
    with pytest.raises(ModelUnavailable, match=r"'fake' at 127.0.0.1:\d+ cannot be reached") as told:
        await model.complete(HELLO)
    await model.aclose()
    assert told.value.status is None


async def test_a_server_whose_certificate_is_none_is_not_asked_again() -> None:
    async with FakeProvider() as provider:
        url = provider.url.replace("http://", "https://")
        async with OpenAICompatible("fake", base_url=url, api_key=KEY, retries=AT_ONCE) as model:
            with pytest.raises(ModelRefused, match="cannot be trusted"):
                await model.complete(HELLO)
    assert provider.requests == []


async def test_a_host_that_takes_no_connection_is_given_up_by_the_time_for_that() -> None:
    with socket.socket() as full, contextlib.ExitStack() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        patience = Patience(connect=0.05)
        async with OpenAICompatible("fake", base_url=url, retries=AT_ONCE, patience=patience) as model:
            with pytest.raises(ModelUnavailable, match="cannot be reached"):
                await model.complete(HELLO)


async def test_of_a_long_error_page_only_the_beginning_is_read() -> None:
    page = Recorded(status=400, body=b"no such thing " * 100_000, content_type="text/plain")
    async with FakeProvider(lambda _: page) as provider, chat(provider) as model:
        with pytest.raises(ModelRefused) as told:
            await model.complete(HELLO)
    assert len(str(told.value)) < 700


async def test_a_redirect_is_not_followed() -> None:
    moved = Recorded(body=b"", status=307, headers={"Location": "http://127.0.0.1:9/elsewhere"})
    async with FakeProvider(lambda _: moved) as provider, chat(provider, api_key=KEY) as model:
        with pytest.raises(ModelError, match="307"):
            await model.complete(HELLO)
    assert len(provider.requests) == 1


async def test_an_error_in_place_of_an_answer_is_recognised_by_what_it_says() -> None:
    busy = Recorded(body=b'{"error":{"message":"Provider returned error","code":429}}')
    lost = Recorded(body=b'{"error":"Unexpected endpoint or method."}')
    full = Recorded(body=b'{"error":{"message":"prompt is too long: 9 tokens > 8 maximum","code":400}}')
    async with FakeProvider([busy, "Here.", lost, full]) as provider, chat(provider) as model:
        assert (await model.complete(HELLO)).text == "Here."
        with pytest.raises(ModelError, match="Unexpected endpoint"):
            await model.complete(HELLO)
        with pytest.raises(ModelOverflow, match="9 tokens > 8"):
            await model.complete(HELLO)


async def test_a_stream_may_end_without_a_blank_line() -> None:
    events = b'data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}'
    error = b'data: {"error":{"message":"The model crashed","type":"server_error"}}'
    async with (
        FakeProvider(
            [Recorded(body=events, content_type="text/event-stream"), Recorded(body=error), "Here."]
        ) as provider,
        chat(provider) as model,
    ):
        assert (await model.complete(HELLO)).text == "Hi"
        assert (await model.complete(HELLO)).text == "Here."


async def test_a_stream_that_ends_properly_but_too_early_is_tried_again() -> None:
    begun = b'data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hi, I "}}]}\n\n'
    async with FakeProvider([Recorded(body=begun), "Here."]) as provider, chat(provider) as model:
        assert (await model.complete(HELLO)).text == "Here."


async def test_with_one_attempt_nothing_is_tried_again() -> None:
    async with FakeProvider() as provider, chat(provider, retries=ONCE) as model:
        provider.fail("server_error")
        with pytest.raises(ModelUnavailable):
            await model.complete(HELLO)
    assert len(provider.requests) == 1


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _everything(error: BaseException) -> str:
    return " ".join(f"{each} {each!r} {each.args} {vars(each)}" for each in _chain(error))


@pytest.mark.parametrize("make", [chat, anthropic])
async def test_the_key_reaches_the_server_and_nothing_else(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = Recorded(body=b'{"error":{"message":"Incorrect API key provided: %s"}}' % KEY.encode(), status=401)
    broken = Recorded(body=b"\x00", content_type="text/html", headers={"X-Echo": KEY})
    async with (
        FakeProvider([echo, broken, "Fine."], api_key=KEY) as provider,
        make(provider, api_key=f" {KEY}\n") as model,
    ):
        told: list[str] = []
        for _ in range(2):
            with pytest.raises(ModelError) as error:
                await model.complete(HELLO)
            told.append(_everything(error.value))
        provider.fail("reset", times=3)
        with pytest.raises(ModelUnavailable) as error:
            await model.complete(HELLO)
        told.append(_everything(error.value))
        assert (await model.complete(HELLO)).text == "Fine."
    shown = " ".join([*told, repr(model), str(vars(model)), repr(Secret(KEY)), caplog.text])
    assert KEY not in shown
    assert KEY[:16] not in shown
    assert "Incorrect API key provided" in told[0]
    assert "Check the API key" in told[0]
    assert all(KEY not in str(asked) for asked in provider.requests)


def test_a_key_that_cannot_be_one_is_refused_without_repeating_it() -> None:
    with pytest.raises(InvalidInput) as told:
        OpenAICompatible("m", api_key="sk-one\r\nX-Evil: yes")
    assert "sk-one" not in str(told.value)


@pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning"
)  # the loop that could close the connection has ended
def test_a_model_can_be_asked_from_one_event_loop_after_another() -> None:
    with contextlib.closing(LoopThread()) as thread:
        provider = thread.hold(FakeProvider(["One.", "Two.", "Three."]))
        model = chat(provider)
        said = [asyncio.run(model.complete(HELLO)).text for _ in range(3)]
        asyncio.run(model.aclose())
    gc.collect()  # what warns of these connections warns now, and not in another test
    assert said == ["One.", "Two.", "Three."]
